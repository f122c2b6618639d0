import { type Address, zeroAddress } from 'viem'
import { type IndexedLog, lower } from './logs.ts'
import type { VaultBook } from './vault-book.ts'

/** What a partner channel's logs say that its contract does not. */
export type ChannelEntry = {
  /** The vault that it wraps, in lower case. */
  readonly vault: Address
  readonly createdAtS: number
  /**
   * Whether somebody deployed it who may: its reseller, who managed or curated its vault at that moment, or the deployment. Anybody else can
   * name a reseller too; such a channel is a wrapper, but says nothing about whom it names.
   */
  readonly isEntitled: boolean
  /** By holder, in lower case; the channel itself holds what its reseller has not claimed. */
  readonly shares: ReadonlyMap<string, bigint>
  /** In lower case; the channel's own address stands for everybody. */
  readonly blocked: ReadonlySet<Address>
}

/** The partner channels, by address, in the order of their creation. */
export type ChannelBook = ReadonlyMap<Address, ChannelEntry>

/** What a creation is judged by. */
type Surroundings = {
  /** The vaults as they were before the log of this place among the new ones. */
  readonly vaultsBefore: (index: number) => VaultBook
  /** The deployment's own contracts. */
  readonly deployed: ReadonlySet<Address>
}

export const EMPTY_CHANNEL_BOOK: ChannelBook = new Map()

/**
 * Return the book with these logs added, in chain order; a log of a contract that is no channel changes nothing. Whether a
 * creation is to be believed was checked when it was read; one of a vault that is not ours would wrap whatever that one says,
 * and is no channel. Pure: the given book stays as it is.
 */
export function foldChannels(
  book: ChannelBook,
  logs: readonly IndexedLog[],
  { vaultsBefore, deployed }: Surroundings,
): ChannelBook {
  const touched = new Map<Address, ChannelEntry>()
  for (const [index, log] of logs.entries()) {
    const { event, address, timestampS } = log
    if (event.eventName === 'ChannelCreated') {
      const vault = lower(event.args.vault)
      const { managers, curators } = vaultsBefore(index).get(vault) ?? {}
      if (managers === undefined || curators === undefined) continue
      const { creator } = log
      const mayDeploy = (who: Address) =>
        who === lower(event.args.reseller) || managers.has(who) || curators.has(who)
      touched.set(address, {
        vault,
        createdAtS: timestampS,
        isEntitled: deployed.has(address) || (creator !== undefined && mayDeploy(creator)),
        shares: new Map(),
        blocked: new Set(),
      })
      continue
    }
    const entry = touched.get(address) ?? book.get(address)
    if (entry !== undefined) touched.set(address, noted(entry, log))
  }
  return touched.size === 0 ? book : new Map([...book, ...touched])
}

function noted(entry: ChannelEntry, { event }: IndexedLog): ChannelEntry {
  switch (event.eventName) {
    case 'Transfer': {
      const { from, to, value } = event.args
      return { ...entry, shares: added(added(entry.shares, lower(from), -value), lower(to), value) }
    }
    case 'BlockedSet': {
      const blocked = new Set(entry.blocked)
      if (event.args.blocked) blocked.add(lower(event.args.account))
      else blocked.delete(lower(event.args.account))
      return { ...entry, blocked }
    }
    default:
      return entry
  }
}

/** Shares that are minted or burnt come from nobody or go to nobody. */
function added(shares: ReadonlyMap<string, bigint>, holder: Address, value: bigint): Map<string, bigint> {
  const next = new Map(shares)
  const sum = (next.get(holder) ?? 0n) + value
  if (sum === 0n || holder === zeroAddress) next.delete(holder)
  else next.set(holder, sum)
  return next
}

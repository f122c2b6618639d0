import { type Address, type Hex, hexToString } from 'viem'
import { type IndexedLog, lower } from './logs.ts'

/** An epoch as the logs have it; times in seconds, amounts in base units of the quote asset. */
export type EpochEntry = {
  readonly epochId: string
  readonly openedAtS: number
  readonly scheduledCloseAtS: number
  /** Null while it is open. */
  readonly closed: {
    readonly atS: number
    readonly postCloseFundingDeadlineS: number
    readonly scaleRay: bigint
  } | null
  readonly depositedAssets: bigint
  readonly withdrawnAssets: bigint
  /** Ids of bids that wait at houses, oldest first. */
  readonly activeReservations: readonly string[]
  readonly fundedHoldings: number
}

/** A distressed position that a fund bought. */
export type HoldingEntry = {
  readonly holdingId: string
  readonly positionId: Hex
  readonly lane: string
  readonly status: 'held' | 'listed' | 'disposed'
  readonly amount: bigint
  readonly transferPriceAssets: bigint
  readonly acquiredAtS: number
  readonly marketAddress: Address
  readonly borrowerAddress: Address
  readonly disposed: { readonly atS: number; readonly proceedsAssets: bigint } | null
}

/** What a fund may do over a channel. */
export type ChannelPolicyEntry = {
  readonly channel: string
  readonly enabled: boolean
  readonly maxAssetsPerEpoch: bigint
  readonly maxPriceBps: number
  readonly maxPositionBps: number
}

/** What a fund's logs say that its contract does not answer in one call. */
export type FundEntry = {
  readonly factoryAddress: Address
  /** Who it was launched for. */
  readonly launcherAddress: Address
  /** By id, oldest first: the newest {@link EPOCHS_MAX}. */
  readonly epochs: ReadonlyMap<string, EpochEntry>
  /** By id, oldest first: all that are held, and the newest {@link DISPOSED_HOLDINGS_MAX} that are not. */
  readonly holdings: ReadonlyMap<string, HoldingEntry>
  readonly policies: ReadonlyMap<string, ChannelPolicyEntry>
}

/** The funds, by address, in the order of their launch. */
export type FundBook = ReadonlyMap<Address, FundEntry>

export const EMPTY_FUND_BOOK: FundBook = new Map()

/** An hour and a half of the sandbox's own fund. */
export const EPOCHS_MAX = 100
const DISPOSED_HOLDINGS_MAX = 200

const EMPTY_FUND = { epochs: new Map(), holdings: new Map(), policies: new Map() }

/**
 * Return the book with these logs added, in chain order; a log of a contract that is no fund changes nothing, nor does
 * a launch by a factory that is not among the emitters. Pure: the given book stays as it is.
 */
export function foldFunds(
  book: FundBook,
  logs: readonly IndexedLog[],
  emitters: ReadonlySet<Address>,
): FundBook {
  const touched = new Map<Address, FundEntry>()
  for (const log of logs) {
    const { event, address } = log
    if (event.eventName === 'FundLaunched' && emitters.has(address)) {
      const { fund, manager } = event.args
      touched.set(lower(fund), {
        ...EMPTY_FUND,
        factoryAddress: address,
        launcherAddress: lower(manager),
      })
      continue
    }
    const entry = touched.get(address) ?? book.get(address)
    const changes = entry === undefined ? null : changesOf(entry, log)
    if (entry !== undefined && changes !== null) touched.set(address, { ...entry, ...changes })
  }
  return touched.size === 0 ? book : new Map([...book, ...touched])
}

function changesOf(fund: FundEntry, log: IndexedLog): Partial<FundEntry> | null {
  return policyChange(fund, log) ?? epochChange(fund, log) ?? holdingChange(fund, log)
}

function policyChange(fund: FundEntry, { event }: IndexedLog): Partial<FundEntry> | null {
  if (event.eventName !== 'ChannelPolicySet') return null
  const policy = { ...event.args, channel: hexToString(event.args.channel, { size: 32 }) }
  return { policies: new Map(fund.policies).set(policy.channel, policy) }
}

function epochChange(fund: FundEntry, { event, timestampS }: IndexedLog): Partial<FundEntry> | null {
  const change = (id: bigint, by: (epoch: EpochEntry) => Partial<EpochEntry>): Partial<FundEntry> => {
    const epoch = fund.epochs.get(String(id))
    if (epoch === undefined) return {}
    return { epochs: new Map(fund.epochs).set(epoch.epochId, { ...epoch, ...by(epoch) }) }
  }
  switch (event.eventName) {
    case 'EpochOpened': {
      const epoch: EpochEntry = {
        epochId: String(event.args.epochId),
        openedAtS: timestampS,
        scheduledCloseAtS: Number(event.args.scheduledCloseAt),
        closed: null,
        depositedAssets: 0n,
        withdrawnAssets: 0n,
        activeReservations: [],
        fundedHoldings: 0,
      }
      return { epochs: newest(new Map(fund.epochs).set(epoch.epochId, epoch), EPOCHS_MAX) }
    }
    case 'Subscribed': {
      const { epochId, assets } = event.args
      return change(epochId, (epoch) => ({ depositedAssets: epoch.depositedAssets + assets }))
    }
    case 'SubscriptionWithdrawn': {
      const { epochId, assets } = event.args
      return change(epochId, (epoch) => ({ withdrawnAssets: epoch.withdrawnAssets + assets }))
    }
    case 'EpochClosed': {
      const { epochId, scaleRay, postCloseFundingDeadline } = event.args
      const postCloseFundingDeadlineS = Number(postCloseFundingDeadline)
      return change(epochId, () => ({ closed: { atS: timestampS, postCloseFundingDeadlineS, scaleRay } }))
    }
    case 'AcquisitionReserved': {
      const reservationId = String(event.args.reservationId)
      // A bid that is raised in a later epoch belongs to that one.
      const epochs = withoutReservation(fund.epochs, reservationId)
      const epoch = epochs.get(String(event.args.epochId))
      if (epoch === undefined) return { epochs }
      const activeReservations = [...epoch.activeReservations, reservationId]
      return { epochs: new Map(epochs).set(epoch.epochId, { ...epoch, activeReservations }) }
    }
    case 'AcquisitionReleased':
      return { epochs: withoutReservation(fund.epochs, String(event.args.reservationId)) }
    default:
      return null
  }
}

function holdingChange(fund: FundEntry, { event, timestampS }: IndexedLog): Partial<FundEntry> | null {
  const change = (id: bigint, changes: Partial<HoldingEntry>): Partial<FundEntry> => {
    const holding = fund.holdings.get(String(id))
    if (holding === undefined) return {}
    return { holdings: new Map(fund.holdings).set(holding.holdingId, { ...holding, ...changes }) }
  }
  switch (event.eventName) {
    case 'HoldingRecorded': {
      const { holdingId, epochId, reservationId, positionId, amount, transferPriceAssets } = event.args
      const holding: HoldingEntry = {
        holdingId: String(holdingId),
        positionId,
        lane: hexToString(event.args.lane, { size: 32 }),
        status: 'held',
        amount,
        transferPriceAssets,
        acquiredAtS: timestampS,
        marketAddress: lower(event.args.market),
        borrowerAddress: lower(event.args.borrower),
        disposed: null,
      }
      const epochs = withoutReservation(fund.epochs, String(reservationId))
      const epoch = epochs.get(String(epochId))
      return {
        holdings: new Map(fund.holdings).set(holding.holdingId, holding),
        epochs:
          epoch === undefined
            ? epochs
            : new Map(epochs).set(epoch.epochId, { ...epoch, fundedHoldings: epoch.fundedHoldings + 1 }),
      }
    }
    case 'HoldingListed':
      return change(event.args.holdingId, { status: 'listed' })
    case 'HoldingReturned':
      return change(event.args.holdingId, { status: 'held' })
    case 'HoldingDisposed': {
      const { holdingId, proceedsAssets } = event.args
      const { holdings = fund.holdings } = change(holdingId, {
        status: 'disposed',
        disposed: { atS: timestampS, proceedsAssets },
      })
      const kept = [...holdings].filter(([, { disposed }]) => disposed === null)
      const over = [...holdings].filter(([, { disposed }]) => disposed !== null)
      const remembered = new Set([...kept, ...over.slice(-DISPOSED_HOLDINGS_MAX)].map(([id]) => id))
      return { holdings: new Map([...holdings].filter(([id]) => remembered.has(id))) }
    }
    default:
      return null
  }
}

function withoutReservation(epochs: FundEntry['epochs'], reservationId: string): FundEntry['epochs'] {
  const holder = [...epochs.values()].find((epoch) => epoch.activeReservations.includes(reservationId))
  if (holder === undefined) return epochs
  const activeReservations = holder.activeReservations.filter((id) => id !== reservationId)
  return new Map(epochs).set(holder.epochId, { ...holder, activeReservations })
}

const newest = <Entry>(entries: ReadonlyMap<string, Entry>, most: number): ReadonlyMap<string, Entry> =>
  new Map([...entries].slice(-most))

import type { Address, Hex } from 'viem'
import type { PinnedDeployment } from '../../../src/service/contract/deployment.ts'
import type { Answer, Moment } from '../../agent.ts'
import {
  ALLOCATOR_ROLE,
  CURATOR_ROLE,
  marketVaultsView,
  partnerChannelViews,
  vaultOwnerViews,
} from '../../protocol/lending-views.ts'
import type { Wave } from '../../protocol/reading.ts'
import { MANAGER_ROLE } from '../../protocol/recovery.ts'
import { isKnown, lower, type Reader } from '../known.ts'
import type {
  ListingFigures,
  OwnerFigures,
  PartnerChannelFigures,
  PartnerChannelSeen,
  TermFigures,
  VaultRole,
} from '../seen.ts'
import { NOBODY } from './declared-scalars.ts'
import type { DeclaredChannel, DeclaredSettings } from './declared-settings.ts'
import { personOf } from './difference.ts'

type Answers = readonly Answer[]

/** The names that the contract hashes for its roles. */
const ROLE_HASHES: Readonly<Record<VaultRole, Hex>> = {
  allocator: ALLOCATOR_ROLE,
  manager: MANAGER_ROLE,
  curator: CURATOR_ROLE,
}

/** Ask a pinned vault for all that its owner sets and that is declared of it. */
export function askSettings(
  wave: Wave,
  vault: Address,
  declared: DeclaredSettings,
  moment: Moment,
): Reader<OwnerFigures> {
  const asset = wave.ask(vaultOwnerViews, vault, 'asset', [])
  const total = wave.ask(vaultOwnerViews, vault, 'totalAssets', [])
  const owner = wave.ask(vaultOwnerViews, vault, 'owner', [])
  const pending = wave.ask(vaultOwnerViews, vault, 'pendingDefaultAdmin', [])
  const fees = wave.ask(vaultOwnerViews, vault, 'feeConfig', [])
  const routing = wave.ask(vaultOwnerViews, vault, 'routing', [])
  const locked = wave.ask(vaultOwnerViews, vault, 'tighteningLocked', [])
  const terms = askTerms(wave, vault)
  const listings = marketsOf(declared, moment.deployment).map(
    (market) => [market, askListing(wave, vault, market)] as const,
  )
  const roles = accountsOf(declared, moment).map(([role, account]) => {
    const read = wave.ask(vaultOwnerViews, vault, 'hasRole', [ROLE_HASHES[role], account])
    return [`${role}:${account}`, read] as const
  })
  return (answers) => {
    const figures = {
      asset: lower(asset(answers)),
      totalAssets: total(answers),
      owner: lower(owner(answers)),
      offered: pending(answers),
      fees: fees(answers),
      routing: routing(answers)?.map((market) => lower(market)) ?? null,
      terms: terms(answers),
      tighteningLocked: locked(answers),
      listings: allOf(listings, answers),
      roles: allOf(roles, answers),
    }
    if (!isKnown(figures)) return null
    const { offered, ...known } = figures
    const pendingOwner = lower(offered[0])
    return {
      ...known,
      pendingOwner: pendingOwner === NOBODY ? null : pendingOwner,
      fees: {
        ...known.fees,
        recipient: lower(known.fees.recipient),
        curatorRecipient: lower(known.fees.curatorRecipient),
      },
    }
  }
}

function askTerms(wave: Wave, vault: Address): Reader<TermFigures> {
  const buffer = wave.ask(vaultOwnerViews, vault, 'liquidityBufferBps', [])
  const exit = wave.ask(vaultOwnerViews, vault, 'exitTerms', [])
  const min = wave.ask(vaultOwnerViews, vault, 'minDepositAssets', [])
  const max = wave.ask(vaultOwnerViews, vault, 'maxDepositAssets', [])
  return (answers) => {
    const terms = exit(answers)
    const figures = {
      liquidityBufferBps: buffer(answers),
      exitTermKind: terms?.kind ?? null,
      noticeSeconds: terms && Number(terms.noticeSeconds),
      intervalSeconds: terms && Number(terms.intervalSeconds),
      maturityTimestamp: terms && Number(terms.maturityTimestamp),
      minDepositAssets: min(answers),
      maxDepositAssets: max(answers),
    }
    return isKnown(figures) ? figures : null
  }
}

function askListing(wave: Wave, vault: Address, market: Address): Reader<ListingFigures> {
  const listing = wave.ask(vaultOwnerViews, vault, 'listing', [market])
  const vaults = wave.ask(marketVaultsView, market, 'vaults', [])
  const held = wave.ask(marketVaultsView, market, 'allocatedAssets', [vault])
  return (answers) => {
    const [terms, admitted, heldAssets] = [listing(answers), vaults(answers), held(answers)]
    if (terms === null || admitted === null || heldAssets === null) return null
    return { ...terms, heldAssets, admitted: admitted.some((one) => lower(one) === vault) }
  }
}

/** Ask each pinned channel that is declared of any vault. */
export function askChannels(
  wave: Wave,
  declared: readonly DeclaredSettings[],
  moment: Moment,
): (answers: Answers) => readonly PartnerChannelSeen[] {
  const asked = declared
    .flatMap(({ channels }) => channels)
    .flatMap((channel) => {
      const address = moment.deployment.contracts.find(({ name }) => name === channel.channel)?.address
      if (address === undefined) return []
      return [{ name: channel.channel, address, read: askChannel(wave, address, channel, moment) }]
    })
  return (answers) => asked.map(({ read, ...known }) => ({ ...known, figures: read(answers) }))
}

function askChannel(
  wave: Wave,
  channel: Address,
  declared: DeclaredChannel,
  moment: Moment,
): Reader<PartnerChannelFigures> {
  const vault = wave.ask(partnerChannelViews, channel, 'vault', [])
  const reseller = wave.ask(partnerChannelViews, channel, 'reseller', [])
  const curator = wave.ask(partnerChannelViews, channel, 'curator', [])
  const shareClass = wave.ask(partnerChannelViews, channel, 'shareClass', [])
  const resellerFee = wave.ask(partnerChannelViews, channel, 'resellerFeeBps', [])
  const borrowerFee = wave.ask(partnerChannelViews, channel, 'borrowerFeeBps', [])
  const cap = wave.ask(partnerChannelViews, channel, 'capAssets', [])
  const blocked = declared.blocked.map(({ address }) => {
    const account = accountOf(address, channel, moment)
    return [account, wave.ask(partnerChannelViews, channel, 'isBlocked', [account])] as const
  })
  return (answers) => {
    const figures = {
      vault: lower(vault(answers)),
      reseller: lower(reseller(answers)),
      curator: lower(curator(answers)),
      shareClass: shareClass(answers),
      resellerFeeBps: resellerFee(answers),
      borrowerFeeBps: borrowerFee(answers),
      capAssets: cap(answers),
      blocked: allOf(blocked, answers),
    }
    return isKnown(figures) ? figures : null
  }
}

/** The account that a blocked list names: everyone is the channel itself. Pure. */
export const accountOf = (
  address: DeclaredChannel['blocked'][number]['address'],
  channel: Address,
  moment: Moment,
): Address => (address === 'everyone' ? channel : personOf(address, moment))

/** The address of a market by the name that the deployment gives it; undefined where it gives it to none. Pure. */
export const marketNamed = (name: string, { markets }: PinnedDeployment): Address | undefined =>
  markets.find((market) => market.name === name)?.address

const marketsOf = ({ markets }: DeclaredSettings, deployment: PinnedDeployment): readonly Address[] =>
  markets.flatMap(({ market }) => marketNamed(market, deployment) ?? [])

/** Every role that is declared, with what channels need: that we manage the vault, and that their curators are its own. */
function accountsOf(declared: DeclaredSettings, moment: Moment): readonly (readonly [VaultRole, Address])[] {
  const { allocators, managers, curators, channels } = declared
  const of = (role: VaultRole, list: readonly { readonly address: Address | 'self' }[]) =>
    list.map(({ address }) => [role, personOf(address, moment)] as const)
  const all = [
    ...of('allocator', allocators),
    ...of('manager', managers),
    ...of('curator', curators),
    ...(channels.length === 0 ? [] : of('manager', [{ address: 'self' }])),
    ...of(
      'curator',
      channels.map(({ curator }) => ({ address: curator })),
    ),
  ]
  return [...new Map(all.map(([role, account]) => [`${role}:${account}`, [role, account] as const])).values()]
}

/** All that was asked by key; null where one of them is not known. */
function allOf<K, V>(
  asked: readonly (readonly [K, (answers: Answers) => V | null])[],
  answers: Answers,
): ReadonlyMap<K, V> | null {
  const found = new Map<K, V>()
  for (const [key, read] of asked) {
    const value = read(answers)
    if (value === null) return null
    found.set(key, value)
  }
  return found
}

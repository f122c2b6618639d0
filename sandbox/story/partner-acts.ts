import type { WorkflowType } from '../../src/service/contract/workflow-types.ts'
import { roll } from './story.ts'

/** Investors of the story. */
export const INVESTORS = 2

/** What happens at the two channels and at the vault of the weather. `investor` is an index below {@link INVESTORS}. */
export type PartnerAct =
  /** Through a channel: ours, whose vault others own, or the weather's. */
  | {
      readonly act: 'deposit'
      readonly investor: number
      readonly channel: ChannelName
      readonly assets: bigint
    }
  | {
      readonly act: 'redeem'
      readonly investor: number
      readonly channel: ChannelName
      readonly sharesBps: bigint
    }
  /** At the vault itself: shares are bought, a part of them waits in the queue, and the queue is paid. */
  | { readonly act: 'lend'; readonly investor: number; readonly assets: bigint }
  | { readonly act: 'queue'; readonly investor: number; readonly sharesBps: bigint }
  | { readonly act: 'pay'; readonly investor: number }
  /** A part of an investor's shares of the vault goes to the next one: no policy forbids it there. */
  | { readonly act: 'send'; readonly investor: number; readonly sharesBps: bigint }
  /** The owner changes what the vault charges, within its caps. */
  | {
      readonly act: 'charge'
      readonly managementFeeBps: number
      readonly performanceFeeBps: number
    }
  | { readonly act: 'charge borrowers'; readonly borrowerManagerFeeBps: number }
  /** It sets how much the vault may lend to its market, far above what it does. */
  | { readonly act: 'cap'; readonly absoluteCapAssets: bigint }
  /** It lets its partner move the vault's assets for a while, as one who stands in. */
  | { readonly act: 'appoint'; readonly appointed: boolean }
  /** The weather's curator keeps an investor out of its channel for a while. */
  | { readonly act: 'block'; readonly investor: number; readonly blocked: boolean }
  /** It shows the vault's market to its public, or not: a record at the service. */
  | { readonly act: 'list'; readonly listed: boolean }
  /** The partner takes what its channel earned. */
  | { readonly act: 'claim shares' }
  | { readonly act: 'claim assets' }

/** What each act is among the workflow types: what would be prepared by who did it through the service. */
export const WORKFLOW_OF_ACT = {
  deposit: 'role.investor.partnerWrapperDeposit',
  redeem: 'role.investor.partnerWrapperRedeem',
  lend: 'deposit',
  queue: 'role.lender.investorRequestRedeem',
  pay: 'role.lender.investorFulfillRedeem',
  send: 'role.lender.vaultShareMobilityInvestorAction',
  charge: 'role.vault_owner.vaultFeeConfigUpdate',
  'charge borrowers': 'role.vault_owner.vaultCuratorFeeSettingsSave',
  cap: 'role.vault_owner.vaultCuratorCapsSettingsSave',
  appoint: 'role.vault_owner.vaultAllocatorUpdate',
  block: 'role.curator.partnerChannelBlockedUpdate',
  list: 'role.curator.vaultMarketListingSave',
  'claim shares': 'role.partner.partnerFeeSharesClaim',
  'claim assets': 'role.partner.partnerBorrowerFeeClaim',
} as const satisfies Readonly<Record<PartnerAct['act'], WorkflowType>>

type ChannelName = 'partnerChannel' | 'weatherChannel'

/** Of sUSD, in base units. */
const whole = (dollars: number): bigint => BigInt(dollars) * 10n ** 6n

/** An investor comes and leaves once in so many ticks, the next one half a round later. */
const INVESTOR_TICKS = 40
/** The owner and the partner have more time. */
const OWNER_TICKS = 60

/**
 * Work out what partners, investors, the owner and the curator do in a tick. Pure, and in any order: a tick depends on nothing but the seed
 * and itself. Within the first minute there is something of everything.
 */
export function partnerActs(seed: number, tick: number): readonly PartnerAct[] {
  return [
    ...Array.from({ length: INVESTORS }, (_, investor) => investorActs(seed, tick, investor)).flat(),
    ...ownerActs(seed, tick),
  ]
}

function investorActs(seed: number, tick: number, investor: number): readonly PartnerAct[] {
  const own = tick + (investor * INVESTOR_TICKS) / INVESTORS
  const round = Math.floor(own / INVESTOR_TICKS)
  const chance = (what: string) => roll(seed, 'investor', investor, round, what)
  const between = (what: string, least: number, most: number) =>
    Math.round(least + (most - least) * chance(what))
  const channel = chance('channel') < 0.5 ? 'partnerChannel' : 'weatherChannel'
  switch (own % INVESTOR_TICKS) {
    case 5:
      return [{ act: 'deposit', investor, channel, assets: whole(between('in', 1_000, 20_000)) }]
    case 10:
      return [{ act: 'lend', investor, assets: whole(between('lent', 2_000, 10_000)) }]
    case 15:
      return [{ act: 'queue', investor, sharesBps: BigInt(between('queued', 500, 2_000)) }]
    case 21:
      return [{ act: 'pay', investor }]
    case 25:
      return [{ act: 'redeem', investor, channel, sharesBps: BigInt(between('out', 1_000, 6_000)) }]
    case 30:
      return [{ act: 'send', investor, sharesBps: BigInt(between('sent', 100, 500)) }]
    default:
      return []
  }
}

function ownerActs(seed: number, tick: number): readonly PartnerAct[] {
  const round = Math.floor(tick / OWNER_TICKS)
  const between = (what: string, least: number, most: number) =>
    Math.round(least + (most - least) * roll(seed, 'owner', round, what))
  const kept = between('kept out', 0, INVESTORS - 1)
  // No investor acts in the ticks of a block: what one does follows from the chain before the tick.
  switch (tick % OWNER_TICKS) {
    case 7:
      return [{ act: 'cap', absoluteCapAssets: whole(between('cap', 8_000_000, 12_000_000)) }]
    case 12: {
      const managementFeeBps = between('management', 50, 150)
      return [{ act: 'charge', managementFeeBps, performanceFeeBps: between('performance', 500, 1_500) }]
    }
    case 18:
      return [{ act: 'claim shares' }]
    case 22:
      return [{ act: 'appoint', appointed: true }]
    case 27:
      return [{ act: 'list', listed: false }]
    case 32:
      return [{ act: 'appoint', appointed: false }]
    case 37:
      return [{ act: 'list', listed: true }]
    case 42:
      return [{ act: 'charge borrowers', borrowerManagerFeeBps: between('borrowers', 200, 800) }]
    case 43:
      return [{ act: 'block', investor: kept, blocked: true }]
    case 48:
      return [{ act: 'claim assets' }]
    case 53:
      return [{ act: 'block', investor: kept, blocked: false }]
    default:
      return []
  }
}

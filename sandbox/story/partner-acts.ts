import { roll } from './story.ts'

/** Investors of the story. */
const INVESTORS = 2

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
  /** The owner changes what the vault charges, within its caps. */
  | {
      readonly act: 'charge'
      readonly managementFeeBps: number
      readonly performanceFeeBps: number
    }
  | { readonly act: 'charge borrowers'; readonly borrowerManagerFeeBps: number }
  /** The weather's curator keeps an investor out of its channel for a while. */
  | { readonly act: 'block'; readonly investor: number; readonly blocked: boolean }
  /** It shows the vault's market to its public, or not: a record at the service. */
  | { readonly act: 'list'; readonly listed: boolean }
  /** The partner takes what its channel earned. */
  | { readonly act: 'claim shares' }
  | { readonly act: 'claim assets' }

type ChannelName = 'partnerChannel' | 'weatherChannel'

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
  const whole = (dollars: number) => BigInt(dollars) * 10n ** 6n
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
    case 12: {
      const managementFeeBps = between('management', 50, 150)
      return [{ act: 'charge', managementFeeBps, performanceFeeBps: between('performance', 500, 1_500) }]
    }
    case 18:
      return [{ act: 'claim shares' }]
    case 27:
      return [{ act: 'list', listed: false }]
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

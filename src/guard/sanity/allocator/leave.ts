import type { Address } from 'viem'
import type { z } from 'zod'
import { type Refusal, refuse } from '../../../errors.ts'
import type { PinnedMarket } from '../../../service/contract/deployment.ts'
import { EXIT_TERM_KINDS } from '../../../service/contract/workflow-inputs.ts'
import { bps, seconds } from '../../../service/contract/yaml-scalars.ts'
import type { Reads } from '../../reads/views.ts'
import { askBadDebt } from '../bad-debt.ts'
import { unread } from '../judgement.ts'
import { checkUsable, priceView } from '../price.ts'
import { exitTermsView, listingView, marketPausedView } from './views.ts'

/** Members of the allocator's `guard.sanity` by which a market may be left for good. */
export const leavingLimits = {
  /** Oldest price of a market that is supplied or stays, by the oracle's own source time. */
  priceAgeSMax: seconds(1, 86_400).transform(BigInt),
  /** Bad debt in parts of what is supplied: up to this no market is left for it. */
  badDebtBpsMax: bps().transform(BigInt),
  /** From this long before its maturity a vault may take everything back. */
  maturityLeadS: seconds(0, 31_536_000).transform(BigInt),
}
type LeavingLimits = Readonly<z.output<z.ZodObject<typeof leavingLimits>>>

const MATURITY = BigInt(EXIT_TERM_KINDS.indexOf('maturity'))

/** Ask the chain for what a vault would leave markets for: what is wrong with each, or that the vault matures. */
export const askLeaving = (
  reads: Reads,
  vault: Address,
  markets: readonly PinnedMarket[],
  { badDebtBpsMax }: LeavingLimits,
) => ({
  terms: reads.ask(exitTermsView(vault)),
  markets: markets.map(({ address, oracle }) => ({
    address,
    listing: reads.ask(listingView(vault, address)),
    paused: reads.ask(marketPausedView(address)),
    isBadDebt: askBadDebt(reads, address, badDebtBpsMax),
    price: reads.ask(priceView(oracle)),
  })),
})

/**
 * Demand that the chain shows why each market is left: the vault lists it no longer or matures, it is paused, its bad debt is
 * past the limit, or its oracle gives no price that may be used. A row of the service's is no reason. Pure.
 */
export function checkLeaving(
  { terms, markets }: ReturnType<typeof askLeaving>,
  { priceAgeSMax, maturityLeadS }: LeavingLimits,
  timestampS: number,
): Refusal | null {
  const exit = terms()
  if (exit === null) return unread('how the vault’s holders leave')
  if (exit.kind === MATURITY && exit.maturityTimestamp - maturityLeadS <= BigInt(timestampS)) return null
  for (const market of markets) {
    const [listing, isPaused, isBadDebt, price] = [
      market.listing(),
      market.paused(),
      market.isBadDebt(),
      market.price(),
    ]
    if (listing === null || isPaused === null || isBadDebt === null || price === null) {
      return unread('a market that is left')
    }
    const isUsable = checkUsable(price, priceAgeSMax, timestampS) === null
    if (listing.approved && !isPaused && !isBadDebt && isUsable) {
      return refuse('no_trouble', `Nothing is wrong with ${market.address} on chain: it is not left.`)
    }
  }
  return null
}

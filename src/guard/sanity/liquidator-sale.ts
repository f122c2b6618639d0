import { type Address, parseAbi } from 'viem'
import { z } from 'zod'
import { invariant, type Refusal, refuse } from '../../errors.ts'
import type { PinnedMarket } from '../../service/contract/deployment.ts'
import { bps, contractName } from '../../service/contract/yaml-scalars.ts'
import { amountText, percent } from '../../units.ts'
import type { Subject } from '../policy/conditions.ts'
import { asAddress, asUint } from '../policy/values.ts'
import { balanceView, createView, uint, type View } from '../views.ts'
import { type About, type Judgement, marketOf, type SanityCheck, unread } from './judgement.ts'
import { checkDecided, checkUsable, PRICE_VIEWS, priceView } from './price.ts'
import { BPS, unitOf, WAD } from './units.ts'

/** What a venue says that it would pay for so much of a token. */
const QUOTE_VIEWS = parseAbi([
  'function quote(address tokenIn, uint256 assetsIn) view returns (uint256 assetsOut)',
])
const view = createView(QUOTE_VIEWS)

/** Read a venue's quote, base units of the loan asset. */
const quoteView = (venue: Address, token: Address, assets: bigint): View<bigint> =>
  view('quote', venue, [token, assets], uint)

/** Members of `guard.sanity` about sales. */
export const saleLimits = {
  /** Where a collateral may be sold for a loan asset, `sBTC/sUSD`, by the name of the contract in the deployment. */
  exits: z
    .record(z.string().regex(/^[^/]+\/[^/]+$/, 'expected "collateral/loan" symbols'), contractName)
    .default({}),
  /** How far below the oracle's worth, and below the venue's own quote, a sale may insist on. */
  exitDiscountBpsMax: bps(0, 9_999).default(200).transform(BigInt),
}

/** The limits of a sale, and those of its price. */
export type SaleLimits = {
  readonly exits: Readonly<Record<string, string>>
  readonly exitDiscountBpsMax: bigint
  readonly priceAgeSMax: bigint
  readonly priceDivergenceBpsMax: bigint
}

/**
 * What a sale may lose: at least the rest of its worth comes in within the same call, or it reverts. By the bound of the
 * discount alone, so that it is known before the chain is asked. Pure.
 */
function lossOf(subject: Omit<Subject, 'deadlineS'>, { exitDiscountBpsMax: discount }: SaleLimits) {
  const least = asUint(subject.input.minLoanAssets) ?? 0n
  const rest = BPS - discount
  return { token: marketOf(subject).loanAsset, assets: (least * discount + rest - 1n) / rest }
}

/**
 * Judge a sale by chain reads: at a venue that the policy names for the pair, of what we hold, for no less than the policy's
 * part of what the market's oracle says it is worth, and of what the venue itself quotes; and that so much really comes in.
 */
function judgeSale(limits: SaleLimits, { subject, proposal, before }: About): Judgement {
  const { input, self, deployment } = subject
  const market = marketOf(subject)
  const venue = asAddress(input.venueAddress)
  const [assets, least] = [asUint(input.assets) ?? 0n, asUint(input.minLoanAssets) ?? 0n]
  invariant(venue !== undefined, 'a sale names its venue')
  const oracle = before.ask(priceView(market.oracle))
  const quote = before.ask(quoteView(venue, market.collateralAsset, assets))
  const balance = before.ask(balanceView(market.collateralAsset, self))
  const sold = (amount: bigint) => amountText(amount, market.collateralAsset, deployment)
  const paid = (amount: bigint) => amountText(amount, market.loanAsset, deployment)

  const checkHeld = (): Refusal | null => {
    const held = balance()
    if (held === null) return unread('our balance')
    if (assets > 0n && held >= assets) return null
    return refuse('insufficient_balance', `We hold ${sold(held)}; ${sold(assets)} are to be sold.`)
  }
  const checkLeast = (priceWad: bigint): Refusal | null => {
    const quoted = quote()
    const unit = unitOf(market.collateralAsset, deployment)
    const loanUnit = unitOf(market.loanAsset, deployment)
    if (unit === null || loanUnit === null) return unread('what is sold')
    if (quoted === null) return unread('the venue’s quote')
    if (quoted === 0n) {
      return refuse('venue_without_depth', `The venue ${venue} pays nothing for ${sold(assets)}.`)
    }
    const worth = (assets * priceWad * loanUnit) / (WAD * unit)
    const [most, by] = worth > quoted ? [worth, 'the oracle'] : [quoted, 'its own quote']
    const wanted = (most * (BPS - limits.exitDiscountBpsMax) + BPS - 1n) / BPS
    if (least >= wanted) return null
    return refuse(
      'sale_too_cheap',
      `The call insists on ${paid(least)} for ${sold(assets)}; by ${by} they bring ${paid(most)}, and guard.sanity.exitDiscountMax allows ${percent(limits.exitDiscountBpsMax)} less.`,
    )
  }
  return {
    checkState: (timestampS) => {
      const price = oracle()
      if (price === null) return unread('the oracle')
      return (
        checkVenue(venue, market, limits, subject) ??
        checkUsable(price, limits.priceAgeSMax, timestampS) ??
        checkDecided(price, proposal, limits.priceDivergenceBpsMax, { market, deployment }) ??
        checkHeld() ??
        checkLeast(price.priceWad)
      )
    },
    checkOutcome: ({ changeOf }) => {
      const came = changeOf(market.loanAsset)
      if (came >= least) return null
      return refuse(
        'quote_not_kept',
        `The venue quotes ${paid(quote() ?? 0n)} for ${sold(assets)}; ${paid(came)} would come in, and ${paid(least)} must.`,
      )
    },
  }
}

/** Refuse a venue that the policy does not name for the pair. */
function checkVenue(
  venue: Address,
  { collateralAsset, loanAsset }: PinnedMarket,
  { exits }: SaleLimits,
  { deployment }: Subject,
): Refusal | null {
  const symbols = [collateralAsset, loanAsset].map(
    (token) => deployment.assets.find(({ address }) => address === token)?.symbol,
  )
  const pair = symbols.join('/')
  const named = deployment.contracts.find(({ name }) => name === exits[pair])
  if (named?.address === venue) return null
  return refuse(
    'exit_not_named',
    `The sale goes to ${venue}; guard.sanity.exits names ${named === undefined ? 'none that is pinned' : `${named.name}, ${named.address},`} for ${pair}. Fix: name the venue there as in strategy.exits, and pin it in deployment.contracts.`,
  )
}

/** The judgement of sales under these limits. Pure. */
export const saleCheck = (limits: SaleLimits): SanityCheck => ({
  views: [...QUOTE_VIEWS, ...PRICE_VIEWS],
  relies: ['venueAddress', 'assets', 'minLoanAssets'],
  callee: 'venueAddress',
  revalidations: ['intent_not_expired'],
  loses: (subject) => lossOf(subject, limits),
  judge: (about) => judgeSale(limits, about),
})

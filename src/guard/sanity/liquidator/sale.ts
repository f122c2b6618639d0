import { type Address, parseAbi } from 'viem'
import { z } from 'zod'
import { invariant, type Refusal, refuse } from '../../../errors.ts'
import type { Deployment, PinnedMarket } from '../../../service/contract/deployment.ts'
import {
  bps,
  byToken,
  contractName,
  pair,
  positiveAssets,
  settings,
} from '../../../service/contract/yaml-scalars.ts'
import { amountText, type Denomination, percent } from '../../../units.ts'
import type { Subject } from '../../policy/references.ts'
import type { SentAtOnce } from '../../policy/sent-at-once.ts'
import { asAddress, asUint } from '../../policy/values.ts'
import { balanceView, createView, uint, type View } from '../../reads/views.ts'
import { type JudgedCase, type Judgement, marketOf, type SanityCheck, unread } from '../judgement.ts'
import { checkDecided, checkUsable, PRICE_VIEWS, priceView } from '../price.ts'
import { askSecondPrice, referenceLimit } from '../second-price.ts'
import { BPS, unitOf, WAD } from '../units.ts'

/** What a venue says that it would pay for so much of a token. */
const QUOTE_VIEWS = parseAbi([
  'function quote(address tokenIn, uint256 assetsIn) view returns (uint256 assetsOut)',
])
const view = createView(QUOTE_VIEWS)

/** Read a venue's quote, base units of the loan asset. */
const quoteView = (venue: Address, token: Address, assets: bigint): View<bigint> =>
  view('quote', venue, [token, assets], uint)

/** Members of `guard.sanity` about sales. */
export const saleLimits = (pinned: readonly Denomination[]) => ({
  /** Where a collateral may be sold for a loan asset, by pair. */
  exits: byToken(pinned, z.record(pair, exit(pinned)).default({})),
  /** How far below the oracle's worth, and below the venue's own quote, a sale may insist on. */
  exitDiscountBpsMax: bps(0, 9_999).default(200).transform(BigInt),
})

const exit = (pinned: readonly Denomination[]) =>
  settings({
    /** A name in deployment.contracts. */
    venue: contractName,
    ...referenceLimit,
    /** Most that one sale sends there, base units: a venue that pays only in a simulation keeps so much. */
    saleAssetsMax: positiveAssets(pinned),
  })
type Exit = z.output<ReturnType<typeof exit>>

/** The limits of a sale, and those of its price. */
export type SaleLimits = {
  readonly exits: Readonly<Record<string, Exit>>
  readonly exitDiscountBpsMax: bigint
  readonly priceAgeSMax: bigint
  readonly priceDivergenceBpsMax: bigint
}

/** Name the venues that the limits of sales name. Pure. */
export const venuesOf = (exits: SaleLimits['exits']): readonly (readonly [string, string])[] =>
  Object.entries(exits).map(([pair, { venue }]) => [`exits.${pair}.venue`, venue])

/** Say what one sale sends to each venue at most. Pure. */
export const sentTo = (exits: SaleLimits['exits']): readonly SentAtOnce[] =>
  Object.entries(exits).map(([pair, { saleAssetsMax: assets }]) => ({
    place: `exits.${pair}.saleMax`,
    symbol: pair.split('/')[0] ?? '',
    assets,
  }))

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
 * Judge a sale by chain reads: at a venue that the policy names for the pair, of what we hold and no more than the policy
 * sends there at a time, for no less than its part of what the market's oracle says it is worth and a second source bears out,
 * and of what the venue itself quotes; and that so much really comes in.
 */
function judgeSale(limits: SaleLimits, about: JudgedCase): Judgement {
  const { subject, proposal, before } = about
  const { input, self, deployment } = subject
  const market = marketOf(subject)
  const venue = asAddress(input.venueAddress)
  const [assets, least] = [asUint(input.assets) ?? 0n, asUint(input.minLoanAssets) ?? 0n]
  invariant(venue !== undefined, 'a sale names its venue')
  const named = exitOf(market, limits, deployment)
  const assetsOfExit = named.exit === undefined ? {} : { [named.symbol]: named.exit }
  const checkSecond = askSecondPrice({ ...limits, assets: assetsOfExit }, about)
  const oracle = before.ask(priceView(market.oracle))
  const quote = before.ask(quoteView(venue, market.collateralAsset, assets))
  const balance = before.ask(balanceView(market.collateralAsset, self))
  const sold = (amount: bigint) => amountText(amount, market.collateralAsset, deployment)
  const paid = (amount: bigint) => amountText(amount, market.loanAsset, deployment)

  const checkHeld = (): Refusal | null => {
    const held = balance()
    if (held === null) return unread('our balance')
    if (named.exit !== undefined && assets > named.exit.saleAssetsMax) {
      return refuse(
        'sale_above_limit',
        `${sold(assets)} are to be sold at once; guard.sanity.exits allows ${sold(named.exit.saleAssetsMax)} for ${named.pair}.`,
      )
    }
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
        checkVenue(venue, named, subject) ??
        checkUsable(price, limits.priceAgeSMax, timestampS) ??
        checkSecond(market.collateralAsset, price, market, timestampS) ??
        checkDecided(price, proposal, limits.priceDivergenceBpsMax, { market, deployment }) ??
        checkHeld() ??
        checkLeast(price.priceWad)
      )
    },
    checkOutcome: ({ changeOf }) => {
      const proceeds = changeOf(market.loanAsset)
      if (proceeds >= least) return null
      return refuse(
        'quote_not_kept',
        `The venue quotes ${paid(quote() ?? 0n)} for ${sold(assets)}; ${paid(proceeds)} would come in, and ${paid(least)} must.`,
      )
    },
  }
}

/** What the policy says of where a market's collateral is sold. */
type SaleRoute = { readonly pair: string; readonly symbol: string; readonly exit: Exit | undefined }

function exitOf(
  { collateralAsset, loanAsset }: PinnedMarket,
  { exits }: SaleLimits,
  { assets }: Pick<Deployment, 'assets'>,
): SaleRoute {
  const symbolOf = (token: Address) => assets.find(({ address }) => address === token)?.symbol ?? token
  const pair = `${symbolOf(collateralAsset)}/${symbolOf(loanAsset)}`
  return { pair, symbol: symbolOf(collateralAsset), exit: exits[pair] }
}

/** Refuse a venue that the policy does not name for the pair. */
function checkVenue(venue: Address, { pair, exit }: SaleRoute, { deployment }: Subject): Refusal | null {
  const named = deployment.contracts.find(({ name }) => name === exit?.venue)
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

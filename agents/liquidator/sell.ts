import { native } from '../../src/readable.js'
import type { Proposal } from '../../src/workflow/proposal.ts'
import { type Observation, type PassedOver, passOver } from '../agent.ts'
import { BPS, ceilDiv, collateralValue, tokenUnit } from '../protocol/health.ts'
import { percent, tokens } from '../protocol/text.ts'
import { saleGain } from './experience.ts'
import type { Funds } from './funds.ts'
import type { OpenMarket, Stop } from './market.ts'
import type { LiquidatorPolicy } from './policy.ts'
import type { BackOffs } from './races.ts'
import type { ExitSeen, LiquidatorSeen } from './seen.ts'

/** Name the sale of what a market's liquidations bring, as workflows and `explain` do. Pure. */
export const exitSubject = ({ marketAddress }: Pick<ExitSeen, 'marketAddress'>): string =>
  `exit:${marketAddress}`

/** What is under way, what is left alone for now, and what is left to spend. */
type SaleState = {
  readonly busy: ReadonlySet<string>
  readonly backOffs: Pick<BackOffs, 'subjects'>
  readonly funds: Funds
}

/**
 * Propose to sell of a collateral as much as its venue takes within the policy's discount from the oracle's worth, slippage
 * and gas counted, the rest later; or say why not. Null where nothing is held. Takes its gas from `funds`; otherwise pure.
 */
export function sell(
  exit: ExitSeen,
  market: OpenMarket | Stop | undefined,
  seen: Observation<LiquidatorSeen>,
  policy: LiquidatorPolicy,
  { busy, backOffs, funds }: SaleState,
): Proposal | PassedOver | null {
  const { pair, contract, venue, held, quotes } = exit
  if (held === 0n) return null
  const subject = exitSubject(exit)
  const stop = (check: string, message: string) =>
    passOver(subject, { check, message, reason: { heldCollateralAssets: String(held) } })
  if (venue === null) {
    return stop(
      'exit_not_pinned',
      `${contract} sells ${pair} and is not pinned. Fix: add it to deployment.contracts.`,
    )
  }
  if (busy.has(subject)) return stop('already_in_flight', 'A workflow of ours sells of it already.')
  const backOff = backOffs.subjects.get(subject)
  if (backOff !== undefined) {
    const until = new Date(backOff.untilMs).toISOString()
    return stop('sale_failed', `${backOff.losses} sales in a row failed; left alone until ${until}.`)
  }
  if (market === undefined) return stop('market_not_seen', 'The service does not list its market.')
  if ('check' in market) return passOver(subject, market)
  // Nobody knows which part of it was seized: what debts are repaid with would be sold at the discount.
  if (seen.markets.some(({ loanAsset }) => loanAsset === market.collateralAsset)) {
    const message = `${market.collateralSymbol} repays debts of another market. Fix: take ${pair} out of strategy.exits.`
    return stop('exit_of_loan_asset', message)
  }
  if (funds.nativeWei < funds.sale.reserveWei) {
    const message = `Selling needs ${native(funds.sale.reserveWei)} for gas; ${native(funds.nativeWei)} are left. Fix: send native coin to ${seen.signer}.`
    return stop('out_of_funds', message)
  }
  const usable = quotes.filter(({ assets, loanAssets }) => assets <= held && loanAssets !== null)
  if (usable.length === 0)
    return stop('exit_not_quoted', `${contract} has not said yet what it pays for ${pair}.`)
  const gas = ceilDiv(funds.sale.usdMicros * tokenUnit(market.loanDecimals), market.loanPriceUsdMicros)
  const sizes = usable.map(({ assets, loanAssets }) => {
    const [quoted, worth] = [loanAssets ?? 0n, collateralValue(assets, market.price)]
    return { assets, quoted, worth, least: leastOf(quoted, worth, policy) }
  })
  const best = sizes.find(({ worth, least }) => least > 0n && least - gas >= floorOf(worth, policy))
  const sold = (assets: bigint) => tokens(assets, market.collateralDecimals, market.collateralSymbol)
  const paid = (assets: bigint) => tokens(assets, market.loanDecimals, market.loanSymbol)
  if (best === undefined) {
    const least = sizes.at(-1)
    const quoteText =
      least === undefined
        ? ''
        : ` ${contract} pays ${paid(least.quoted)} for ${sold(least.assets)}, worth ${paid(least.worth)};`
    return stop(
      'exit_without_depth',
      `${quoteText} less ${percent(BigInt(policy.exitSlippageBps))} of slippage and gas that is more than exitDiscountMax, ${percent(BigInt(policy.exitDiscountBpsMax))}, below.`.trim(),
    )
  }
  funds.nativeWei -= funds.sale.reserveWei
  return proposalOf(
    exit,
    venue,
    best,
    market,
    seen,
    policy,
    `sell ${sold(best.assets)} of ${sold(held)} at ${contract} for at least ${paid(best.least)}`,
  )
}

/**
 * What a sale insists on: the quote less slippage, and no more than the oracle's worth while that is within the discount of
 * the quote. A venue that pays more than the oracle is about to be traded down to it, and what insists on more would revert.
 */
function leastOf(quoted: bigint, worth: bigint, policy: LiquidatorPolicy): bigint {
  const wanted = (quoted * (BPS - BigInt(policy.exitSlippageBps))) / BPS
  if (wanted <= worth) return wanted
  const floor = floorOf(quoted, policy)
  return worth > floor ? worth : floor
}

const floorOf = (most: bigint, { exitDiscountBpsMax }: LiquidatorPolicy): bigint =>
  ceilDiv(most * (BPS - BigInt(exitDiscountBpsMax)), BPS)

type Size = {
  readonly assets: bigint
  readonly quoted: bigint
  readonly worth: bigint
  readonly least: bigint
}

function proposalOf(
  exit: ExitSeen,
  venue: `0x${string}`,
  { assets, quoted, worth, least }: Size,
  market: OpenMarket,
  { balances }: Observation<LiquidatorSeen>,
  policy: LiquidatorPolicy,
  summary: string,
): Proposal {
  const { loanAsset, collateralAsset, loanDecimals, loanPriceUsdMicros, price } = market
  const usdOf = (loan: bigint) => ceilDiv(loan * loanPriceUsdMicros, tokenUnit(loanDecimals))
  const discount = BigInt(policy.exitDiscountBpsMax)
  const expectation = saleGain(market, { assets, quoted }, policy)
  return {
    workflowType: 'own.liquidator.sell',
    kind: 'sell',
    subject: exitSubject(exit),
    // Both balances change with every sale; while they do not, it is the same sale tried again.
    occurrence: `${exit.held}:${balances[loanAsset] ?? 0n}`,
    input: {
      marketAddress: exit.marketAddress,
      venueAddress: venue,
      assets: String(assets),
      minLoanAssets: String(least),
    },
    // What leaves is paid for in the same call or it reverts: in the budgets it counts as what it may lose.
    exposure: {
      token: collateralAsset,
      assets,
      usdMicros: usdOf(ceilDiv(least * discount, BPS - discount)),
    },
    // Its gas counts towards the discount as well.
    worthUsdMicros: usdOf((worth * discount) / BPS),
    ...(expectation === undefined ? {} : { said: expectation }),
    summary,
    reason: {
      priceWad: String(price.priceWad),
      heldCollateralAssets: String(exit.held),
      quotedAssets: String(quoted),
      worthAssets: String(worth),
    },
  }
}

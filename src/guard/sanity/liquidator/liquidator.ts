import { type Address, maxUint256 } from 'viem'
import type { z } from 'zod'
import { invariant, type Refusal, refuse } from '../../../errors.ts'
import { usd } from '../../../readable.js'
import type { Deployment, PinnedContract, PinnedMarket } from '../../../service/contract/deployment.ts'
import { nativePrice } from '../../../service/contract/native-price.ts'
import { bps, settings, usdMicros } from '../../../service/contract/yaml-scalars.ts'
import { amountText, type Denomination, decimal, percent } from '../../../units.ts'
import type { Proposal } from '../../../workflow/proposal.ts'
import type { Subject } from '../../policy/references.ts'
import { asAddress, asUint } from '../../policy/values.ts'
import { balanceView } from '../../reads/views.ts'
import { type JudgedCase, type Judgement, marketOf, type RoleSanity, unread } from '../judgement.ts'
import { askNativePrice } from '../native-price.ts'
import { checkDecided, checkUsable, PRICE_VIEWS, priceLimits, priceView } from '../price.ts'
import { referencesOf } from '../second-price.ts'
import { BPS, unitOf, WAD } from '../units.ts'
import { askInventory, inventoryLimits } from './inventory.ts'
import { saleCheck, saleLimits, sentTo, venuesOf } from './sale.ts'
import { judgeSettlement } from './settlement.ts'
import {
  bonusView,
  CLAIM_VIEWS,
  closeFactorView,
  collateralView,
  debtView,
  healthView,
  LIQUIDATION_VIEWS,
  pausedView,
} from './views.ts'

const liquidationLimits = (pinned: readonly Denomination[]) =>
  settings({
    ...priceLimits,
    inventoryAssetsMax: inventoryLimits(pinned),
    /** Least part of our own computed seizure that the call must insist on. */
    minCollateralBps: bps(1).transform(BigInt),
    nativePriceUsdMicros: nativePrice(),
    /** Most of the bonus, at the least that the call takes, that its gas may cost. */
    gasShareBps: bps(1, 10_000).prefault('90 %').transform(BigInt),
    /** Least bonus left after gas at the fee offered, if no more comes in than the call insists on. */
    profitUsdMicrosMin: usdMicros(),
    ...saleLimits(pinned),
  })
type LiquidationLimits = z.output<ReturnType<typeof liquidationLimits>>

const amountOf = (subject: Subject, member: string): bigint => asUint(subject.input[member]) ?? 0n

/** What a request of a liquidation asks for. */
type Liquidation = {
  readonly market: PinnedMarket
  readonly vault: PinnedContract
  readonly borrower: Address
  readonly self: Address
  /** Base units of the loan asset. */
  readonly repay: bigint
  /** Base units of collateral, below which the call reverts. */
  readonly minCollateral: bigint
  readonly proposal: Proposal
  readonly deployment: Deployment
}

function liquidationOf({ subject, proposal }: JudgedCase): Liquidation {
  const { vault, self, input, deployment } = subject
  const borrower = asAddress(input.borrowerAddress)
  invariant(vault !== null && borrower !== undefined, 'a liquidation names its vault and its borrower')
  const repay = amountOf(subject, 'repayAssets')
  const minCollateral = amountOf(subject, 'minCollateralAssets')
  return { market: marketOf(subject), vault, borrower, self, repay, minCollateral, proposal, deployment }
}

type LiquidationReads = ReturnType<typeof askLiquidation>

const askLiquidation = ({ market, vault, borrower, self }: Liquidation, { before }: JudgedCase) => ({
  health: before.ask(healthView(market.address, borrower)),
  debt: before.ask(debtView(market.address, vault.address, borrower)),
  collateral: before.ask(collateralView(market.address, borrower)),
  closeFactor: before.ask(closeFactorView(market.address)),
  bonus: before.ask(bonusView(market.address)),
  paused: before.ask(pausedView(market.address)),
  oracle: before.ask(priceView(market.oracle)),
  balance: before.ask(balanceView(market.loanAsset, self)),
})

/**
 * Judge a liquidation by chain reads: the position is really unhealthy, the price fresh and the one decided on, the
 * repayment within the close factor and our balance, and what we insist on close to what is due. It shares no
 * arithmetic with the agent, so that one mistake cannot pass twice.
 */
function judgeLiquidation(limits: LiquidationLimits, about: JudgedCase): Judgement {
  const liquidation = liquidationOf(about)
  const reads = askLiquidation(liquidation, about)
  const native = askNativePrice(limits.nativePriceUsdMicros, about)
  const inventory = askInventory(limits.inventoryAssetsMax, about, liquidation.market)
  return {
    checkState: (timestampS) =>
      checkMarket(liquidation, reads, limits, timestampS) ??
      checkRepayment(liquidation, reads) ??
      checkMinimum(liquidation, reads, limits),
    checkOutcome: ({ timestampS, gasWei }) =>
      checkProfit(liquidation, reads, limits, gasWei, native(timestampS)) ?? inventory.check(),
    gasWeiMax: (timestampS) =>
      (leastBonus(liquidation, reads) * limits.gasShareBps * WAD) / (BPS * native(timestampS)),
    holdings: inventory.holdings,
  }
}

function checkMarket(
  { proposal, market, deployment }: Liquidation,
  { paused, oracle }: LiquidationReads,
  limits: LiquidationLimits,
  timestampS: number,
): Refusal | null {
  const isPaused = paused()
  if (isPaused === null) return unread('the market’s pause')
  if (isPaused) return refuse('market_paused', 'The market is paused.')
  const price = oracle()
  if (price === null) return unread('the oracle')
  return (
    checkUsable(price, limits.priceAgeSMax, timestampS) ??
    checkDecided(price, proposal, limits.priceDivergenceBpsMax, { market, deployment })
  )
}

/** Who owes nothing has the largest health that there is. */
const healthText = (healthWad: bigint): string =>
  healthWad === maxUint256 ? 'that of a borrower without debt' : decimal(healthWad / 10n ** 12n, 6)

/** Demand an unhealthy position, and a repayment that it allows and we can pay. */
function checkRepayment(
  { repay, market, deployment }: Liquidation,
  { health, debt, closeFactor, balance }: LiquidationReads,
): Refusal | null {
  const loan = (assets: bigint) => amountText(assets, market.loanAsset, deployment)
  const [healthWad, owed, factorBps, funds] = [health(), debt(), closeFactor(), balance()]
  if (healthWad === null) return unread('the health factor')
  if (healthWad >= WAD) {
    return refuse(
      'position_healthy',
      `The health factor is ${healthText(healthWad)}, not below 1: somebody was first, or the price moved.`,
    )
  }
  if (owed === null || factorBps === null) return unread('the debt and the close factor')
  const limit = (owed * factorBps + BPS - 1n) / BPS
  if (repay === 0n || repay > limit) {
    return refuse(
      'repay_above_close_factor',
      `The repayment is ${loan(repay)}; the close factor allows ${loan(limit)}.`,
    )
  }
  if (funds === null) return unread('our balance')
  if (funds >= repay) return null
  return refuse('insufficient_balance', `We hold ${loan(funds)}; the repayment is ${loan(repay)}.`)
}

/** What is due for the repayment, and what the call insists on is worth in the loan asset; base units. Null when not known. */
function dueFor(
  { market, repay, minCollateral, deployment }: Liquidation,
  { collateral, bonus, oracle }: LiquidationReads,
): { readonly seize: bigint; readonly leastWorth: bigint } | null {
  const [held, bonusBps, price] = [collateral(), bonus(), oracle()]
  const [loanUnit, collateralUnit] = [
    unitOf(market.loanAsset, deployment),
    unitOf(market.collateralAsset, deployment),
  ]
  if (held === null || bonusBps === null || price === null || price.priceWad === 0n) return null
  if (loanUnit === null || collateralUnit === null) return null
  // Loan base units for one base unit of collateral, as a fraction.
  const above = price.priceWad * loanUnit
  const below = WAD * collateralUnit
  const wanted = (repay * (BPS + bonusBps) * below) / (BPS * above)
  const seize = wanted < held ? wanted : held
  return { seize, leastWorth: (minCollateral * above) / below }
}

function checkMinimum(
  liquidation: Liquidation,
  reads: LiquidationReads,
  { minCollateralBps }: LiquidationLimits,
): Refusal | null {
  const due = dueFor(liquidation, reads)
  if (due === null) return unread('what would be seized')
  const least = (due.seize * minCollateralBps) / BPS
  if (liquidation.minCollateral >= least) return null
  const { market, deployment } = liquidation
  const seized = (assets: bigint) => amountText(assets, market.collateralAsset, deployment)
  return refuse(
    'min_collateral_too_low',
    `The call insists on ${seized(liquidation.minCollateral)}; ${seized(due.seize)} are due, and the policy demands ${seized(least)}.`,
  )
}

/** What is left of the least that the call takes once the repayment is taken off, millionths of a dollar; 0 where not known. */
function leastBonus(liquidation: Liquidation, reads: LiquidationReads): bigint {
  const { repay, proposal } = liquidation
  const { leastWorth = 0n } = dueFor(liquidation, reads) ?? {}
  const { usdMicros, assets } = proposal.exposure
  return leastWorth > repay ? ((leastWorth - repay) * usdMicros) / assets : 0n
}

/**
 * Demand the least profit of the least that the call takes, as whatever seizes less than that reverts, and that gas takes no
 * more than its share.
 */
function checkProfit(
  liquidation: Liquidation,
  reads: LiquidationReads,
  { profitUsdMicrosMin, gasShareBps }: LiquidationLimits,
  gasWei: bigint,
  nativeUsdMicros: bigint,
): Refusal | null {
  if (dueFor(liquidation, reads) === null) return unread('what would be seized')
  const bonus = leastBonus(liquidation, reads)
  const gas = (gasWei * nativeUsdMicros) / WAD
  if (bonus - gas < profitUsdMicrosMin) {
    return refuse(
      'profit_below_floor',
      `At the least collateral that the call takes, the bonus less gas is ${usd(bonus - gas)}; the policy demands ${usd(profitUsdMicrosMin)}.`,
    )
  }
  if (gas * BPS <= bonus * gasShareBps) return null
  return refuse(
    'gas_above_share',
    `Its gas costs ${usd(gas)} at the fee offered, of a bonus of ${usd(bonus)} at the least collateral that the call takes; the policy allows ${percent(gasShareBps)} of it.`,
  )
}

/** What the strategy and the limits take where the file says nothing. */
const DISCOUNT = { of: '2 %', to: '2 %' }

/** The liquidator's judgements, from chain reads by the views below alone. */
export const liquidatorSanity: RoleSanity<LiquidationLimits> = {
  limits: liquidationLimits,
  contracts: ({ exits, nativePriceUsdMicros: native }) => [
    ...venuesOf(exits),
    ...referencesOf('exits', exits),
    ...(typeof native === 'bigint' ? [] : [['nativePrice.contract', native.contract] as const]),
  ],
  sends: ({ exits }) => sentTo(exits),
  strategy: [
    { of: 'priceAgeMax', is: 'atMost', to: 'guard.sanity.priceAgeMax' },
    { of: 'profitMin', is: 'atLeast', to: 'guard.sanity.profitMin' },
    { of: 'slippage', is: 'leaves', to: 'guard.sanity.minCollateral' },
    { of: 'inventoryMax', is: 'atMost', to: 'guard.sanity.inventoryMax.*' },
    { of: 'venue', is: 'same', to: 'guard.sanity.exits.venue' },
    { of: 'saleMax', is: 'atMost', to: 'guard.sanity.exits.saleMax' },
    {
      of: 'exitDiscountMax',
      is: 'atMost',
      to: 'guard.sanity.exitDiscountMax',
      otherwise: DISCOUNT,
      coversMore: true,
    },
    {
      of: 'exitDiscountMax',
      is: 'atLeast',
      to: 'guard.sanity.exitDiscountMax',
      otherwise: DISCOUNT,
      coversMore: true,
    },
    // The tip is a part of the gas.
    {
      of: 'tipShareMax',
      is: 'atMost',
      to: 'guard.sanity.gasShare',
      coversMore: true,
      otherwise: { of: '50 %', to: '90 %' },
    },
    { of: 'repayMax', is: 'atMost', to: 'limits.perWorkflow.movedMax', coversMore: true },
    { of: 'repayPerHourMax', is: 'atMost', to: 'limits.perHour.movedMax', coversMore: true },
  ],
  checks: (limits) => [
    [
      'role.liquidator.liquidate',
      {
        views: [...LIQUIDATION_VIEWS, ...PRICE_VIEWS],
        relies: ['marketAddress', 'vaultAddress', 'borrowerAddress', 'repayAssets', 'minCollateralAssets'],
        revalidations: [
          'position_liquidatable',
          'market_not_paused',
          'oracle_healthy',
          'repay_within_close_factor',
          'liquidator_balance',
          'intent_not_expired',
        ],
        judge: (about) => judgeLiquidation(limits, about),
      },
    ],
    [
      'role.liquidator.settleLiquidationClaim',
      {
        views: CLAIM_VIEWS,
        relies: ['marketAddress', 'claimId'],
        revalidations: ['claim_settleable', 'intent_not_expired'],
        judge: judgeSettlement,
      },
    ],
    ['own.liquidator.sell', saleCheck(limits)],
  ],
}

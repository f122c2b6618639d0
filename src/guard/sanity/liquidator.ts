import type { Address } from 'viem'
import type { Proposal } from '../../agent.ts'
import { invariant } from '../../errors.ts'
import type { Revalidation } from '../../service/assumptions.ts'
import type { WorkflowType } from '../../service/workflow-types.ts'
import { type Refusal, refuse } from '../../workflow/verdict.ts'
import { parseValue, type Subject } from '../conditions.ts'
import type { Ruleset } from '../ruleset.ts'
import {
  balanceView,
  bonusView,
  claimView,
  closeFactorView,
  collateralView,
  debtView,
  healthView,
  oracleView,
  pausedView,
  type Reads,
} from '../views.ts'

/** What the chain says of a workflow's subject, judged by us alone. */
type Look = {
  /** Whether the world is as the proposal needs it, at a block's time in Unix seconds. */
  readonly position: (timestampS: number) => Refusal | null
  /** Whether what the simulation showed is worth it. */
  readonly outcome: (shown: {
    /** What the gas used would cost at the fee offered. */
    readonly gasWei: bigint
    /** What the bundle does to the signer's balance of a token, base units. */
    readonly changeOf: (token: Address) => bigint
  }) => Refusal | null
}

/** A workflow type's own judgement. */
type Sanity = {
  /** The revalidations that `position` covers, beside time and expiry. */
  readonly revalidations: readonly Revalidation[]
  readonly look: (reads: Reads, ruleset: Ruleset, subject: Subject, proposal: Proposal) => Look
}

const WAD = 10n ** 18n
/** An oracle's `state` that permits its price to be used. */
const HEALTHY_ORACLE_CODE = 1n
const BPS = 10_000n

const unread = (what: string) =>
  refuse('read_failed', `The chain did not answer for ${what}; what is not known denies.`)

const addressOf = (subject: Subject, member: string): Address => {
  const value = parseValue(subject.input[member] ?? '')
  // The request's schema was checked before: an absent member cannot pass, and reads as nobody.
  return typeof value === 'string' ? value : '0x0000000000000000000000000000000000000000'
}
const amountOf = (subject: Subject, member: string): bigint => {
  const value = parseValue(subject.input[member] ?? '')
  return typeof value === 'bigint' ? value : 0n
}
const decimalsOf = ({ deployment }: Subject, token: Address): number | null =>
  deployment.assets.find(({ address }) => address === token)?.decimals ?? null
const unit = (decimals: number) => 10n ** BigInt(decimals)

/**
 * Judge a liquidation by chain reads: the position is really unhealthy, the price fresh and the one decided on, the
 * repayment within the close factor and our balance, and what we insist on close to what is due. It shares no
 * arithmetic with the agent, so that one mistake cannot pass twice.
 */
function lookAtLiquidation(reads: Reads, ruleset: Ruleset, subject: Subject, proposal: Proposal): Look {
  const { market, self } = subject
  const vault = addressOf(subject, 'vaultAddress')
  const borrower = addressOf(subject, 'borrowerAddress')
  const repay = amountOf(subject, 'repayAssets')
  const health = reads.ask(healthView(ruleset, market.address, borrower))
  const debt = reads.ask(debtView(ruleset, market.address, vault, borrower))
  const collateral = reads.ask(collateralView(ruleset, market.address, borrower))
  const closeFactor = reads.ask(closeFactorView(ruleset, market.address))
  const bonus = reads.ask(bonusView(ruleset, market.address))
  const paused = reads.ask(pausedView(ruleset, market.address))
  const oracle = reads.ask(oracleView(ruleset, market.oracle))
  const balance = reads.ask(balanceView(ruleset, market.loanAsset, self))

  /** What is due for the repayment: collateral, and its worth in the loan asset; base units. Null when not known. */
  function due(): { readonly seize: bigint; readonly worth: bigint } | null {
    const [held, bonusBps, price] = [collateral(), bonus(), oracle()]
    const loanDecimals = decimalsOf(subject, market.loanAsset)
    const collateralDecimals = decimalsOf(subject, market.collateralAsset)
    if (held === null || bonusBps === null || price === null || price.priceWad === 0n) return null
    if (loanDecimals === null || collateralDecimals === null) return null
    // Loan base units for one base unit of collateral, as a fraction.
    const above = price.priceWad * unit(loanDecimals)
    const below = WAD * unit(collateralDecimals)
    const wanted = (repay * (BPS + bonusBps) * below) / (BPS * above)
    const seize = wanted < held ? wanted : held
    return { seize, worth: (seize * above) / below }
  }

  function position(timestampS: number): Refusal | null {
    const [healthWad, owed, factorBps, isPaused, funds] = [
      health(),
      debt(),
      closeFactor(),
      paused(),
      balance(),
    ]
    if (isPaused === null) return unread('the market’s pause')
    if (isPaused) return refuse('market_paused', 'The market is paused.')
    const price = checkPrice(oracle(), ruleset, proposal, timestampS)
    if (price !== null) return price
    if (healthWad === null) return unread('the health factor')
    if (healthWad >= WAD) {
      return refuse(
        'position_healthy',
        `The health factor is ${healthWad} wad, not below ${WAD}: somebody was first, or the price moved.`,
      )
    }
    if (owed === null || factorBps === null) return unread('the debt and the close factor')
    const limit = (owed * factorBps + BPS - 1n) / BPS
    if (repay === 0n || repay > limit) {
      return refuse(
        'repay_above_close_factor',
        `The repayment is ${repay} base units; the close factor allows ${limit}.`,
      )
    }
    if (funds === null) return unread('our balance')
    if (funds < repay)
      return refuse(
        'insufficient_balance',
        `We hold ${funds} base units of the loan asset; the repayment is ${repay}.`,
      )
    return checkMinimum()
  }

  function checkMinimum(): Refusal | null {
    const expected = due()
    if (expected === null) return unread('what would be seized')
    const insisted = amountOf(subject, 'minCollateralAssets')
    const least = (expected.seize * ruleset.sanity.minCollateralBps) / BPS
    if (insisted >= least) return null
    return refuse(
      'min_collateral_too_low',
      `The call insists on ${insisted} base units of collateral; ${expected.seize} are due, and the policy demands ${least}.`,
    )
  }

  function outcome({ gasWei }: { readonly gasWei: bigint }): Refusal | null {
    const expected = due()
    if (expected === null) return unread('what would be seized')
    const { exposure } = proposal
    const { nativePriceUsdMicros, profitUsdMicrosMin } = ruleset.sanity
    const bonusUsdMicros = ((expected.worth - repay) * exposure.usdMicros) / exposure.assets
    const profit = bonusUsdMicros - (gasWei * nativePriceUsdMicros) / WAD
    if (profit >= profitUsdMicrosMin) return null
    return refuse(
      'profit_below_floor',
      `The bonus less gas is ${profit} millionths of a dollar; the policy demands ${profitUsdMicrosMin}.`,
    )
  }

  return { position, outcome }
}

function checkPrice(
  price: { readonly priceWad: bigint; readonly sourceAsOfS: bigint; readonly state: bigint } | null,
  { sanity }: Ruleset,
  proposal: Proposal,
  timestampS: number,
): Refusal | null {
  if (price === null) return unread('the oracle')
  if (price.state !== HEALTHY_ORACLE_CODE) {
    return refuse(
      'oracle_not_healthy',
      `The oracle's state is ${price.state}; healthy is ${HEALTHY_ORACLE_CODE}.`,
    )
  }
  const ageS = BigInt(timestampS) - price.sourceAsOfS
  if (ageS > BigInt(sanity.priceAgeSMax)) {
    return refuse('price_stale', `The price is ${ageS} s old; the policy allows ${sanity.priceAgeSMax} s.`)
  }
  const decided = parseValue(String(proposal.reason.priceWad ?? ''))
  if (typeof decided !== 'bigint' || decided === 0n) {
    return refuse('price_not_stated', 'The proposal does not state the price that it was decided on.')
  }
  const apart = price.priceWad > decided ? price.priceWad - decided : decided - price.priceWad
  if (apart * BPS <= decided * sanity.priceDivergenceBpsMax) return null
  return refuse(
    'price_moved',
    `The oracle's price is ${price.priceWad} wad; ${decided} was decided on, and the policy allows ${sanity.priceDivergenceBpsMax} basis points between them.`,
  )
}

/** Judge the settlement of a claim: it is ours, for us, due, and pays what it says. */
function lookAtSettlement(reads: Reads, ruleset: Ruleset, subject: Subject): Look {
  const { market, self } = subject
  const claim = reads.ask(claimView(ruleset, market.address, amountOf(subject, 'claimId')))
  return {
    position: (timestampS) => {
      const found = claim()
      if (found === null) return unread('the claim')
      if (found.liquidator !== self || found.recipient !== self) {
        return refuse(
          'claim_not_ours',
          `The claim belongs to ${found.liquidator} and pays ${found.recipient}.`,
        )
      }
      if (found.settled) return refuse('claim_settled', 'The claim is settled already.')
      if (found.settleableAtS <= BigInt(timestampS)) return null
      return refuse(
        'claim_not_settleable',
        `The claim can be settled from second ${found.settleableAtS}; the next block is at ${timestampS}.`,
      )
    },
    outcome: ({ changeOf }) => {
      const found = claim()
      if (found === null) return unread('the claim')
      const gained = changeOf(market.collateralAsset)
      if (gained >= found.collateralAssets) return null
      return refuse(
        'claim_short',
        `The settlement pays ${gained} base units; the claim holds ${found.collateralAssets}.`,
      )
    },
  }
}

/** The judgements of the guard's own, from chain reads by the policy's view signatures alone. */
export const SANITY: ReadonlyMap<WorkflowType, Sanity> = new Map([
  [
    'role.liquidator.liquidate',
    {
      revalidations: [
        'position_liquidatable',
        'market_not_paused',
        'oracle_healthy',
        'repay_within_close_factor',
        'liquidator_balance',
        'intent_not_expired',
      ],
      look: lookAtLiquidation,
    },
  ],
  [
    'role.liquidator.settleLiquidationClaim',
    { revalidations: ['claim_settleable', 'intent_not_expired'], look: lookAtSettlement },
  ],
])

/** The judgement of a type that the rules allow: they allow none without one. */
export function sanityOf(type: WorkflowType): Sanity {
  const sanity = SANITY.get(type)
  invariant(sanity !== undefined, `the rules allow no ${type}, because the guard cannot judge it`)
  return sanity
}

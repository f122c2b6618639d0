import type { Observation } from '../../../agents/agent.ts'
import { type LiquidatorPolicy, liquidatorPolicy } from '../../../agents/liquidator/policy.ts'
import type { ClaimSeen, FacilitySeen, LiquidatorSeen, MarketSeen } from '../../../agents/liquidator/seen.ts'
import { NOTHING_AROUND } from '../../support/around.ts'
import { policyOf } from '../../support/policies.ts'
import { TOKENS } from '../../support/tokens.ts'

const hex = (digit: string) => `0x${digit.repeat(40)}` as const
export const SIGNER = hex('a')
const ORACLE = hex('b')
export const LOAN = hex('1')
export const BTC = hex('2')
export const MARKET = hex('3')
export const VAULT = hex('4')
export const BORROWER = hex('5')
export const SUBJECT = `${MARKET}:${VAULT}:${BORROWER}`

const policyFile = policyOf('liquidator')

/** The committed policy's strategy as YAML gives it: every scalar is text. */
export const strategyText = (): Record<string, unknown> => policyFile.strategy
/** The committed policy's views. */
export const policyViews: readonly string[] = policyFile.guard.views

const shipped = liquidatorPolicy(TOKENS).parse(strategyText())
export const policy = (changes: Partial<LiquidatorPolicy> = {}): LiquidatorPolicy => ({
  ...shipped,
  secondPrice: 'none',
  ...changes,
})

/** One native coin is worth $3,000. */
export const NATIVE = { priceWad: 3_000n * 10n ** 18n, sourceAsOfS: 1_000, state: 1 }

/** 1 sBTC is 50,000 sUSD; every flag allows. */
export const market = (changes: Partial<MarketSeen> = {}): MarketSeen => ({
  id: MARKET,
  address: MARKET,
  symbol: 'sBTC/sUSD',
  loanAsset: LOAN,
  loanDecimals: 6,
  loanSymbol: 'sUSD',
  loanPriceUsdMicros: 1_000_000n,
  collateralAsset: BTC,
  collateralDecimals: 8,
  collateralSymbol: 'sBTC',
  oracleState: 'healthy',
  marketRegimeState: 'normal',
  marketLive: true,
  paused: false,
  collateralGateEnabled: false,
  liquidationThresholdBps: 8_000,
  closeFactorBps: 5_000,
  liquidationBonusBps: 500,
  priceWad: 50_000n * 10n ** 18n,
  oracle: { priceWad: 50_000n * 10n ** 18n, sourceAsOfS: 1_000, state: 1 },
  armed: { ok: true },
  eligible: null,
  eligibilityStale: null,
  ...changes,
})

/** 1 sBTC against 41,000 sUSD: health 40,000 / 41,000 = 0.975…; half of it may be repaid. */
export const facility = (changes: Partial<FacilitySeen> = {}): FacilitySeen => ({
  marketId: MARKET,
  marketAddress: MARKET,
  vaultAddress: VAULT,
  borrower: BORROWER,
  debtAssets: 41_000_000_000n,
  positionDebtAssets: 41_000_000_000n,
  collateralAssets: 100_000_000n,
  debtShares: 40_000_000_000n,
  serviceHealthFactorWad: 975_609_756_097_560_975n,
  monitorState: 'liquidatable',
  recovery: { liquidatable: true, executable: true, blockedReason: null },
  ...changes,
})

export const claim = (changes: Partial<ClaimSeen> = {}): ClaimSeen => ({
  marketAddress: MARKET,
  claimId: 7n,
  collateralAsset: BTC,
  collateralAssets: 2_130_000n,
  settleableAtS: 1_000,
  ...changes,
})

export const observation = (
  changes: Partial<Observation<LiquidatorSeen>> = {},
): Observation<LiquidatorSeen> => ({
  nowMs: 1_001_000,
  signer: SIGNER,
  chainId: 31_337,
  chain: { blockNumber: 10n, timestampS: 1_001, baseFeePerGasWei: 1_000_000_000n, priorityFeePerGasWei: 0n },
  freshness: { ok: true, ageMs: 1_000, message: '1 s old' },
  nativeBalanceWei: 10n ** 18n,
  balances: { [LOAN]: 1_000_000_000_000n, [BTC]: 0n },
  markets: [market()],
  facilities: [facility()],
  claims: [],
  references: { ethReferenceOracle: NATIVE },
  exits: [],
  deployment: {
    assets: [],
    vaults: [],
    funds: [],
    contracts: [],
    markets: [{ address: MARKET, loanAsset: LOAN, collateralAsset: BTC, oracle: ORACLE }],
  },
  ours: [],
  ...NOTHING_AROUND,
  ...changes,
})

import { encodeAbiParameters, type Hex } from 'viem'
import type { Moment, Observation } from '../../../agents/agent.ts'
import { decide } from '../../../agents/nav-reporter/decide.ts'
import { type NavReporterPolicy, navReporterPolicy } from '../../../agents/nav-reporter/policy.ts'
import type { Accepted, NavReporterSeen, ReportSeen, TypeSeen } from '../../../agents/nav-reporter/see.ts'
import type { FundResource } from '../../../src/service/contract/fund-resources.ts'
import { NOTHING_AROUND } from '../../support/around.ts'
import { policyOf } from '../../support/policies.ts'

const hex = (digit: string) => `0x${digit.repeat(40)}` as const
export const SIGNER = hex('a')
const QUOTE = hex('1')
export const FUND = hex('2')
export const ORACLE = hex('3')
const LENS = hex('4')
export const VAULT = hex('5')
const VAULT_ORACLE = hex('6')
export const WAD = 10n ** 18n
/** A multiple of a minute. */
export const NOW_S = 1_800_000_000
export const iso = (atS: number) => new Date(atS * 1_000).toISOString()

/** The sandbox's policy's strategy as YAML gives it: every scalar is text. */
export const strategyText = (): Record<string, unknown> => structuredClone(policyFile.strategy)
const policyFile = policyOf('nav-reporter')

/** The sandbox's policy's fund report alone, which waits for no newer values, with what differs. */
export function policy(changes: Partial<NavReporterPolicy['reports'][string]> = {}): NavReporterPolicy {
  const { reports, ...rest } = navReporterPolicy.parse(strategyText())
  const { recoveryFund } = reports
  if (recoveryFund === undefined) throw new TypeError('the policy has no report of the fund')
  return { ...rest, reports: { recoveryFund: { ...recoveryFund, waitForNewerS: 0, ...changes } } }
}

/** 460,000 idle and two holdings of 30,000, one of them cut by 1 %: 519,700 for 500,000 shares. */
export const fund = (changes: Partial<FundResource> = {}): FundResource => ({
  id: FUND,
  chainId: 31_337,
  address: FUND,
  quoteAssetAddress: QUOTE,
  quoteAssetDecimals: 6,
  totalSupply: String(500_000n * WAD),
  totalHoldings: 2,
  carryRateBps: 2_000,
  performanceFeeBps: 1_000,
  preferredReturnBps: 800,
  holdings: [
    holding('1', 'liquid'),
    holding('2', 'restricted'),
    { ...holding('3', 'liquid'), holdingStatus: 'disposed' },
  ],
  ...changes,
})
export const holding = (id: string, assetLane: string) => ({
  id: `${FUND}:${id}`,
  positionId: id,
  fundAddress: FUND,
  assetLane,
  holdingStatus: 'held',
  claimableAssets: String(10n * WAD),
  recoveryValueAssets: '30000000000',
})

export const moment = (changes: Partial<Moment> = {}): Moment => ({
  nowMs: NOW_S * 1_000 + 1_500,
  signer: SIGNER,
  chainId: 31_337,
  chain: {
    blockNumber: 10n,
    timestampS: NOW_S + 1,
    baseFeePerGasWei: 1_000_000_000n,
    priorityFeePerGasWei: 0n,
  },
  freshness: { ok: true, ageMs: 1_000, message: '1 s old' },
  nativeBalanceWei: WAD,
  balances: {},
  deployment: {
    assets: [{ address: QUOTE, symbol: 'sUSD', decimals: 6 }],
    markets: [],
    vaults: [{ address: VAULT }],
    funds: [{ address: FUND, quoteAsset: QUOTE }],
    contracts: [
      { name: 'fundNavOracle', address: ORACLE },
      { name: 'fundLens', address: LENS },
      { name: 'primeNavOracle', address: VAULT_ORACLE },
    ],
  },
  ours: [SIGNER],
  ...NOTHING_AROUND,
  ...changes,
})

/** A moment some seconds later, by both clocks. */
export const later = (seconds: number, changes: Partial<Moment> = {}): Moment => {
  const now = moment()
  const chain = { ...now.chain, timestampS: now.chain.timestampS + seconds }
  return { ...now, nowMs: now.nowMs + seconds * 1_000, chain, ...changes }
}

/** The last report: 1.04 for half a minute ago. */
export const accepted = (changes: Partial<Accepted> = {}): Accepted => ({
  value: (104n * WAD) / 100n,
  valuationTimeS: NOW_S - 30,
  revision: 0,
  submittedAtS: NOW_S - 25,
  ...changes,
})
export const NONE: Accepted = { value: 0n, valuationTimeS: 0, revision: 0, submittedAtS: 0 }
export const typeSeen = (latest: Accepted): TypeSeen => ({
  latest,
  valueMin: 10n ** 12n,
  valueMax: 10n ** 24n,
  moveBpsMax: 5_000n,
})

/** What five sources say, of now, of which chain and holdings have one vote; 18 decimals. */
export const readings = (...values: readonly bigint[]): ReportSeen['readings'] =>
  ['administrator', 'custodian', 'chain', 'holdings', 'valuer'].map((source, index) => ({
    source,
    ok: true as const,
    known: [{ value: values[index] ?? values[0] ?? WAD, asOfS: NOW_S }],
  }))

const reportSeen = (changes: Partial<ReportSeen> = {}): ReportSeen => ({
  name: 'recoveryFund',
  oracle: ORACLE,
  asset: FUND,
  decimals: 18,
  scheduled: typeSeen(accepted()),
  interim: typeSeen(NONE),
  fund: fund(),
  readings: readings((104n * WAD) / 100n),
  marks: [],
  askedAtMs: NOW_S * 1_000,
  parts: { idleAssets: 460_000_000_000n, holdingsAssets: 59_700_000_000n, supply: 500_000n * WAD },
  partsBefore: null,
  scale: { shareDecimals: 18, quoteDecimals: 6, decimals: 18 },
  ...changes,
})

export const observation = (
  changes: Partial<ReportSeen> = {},
  at: Moment = moment(),
): Observation<NavReporterSeen> => ({ ...at, reports: [reportSeen(changes)], latestMs: at.nowMs })

/** Decide on one report, and say the checks of what was left alone by subject. */
export function decided(
  changes: Partial<ReportSeen> = {},
  at: Moment = moment(),
  by: NavReporterPolicy = policy(),
) {
  const decision = decide(observation(changes, at), by)
  const checks = Object.fromEntries(decision.passedOver.map(({ subject, check }) => [subject, check]))
  return { ...decision, checks, proposal: decision.proposals[0] }
}

export const word = (value: bigint): Hex => encodeAbiParameters([{ type: 'uint256' }], [value])

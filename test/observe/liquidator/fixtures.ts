import { type Abi, type Address, decodeFunctionData, encodeFunctionResult, type Hex, parseAbi } from 'viem'
import type { PinnedDeployment } from '../../../agents/agent.ts'
import type { Call, Head } from '../../../src/chain/nodes.ts'
import type { Listed } from '../../../src/observe/collections.ts'
import type {
  LiquidatorObserveDeps,
  LiquidatorObserveInput,
} from '../../../src/observe/liquidator/observe.ts'
import type {
  CreditFacilityResource,
  Freshness,
  LiquidationRecoveryResource,
  MarketResource,
  PositionResource,
} from '../../../src/service/contract/resources.ts'

const hex = (digit: string): Address => `0x${digit.repeat(40)}`
export const SIGNER = hex('a')
export const LOAN = hex('1')
export const BTC = hex('2')
export const MARKET = hex('3')
export const VAULT = hex('4')
export const BORROWER = hex('5')
export const ORACLE = hex('6')
export const OTHER = hex('9')
export const CHAIN_ID = 31_337
export const PRICE = 50_000n * 10n ** 18n

export const pins: PinnedDeployment = {
  funds: [],
  contracts: [],
  assets: [
    { address: LOAN, symbol: 'sUSD', decimals: 6 },
    { address: BTC, symbol: 'sBTC', decimals: 8 },
  ],
  markets: [{ address: MARKET, loanAsset: LOAN, collateralAsset: BTC, oracle: ORACLE }],
  vaults: [{ address: VAULT }, { address: hex('d') }],
}

export const head: Head = {
  number: 10n,
  hash: `0x${'1'.repeat(64)}`,
  parentHash: `0x${'0'.repeat(64)}`,
  timestampS: 1_000,
  baseFeePerGasWei: 7n,
}

export const fresh: Freshness = {
  status: 'current',
  lagSeconds: 0,
  blockNumber: '10',
  blockTimestamp: new Date(1_000_000).toISOString(),
}

export const listed = <T>(items: readonly T[], changes: Partial<Listed<T>> = {}): Listed<T> => ({
  items,
  freshness: fresh,
  dropped: 0,
  ...changes,
})

export const marketRow = (changes: Partial<MarketResource> = {}): MarketResource => ({
  id: MARKET,
  chainId: CHAIN_ID,
  address: MARKET,
  symbol: 'sBTC/sUSD',
  loanAssetAddress: LOAN,
  collateralAssetAddress: BTC,
  loanDecimals: 6,
  collateralDecimals: 8,
  oracleAddress: ORACLE,
  loanAsset: { priceUsd: '1.00' },
  currentBorrowRatePerSecond: '1000000000000000',
  lltvBps: 7_500,
  liquidationThresholdBps: 8_000,
  closeFactorBps: 5_000,
  liquidationBonusBps: 500,
  oracleState: 'healthy',
  marketRegimeState: 'normal',
  marketLive: true,
  paused: false,
  collateralGateEnabled: false,
  oracle: { priceWad: String(PRICE) },
  ...changes,
})

export const positionRow = (changes: Partial<PositionResource> = {}): PositionResource => ({
  marketId: MARKET,
  chainId: CHAIN_ID,
  marketAddress: MARKET,
  walletAddress: BORROWER,
  collateralAssets: '100000000',
  debtAssets: '41000000000',
  debtShares: '40000000000',
  healthFactorWad: '975609756097560975',
  ...changes,
})

const debtKeys = {
  marketId: MARKET,
  vaultId: VAULT,
  chainId: CHAIN_ID,
  marketAddress: MARKET,
  vaultAddress: VAULT,
  borrowerAddress: BORROWER,
}
export const facilityRow = (changes: Partial<CreditFacilityResource> = {}): CreditFacilityResource => ({
  ...debtKeys,
  debtAssets: '41000000000',
  ...changes,
})
export const recoveryRow = (
  changes: Partial<LiquidationRecoveryResource> = {},
): LiquidationRecoveryResource => ({ ...debtKeys, liquidatable: true, executable: true, ...changes })

const ABI = parseAbi([
  'function read() view returns (uint256, uint64, uint64, uint8)',
  'function openClaims(address) view returns (uint256[])',
  'function claim(uint256) view returns (address, address, address, address, uint256, uint64, bool)',
  'function collateralOf(address) view returns (uint256)',
  'function totalDebtOf(address) view returns (uint256)',
  'function debtOf(address, address) view returns (uint256)',
  'function debtSharesOf(address, address) view returns (uint256)',
  'function healthFactorWad(address) view returns (uint256)',
  'function balanceOf(address) view returns (uint256)',
  'function decimals() view returns (uint8)',
])

type ViewName = (typeof ABI)[number]['name']

/** What the fake chain answers to each view; a view that it lacks reverts. */
export type Answers = Partial<Record<ViewName, (to: Address, args: readonly unknown[]) => unknown>>

export const answers: Answers = {
  read: () => [PRICE, 999n, 999n, 1],
  openClaims: () => [],
  balanceOf: (to) => (to === LOAN ? 5_000_000n : 3n),
  decimals: (to) => (to === LOAN ? 6 : 8),
  healthFactorWad: () => 975_609_756_097_560_975n,
}

/** A chain that answers views from a table, and counts its round trips. */
export function fakeNodes(table: Answers) {
  const rounds: { readonly size: number; readonly blockNumber: bigint | undefined }[] = []
  const answer = ({ to, data }: Call): Hex | null => {
    const { functionName, args } = decodeFunctionData({ abi: ABI, data })
    const result = table[functionName]?.(to, args ?? [])
    const abi: Abi = ABI
    return result === undefined ? null : encodeFunctionResult({ abi, functionName, result })
  }
  return {
    rounds,
    head: async () => head,
    balanceWei: async () => 10n ** 18n,
    calls: async (calls: readonly Call[], blockNumber?: bigint) => {
      rounds.push({ size: calls.length, blockNumber })
      return calls.map(answer)
    },
  }
}

export const service = (
  changes: Partial<LiquidatorObserveDeps['service']> = {},
): LiquidatorObserveDeps['service'] => ({
  listMarkets: async () => listed([marketRow()]),
  listCreditFacilities: async () => listed([facilityRow()]),
  listPositions: async () => listed([positionRow()]),
  listLiquidationRecovery: async () => listed([recoveryRow()]),
  listEligibility: async () => listed([]),
  ...changes,
})

export const input = (changes: Partial<LiquidatorObserveInput> = {}): LiquidatorObserveInput => ({
  signer: SIGNER,
  chainId: CHAIN_ID,
  ours: [SIGNER],
  inFlight: [],
  recent: [],
  colleagues: [],
  armed: new Map([[MARKET, { ok: true }]]),
  priorityFeePerGasWei: 2n,
  limits: { ageMsMax: 15_000, blockLagMax: 3n, headAgeMsMax: 15_000 },
  previous: null,
  ...changes,
})

import { type Abi, type Address, decodeFunctionData, encodeFunctionResult, type Hex, parseAbi } from 'viem'
import type { Armed } from '../../../agents/agent.ts'
import { liquidator } from '../../../agents/liquidator/agent.ts'
import { arming } from '../../../agents/liquidator/arming.ts'
import type { LiquidatorPolicy } from '../../../agents/liquidator/policy.ts'
import { riskBook } from '../../../agents/liquidator/risk-book.ts'
import type { LiquidatorSeen } from '../../../agents/liquidator/seen.ts'
import type { BorrowerCollection, Rows } from '../../../agents/rows.ts'
import type { Call, Head, Nodes } from '../../../src/chain/nodes.ts'
import { systemClock } from '../../../src/clock.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { proveUnits } from '../../../src/observe/arming.ts'
import { createBook } from '../../../src/observe/book.ts'
import { type BorrowerRows, createBorrowerRows } from '../../../src/observe/borrower-rows.ts'
import type { Collections, List, ListedRows } from '../../../src/observe/collections.ts'
import { type ObserveInput, observe } from '../../../src/observe/observe.ts'
import type { WaveDeps } from '../../../src/observe/waves.ts'
import type { ServiceClient } from '../../../src/service/client.ts'
import type { PinnedDeployment } from '../../../src/service/contract/deployment.ts'
import type {
  CreditFacilityResource,
  EligibilityResource,
  Freshness,
  LiquidationRecoveryResource,
  MarketResource,
  PositionResource,
} from '../../../src/service/contract/resources.ts'
import { NOTHING_AROUND } from '../../support/around.ts'
import { policy } from './fixtures.ts'

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

const head: Head = {
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

export const listed = <T>(items: readonly T[], changes: Partial<ListedRows<T>> = {}): ListedRows<T> => ({
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
    calls: async (calls: readonly Call[], at?: Head | bigint) => {
      rounds.push({ size: calls.length, blockNumber: typeof at === 'object' ? at.number : at })
      return calls.map(answer)
    },
  }
}

/** What a service lists, whole. */
export type Lists = {
  readonly listMarkets: List<MarketResource>
  readonly listCreditFacilities: List<CreditFacilityResource>
  readonly listPositions: List<PositionResource>
  readonly listLiquidationRecovery: List<LiquidationRecoveryResource>
  readonly listEligibility: List<EligibilityResource>
}

export const service = (changes: Partial<Lists> = {}): Lists => ({
  listMarkets: async () => listed([marketRow()]),
  listCreditFacilities: async () => listed([facilityRow()]),
  listPositions: async () => listed([positionRow()]),
  listLiquidationRecovery: async () => listed([recoveryRow()]),
  listEligibility: async () => listed([]),
  ...changes,
})

/** A service that filters by wallet what it lists. */
function rowsOf({ listPositions, listCreditFacilities, listLiquidationRecovery }: Lists): BorrowerRows {
  const pagesOf = <C extends BorrowerCollection>(
    list: List<Rows[C][number]>,
    walletOf: (row: Rows[C][number]) => Address,
  ) =>
    async function* ({ wallets }: { readonly wallets?: readonly Address[] } = {}) {
      const whole = await list()
      const items = whole.items.filter((row) => wallets?.includes(walletOf(row)) ?? true)
      yield { ...whole, items, hasMore: false, nextCursor: null }
    }
  const pages: Pick<
    ServiceClient['pages'],
    'listPositions' | 'listCreditFacilities' | 'listLiquidationRecovery'
  > = {
    listPositions: pagesOf<'positions'>(listPositions, (row) => row.walletAddress),
    listCreditFacilities: pagesOf<'credit-facilities'>(listCreditFacilities, (row) => row.borrowerAddress),
    listLiquidationRecovery: pagesOf<'liquidation-recovery'>(
      listLiquidationRecovery,
      (row) => row.borrowerAddress,
    ),
  }
  return createBorrowerRows({ pages: pages as ServiceClient['pages'] }, systemClock.monotonicMs, () => {})
}

function depsOf(lists: Lists, nodes: Pick<Nodes, 'calls'>, clock: WaveDeps['clock']) {
  const listing: Partial<Collections> = { markets: lists.listMarkets, eligibility: lists.listEligibility }
  const collections = new Proxy(listing, {
    get: (known, name: keyof Collections) =>
      known[name] ??
      (() => {
        throw new TypeError(`${name} is never listed whole`)
      }),
  }) as Collections
  const outside: WaveDeps['outside'] = async () => ({ ok: false, check: 'source_unknown', message: 'None.' })
  return { collections, rows: rowsOf(lists), nodes, clock, outside }
}

/** What a look of the liquidator begins from, beside the service and the chain. */
export type LookInput = Omit<ObserveInput, 'deployment'> & {
  readonly armed: ReadonlyMap<Address, Armed>
  readonly previous: LiquidatorSeen | null
}

/** Sweep and prove nothing, then look once: as an observer does, with real parts. */
export async function observeLiquidator(
  {
    service: lists,
    nodes,
    pins: deployment,
    clock: { nowMs },
    strategy = policy(),
  }: {
    readonly service: Lists
    readonly nodes: Pick<Nodes, 'head' | 'calls' | 'balanceWei'>
    readonly pins: PinnedDeployment
    readonly clock: { readonly nowMs: () => number }
    readonly strategy?: LiquidatorPolicy
  },
  { armed, previous, ...known }: LookInput,
) {
  const clock = { ...systemClock, nowMs, monotonicMs: nowMs }
  const { rows, ...deps } = depsOf(lists, nodes, clock)
  const book = createBook(riskBook, {
    rows,
    clock,
    chainId: known.chainId,
    limits: known.limits,
    onSwept: () => {},
    onSweepFailed: () => {},
  })
  await book.sweepIfDue()
  const waves = { ...deps, nodes, ofWallets: rows.ofWallets, dataFeeWei: () => 0n }
  return observe(liquidator, strategy, { previous, book, armed }, waves, { ...known, deployment })
}

/** Sweep, and prove units once. */
export async function armMarkets(
  setup: { readonly service: Lists; readonly nodes: Pick<Nodes, 'calls'>; readonly pins: PinnedDeployment },
  chainId: number,
): Promise<ReadonlyMap<Address, Armed>> {
  const { rows, ...deps } = depsOf(setup.service, setup.nodes, systemClock)
  const book = riskBook.empty()
  try {
    for (const row of (await setup.service.listPositions()).items)
      if (row.chainId === chainId) riskBook.apply(book, { collection: 'positions', row })
  } catch (error) {
    if (!(error instanceof RolekeeperError)) throw error
  }
  const known = { signer: SIGNER, chainId, deployment: setup.pins }
  return proveUnits(arming, known, book, { ...deps, ofWallets: rows.ofWallets })
}

export const input = (changes: Partial<LookInput> = {}): LookInput => ({
  signer: SIGNER,
  chainId: CHAIN_ID,
  ours: [SIGNER],
  ...NOTHING_AROUND,
  armed: new Map([[MARKET, { ok: true }]]),
  priorityFeePerGasWei: 2n,
  limits: { ageMsMax: 15_000, blockLagMax: 3n, headAgeMsMax: 15_000 },
  previous: null,
  ...changes,
})

import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Address, type Hex, TimeoutError, toFunctionSelector, toHex } from 'viem'
import type { Deployment } from '../../../sandbox/deploy/deploy.ts'
import type {
  Canonical,
  CanonicalChange,
  CanonicalClaim,
  CanonicalFacility,
  Snapshot,
} from '../../../sandbox/indexer/canonical.ts'
import { type SandboxService, type ServiceSettings, startService } from '../../../sandbox/service/service.ts'
import { type Clock, systemClock } from '../../../src/clock.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { facilityEntityId } from '../../../src/service/contract/assumptions.ts'
import type { ActivityResource, Freshness } from '../../../src/service/contract/resources.ts'
import { newDirectory } from '../../support/directory.ts'
import { poorDonor } from '../../support/donor.ts'

const address = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`

export const CHAIN_ID = 31_337
export const LOAN = address(0xa1)
export const COLLATERAL = address(0xa2)
export const MARKET = address(0xb1)
export const GATED_MARKET = address(0xb2)
export const VAULT = address(0xc1)
export const BORROWER = address(0xd1)
/** The principal of every request here; the fixture's node says it holds 600 sUSD. */
export const LIQUIDATOR = address(0xe1)
const BALANCE = 600_000_000n
/** What a token is asked for its decimals: it has 18. */
const DECIMALS = toFunctionSelector('decimals()')
export const SECRET = 'sk_test_0123456789abcdef'
export const PUBLISHABLE = 'pk_test_0123456789abcdef'
export const ORIGIN = 'http://app.test'

export const secretHeaders = { authorization: `Bearer ${SECRET}` }
export const publishableHeaders = { 'x-svc-publishable-key': PUBLISHABLE, origin: ORIGIN }

const CONTRACTS: Deployment['contracts'] = {
  sUSD: { contractName: 'Asset', address: LOAN },
  sBTC: { contractName: 'Asset', address: COLLATERAL },
  sETH: { contractName: 'Asset', address: address(0xa3) },
  registry: { contractName: 'EligibilityRegistry', address: address(0xa4) },
  btcOracle: { contractName: 'PriceOracle', address: address(0xf1) },
  ethOracle: { contractName: 'PriceOracle', address: address(0xf2) },
  btcRateModel: { contractName: 'KinkedRateModel', address: address(0xa5) },
  ethRateModel: { contractName: 'KinkedRateModel', address: address(0xa6) },
  btcMarket: { contractName: 'LendingMarket', address: MARKET },
  ethMarket: { contractName: 'LendingMarket', address: GATED_MARKET },
  primeVault: { contractName: 'LendingVault', address: VAULT },
  growthVault: { contractName: 'LendingVault', address: address(0xc2) },
  rivalVault: { contractName: 'LendingVault', address: address(0xc3) },
  lens: { contractName: 'StateLens', address: address(0xa7) },
  acquisitionHouse: { contractName: 'AcquisitionHouse', address: address(0xa8) },
  recoveryAuction: { contractName: 'RecoveryAuction', address: address(0xa9) },
  rfqDesk: { contractName: 'RfqDesk', address: address(0xaa) },
  fundImplementation: { contractName: 'RecoveryFund', address: address(0xab) },
  navOracleImplementation: { contractName: 'NavOracle', address: address(0xac) },
  fundFactory: { contractName: 'FundFactory', address: address(0xad) },
  fundLens: { contractName: 'FundLens', address: address(0xae) },
  recoveryFund: { contractName: 'RecoveryFund', address: address(0xaf) },
  fundNavOracle: { contractName: 'NavOracle', address: address(0xba) },
  primeNavOracle: { contractName: 'NavOracle', address: address(0xbb) },
  rivalFund: { contractName: 'RecoveryFund', address: address(0xbc) },
  rivalNavOracle: { contractName: 'NavOracle', address: address(0xbd) },
  btcReferenceOracle: { contractName: 'PriceOracle', address: address(0xf3) },
  ethReferenceOracle: { contractName: 'PriceOracle', address: address(0xf4) },
  btcExit: { contractName: 'ExitPool', address: address(0xf5) },
  ethExit: { contractName: 'ExitPool', address: address(0xf6) },
  ownedVault: { contractName: 'LendingVault', address: address(0xc4) },
  partnerChannel: { contractName: 'PartnerChannel', address: address(0xc5) },
  weatherVault: { contractName: 'LendingVault', address: address(0xc6) },
  weatherChannel: { contractName: 'PartnerChannel', address: address(0xc7) },
}

/** A clock that a test moves; sleeps are real. */
export function movableClock(startMs = Date.UTC(2026, 0, 1)): Clock & { advance: (ms: number) => void } {
  let nowMs = startMs
  return {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: systemClock.sleep,
    advance: (ms) => {
      nowMs += ms
    },
  }
}

export const facility = (borrower: Address, changes: Partial<CanonicalFacility> = {}): CanonicalFacility => ({
  resource: {
    marketId: MARKET,
    vaultId: VAULT,
    chainId: CHAIN_ID,
    marketAddress: MARKET,
    vaultAddress: VAULT,
    borrowerAddress: borrower,
  },
  debtShares: 900_000_000n,
  debtAssets: 1_000_000_000n,
  collateralAssets: 1_000_000n,
  healthFactorWad: 900_000_000_000_000_000n,
  liquidatable: true,
  ...changes,
})

export const claim = (changes: Partial<CanonicalClaim> = {}): CanonicalClaim => ({
  marketAddress: MARKET,
  claimId: '7',
  liquidator: LIQUIDATOR,
  recipient: LIQUIDATOR,
  vaultAddress: VAULT,
  borrowerAddress: BORROWER,
  collateralAssets: '5',
  settleableAtS: 100,
  settled: false,
  ...changes,
})

const market = (at: Address, gated: boolean): Snapshot['markets'][number] => ({
  id: at,
  chainId: CHAIN_ID,
  address: at,
  symbol: 'sBTC/sUSD',
  loanAssetAddress: LOAN,
  collateralAssetAddress: COLLATERAL,
  loanDecimals: 6,
  collateralDecimals: 8,
  closeFactorBps: 5_000,
  liquidationBonusBps: 500,
  oracleState: 'healthy',
  paused: false,
  collateralGateEnabled: gated,
  oracle: { address: address(0xf1), priceWad: '1', state: 'healthy' },
  allocators: [{ marketId: at, marketAddress: at, vaultId: VAULT, vaultAddress: VAULT, listed: true }],
})

const asset = (n: number) => ({
  id: address(n),
  chainId: CHAIN_ID,
  address: address(n),
  symbol: `A${n}`,
  decimals: 6,
})

/** A market at 60,000 sUSD, with one position under water: 1,000 sUSD owed, 0.01 sBTC held. */
export const baseSnapshot: Snapshot = {
  block: { number: 10n, hash: toHex(10, { size: 32 }), timestampS: 100 },
  indexedAtMs: 0,
  assets: Array.from({ length: 150 }, (_, i) => asset(i + 1)),
  oracles: [MARKET, GATED_MARKET].map((marketAddress) => ({
    address: address(0xf1),
    marketAddress,
    priceWad: 60_000n * 10n ** 18n,
    sourceAsOfS: 99,
    updatedAtS: 99,
    state: 'healthy',
  })),
  markets: [market(MARKET, false), market(GATED_MARKET, true)],
  vaults: [
    {
      id: VAULT,
      chainId: CHAIN_ID,
      address: VAULT,
      symbol: 'PRIME',
      allocations: [{ vaultId: VAULT, vaultAddress: VAULT, marketId: MARKET, marketAddress: MARKET }],
    },
  ],
  vaultReads: [],
  channels: [],
  wrappers: [],
  fees: [],
  facilities: [facility(BORROWER)],
  positions: [BORROWER, LIQUIDATOR].map((walletAddress) => ({
    marketId: MARKET,
    chainId: CHAIN_ID,
    marketAddress: MARKET,
    walletAddress,
  })),
  recoveries: [facility(BORROWER).resource],
  eligibility: [],
  claims: [claim()],
  funds: [],
  navReports: [],
  navValues: new Map(),
  navOracles: new Map(),
  fundLaunches: [],
  channelPolicies: new Map(),
  rfqs: [],
  auctions: [],
  acquisitions: [],
}

/** The indexer as a test plays it: `push` makes a new snapshot, `mine` puts a transaction into a block. */
type PlayedCanonical = Canonical & {
  push: (changes?: Partial<Snapshot>, events?: readonly CanonicalChange[]) => void
  mine: (hash: Hex, blockNumber: bigint | null, status?: 'success' | 'reverted') => void
  setFreshness: (status: string) => void
  /** Have no node behind it that answers, until it is told otherwise. */
  setSilent: (isSilent: boolean) => void
  setActivity: (rows: readonly ActivityResource[]) => void
}

const SILENCE = new TimeoutError({ body: {}, url: 'http://127.0.0.1' })

function playedCanonical(): PlayedCanonical {
  let snapshot = baseSnapshot
  let status = 'current'
  let isSilent = false
  let activity: readonly ActivityResource[] = []
  const listeners = new Set<(snapshot: Snapshot, changes: readonly CanonicalChange[]) => void>()
  const transactions = new Map<Hex, { blockNumber: bigint; status: 'success' | 'reverted' }>()
  const freshness = (): Freshness => ({
    status,
    lagSeconds: 1,
    blockNumber: snapshot.block.number.toString(),
  })
  return {
    snapshot: () => snapshot,
    freshness,
    activity: () => activity,
    vaultHistory: () => [],
    marketHistory: (marketAddress) => [
      { marketId: marketAddress, marketAddress, interval: '1m', bucketStart: '2026-01-01T00:00:00Z' },
    ],
    onSnapshot: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    transaction: async (hash) => {
      if (isSilent) throw new RolekeeperError('indexer.node', 'The node did not answer.', { cause: SILENCE })
      return transactions.get(hash) ?? null
    },
    stop: async () => {},
    push: (changes = {}, events = []) => {
      const number = snapshot.block.number + 1n
      const block = { number, hash: toHex(number, { size: 32 }), timestampS: snapshot.block.timestampS + 1 }
      snapshot = { ...snapshot, block, ...changes }
      for (const listener of listeners) listener(snapshot, events)
    },
    mine: (hash, blockNumber, how = 'success') => {
      if (blockNumber === null) transactions.delete(hash)
      else transactions.set(hash, { blockNumber, status: how })
    },
    setFreshness: (next) => {
      status = next
    },
    setSilent: (next) => {
      isSilent = next
    },
    setActivity: (rows) => {
      activity = rows
    },
  }
}

export type Answer = { status: number; headers: Headers; text: string; json: Record<string, unknown> }

/** A service over a played indexer, a node that knows one balance, and a place on disk that outlives a restart. */
export type Fixture = {
  readonly canonical: PlayedCanonical
  readonly clock: ReturnType<typeof movableClock>
  readonly crashes: unknown[]
  service: SandboxService
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Answer>
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Answer>
  readonly restart: () => Promise<void>
  readonly dbFile: string
  readonly stop: () => Promise<void>
}

/** A fresh idempotency key. */
export const newKey = (): string => randomUUID()

export async function startFixture(settings: Partial<ServiceSettings> = {}): Promise<Fixture> {
  const directory = newDirectory()
  const dbFile = join(directory, 'service.sqlite')
  const canonical = playedCanonical()
  const clock = movableClock()
  const crashes: unknown[] = []
  const node = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      const { id, params } = JSON.parse(text)
      const result = params?.[0]?.data === DECIMALS ? 18n : BALANCE
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: toHex(result, { size: 32 }) }))
    })
  })
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
  const start = () =>
    startService({
      canonical,
      deployment: {
        chainId: CHAIN_ID,
        namespace: 'sandbox',
        startBlock: 1,
        contracts: CONTRACTS,
      },
      entities: [
        { id: 'operator', kind: 'operator', name: 'Operator', walletAddress: LOAN, status: 'active' },
      ],
      rpcUrl: `http://127.0.0.1:${(node.address() as AddressInfo).port}`,
      clock,
      dbFile,
      host: '127.0.0.1',
      credentials: { secretKey: SECRET, publishableKey: PUBLISHABLE, origins: [ORIGIN] },
      donor: poorDonor,
      onCrash: (error) => crashes.push(error),
      ...settings,
    })
  const answer = async (response: Response): Promise<Answer> => {
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
  }
  const fixture: Fixture = {
    canonical,
    clock,
    crashes,
    dbFile,
    service: await start(),
    get: async (path, headers = {}) => answer(await fetch(`${fixture.service.url}${path}`, { headers })),
    post: async (path, body, headers = secretHeaders) =>
      answer(
        await fetch(`${fixture.service.url}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': newKey(), ...headers },
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }),
      ),
    restart: async () => {
      await fixture.service.stop()
      fixture.service = await start()
    },
    stop: async () => {
      await fixture.service.stop()
      node.closeAllConnections()
      node.close()
      rmSync(directory, { recursive: true })
    },
  }
  return fixture
}

/** The liquidation of half the position: at the close factor. */
export const liquidation = (changes: Record<string, unknown> = {}) => ({
  workflowType: 'role.liquidator.liquidate',
  chainId: CHAIN_ID,
  deploymentNamespace: 'sandbox',
  principalAddress: LIQUIDATOR,
  input: {
    marketAddress: MARKET,
    vaultAddress: VAULT,
    borrowerAddress: BORROWER,
    repayAssets: '500000000',
    minCollateralAssets: '875000',
    recipientAddress: LIQUIDATOR,
    ...changes,
  },
})

export const FACILITY_ID = facilityEntityId(MARKET, VAULT, BORROWER)

import type { Address } from 'viem'
import type {
  FacilitySeen,
  LiquidatorSeen,
  MarketSeen,
  Moment,
  Observation,
  PinnedDeployment,
} from '../../../agents/agent.ts'
import type { Head, Nodes } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import { RolekeeperError } from '../../errors.ts'
import type {
  CreditFacilityResource,
  EligibilityResource,
  Freshness,
  LiquidationRecoveryResource,
  MarketResource,
  PositionResource,
} from '../../service/contract/resources.ts'
import type { List } from '../collections.ts'
import { type FreshnessLimits, freshnessOf } from '../freshness.ts'
import { type Batch, createBatch, readBalance, readOracle } from '../views.ts'
import { askClaims } from './claims.ts'
import {
  askFigures,
  type FacilityRow,
  facilitySeen,
  isIncomplete,
  joinRows,
  serviceFigures,
} from './facilities.ts'
import { isGated, marketSeen } from './markets.ts'
import { chooseWatched, type RiskBook } from './watched.ts'

/** Borrowers to read from the chain at once, most urgent first; the others stay unknown, and are not acted on. */
const CHAIN_ROWS_MAX = 100

/** What observation needs from outside. */
export type LiquidatorObserveDeps = {
  readonly service: {
    readonly listMarkets: List<MarketResource>
    readonly listCreditFacilities: List<CreditFacilityResource>
    readonly listPositions: List<PositionResource>
    readonly listLiquidationRecovery: List<LiquidationRecoveryResource>
    /** The rows of our signer's wallet session; asked for only where a market is gated. */
    readonly listEligibility: List<EligibilityResource>
  }
  readonly nodes: Pick<Nodes, 'head' | 'calls' | 'balanceWei'>
  readonly pins: PinnedDeployment
  readonly clock: Pick<Clock, 'nowMs'>
  readonly book: RiskBook
  /** Second prices that the policy names: contracts with an oracle's `read()`. */
  readonly references: readonly { readonly name: string; readonly address: Address }[]
}

/** What the keeper knows when it looks. */
export type LiquidatorObserveInput = Pick<Moment, 'ours' | 'inFlight' | 'recent' | 'colleagues'> & {
  readonly signer: Address
  readonly chainId: number
  /** What arming said of each market, by lower-case address. */
  readonly armed: ReadonlyMap<Address, MarketSeen['armed']>
  readonly limits: FreshnessLimits
  /** What our fee policy pays above the base fee. */
  readonly priorityFeePerGasWei: bigint
  /** The last observation: which claims and gates to ask about in the first wave. Its figures are not used. */
  readonly previous: Pick<Observation<LiquidatorSeen>, 'claims' | 'markets'> | null
}

/**
 * Observe what the liquidator decides on: one wave of service and chain reads, side by side. A second wave runs only
 * for what the first revealed: a claim or gate not seen before, or a debt whose figures the service does not give.
 * What cannot be read stays null. Throws what the reads throw; eligibility alone may fail, and then is not known.
 */
export async function observeLiquidator(
  { service, nodes, pins, clock, book, references }: LiquidatorObserveDeps,
  input: LiquidatorObserveInput,
): Promise<Observation<LiquidatorSeen>> {
  const first = createBatch()
  const prices = pins.markets.map(({ address, oracle }) => ({
    address,
    price: first.ask(readOracle(oracle)),
  }))
  const secondPrices = references.map(({ name, address }) => ({
    name,
    price: first.ask(readOracle(address)),
  }))
  const balances = pins.assets.map(({ address }) => ({
    address,
    assets: first.ask(readBalance(address, input.signer)),
  }))
  const claims = askClaims(first, pins.markets, input.signer, input.previous?.claims ?? [])
  const gatedBefore = input.previous?.markets.some(isGated) ?? false
  const [markets, facilities, positions, recoveries, eligibilityBefore, head, nativeBalanceWei] =
    await Promise.all([
      service.listMarkets(),
      service.listCreditFacilities(),
      service.listPositions(),
      service.listLiquidationRecovery(),
      gatedBefore ? readEligibility(service.listEligibility) : null,
      nodes.head(),
      nodes.balanceWei(input.signer),
      first.run(nodes),
    ])

  const second = createBatch()
  claims.askNew(second)
  const ours = markets.items.filter((market) => market.chainId === input.chainId)
  const rates = new Map(ours.map((market) => [market.address, market.currentBorrowRatePerSecond ?? null]))
  const elapsed = {
    facilityElapsedS: elapsedS(facilities.freshness, head),
    positionElapsedS: elapsedS(positions.freshness, head),
  }
  const rateOf = (market: Address) => {
    const rate = rates.get(market) ?? null
    return rate === null ? null : BigInt(rate)
  }
  const priceOf = (market: Address) => prices.find(({ address }) => address === market)?.price() ?? null
  const rows = chooseWatched(
    joinRows(input.chainId, facilities.items, positions.items, recoveries.items),
    ours,
    positions.items,
    (market) => ({
      priceWad: priceOf(market)?.priceWad ?? null,
      elapsedS: elapsed.positionElapsedS,
      ratePerSecondWad: rateOf(market),
    }),
    book,
  ).map((row) => ({
    row,
    figures: serviceFigures(row, { ...elapsed, ratePerSecondWad: rateOf(row.marketAddress) }),
  }))
  const fromChain = askMissing(second, rows, pins)
  const [eligibility] = await Promise.all([
    ours.some(isGated) && !gatedBefore ? readEligibility(service.listEligibility) : eligibilityBefore,
    second.run(nodes),
  ])

  const lists = { markets, 'credit-facilities': facilities, positions, 'liquidation-recovery': recoveries }
  const nowMs = clock.nowMs()
  const freshness = freshnessOf(lists, head, nowMs, input.limits)
  // It closes gated markets only: judged apart from the lists that everything rests on.
  const gates = eligibility === null ? null : freshnessOf({ eligibility }, head, nowMs, input.limits)
  const claimsSeen = claims.seen()
  return {
    nowMs,
    signer: input.signer,
    chainId: input.chainId,
    chain: {
      blockNumber: head.number,
      timestampS: head.timestampS,
      baseFeePerGasWei: head.baseFeePerGasWei,
      priorityFeePerGasWei: input.priorityFeePerGasWei,
    },
    freshness:
      claimsSeen === null
        ? { ...freshness, ok: false, message: `our open claims could not be read; ${freshness.message}` }
        : freshness,
    nativeBalanceWei,
    balances: knownBalances(balances.map(({ address, assets }) => [address, assets()])),
    markets: ours.map((market) =>
      marketSeen(market, {
        pins,
        signer: input.signer,
        oracle: priceOf(market.address),
        armed: input.armed.get(market.address),
        eligibility: eligibility?.items ?? null,
        eligibilityStale: gates === null || gates.ok ? null : gates.message,
      }),
    ),
    facilities: rows.map(({ row, figures }) => facilitySeen(row, fromChain.get(row)?.() ?? figures)),
    claims: claimsSeen ?? [],
    references: Object.fromEntries(secondPrices.map(({ name, price }) => [name, price()])),
    deployment: pins,
    ours: input.ours,
    inFlight: input.inFlight,
    recent: input.recent,
    colleagues: input.colleagues,
  }
}

/** Eligibility takes a wallet session of its own: without it gated markets are closed to us, and only they. */
async function readEligibility(
  list: List<EligibilityResource>,
): Promise<Awaited<ReturnType<typeof list>> | null> {
  try {
    return await list()
  } catch (error) {
    if (error instanceof RolekeeperError) return null
    throw error
  }
}

/** Chain seconds from what the service describes to our head. */
function elapsedS({ blockTimestamp, lagSeconds }: Freshness, head: Head): number {
  if (blockTimestamp === null || blockTimestamp === undefined) return lagSeconds
  return Math.max(0, head.timestampS - Math.floor(Date.parse(blockTimestamp) / 1_000))
}

type Row = { readonly row: FacilityRow; readonly figures: ReturnType<typeof serviceFigures> }

/** Ask the chain about rows of pinned markets that lack a figure: those up for recovery first, then by health. */
function askMissing(batch: Batch, rows: readonly Row[], pins: PinnedDeployment) {
  const pinned = new Set(pins.markets.map(({ address }) => address))
  const vaults = pins.vaults.map(({ address }) => address)
  const urgency = ({ row }: Row) =>
    row.recovery === null ? Number(row.facility?.healthFactorWad ?? Number.POSITIVE_INFINITY) : 0
  const missing = rows
    .filter(({ row, figures }) => isIncomplete(figures) && pinned.has(row.marketAddress))
    .toSorted((one, other) => urgency(one) - urgency(other) || 0)
    .slice(0, CHAIN_ROWS_MAX)
  return new Map<FacilityRow, () => Pick<FacilitySeen, keyof Row['figures']>>(
    missing.map(({ row }) => [row, askFigures(batch, row, vaults)]),
  )
}

function knownBalances(
  read: readonly (readonly [Address, bigint | null])[],
): Observation<LiquidatorSeen>['balances'] {
  const balances: Record<Address, bigint> = {}
  for (const [token, assets] of read) if (assets !== null) balances[token] = assets
  return balances
}

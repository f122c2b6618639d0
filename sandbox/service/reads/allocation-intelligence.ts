import type { Address } from 'viem'
import type { AllocationIntelligenceResource } from '../../../src/service/contract/directory-resources.ts'
import type { Canonical, CanonicalChange, Snapshot } from '../../indexer/canonical.ts'
import { freeAssets } from '../../indexer/exit-terms.ts'
import { lower } from '../../indexer/logs.ts'
import type { VaultRead } from '../../indexer/state.ts'
import type { Handlers } from '../http/handler.ts'
import { collection, idOf, type Source } from './rows.ts'

/** Proposals to allocators, kept up with the chain. */
export type Intelligence = {
  /** Look at a new snapshot; returns what changed, as the service announces it. */
  readonly advance: (snapshot: Snapshot) => readonly CanonicalChange[]
  /** The rows of the vaults that a wallet allocates; empty for any other. */
  readonly rowsFor: (wallet: Address) => readonly AllocationIntelligenceResource[]
}

const MODEL = 'yield-under-caps-1'
/** Landed proposals that are kept, of all vaults. */
const LANDED_MAX = 100
/** Less than this share of a vault is not worth a transaction, in basis points. */
const SHARE_BPS_MIN = 1n
/** Interest moves every limit by the second: a proposal keeps this share of it, and so stands for a while. */
const SHARE_OF_LIMIT_PERCENT = 99n
const BPS = 10_000n
/** Minutes of history that confidence looks back on. */
const MINUTES = 60

type Move = {
  readonly action: 'allocate' | 'deallocate'
  readonly vault: Address
  readonly market: Address
  /** The most that could be moved. */
  readonly limitAssets: bigint
}

type Proposal = Move & {
  readonly amountAssets: bigint
  readonly sinceBlock: bigint
  readonly row: AllocationIntelligenceResource
}

type Chain = Pick<Canonical, 'snapshot' | 'activity' | 'marketHistory'>

/**
 * Follow what each vault's allocator could do next. What is idle beyond the liquidity buffer and the redemption queue
 * goes to the best-paying market with room under both caps; what the buffer lacks comes from the worst-paying one. A
 * proposal stands while it can still be carried out; it has landed when its vault moved exactly its amount. Landed ones
 * are forgotten at a restart.
 */
export function createIntelligence(canonical: Chain): Intelligence {
  let proposed: ReadonlyMap<Address, Proposal> = new Map()
  let landed: readonly Proposal[] = []
  const all = () => [...landed, ...proposed.values()]
  const rows = () => all().map(({ row }) => row)

  const advance = (snapshot: Snapshot): readonly CanonicalChange[] => {
    const before = new Map(rows().map((row) => [row.id, row]))
    // A reorg may take a transaction back.
    const still = landed.filter((one) => transactionOf(one, canonical) === one.row.txHash)
    const arrived = [...proposed.values()].flatMap((one): Proposal[] => {
      const txHash = transactionOf(one, canonical)
      return txHash === null ? [] : [{ ...one, row: { ...one.row, status: 'executed', txHash } }]
    })
    landed = [...still, ...arrived].slice(-LANDED_MAX)
    const open = [...proposed.values()].filter(({ vault }) => !arrived.some((one) => one.vault === vault))
    proposed = proposalsAt(snapshot, open, canonical)
    return changesFrom(before, rows(), snapshot)
  }

  advance(canonical.snapshot())
  return {
    advance,
    rowsFor: (wallet) => {
      const { vaultReads } = canonical.snapshot()
      const own = new Set(
        vaultReads.filter(({ entry }) => entry.allocators.has(lower(wallet))).map(({ address }) => address),
      )
      return all()
        .filter(({ vault }) => own.has(vault))
        .map(({ row }) => row)
    },
  }
}

/** Propose the best move of each vault; one that is open and can still be carried out stands as it is. */
function proposalsAt(
  snapshot: Snapshot,
  open: readonly Proposal[],
  canonical: Chain,
): ReadonlyMap<Address, Proposal> {
  const next = new Map<Address, Proposal>()
  for (const vault of snapshot.vaultReads) {
    const move = bestMove(vault, snapshot)
    if (move === null) continue
    const standing = open.find((one) => one.vault === vault.address)
    const stands =
      standing !== undefined && sameTarget(standing, move) && standing.amountAssets <= move.limitAssets
    next.set(vault.address, stands ? standing : propose(move, snapshot, canonical))
  }
  return next
}

function propose(move: Move, { block }: Snapshot, canonical: Chain): Proposal {
  const amountAssets = (move.limitAssets * SHARE_OF_LIMIT_PERCENT) / 100n
  const row: AllocationIntelligenceResource = {
    id: `${move.vault}:${move.action}:${block.number}`,
    profileId: move.vault,
    status: 'proposed',
    action: move.action,
    targetVaultAddress: move.vault,
    targetMarketAddress: move.market,
    amountAssets: String(amountAssets),
    confidenceBps: confidenceBps(move, canonical),
    policyVersion: null,
    modelVersion: MODEL,
    projectionStatus: null,
    txHash: null,
    createdAt: new Date(block.timestampS * 1_000).toISOString(),
  }
  return { ...move, amountAssets, sinceBlock: block.number, row }
}

/** Find the transaction that moved exactly what a proposal says, after it was made; null before there is one. */
const transactionOf = (
  { vault, market, action, amountAssets, sinceBlock }: Proposal,
  canonical: Chain,
): string | null =>
  canonical
    .activity({ vaultAddress: vault, marketAddress: market })
    .find(
      (row) =>
        row.type === action &&
        row.amount === String(amountAssets) &&
        BigInt(row.blockNumber ?? 0) > sinceBlock,
    )?.txHash ?? null

const sameTarget = (a: Move, b: Move) => a.action === b.action && a.market === b.market

/** Decide what a vault's allocator could do; null when nothing is worth it. As the contract's own rules have it. Pure. */
export function bestMove({ address, state }: VaultRead, { markets }: Snapshot): Move | null {
  const { totalAssets, idleAssets, allocations, liquidityBufferBps } = state
  const bufferAssets = (totalAssets * BigInt(liquidityBufferBps) + BPS - 1n) / BPS
  const listed = allocations
    .map((one) => ({ ...one, address: lower(one.market) }))
    .map((one) => ({ ...one, terms: markets.find((market) => market.address === one.address) }))
    .sort((a, b) => rateOf(b.terms) - rateOf(a.terms))
  const neededAssets = bufferAssets + state.queuedAssets
  const moves =
    idleAssets < neededAssets
      ? listed.toReversed().map((one) => ({
          action: 'deallocate' as const,
          market: one.address,
          limitAssets: least(neededAssets - idleAssets, one.cashAssets, one.allocatedAssets),
        }))
      : listed
          .filter(
            ({ listing, terms }) => listing.approved && listing.allocationEnabled && terms?.paused === false,
          )
          .map((one) => ({
            action: 'allocate' as const,
            market: one.address,
            limitAssets: least(
              freeAssets(state) - bufferAssets,
              one.listing.absoluteCapAssets - one.allocatedAssets,
              (totalAssets * BigInt(one.listing.relativeCapBps)) / BPS - one.allocatedAssets,
            ),
          }))
  const worthwhile = moves.find(({ limitAssets }) => limitAssets > (totalAssets * SHARE_BPS_MIN) / BPS)
  return worthwhile === undefined ? null : { ...worthwhile, vault: address }
}

const rateOf = (market: Snapshot['markets'][number] | undefined) => market?.lendingApyBps ?? 0

const least = (...amounts: readonly bigint[]) => amounts.reduce((a, b) => (a < b ? a : b))

/** In what share of the last hour's minutes the target paid as well as every market that is known; null without any. */
function confidenceBps({ action, market }: Move, { snapshot, marketHistory }: Chain): number | null {
  const minutes = (address: Address) => marketHistory(address).filter(({ interval }) => interval === '1m')
  const own = minutes(market).slice(-MINUTES)
  if (own.length === 0) return null
  const others = snapshot()
    .markets.filter((one) => one.address !== market)
    .map((one) => new Map(minutes(one.address).map((row) => [row.bucketStart, row.lendingApyBps])))
  const direction = action === 'allocate' ? 1 : -1
  const right = own.filter((row) =>
    others.every((other) => direction * ((row.lendingApyBps ?? 0) - (other.get(row.bucketStart) ?? 0)) >= 0),
  )
  return Math.round((right.length / own.length) * Number(BPS))
}

function changesFrom(
  before: ReadonlyMap<string, AllocationIntelligenceResource>,
  after: readonly AllocationIntelligenceResource[],
  { block }: Snapshot,
): readonly CanonicalChange[] {
  const kept = new Set(after.map(({ id }) => id))
  const changed = after.filter((row) => before.get(row.id)?.status !== row.status)
  const gone = [...before.values()]
    .filter(({ id }) => !kept.has(id))
    .map((row) => ({ ...row, status: 'withdrawn' }))
  return [...changed, ...gone].map((row) => ({
    eventType: 'allocation.intelligence.updated',
    subject: row.id,
    data: {
      vaultAddress: row.targetVaultAddress ?? null,
      marketAddress: row.targetMarketAddress ?? null,
      status: row.status ?? null,
      blockNumber: String(block.number),
    },
  }))
}

/** GET /v1/allocation-intelligence: a session's wallet sees the vaults that it allocates. */
export const intelligenceReads = (source: Source, intelligence: Intelligence) =>
  ({
    listAllocationIntelligence: collection(
      source,
      'allocation intelligence',
      ({ caller }) => (caller.wallet === null ? [] : intelligence.rowsFor(caller.wallet)),
      idOf,
    ),
  }) satisfies Partial<Handlers>

import { type Address, decodeFunctionData, encodeFunctionResult, type Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Call } from '../../../../src/chain/nodes.ts'
import type { Subject } from '../../../../src/guard/policy/references.ts'
import { createReads } from '../../../../src/guard/reads/views.ts'
import { allocationCheck, allocationLimits } from '../../../../src/guard/sanity/allocator/allocator.ts'
import { ALLOCATION_VIEWS } from '../../../../src/guard/sanity/allocator/views.ts'
import { BAD_DEBT_VIEWS } from '../../../../src/guard/sanity/bad-debt.ts'
import { PRICE_VIEWS } from '../../../../src/guard/sanity/price.ts'
import { OWNERSHIP_VIEWS } from '../../../../src/guard/sanity/vault-views.ts'
import type { Proposal } from '../../../../src/workflow/proposal.ts'
import { policyOf } from '../../../support/policies.ts'
import {
  deployment,
  judgementsOf,
  MARKET,
  NOW_MS,
  OTHER_MARKET,
  SELF,
  STRANGER,
  VAULT,
} from '../../fixtures.ts'

const VIEWS = [
  ...ALLOCATION_VIEWS,
  ...BAD_DEBT_VIEWS,
  ...PRICE_VIEWS,
  ...OWNERSHIP_VIEWS.filter(({ name }) => name === 'owner'),
] as const

const WAD = 10n ** 18n
const NOW_S = NOW_MS / 1_000
const file = z
  .object({ guard: z.object({ sanity: z.record(z.string(), z.string()) }) })
  .parse(policyOf('allocator'))

const WITHDRAWN = 300n
const SUPPLIED = 500n
const input = {
  vaultAddress: VAULT,
  withdrawals: [{ marketAddress: MARKET, assets: String(WITHDRAWN) }],
  supplies: [{ marketAddress: OTHER_MARKET, assets: String(SUPPLIED) }],
}
const LISTING = { approved: true, allocationEnabled: true, relativeCapBps: 8_000, absoluteCapAssets: 5_000n }

/** What a scripted chain says, by view or by view and contract; null is no answer. */
type Says = Readonly<Record<string, unknown>>
const BEFORE: Says = {
  hasRole: true,
  totalAssets: 10_000n,
  idleAssets: 1_000n,
  queuedAssets: 100n,
  liquidityBufferBps: 500,
  listing: LISTING,
  partition: [WITHDRAWN, 1n, 0n],
  paused: false,
  read: [WAD, BigInt(NOW_S), BigInt(NOW_S), 1],
  exitTerms: { kind: 1, noticeSeconds: 60n, intervalSeconds: 0n, maturityTimestamp: 0n },
  totalBadDebt: 0n,
  totalDebt: 900n,
  totalCash: 100n,
}
const AFTER: Says = {
  ...BEFORE,
  idleAssets: 1_000n + WITHDRAWN - SUPPLIED,
  allocatedAssets: 4_000n,
  utilizationWad: WAD / 2n,
}

const answer =
  (says: Says) =>
  ({ to, data }: Call): Hex | null => {
    const { functionName } = decodeFunctionData({ abi: VIEWS, data })
    const said = says[`${functionName} ${to}`] ?? says[functionName]
    const result = said as never
    return said === null || said === undefined
      ? null
      : encodeFunctionResult({ abi: VIEWS, functionName, result })
  }

type Script = {
  readonly before?: Says
  readonly after?: Says
  readonly kind?: string
  readonly limits?: Record<string, string>
  readonly asks?: Readonly<Record<string, unknown>>
  readonly type?: 'vaultReallocationBatch' | 'vaultAllocate' | 'vaultDeallocate'
  /** Who moves it: an allocator where nothing is said. */
  readonly by?: 'owner'
}

/** Judge the batch above on a scripted chain: what `checkState` says, and then what `checkOutcome` does. */
function judge({
  before = {},
  after = {},
  kind = 'yield',
  limits = {},
  asks = input,
  type = 'vaultReallocationBatch',
  by,
}: Script = {}) {
  const stated = { ...file.guard.sanity, ...limits }
  const sanity =
    by === 'owner'
      ? allocationCheck(allocationLimits.parse(stated), 'batch', by)
      : judgementsOf('allocator', stated).get(`role.allocator.${type}`)
  if (sanity === undefined) throw new TypeError('the policy judges batches')
  const reads = { before: createReads(), after: createReads() }
  const vault = deployment.vaults.find(({ address }) => address === VAULT) ?? null
  const subject: Subject = {
    input: asks,
    self: SELF,
    deadlineS: BigInt(NOW_S),
    market: null,
    vault,
    fund: null,
    deployment,
  }
  const judged = sanity.judge({ subject, proposal: { kind } as Proposal, calls: [], ...reads })
  reads.before.fill(reads.before.calls.map(answer({ ...BEFORE, ...before })))
  reads.after.fill(reads.after.calls.map(answer({ ...AFTER, ...after })))
  const shown = { timestampS: NOW_S, gasWei: 0n, changeOf: () => 0n }
  return (judged.checkState(NOW_S) ?? judged.checkOutcome(shown))?.check ?? 'cleared'
}
const at = (view: string, market: Address) => `${view} ${market}`

describe('one move on a scripted chain', () => {
  const asks = (marketAddress: Address, assets: bigint) => ({
    vaultAddress: VAULT,
    marketAddress,
    assets: String(assets),
  })
  const supply = (idleAssets: bigint, more: Script = {}) =>
    judge({
      type: 'vaultAllocate',
      asks: asks(OTHER_MARKET, SUPPLIED),
      ...more,
      after: { idleAssets, ...more.after },
    })
  const withdraw = (idleAssets: bigint, more: Script = {}) =>
    judge({ type: 'vaultDeallocate', asks: asks(MARKET, WITHDRAWN), after: { idleAssets }, ...more })

  it('is cleared where the vault has it afterwards, to the base unit', () => {
    // 5 % of 10,000, and what is queued, stay: 1,100 suffice for 500.
    const enough = { before: { idleAssets: 1_100n } }
    expect(supply(600n, enough)).toBe('cleared')
    expect(supply(599n, enough)).toBe('idle_differs')
    expect(withdraw(1_300n)).toBe('cleared')
    expect(withdraw(1_299n)).toBe('idle_differs')
  })

  it('is held to each market that it goes to', () => {
    const supplies = [...input.supplies, { marketAddress: MARKET, assets: '1' }]
    const two = { asks: { ...input, supplies } }
    const after = { idleAssets: 999n + WITHDRAWN - SUPPLIED, [at('allocatedAssets', OTHER_MARKET)]: 5_001n }
    expect(judge({ ...two, after })).toBe('above_cap')
  })

  it('is held to the market that it goes to, and takes no more than there is', () => {
    const enough = { before: { idleAssets: 1_100n } }
    const full = { [at('allocatedAssets', OTHER_MARKET)]: 5_001n }
    expect(supply(600n, { ...enough, after: full })).toBe('above_cap')
    expect(supply(600n, { before: { ...enough.before, [at('paused', OTHER_MARKET)]: true } })).toBe(
      'market_paused',
    )
    expect(withdraw(1_300n, { before: { partition: [WITHDRAWN - 1n, 1n, 0n] } })).not.toBe('cleared')
    expect(withdraw(1_300n, { asks: asks(STRANGER, WITHDRAWN) })).toBe('market_not_pinned')
  })
})

describe('a reallocation on a scripted chain', () => {
  it('is cleared when every figure is at its limit', () => {
    expect(judge()).toBe('cleared')
    expect(judge({ after: { [at('allocatedAssets', OTHER_MARKET)]: 5_000n } })).toBe('cleared')
    // 5 % of 10,000, and what is queued.
    expect(judge({ before: { idleAssets: 800n }, after: { idleAssets: 600n } })).toBe('cleared')
    expect(judge({ after: { utilizationWad: (WAD * 91n) / 100n } })).toBe('cleared')
  })

  it.each([
    'hasRole',
    'partition',
    'listing',
    'paused',
    'read',
    'totalAssets',
    'idleAssets',
    'liquidityBufferBps',
  ])('is refused while %s cannot be read', (view) =>
    expect(judge({ before: { [view]: null } })).toBe('read_failed'),
  )

  it.each(['totalAssets', 'idleAssets', 'queuedAssets', 'listing', 'allocatedAssets', 'utilizationWad'])(
    'is refused while %s cannot be read afterwards',
    (view) => expect(judge({ after: { [view]: null } })).toBe('read_failed'),
  )

  it.each([
    ['not_allocator', { hasRole: false }],
    ['market_liquidity_short', { partition: [WITHDRAWN - 1n, 1n, 0n] }],
    ['allocation_disabled', { listing: { ...LISTING, allocationEnabled: false } }],
    ['allocation_disabled', { listing: { ...LISTING, approved: false } }],
    ['market_paused', { [at('paused', OTHER_MARKET)]: true }],
    ['oracle_not_healthy', { read: [WAD, BigInt(NOW_S), BigInt(NOW_S), 2] }],
    ['oracle_not_healthy', { read: [0n, BigInt(NOW_S), BigInt(NOW_S), 1] }],
    ['price_stale', { read: [WAD, BigInt(NOW_S - 301), BigInt(NOW_S), 1] }],
    ['price_in_future', { read: [WAD, BigInt(NOW_S + 1), BigInt(NOW_S), 1] }],
  ])('is refused before anything is simulated: %s', (check, before) => {
    expect(judge({ before })).toBe(check)
  })

  it('is made by an owner as who owns the vault, whatever role they have', () => {
    const owned = (owner: unknown, hasRole = false) => judge({ by: 'owner', before: { owner, hasRole } })
    expect(owned(SELF)).toBe('cleared')
    expect(owned(STRANGER, true)).toBe('not_owner')
    expect(owned(null, true)).toBe('read_failed')
  })

  it('may leave a market that is paused', () => {
    expect(judge({ before: { [at('paused', MARKET)]: true } })).toBe('cleared')
  })

  it.each([
    ['value_lost', { totalAssets: 9_999n }],
    ['idle_differs', { idleAssets: 799n }],
    ['idle_differs', { idleAssets: 801n }],
    ['above_cap', { [at('allocatedAssets', OTHER_MARKET)]: 5_001n }],
    ['above_cap', { listing: { ...LISTING, relativeCapBps: 3_999 } }],
    ['utilization_above_limit', { utilizationWad: (WAD * 91n) / 100n + 1n }],
  ])('is refused for what it leaves: %s', (check, after) => {
    expect(judge({ after })).toBe(check)
  })

  it('keeps buffer and queue to the base unit', () => {
    expect(judge({ before: { idleAssets: 799n }, after: { idleAssets: 599n } })).toBe('buffer_not_kept')
  })

  it('keeps the policy’s own share where the vault allows more', () => {
    expect(judge({ limits: { shareMax: '40 %' } })).toBe('cleared')
    expect(judge({ limits: { shareMax: '39.99 %' } })).toBe('above_cap')
  })

  it('lets a redemption use up a market, and yield not', () => {
    const drained = { [at('utilizationWad', MARKET)]: WAD }
    const asks = { ...input, supplies: [] }
    const after = { ...drained, idleAssets: 1_000n + WITHDRAWN }
    expect(judge({ after, asks, kind: 'redemptions' })).toBe('cleared')
    expect(judge({ after, asks, kind: 'yield' })).toBe('utilization_above_limit')
  })

  it('takes a move that supplies for one for yield, whatever it is called', () => {
    const drained = { [at('utilizationWad', MARKET)]: WAD }
    expect(judge({ after: drained, kind: 'yield' })).toBe('utilization_above_limit')
    expect(judge({ after: drained, kind: 'redemptions' })).toBe('utilization_above_limit')
    const asks = { ...input, withdrawals: [] }
    const after = { [at('utilizationWad', OTHER_MARKET)]: WAD, idleAssets: 1_200n - SUPPLIED }
    const before = { idleAssets: 1_200n }
    expect(judge({ before, after, asks, kind: 'leave' })).toBe('utilization_above_limit')
  })

  it('knows no market beside those of the deployment, and moves nothing of nothing', () => {
    const asking = (changes: object) => judge({ asks: { ...input, ...changes } })
    expect(asking({ supplies: [{ marketAddress: STRANGER, assets: '1' }] })).toBe('market_not_pinned')
    expect(asking({ withdrawals: 'all' })).toBe('market_not_pinned')
    const unknown = { marketAddress: STRANGER, assets: '1' }
    expect(asking({ withdrawals: [...input.withdrawals, unknown] })).toBe('market_not_pinned')
    expect(asking({ supplies: [...input.supplies, unknown] })).toBe('market_not_pinned')
    expect(asking({ withdrawals: [], supplies: [] })).toBe('market_not_pinned')
    expect(asking({ supplies: [{ marketAddress: OTHER_MARKET, assets: '0' }] })).toBe('amount_is_zero')
    expect(asking({ withdrawals: [{ marketAddress: MARKET, assets: '0' }] })).toBe('market_liquidity_short')
  })

  it('leaves a market for nothing that only the service says of it', () => {
    expect(judge({ kind: 'leave' })).toBe('no_trouble')
    expect(judge({ kind: 'leave', before: { [at('totalBadDebt', MARKET)]: 10n } })).toBe('no_trouble')
    // What is wrong with another market is no reason either.
    expect(judge({ kind: 'leave', before: { [at('totalBadDebt', OTHER_MARKET)]: 11n } })).toBe('no_trouble')
  })

  it.each([{ [at('totalBadDebt', MARKET)]: 11n }, { [at('paused', MARKET)]: true }])(
    'leaves a market for what the chain shows: %o',
    (before) => expect(judge({ kind: 'leave', before })).toBe('cleared'),
  )

  it('leaves a market whose oracle gives no price that may be used, and any when the vault matures', () => {
    const leaving = (before: Says) =>
      judge({ kind: 'leave', before, asks: { ...input, supplies: [] }, after: { idleAssets: 1_300n } })
    expect(leaving({})).toBe('no_trouble')
    expect(leaving({ read: [WAD, BigInt(NOW_S - 301), BigInt(NOW_S), 1] })).toBe('cleared')
    expect(leaving({ read: [WAD, BigInt(NOW_S), BigInt(NOW_S), 2] })).toBe('cleared')
    expect(leaving({ listing: { ...LISTING, approved: false } })).toBe('cleared')
    const matures = (maturityTimestamp: number, kind = 3) => ({
      exitTerms: {
        kind,
        noticeSeconds: 0n,
        intervalSeconds: 0n,
        maturityTimestamp: BigInt(maturityTimestamp),
      },
    })
    expect(leaving(matures(NOW_S + 86_400))).toBe('cleared')
    expect(leaving(matures(NOW_S + 86_401))).toBe('no_trouble')
    expect(leaving(matures(NOW_S, 1))).toBe('no_trouble')
  })

  it.each(['exitTerms', 'totalBadDebt', 'totalDebt', 'totalCash'])(
    'leaves nothing while %s cannot be read',
    (view) => {
      expect(judge({ kind: 'leave', before: { [view]: null } })).toBe('read_failed')
      expect(judge({ before: { [view]: null } })).toBe('cleared')
    },
  )

  it.each(['listing', 'paused'])('leaves nothing while %s of its market cannot be read', (view) => {
    expect(judge({ kind: 'leave', before: { [view]: null } })).toBe('read_failed')
  })
})

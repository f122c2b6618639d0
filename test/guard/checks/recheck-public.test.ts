import { type Address, pad, toEventSelector, toHex } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Log, SimulationRequest, SimulationResult } from '../../../src/chain/nodes.ts'
import { recheckPublic } from '../../../src/guard/checks/recheck-public.ts'
import { PLAIN } from '../../../src/guard/sanity/judgement.ts'
import type { Slot } from '../../../src/workflow/slot.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { attemptOf, slotOf, workflowOf } from '../../support/workflows.ts'
import {
  bound,
  COLLATERAL,
  deployment,
  freeze,
  LOAN,
  liquidation,
  liquidationAnswer,
  MARKET,
  NOW_MS,
  ruleset,
  SELF,
} from '../fixtures.ts'

const NOW_S = NOW_MS / 1_000
const sanity = new Map(
  [...ruleset.sanity].map(([type, { revalidations }]) => [type, { ...PLAIN, revalidations }]),
)
const rules = { ...ruleset, sanity }

const left = (token: Address, assets: bigint): Log => ({
  address: token,
  data: toHex(assets, { size: 32 }),
  topics: [toEventSelector('Transfer(address,address,uint256)'), pad(SELF), pad(MARKET)],
})

const slot = (nonce: number, changes: Partial<Slot> = {}): Slot =>
  slotOf({
    nonce,
    signer: SELF,
    predicted: { gasUsed: 80_000n, tokens: [{ token: LOAN, assets: -500n }] },
    ...changes,
  })

/** An approval that is mined, and the liquidation that waits at two offers. */
const WAITING: readonly Slot[] = [
  slot(7, { state: 'mined' }),
  slot(8, {
    attempts: [
      attemptOf({ maxFeePerGasWei: 5n }),
      attemptOf({ maxFeePerGasWei: 9n, maxPriorityFeePerGasWei: 2n }),
    ],
  }),
  slot(9, { kind: 'revoke' }),
]

type Shown = {
  readonly slots?: readonly Slot[]
  readonly logs?: readonly Log[]
  readonly status?: 'success' | 'reverted'
  readonly code?: 'changed'
  readonly isCleared?: boolean
  readonly changes?: Partial<Workflow>
}

/** Look again, with nodes that show this: what is said, and what the nodes were asked to run. */
async function look({
  slots = WAITING,
  logs = [],
  status = 'success',
  code,
  isCleared = true,
  changes = {},
}: Shown) {
  const asked: SimulationRequest[] = []
  const { clearance, ...cleared } = workflowOf('in_flight', { ...bound(liquidation), slots })
  if (clearance === undefined) throw new TypeError('what is in flight was cleared')
  const workflow: Workflow = {
    ...cleared,
    prepared: freeze(liquidationAnswer()),
    ...(isCleared ? { clearance: { ...clearance, atMs: NOW_MS } } : {}),
    ...changes,
  }
  const pins = [...deployment.assets, ...deployment.markets, ...deployment.vaults]
  const oracle = deployment.markets[0]
  const codeOf = (address: Address) =>
    code === 'changed'
      ? null
      : (pins.find((pin) => pin.address === address)?.codeHash ??
        (oracle?.oracle === address ? oracle.oracleCodeHash : null))
  const simulate = async (request: SimulationRequest): Promise<SimulationResult> => {
    asked.push(request)
    return {
      block: { number: 100n, hash: '0x', parentHash: '0x', timestampS: NOW_S - 1, baseFeePerGasWei: 1n },
      timestampS: NOW_S,
      pending: [],
      before: [],
      after: [],
      words: [],
      following: [],
      bundle: request.bundle.map(() => ({ status, gasUsed: 1n, returnData: '0x', logs })),
      codeHashes: (request.codeAt ?? []).map(codeOf),
    }
  }
  const pending = [
    {
      from: SELF,
      to: MARKET,
      data: '0x',
      valueWei: 0n,
      gasLimit: 1n,
      nonce: 6,
      maxFeePerGasWei: 1n,
      maxPriorityFeePerGasWei: 1n,
    },
  ] as const
  const said = await recheckPublic(
    { workflow, ruleset: rules, pending, nowMs: NOW_MS },
    { nodes: { simulate } },
  )
  return {
    check: said.ok ? 'ok' : said.check,
    bundles: asked.map(({ bundle }) => bundle),
    pending: asked.at(-1)?.pending,
  }
}

describe('a look again at what is public', () => {
  it('runs what is left of it, at the highest fee that is offered, on top of what comes before', async () => {
    const { check, bundles, pending } = await look({})
    expect(check).toBe('ok')
    expect(bundles).toHaveLength(2)
    expect(bundles[0]).toEqual([])
    expect(bundles[1]).toEqual([
      expect.objectContaining({
        from: SELF,
        nonce: 8,
        maxFeePerGasWei: 9n,
        maxPriorityFeePerGasWei: 2n,
        gasLimit: 100_000n,
      }),
    ])
    expect(pending).toEqual([expect.objectContaining({ nonce: 6 })])
  })

  it('offers the highest fee of all slots that are left', async () => {
    const fees = [attemptOf({ maxFeePerGasWei: 30n, maxPriorityFeePerGasWei: 3n })]
    const { bundles } = await look({
      slots: [...WAITING.slice(0, 2), slot(9, { attempts: fees }), slot(10)].map((each) =>
        each.nonce === 10 ? { ...each, attempts: [attemptOf({ maxFeePerGasWei: 4n })] } : each,
      ),
    })
    expect(bundles[1]?.map(({ nonce, maxFeePerGasWei }) => [nonce, maxFeePerGasWei])).toEqual([
      [8, 30n],
      [9, 30n],
      [10, 30n],
    ])
  })

  it.each<[string, Shown]>([
    ['not_cleared', { isCleared: false }],
    ['no_longer_runs', { status: 'reverted' }],
    ['code_changed', { code: 'changed' }],
    ['more_would_leave', { logs: [left(LOAN, 501n)] }],
    ['more_would_leave', { logs: [left(COLLATERAL, 1n)] }],
    ['ok', { logs: [left(LOAN, 500n)] }],
    ['ok', { logs: [left(LOAN, 499n)] }],
  ])('says %s: %#', async (check, shown) => {
    expect((await look(shown)).check).toBe(check)
  })

  it('compares what would leave with all that its slots were cleared for, token by token', async () => {
    const both = [slot(8), slot(9)]
    expect((await look({ slots: both, logs: [left(LOAN, 500n)] })).check).toBe('ok')
    expect((await look({ slots: both, logs: [left(LOAN, 501n)] })).check).toBe('more_would_leave')
    const gains = slot(9, { predicted: { gasUsed: 1n, tokens: [{ token: COLLATERAL, assets: 70n }] } })
    expect((await look({ slots: [slot(8), gains], logs: [left(LOAN, 250n)] })).check).toBe('ok')
    expect((await look({ slots: [slot(8), gains], logs: [left(LOAN, 251n)] })).check).toBe('more_would_leave')
  })

  it('is refused by the rules of now, before a node is asked', async () => {
    const answer = { ...liquidationAnswer(), workflowType: 'role.liquidator.settleLiquidationClaim' }
    const { check, bundles } = await look({ changes: { prepared: freeze(answer) } })
    expect([check, bundles]).toEqual(['workflow_mismatch', []])
  })
})

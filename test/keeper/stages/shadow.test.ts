import { describe, expect, it } from 'vitest'
import type { Head, SimulationRequest } from '../../../src/chain/nodes.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { approvalPolicy, compileApproval } from '../../../src/guard/approval/approval.ts'
import type { Reservation } from '../../../src/journal/journal.ts'
import { createShadowStages } from '../../../src/keeper/stages/shadow.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { ruleset } from '../../guard/fixtures.ts'
import { FEE_POLICY, proposalOf, workflowOf } from '../../support/workflows.ts'

const HASH = `0x${'bb'.repeat(32)}` as const
const headAt = (number: bigint): Head => ({
  number,
  hash: HASH,
  parentHash: HASH,
  timestampS: 1,
  baseFeePerGasWei: 1_000n,
})
const payload = {
  to: HASH.slice(0, 42) as `0x${string}`,
  data: '0x' as const,
  valueWei: 0n,
  gasLimit: 50_000n,
}

function createWorld() {
  const world = {
    head: 11n,
    /** What the simulation says of the bundle, or that a node would not begin it. */
    status: 'success' as 'success' | 'reverted',
    rejected: null as string | null,
    reservations: [] as Reservation[],
    settled: [] as Reservation[],
    scored: [] as string[],
    simulated: [] as SimulationRequest[],
  }
  const stages = createShadowStages({
    nowMs: () => 5_000,
    apart: [],
    gas: { dataFees: () => undefined },
    journal: {
      barrier: async () => {},
      reservations: async () => world.reservations,
      settle: async (row) => {
        world.settled.push(row)
      },
    },
    nodes: {
      chainId: 31_337,
      head: async () => headAt(world.head),
      transactionCount: async () => 7,
      simulate: async (request) => {
        world.simulated.push(request)
        if (world.rejected !== null) {
          const facts = { reason: world.rejected }
          throw new RolekeeperError('node.simulation_rejected', 'no', { facts, retry: 'now' })
        }
        const { status } = world
        const bundle = request.bundle.map(() => ({
          status,
          gasUsed: 1n,
          returnData: '0x' as const,
          logs: [],
        }))
        return {
          block: headAt(world.head),
          timestampS: 2,
          pending: [],
          before: [],
          bundle,
          after: [],
          codeHashes: [],
          words: [],
          following: [],
        }
      },
    },
    client: {
      prepareWorkflow: async () => {
        throw new TypeError('a shadow prepared')
      },
    },
    ruleset,
    marked: {
      deployment: { ...ruleset.deployment, assets: [], markets: [], vaults: [], contracts: [] },
      pricesUsdMicros: {},
      nativePriceUsdMicros: 0n,
      vaults: [],
    },
    approval: compileApproval(
      approvalPolicy([]).parse({ always: [], aboveAssets: {}, expiresAfter: '15 min' }),
      ruleset.deployment,
    ),
    fees: { ...FEE_POLICY, maxFeePerGasWei: 5_000n, priorityFeePerGasWei: 1n, priorityFeePerGasWeiMax: 1n },
    gate: () => ({ closed: false, paused: false }),
    onScored: (verdict) => world.scored.push(verdict),
  })
  return { world, stages }
}

const cleared = (changes: Partial<Workflow> = {}): Workflow => {
  const workflow = workflowOf('cleared', { shadow: true, shadowed: { calls: [], ask: null }, ...changes })
  const { clearance } = workflow
  if (clearance === undefined) throw new TypeError('not cleared')
  const predicted = { gasUsed: 40_000n, tokens: [] }
  return {
    ...workflow,
    clearance: {
      ...clearance,
      payloads: [
        { payload, predicted },
        { payload, predicted },
      ],
    },
  }
}
const claimed = async ({ stages }: ReturnType<typeof createWorld>, workflow = cleared()) => {
  const step = await stages.claim(workflow)
  return step.type === 'wait' ? step : step.workflow
}

describe('the score of a shadow', () => {
  it('waits for a block after the one that it was cleared on', async () => {
    const scene = createWorld()
    scene.world.head = 10n
    expect(await claimed(scene)).toEqual({ type: 'wait', ms: 2_000 })
    expect(scene.world.simulated).toEqual([])
  })

  it.each([
    [11n, 'success', null, 'won'],
    [11n, 'reverted', null, 'contested'],
    [12n, 'success', null, 'won'],
    [12n, 'reverted', null, 'missed'],
    [11n, 'success', 'insufficient_funds', 'contested'],
  ] as const)('at block %s, %s, rejected for %s, is %s', async (head, status, rejected, verdict) => {
    const scene = createWorld()
    Object.assign(scene.world, { head, status, rejected })
    expect(await claimed(scene)).toMatchObject({
      state: 'shadowed',
      slots: [],
      shadowed: { outcome: { verdict, blockNumber: head, gasWei: 80_000n * 1_001n } },
      note: { check: verdict },
    })
    expect(scene.world.scored).toEqual([verdict])
  })

  it('runs the same payloads in order, from the address’s own count', async () => {
    const scene = createWorld()
    await claimed(scene)
    expect(scene.world.simulated[0]?.bundle.map(({ nonce, gasLimit }) => [nonce, gasLimit])).toEqual([
      [7, 50_000n],
      [8, 50_000n],
    ])
  })

  it('looks again where the key moved on meanwhile', async () => {
    const scene = createWorld()
    scene.world.rejected = 'nonce_mismatch'
    await expect(claimed(scene)).rejects.toMatchObject({ retry: 'now' })
    expect(scene.world.settled).toEqual([])
  })

  it('reserves what it would have spent, in shadow, and is held to the budgets by it', async () => {
    const scene = createWorld()
    await claimed(scene)
    expect(scene.world.settled).toMatchObject([{ shadow: true, usdMicros: 1_000n, gasWei: 80_000n * 2_001n }])
    const { usdMicrosMax } = ruleset.limits.perHour
    const [spent] = scene.world.settled
    if (spent === undefined) throw new TypeError('nothing was reserved')
    scene.world.reservations = [{ ...spent, workflowId: 'other', usdMicros: usdMicrosMax }]
    expect(await claimed(scene)).toMatchObject({ state: 'refused', note: { check: 'limit_hour_usd' } })
  })
})

it('prepares nothing whose preparation is the effect', async () => {
  const { stages } = createWorld()
  const proposal = proposalOf({ workflowType: 'role.vault_owner.vaultOwnerSettingsSave', input: {} })
  const step = await stages.request(workflowOf('discovered', { shadow: true, proposal }))
  expect(step).toMatchObject({ workflow: { state: 'refused', note: { check: 'shadow_no_prepare' } } })
})

it('has no stage for a workflow with a nonce', async () => {
  const { stages } = createWorld()
  await expect(stages.carry(workflowOf('in_flight'))).rejects.toThrow('it holds no nonce')
  await expect(stages.confirm(workflowOf('confirmed'))).rejects.toThrow('it holds no nonce')
})

import { stringToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AgentConfig } from '../../../src/config/config.ts'
import { limits as capOf } from '../../../src/config/limits.ts'
import { withWitness } from '../../../src/fleet/witnessed-journal.ts'
import { approvalPolicy, compileApproval } from '../../../src/guard/approval/approval.ts'
import { limitsPolicy } from '../../../src/guard/policy/policy.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { apartOf, sharingOf } from '../../../src/keeper/policy/shared-limits.ts'
import { createBudget } from '../../../src/keeper/stages/budget-check.ts'
import { claim } from '../../../src/pipeline/claim.ts'
import type { Holding } from '../../../src/workflow/holding.ts'
import type { Step } from '../../../src/workflow/step.ts'
import { deployment } from '../../guard/fixtures.ts'
import { newDirectory } from '../../support/directory.ts'
import { policyOf as textOf } from '../../support/policies.ts'
import { startRedis, type TestRedis } from '../../support/redis.ts'
import { DURABLE, journalOf, newStore, openStore, takeSeat } from '../../support/redis-fleet.ts'
import { MARKET, proposalOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const OTHER = `0x${'52'.repeat(20)}` as const
const CHAIN = 31_337
/** A server forgets by its own clock what is old. */
const NOW_MS = Date.now()
const approval = compileApproval(
  approvalPolicy([]).parse({ always: [], aboveAssets: {}, expiresAfter: '15 min' }),
  { assets: [] },
)
const limits = limitsPolicy.parse({
  ...(textOf('liquidator').limits as object),
  perWorkflow: { movedMax: '1,000 USD', gasMax: '1 ETH' },
  perHour: { movedMax: '1,000 USD', gasMax: '1 ETH', revertsMax: '5' },
  perDay: { movedMax: '1,000 USD', gasMax: '1 ETH', revertsMax: '5' },
})
const spend = (dollars: number) => ({ movedMax: `${dollars} USD`, gasMax: '1 ETH' })
const cap = capOf.parse({ perHour: spend(1_000), perDay: spend(1_500) })

type Agent = {
  readonly role: string
  readonly signer: `0x${string}`
  readonly apart?: readonly `0x${string}`[]
  readonly sharing?: readonly `0x${string}`[]
}
const LIQUIDATOR: Agent = { role: 'liquidator', signer: SIGNER }
const REPORTER: Agent = { role: 'nav-reporter', signer: SIGNER }
const ALLOCATOR: Agent = { role: 'allocator', signer: OTHER }

/** Open what an agent was cleared for, as the keeper's pipeline has it before its claim. */
async function cleared(
  journal: Journal,
  { role, signer }: Agent,
  id: string,
  dollars: number,
  holdings: readonly Holding[] = [],
) {
  const { clearance } = workflowOf('cleared')
  if (clearance === undefined) throw new TypeError('not cleared')
  const { payload, predicted } = slotOf()
  if ((await journal.nextNonce(CHAIN, signer)) === null) await journal.adoptNonce(CHAIN, signer, 0)
  const workflow = workflowOf('cleared', {
    id,
    opportunity: id,
    role,
    signer,
    proposal: proposalOf({ exposure: { token: null, assets: 0n, usdMicros: BigInt(dollars) * 1_000_000n } }),
    clearance: {
      ...clearance,
      atMs: NOW_MS,
      notAfterMs: NOW_MS + 1_000,
      payloads: [{ payload: { ...payload, data: stringToHex(id) }, predicted }],
      uses: [`market ${MARKET}`],
      holdings,
    },
  })
  await journal.open(workflow)
  return workflow
}

/** Claim for an agent. `beside` is done once its budget was judged, before it claims. */
async function claimFor(
  journal: Journal,
  agent: Agent,
  [id, dollars]: readonly [string, number],
  {
    over = true,
    beside = async () => {},
    holdings,
  }: { over?: boolean; beside?: () => Promise<void>; holdings?: readonly Holding[] } = {},
): Promise<string> {
  const judge = createBudget({
    nowMs: () => NOW_MS,
    journal,
    approval,
    apart: agent.apart ?? [],
    ruleset: { limits, allowances: [], deployment, ...(agent.sharing && { sharing: agent.sharing }) },
    ...(over ? { cap } : {}),
  })
  let rest: (() => Promise<void>) | undefined = beside
  const workflow = await cleared(journal, agent, id, dollars, holdings)
  const step = await claim(workflow, {
    nowMs: () => NOW_MS,
    rulesetHash: 'rules',
    safe: () => null,
    fees: () => ({ ok: true, fees: { maxFeePerGasWei: 2n, maxPriorityFeePerGasWei: 1n } }),
    nextNonce: async (signer) => (await journal.nextNonce(CHAIN, signer)) ?? 0,
    checkBudget: async (ask) => {
      const judged = await judge(ask, workflow)
      const once = rest
      rest = undefined
      await once?.()
      return judged
    },
    claim: journal.claimWithin.bind(journal),
  })
  return endOf(step)
}

const endOf = (step: Step) =>
  step.type === 'wait' ? 'waits' : (step.workflow.note?.check ?? step.workflow.state)

/** Two who were judged before either claimed. */
function together(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let left = count
  return async () => {
    left -= 1
    if (left === 0) resolve()
    await promise
  }
}

/** What is held of one token that may be held up to 100, by each key once a workflow of one of them landed. */
const held = (assets: bigint, [own, other]: readonly `0x${string}`[], before = 0n): readonly Holding[] => [
  {
    check: 'inventory_above_limit',
    of: 'held or claimed',
    token: MARKET,
    assetsMax: 100n,
    byKey: [
      { signer: own ?? '0x', assets },
      { signer: other ?? '0x', assets: before },
    ],
  },
]

/** Hold what two keys have on chain to one limit, for a journal each: one and the same, or two of a fleet. */
async function expectShared(one: Journal, other: Journal) {
  const keys = [SIGNER, OTHER]
  const [first, second] = [
    { ...LIQUIDATOR, sharing: keys },
    { ...LIQUIDATOR, signer: OTHER, sharing: keys },
  ]
  const beside = together(2)
  const both = await Promise.all([
    claimFor(one, first, ['a', 1], { beside, over: false, holdings: held(60n, keys) }),
    claimFor(other, second, ['b', 1], { beside, over: false, holdings: held(60n, keys.toReversed()) }),
  ])
  expect(both.toSorted()).toEqual(['in_flight', 'inventory_above_limit'])
  const loser = both[0] === 'in_flight' ? ([other, second] as const) : ([one, first] as const)
  const ofLoser = (assets: bigint, before: bigint) =>
    held(assets, loser[1].signer === SIGNER ? keys : keys.toReversed(), before)
  const claimMore = (id: string, holdings: readonly Holding[]) =>
    claimFor(loser[0], loser[1], [id, 1], { over: false, holdings })
  // What has landed counts once, and what the chain shows above it counts whole.
  expect(await claimMore('c', ofLoser(40n, 61n))).toBe('inventory_above_limit')
  expect(await claimMore('d', ofLoser(40n, 60n))).toBe('in_flight')
}

/** Hold the cap to what it says, for two roles with a journal each: one and the same, or two of a fleet. */
async function expectCap(one: Journal, other: Journal, reopen: () => Promise<Journal>) {
  const beside = together(2)
  const both = await Promise.all([
    claimFor(one, LIQUIDATOR, ['a', 600], { beside }),
    claimFor(other, ALLOCATOR, ['b', 600], { beside }),
  ])
  expect(both.toSorted()).toEqual(['in_flight', 'limit_all_hour_usd'])
  const again = await reopen()
  expect(await claimFor(again, REPORTER, ['c', 401])).toBe('limit_all_hour_usd')
  expect(await claimFor(again, REPORTER, ['d', 400])).toBe('in_flight')
}

describe('the cap over all roles', () => {
  it('holds for two roles that together exceed it and claim at the same instant, and after a restart', async () => {
    const directory = newDirectory()
    const journal = openSqliteJournal(directory)
    let again: Journal | undefined
    await expectCap(journal, journal, async () => {
      await journal.close()
      again = openSqliteJournal(directory)
      return again
    })
    await again?.close()
  })

  it('is not there where the run configuration has none: each role has its own', async () => {
    const journal = openSqliteJournal(newDirectory())
    expect(await claimFor(journal, LIQUIDATOR, ['a', 900], { over: false })).toBe('in_flight')
    expect(await claimFor(journal, ALLOCATOR, ['b', 900], { over: false })).toBe('in_flight')
    expect(await claimFor(journal, ALLOCATOR, ['c', 101], { over: false })).toBe('limit_hour_usd')
    await journal.close()
  })

  describe('in a fleet', () => {
    let redis: TestRedis
    beforeAll(async () => {
      redis = await startRedis(DURABLE)
    })
    afterAll(() => redis.stop())

    it('holds for two seats of two instances that claim at the same instant', async () => {
      const { store, config } = await newStore(redis.port)
      const stores = [store, openStore({ ...config, instance: 'two' })] as const
      await stores[1].connect()
      const [one, other] = await Promise.all([
        journalOf(await takeSeat(stores[0]), stores[0]),
        journalOf(await takeSeat(stores[1], OTHER), stores[1]),
      ])
      await expectCap(one, other, async () => journalOf(await takeSeat(store), store))
    })

    it.each([
      ['and nothing is written meanwhile', []],
      ['and one is settled meanwhile', ['b']],
    ])(
      'says where Redis has forgotten what was reserved, %s, and counts on what is in memory; a new process has the chain’s own facts, and the limit of one workflow',
      async (_, settled) => {
        const { store, config } = await newStore(redis.port)
        const told: string[] = []
        const journal = withWitness(await journalOf(await takeSeat(store), store), {
          acknowledged: async () => {},
          onError: ({ shortMessage }) => told.push(shortMessage),
        })
        expect(await claimFor(journal, LIQUIDATOR, ['a', 500])).toBe('in_flight')
        expect(await claimFor(journal, LIQUIDATOR, ['b', 400])).toBe('in_flight')
        const rows = await journal.reservations('liquidator', 0)
        await journal.spending('liquidator', [0], 'none')
        const { budget, budgetTimes, budgetChanges } = store.keys
        await redis.client().del([budget, budgetTimes, budgetChanges].map((keyOf) => keyOf('liquidator')))
        for (const row of rows) if (settled.includes(row.workflowId)) await journal.settle(row)
        await expect(claimFor(journal, LIQUIDATOR, ['c', 200])).rejects.toMatchObject({
          code: 'journal.amnesia',
        })
        expect(told).toEqual([expect.stringContaining('nothing is left of what workflow a reserved')])
        expect(await claimFor(journal, LIQUIDATOR, ['d', 200])).toBe('limit_hour_usd')
        expect(await claimFor(journal, LIQUIDATOR, ['h', 50], { over: false })).toBe('in_flight')
        const next = openStore({ ...config, instance: 'two' })
        const anew = await journalOf(await takeSeat(next), next)
        const sharing = { ...LIQUIDATOR, sharing: [SIGNER, OTHER] }
        expect(await claimFor(anew, sharing, ['e', 1], { holdings: held(101n, [SIGNER, OTHER]) })).toBe(
          'inventory_above_limit',
        )
        expect(await claimFor(anew, LIQUIDATOR, ['f', 1_001])).toBe('limit_workflow_usd')
        expect(await claimFor(anew, LIQUIDATOR, ['g', 500])).toBe('in_flight')
        next.close()
        store.close()
      },
    )

    it('finds nothing forgotten that a generation before had, as a person has seen to that', async () => {
      const { store } = await newStore(redis.port)
      const journal = await journalOf(await takeSeat(store), store)
      expect(await claimFor(journal, LIQUIDATOR, ['a', 500])).toBe('in_flight')
      expect((await journal.spending(null, [0], 'none')).rows).toHaveLength(1)
      const { meta, budget, budgetTimes, budgetChanges } = store.keys
      await redis.client().hset(meta, { gen: 'next', parent: store.known().gen })
      await redis.client().del([budget, budgetTimes, budgetChanges].map((keyOf) => keyOf('liquidator')))
      expect((await journal.spending(null, [0], 'none')).rows).toEqual([])
      store.close()
    })

    it('counts what two keys that share a policy hold and claim at the same instant', async () => {
      const { store, config } = await newStore(redis.port)
      const stores = [store, openStore({ ...config, instance: 'two' })] as const
      await stores[1].connect()
      await expectShared(
        await journalOf(await takeSeat(stores[0]), stores[0]),
        await journalOf(await takeSeat(stores[1], OTHER), stores[1]),
      )
    })
  })
})

describe('two agents of a role', () => {
  const agentOf = (address: `0x${string}`, policy: string): AgentConfig => ({
    role: 'liquidator',
    mode: 'live',
    policy,
    signer: { kind: 'kms', keyId: 'key', address, window: 4 },
  })
  const claimBoth = async (policies: readonly [string, string]) => {
    const [one, other] = [agentOf(SIGNER, policies[0]), agentOf(OTHER, policies[1])]
    const agents = [one, other].map((agent) => ({
      role: agent.role,
      signer: agent.signer.address,
      apart: apartOf(agent, [one, other]),
    }))
    const journal = openSqliteJournal(newDirectory())
    const ends: string[] = []
    for (const [index, agent] of agents.entries()) {
      ends.push(await claimFor(journal, agent, [`w${index}`, 900], { over: false }))
      ends.push(await claimFor(journal, agent, [`v${index}`, 101], { over: false }))
    }
    await journal.close()
    return ends
  }

  it('have limits of their own where they have policies of their own', async () => {
    expect(await claimBoth(['a.yaml', 'b.yaml'])).toEqual([
      ...['in_flight', 'limit_hour_usd'],
      ...['in_flight', 'limit_hour_usd'],
    ])
  })

  it('share the limits of one policy', async () => {
    expect(await claimBoth(['a.yaml', 'a.yaml'])).toEqual([
      ...['in_flight', 'limit_hour_usd'],
      ...['limit_hour_usd', 'limit_hour_usd'],
    ])
  })

  it('count together what they have on chain where they share a policy, also what is claimed at the same instant', async () => {
    const journal = openSqliteJournal(newDirectory())
    await expectShared(journal, journal)
    await journal.close()
    const [one, other] = [agentOf(SIGNER, 'a.yaml'), agentOf(OTHER, 'a.yaml')]
    const shadow = { ...agentOf(MARKET, 'a.yaml'), mode: 'shadow' as const }
    expect(sharingOf(one, [one, other, shadow, agentOf(MARKET, 'b.yaml')])).toEqual([SIGNER, OTHER])
  })

  it('count what an agent reserved that the configuration names no more', async () => {
    const journal = openSqliteJournal(newDirectory())
    const gone = { role: 'liquidator', signer: OTHER }
    const apart = apartOf(agentOf(SIGNER, 'a.yaml'), [agentOf(SIGNER, 'a.yaml')])
    expect(await claimFor(journal, gone, ['w', 900], { over: false })).toBe('in_flight')
    expect(await claimFor(journal, { ...LIQUIDATOR, apart }, ['v', 101], { over: false })).toBe(
      'limit_hour_usd',
    )
    await journal.close()
  })
})

import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Decision } from '../../../agents/agent.ts'
import { decide } from '../../../agents/liquidator/decide.ts'
import type { Canonical } from '../../../sandbox/indexer/canonical.ts'
import { createNodes } from '../../../src/chain/http-nodes.ts'
import type { Nodes } from '../../../src/chain/nodes.ts'
import { systemClock } from '../../../src/clock.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { checkPrepared } from '../../../src/guard/checks/check-prepared.ts'
import { normalizeEligibility, normalizeMarket } from '../../../src/observe/collections.ts'
import { confirm } from '../../../src/pipeline/confirm.ts'
import { ASSUMPTIONS, workflowProgress } from '../../../src/service/contract/assumptions.ts'
import type { PinnedDeployment } from '../../../src/service/contract/deployment.ts'
import { OPERATIONS } from '../../../src/service/contract/operations.ts'
import { preparedWorkflow } from '../../../src/service/contract/prepared-workflow.ts'
import { freshness } from '../../../src/service/contract/resources.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { bound, freeze, liquidation, liquidationAnswer, NOW_MS, ruleset } from '../../guard/fixtures.ts'
import { BTC, createScene, ETH, type Scene, usd } from '../../sandbox/indexer/scene.ts'
import { NOTHING_AROUND } from '../../support/around.ts'
import { workflowOf } from '../../support/workflows.ts'
import { policy } from './fixtures.ts'
import { armMarkets, type Lists, observeLiquidator } from './service-fixtures.ts'

/** A value of JSON, with something done to one member of it. */
type Mutant = { readonly what: string; readonly value: unknown }
type Json = { readonly [name: string]: unknown }

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Members that the schema has, whether or not the row has them. */
function shapeOf(schema: unknown): Readonly<Record<string, unknown>> {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return shapeOf(schema.unwrap())
  if (schema instanceof z.ZodArray) return shapeOf(schema.element)
  return schema instanceof z.ZodObject ? schema.shape : {}
}

/** Each member in turn absent, null, of an unknown word and of another type; and each object with a member more. */
function mutantsOf(value: unknown, schema: unknown, at = ''): readonly Mutant[] {
  if (Array.isArray(value)) {
    const [first, ...rest] = value
    const inside = value.length === 0 ? [] : mutantsOf(first, schema, `${at}[0]`)
    return inside.map((mutant) => ({ ...mutant, value: [mutant.value, ...rest] }))
  }
  if (!isObject(value)) return []
  const shape = shapeOf(schema)
  const names = new Set([...Object.keys(shape), ...Object.keys(value)])
  return [
    { what: `${at} with a member more`, value: { ...value, unheardOf: { deep: [1] } } },
    ...[...names].flatMap((name): Mutant[] => {
      const { [name]: member, ...without } = value
      const place = `${at}.${name}`
      const nested = mutantsOf(member, shape[name], place)
      return [
        { what: `${place} absent`, value: without },
        { what: `${place} null`, value: { ...value, [name]: null } },
        { what: `${place} unknown word`, value: { ...value, [name]: 'quantum' } },
        { what: `${place} another type`, value: { ...value, [name]: typeof member === 'number' ? '7' : 7 } },
        ...nested.map((mutant) => ({ ...mutant, value: { ...value, [name]: mutant.value } })),
      ]
    }),
  ]
}

const LISTS = {
  listMarkets: OPERATIONS.listMarkets.answer.schema,
  listCreditFacilities: OPERATIONS.listCreditFacilities.answer.schema,
  listPositions: OPERATIONS.listPositions.answer.schema,
  listLiquidationRecovery: OPERATIONS.listLiquidationRecovery.answer.schema,
  listEligibility: OPERATIONS.listEligibility.answer.schema,
}
type ListName = keyof typeof LISTS
type Said = Readonly<Record<ListName, { readonly items: readonly unknown[]; readonly freshness: unknown }>>

let scene: Scene
let canonical: Canonical
let nodes: Nodes
let pins: PinnedDeployment
let signer: Address
let said: Said

const lower = (address: Address): Address => `0x${address.slice(2).toLowerCase()}`

/** Read a list as the client does: rows that do not parse are dropped, an envelope that does not is an error. */
const reading =
  <S extends z.ZodType>({ items, freshness: lag }: Said[ListName], schema: S) =>
  async () => {
    const parsed = items.map((item) => schema.safeParse(item))
    const rows = parsed.flatMap((one): z.output<S>[] => (one.success ? [one.data] : []))
    const fresh = freshness.safeParse(lag)
    if (!fresh.success) throw new RolekeeperError('service.garbage', 'the page does not fit')
    return { items: rows, freshness: fresh.data, dropped: items.length - rows.length }
  }

/** The whole path from what the service says to a decision; null where a read refuses it all. */
async function decideOn(words: Said): Promise<Decision | null> {
  const markets = reading(words.listMarkets, LISTS.listMarkets)
  const eligibility = reading(words.listEligibility, LISTS.listEligibility)
  const service: Lists = {
    listMarkets: async () => {
      const listed = await markets()
      return { ...listed, items: listed.items.map((row) => normalizeMarket(row, ASSUMPTIONS)) }
    },
    listCreditFacilities: reading(words.listCreditFacilities, LISTS.listCreditFacilities),
    listPositions: reading(words.listPositions, LISTS.listPositions),
    listLiquidationRecovery: reading(words.listLiquidationRecovery, LISTS.listLiquidationRecovery),
    listEligibility: async () => {
      const listed = await eligibility()
      return { ...listed, items: listed.items.map((row) => normalizeEligibility(row, ASSUMPTIONS)) }
    },
  }
  try {
    const { chainId } = scene.chain
    const armed = await armMarkets({ service, nodes, pins }, chainId)
    const seen = await observeLiquidator(
      { service, nodes, pins, clock: systemClock },
      {
        signer,
        chainId,
        armed,
        ours: [],
        ...NOTHING_AROUND,
        priorityFeePerGasWei: 0n,
        previous: null,
        limits: { ageMsMax: 60_000, blockLagMax: 3n, headAgeMsMax: 60_000 },
      },
    )
    return decide(seen, policy())
  } catch (error) {
    if (error instanceof RolekeeperError) return null
    throw error
  }
}

beforeAll(async () => {
  scene = await createScene()
  canonical = await scene.index()
  const { rpcUrl, chainId } = scene.chain
  const real = await createNodes({
    chainId,
    read: [rpcUrl],
    send: [rpcUrl],
    agree: 1,
    finality: 'finalized' as const,
    timeoutMs: 5_000,
    pollMs: 50,
    clock: systemClock,
  })
  const sides = [BTC, ETH]
  const at = (name: Parameters<Scene['at']>[0]) => lower(scene.at(name))
  pins = {
    funds: [],
    contracts: [],
    assets: [
      { address: at('sUSD'), symbol: 'sUSD', decimals: 6 },
      ...sides.map(({ collateral, decimals }) => ({ address: at(collateral), symbol: collateral, decimals })),
    ],
    markets: sides.map((side) => ({
      address: at(side.market),
      loanAsset: at('sUSD'),
      collateralAsset: at(side.collateral),
      oracle: at(side.oracle),
    })),
    vaults: [{ address: at('primeVault') }, { address: at('growthVault') }],
  }
  await scene.price(BTC, '60000')
  await scene.price(ETH, '3000')
  for (const [side, amount, debt] of [
    [BTC, '1', '40000'],
    [ETH, '20', '40000'],
  ] as const) {
    const borrower = await scene.actor()
    await scene.deposit(side, borrower, amount)
    await scene.borrow(side, 'primeVault', borrower, usd(debt))
  }
  const prepared = await scene.liquidation(BTC, 'primeVault', await scene.actor(), usd('500000'))
  signer = lower(prepared.account)
  await scene.authorize(signer, ETH, true)
  await scene.price(BTC, '48000')
  await scene.price(ETH, '2400')
  await scene.caughtUp(canonical)
  const { markets, facilities, positions, recoveries, eligibility } = canonical.snapshot()
  const list = (items: readonly unknown[]) => ({ items, freshness: canonical.freshness() })
  said = JSON.parse(
    JSON.stringify({
      listMarkets: list(markets),
      listCreditFacilities: list(facilities.map(({ resource }) => resource)),
      listPositions: list(positions),
      listLiquidationRecovery: list(recoveries),
      listEligibility: list(eligibility.filter((row) => row.walletAddress === signer)),
    }),
  )
  nodes = remembering(real)
})
afterAll(async () => {
  await canonical.stop()
  await nodes.close()
  await scene.stop()
})

/** The chain as it is now, each question asked once: what changes is what the service says. */
function remembering(real: Nodes): Nodes {
  const known = new Map<string, Promise<unknown>>()
  const once = <T>(key: string, ask: () => Promise<T>) => {
    const asked = (known.get(key) as Promise<T> | undefined) ?? ask()
    known.set(key, asked)
    return asked
  }
  return {
    ...real,
    head: () => once('head', real.head),
    balanceWei: (address) => once(`balance ${address}`, () => real.balanceWei(address)),
    calls: async (calls, blockNumber) =>
      Promise.all(
        calls.map(async (call) => {
          const [answer = null] = await once(JSON.stringify(call), () => real.calls([call], blockNumber))
          return answer
        }),
      ),
    close: real.close,
  }
}

/** What a proposal is, without the sums that a figure read from the chain instead of the service moves a little. */
const essence = ({ kind, subject, input }: Proposal) => ({
  kind,
  subject,
  input: Object.fromEntries(Object.entries(input).filter(([name]) => !name.endsWith('Assets'))),
})
const sums = ({ input }: Proposal) => [input.repayAssets, input.minCollateralAssets].map(Number)

describe('whatever the service leaves out, blanks, renames or adds', () => {
  it('the liquidator would act on both positions when nothing is missing', async () => {
    expect((await decideOn(said))?.proposals.map(({ kind }) => kind)).toEqual(['liquidate', 'liquidate'])
  })

  it.each(Object.keys(LISTS) as ListName[])('of %s, it acts as before or passes over', async (name) => {
    const base = (await decideOn(said))?.proposals ?? []
    const { items, freshness: lag } = said[name]
    const [row, ...others] = items
    const rows = mutantsOf(row, LISTS[name], 'row').map(({ what, value }) => ({
      what,
      list: { items: [value, ...others], freshness: lag },
      readable: LISTS[name].safeParse(value).success,
    }))
    const lags = mutantsOf(lag, freshness, 'freshness').map(({ what, value }) => ({
      what,
      list: { items, freshness: value },
      readable: freshness.safeParse(value).success,
    }))
    expect(rows.length).toBeGreaterThan(15)
    const wrong: string[] = []
    const passedOver: string[] = []
    for (const { what, list, readable } of [...rows, ...lags]) {
      const proposals = (await decideOn({ ...said, [name]: list }))?.proposals ?? []
      // A row that cannot be read is not there; what can be read, and stops a decision, is needed for it.
      if (proposals.length < base.length && readable) passedOver.push(what)
      for (const proposal of proposals) {
        const same = base.find((each) => JSON.stringify(essence(each)) === JSON.stringify(essence(proposal)))
        const close =
          same && sums(same).every((sum, at) => Math.abs(sum / (sums(proposal)[at] ?? 0) - 1) < 1e-4)
        if (!close) wrong.push(`${what}: ${proposal.summary}`)
      }
    }
    expect(wrong).toEqual([])
    // What a decision needs. A line that goes is a default that came: it would act without having been told.
    expect(passedOver).toMatchSnapshot()
  })

  it('of a prepared workflow, the guard refuses it, but for texts that nothing is derived from', () => {
    const accepted = mutantsOf(JSON.parse(JSON.stringify(liquidationAnswer())), preparedWorkflow, '')
      .filter(({ value }) => {
        const parsed = preparedWorkflow.safeParse(value)
        if (!parsed.success) return false
        return checkPrepared({
          workflow: bound(liquidation),
          frozen: freeze(parsed.data),
          ruleset,
          nowMs: NOW_MS,
        }).ok
      })
      .map(({ what }) => what)
    expect(accepted).toMatchInlineSnapshot(`
      [
        ".requestId unknown word",
        ".preflight.freshness with a member more",
        ".preflight.freshness.blockTimestamp absent",
        ".preflight.freshness.blockTimestamp null",
        ".preflight.freshness.projectedAt absent",
        ".preflight.freshness.projectedAt null",
        ".preflight.freshness.snapshotAt absent",
        ".preflight.freshness.snapshotAt null",
        ".preflight.freshness.reason absent",
        ".preflight.freshness.reason null",
        ".preflight.freshness.reason unknown word",
        ".transactions[0].label unknown word",
        ".transactions[0].signing absent",
      ]
    `)
  })

  it('of a workflow’s progress, it is a success only as it was said', async () => {
    const entity = { entityType: 'credit_facility', entityId: 'm:v:b', field: 'debtShares', expected: '1' }
    const hash = `0x${'1'.repeat(64)}` as const
    const progress = {
      requestId: 'wf-1',
      workflowType: 'role.liquidator.liquidate',
      status: 'final_success',
      transactions: [{ order: 0, chainId: 1, txHash: hash, status: 'final_success', blockNumber: '12' }],
      canonicalPostconditions: [{ ...entity, satisfied: true, blockNumber: '12' }],
      freshness: { status: 'current', lagSeconds: 0, blockNumber: '12' },
    }
    const workflow = workflowOf('confirmed', {
      prepared: freeze(liquidationAnswer()),
      awaiting: { postconditions: [entity], blockNumber: 12n, sinceMs: 0 },
    })
    const succeeded: string[] = []
    for (const { what, value } of mutantsOf(progress, workflowProgress, '')) {
      const step = await confirm(workflow, {
        nowMs: () => 1,
        journal: { write: async (each) => each },
        stands: () => true,
        waitMsMax: 120_000,
        alarm: () => undefined,
        progress: async () => {
          const parsed = workflowProgress.safeParse(value)
          if (parsed.success) return parsed.data
          throw new RolekeeperError('service.garbage', 'the answer does not fit')
        },
      })
      if (step.type !== 'wait') succeeded.push(what)
    }
    expect(succeeded).toMatchInlineSnapshot(`
      [
        " with a member more",
        ".workflowType unknown word",
        ".transactions[0] with a member more",
        ".transactions[0].order absent",
        ".transactions[0].order null",
        ".transactions[0].status unknown word",
        ".transactions[0].blockNumber absent",
        ".transactions[0].blockNumber null",
        ".transactions[0].requestId absent",
        ".transactions[0].requestId null",
        ".transactions[0].requestId unknown word",
        ".canonicalPostconditions[0] with a member more",
        ".canonicalPostconditions[0].blockNumber absent",
        ".canonicalPostconditions[0].blockNumber null",
        ".freshness absent",
        ".freshness null",
        ".freshness with a member more",
        ".freshness.status unknown word",
        ".freshness.blockNumber absent",
        ".freshness.blockNumber null",
        ".freshness.blockTimestamp absent",
        ".freshness.blockTimestamp null",
        ".freshness.projectedAt absent",
        ".freshness.projectedAt null",
        ".freshness.snapshotAt absent",
        ".freshness.snapshotAt null",
        ".freshness.reason absent",
        ".freshness.reason null",
        ".freshness.reason unknown word",
      ]
    `)
  })
})

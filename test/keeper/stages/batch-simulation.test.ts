import { beforeEach, expect, it } from 'vitest'
import type { Frame, Head, SimulationRequest, SimulationResult } from '../../../src/chain/nodes.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { askedBy } from '../../../src/guard/checks/check-final.ts'
import { createTogether } from '../../../src/keeper/stages/batch-simulation.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import {
  bound,
  CHAIN_ID,
  freeze,
  liquidation,
  liquidationAnswer,
  NOW_MS,
  ruleset,
} from '../../guard/fixtures.ts'
import { workflowOf } from '../../support/workflows.ts'

const headAt = (number: bigint): Head => ({
  number,
  hash: `0x${String(number).padStart(64, '0')}` as const,
  parentHash: '0x' as const,
  timestampS: NOW_MS / 1_000,
  baseFeePerGasWei: 1n,
})
const waiting = (id: string): Workflow =>
  workflowOf('attested', { id, ...bound(liquidation), prepared: freeze(liquidationAnswer()) })
const LINE = ['first', 'second', 'third']

let nowMs: number
let asked: SimulationRequest[]
let isTaken: (request: SimulationRequest) => boolean
beforeEach(() => {
  nowMs = NOW_MS
  asked = []
  isTaken = () => true
})

/** Each frame is answered with the nonces of its bundle. */
const shownBy = ({ bundle }: Frame) => ({
  before: [],
  after: [],
  codeHashes: [],
  words: [],
  bundle: bundle.map(({ nonce }) => ({
    status: 'success' as const,
    gasUsed: BigInt(nonce),
    returnData: '0x' as const,
    logs: [],
  })),
})
const create = () => {
  const together = createTogether({
    monotonicMs: () => nowMs,
    journal: { get: async (id) => waiting(id) },
    nodes: {
      chainId: CHAIN_ID,
      simulate: async (request): Promise<SimulationResult> => {
        asked.push(request)
        if (!isTaken(request)) throw new RolekeeperError('node.simulation_rejected', 'no', { retry: 'now' })
        const following = (request.following ?? []).map(shownBy)
        return { block: headAt(9n), timestampS: 1, pending: [], ...shownBy(request), following }
      },
    },
  })
  /** Ask about one at a nonce, on top of what is pending, with those behind it in line. */
  return async (id: string, nextNonce: number, pending: SimulationRequest['pending'], at = headAt(9n)) => {
    const workflow = waiting(id)
    const fees = { maxFeePerGasWei: 9n, maxPriorityFeePerGasWei: 1n }
    const options = { workflow, ruleset, signer: { nextNonce, pending, standing: [], at, ...fees }, nowMs }
    const frame = askedBy(options, CHAIN_ID)
    if (frame === null) throw new TypeError('refused unasked')
    const { simulate } = together(options, () => LINE.slice(LINE.indexOf(id) + 1))
    const { bundle } = await simulate({ ...frame, pending, at })
    return { bundle: frame.bundle, used: bundle.map(({ gasUsed }) => gasUsed) }
  }
}

it('asks the nodes once about all that wait, each on top of those before it', async () => {
  const ask = create()
  const first = await ask('first', 7, [])
  const second = await ask('second', 9, first.bundle)
  // As it is claimed: at other fees, and a lower gas limit.
  const claimed = [...first.bundle, ...second.bundle].map((each) => ({
    ...each,
    gasLimit: 5n,
    maxFeePerGasWei: 8n,
  }))
  const third = await ask('third', 11, claimed)
  expect([first, second, third].map(({ used }) => used)).toEqual([
    [7n, 8n],
    [9n, 10n],
    [11n, 12n],
  ])
  expect(asked).toHaveLength(1)
  expect(asked[0]?.following?.map(({ bundle }) => bundle.map(({ nonce }) => nonce))).toEqual([
    [9, 10],
    [11, 12],
  ])
})

it.each([
  ['the one before it was refused, and claimed nothing', 7, [], headAt(9n), 0],
  ['the head moved', 9, null, headAt(10n), 0],
  ['it was long ago', 9, null, headAt(9n), 1_001],
])('asks anew where %s', async (_why, nonce, pending, at, laterMs) => {
  const ask = create()
  const { bundle } = await ask('first', 7, [])
  nowMs += laterMs
  expect((await ask('second', nonce, pending ?? bundle, at)).used).toEqual([
    BigInt(nonce),
    BigInt(nonce) + 1n,
  ])
  expect(asked).toHaveLength(2)
})

it('asks anew where another was claimed in the place of the one before it', async () => {
  const ask = create()
  const { bundle } = await ask('first', 7, [])
  await ask(
    'second',
    9,
    bundle.map((each) => ({ ...each, data: '0x' as const })),
  )
  expect(asked).toHaveLength(2)
})

it('asks about one by itself where the nodes would not begin all', async () => {
  isTaken = ({ following = [] }) => following.length === 0
  const ask = create()
  expect((await ask('first', 7, [])).used).toEqual([7n, 8n])
  expect(asked.map(({ following = [] }) => following.length)).toEqual([2, 0])
})

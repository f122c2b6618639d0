import { afterEach, expect, it } from 'vitest'
import type { KeeperEvent } from '../../../src/ops/events.ts'
import { createOtlp } from '../../../src/ops/traces/otlp.ts'
import { createSpanBook, type EndedSpan, traceOf } from '../../../src/ops/traces/spans.ts'
import { type Collector, startCollector } from '../../support/collector.ts'

const T = 1_750_000_000_000
const at = (ms: number) => new Date(T + ms).toISOString()
const ID = 'workflow-1'

const workflow = (state: string, ms: number, durationMs: number, more = {}) =>
  ({
    type: 'workflow',
    id: ID,
    role: 'liquidator',
    workflowType: 'liquidate',
    state,
    at: at(ms),
    durationMs,
    subject: 'market:vault:0xb0b',
    ...more,
  }) as KeeperEvent
const slot = (state: string, ms: number, durationMs: number) =>
  ({
    type: 'slot',
    id: ID,
    role: 'liquidator',
    at: at(ms),
    nonce: 7,
    purpose: 'payload',
    state,
    durationMs,
    hash: '0xabc',
  }) as KeeperEvent
const decision = (ms: number) =>
  ({ type: 'decision', role: 'liquidator', at: at(ms), proposals: 1, passedOver: 0 }) as KeeperEvent

const collectors: Collector[] = []
afterEach(async () => {
  for (const collector of collectors.splice(0)) await collector.close()
})
async function collect(): Promise<Collector> {
  const collector = await startCollector()
  collectors.push(collector)
  return collector
}
type OnTaken = Parameters<typeof createOtlp>[0]['onTaken']
const otlpTo = (url: string, key = () => 'one', onTaken: OnTaken = () => {}) =>
  createOtlp({
    url,
    headers: () => ({ authorization: key() }),
    onTaken,
    attributes: { 'service.name': 'rolekeeper' },
  })

const SPAN = { name: 'x', ...traceOf(ID), startMs: T, endMs: T + 1, attributes: {} }

const shortly = ({ name, startMs, endMs }: EndedSpan) => [name, startMs - T, endMs - T]

it('follows a workflow from what was heard to its end, and on in the same trace after a restart', () => {
  const book = createSpanBook(['liquidator', 'allocator'])
  book.heard('price.updated', T - 40)
  book.heard('sweep', T - 10)
  const first = [decision(-2), workflow('discovered', 0, 0), workflow('requested', 1, 1), slot('sent', 60, 9)]
  const spans = first.flatMap(book.event)
  const after = createSpanBook(['liquidator', 'allocator'])
  after.resumed({ id: ID, createdAtMs: T })
  spans.push(
    ...[slot('final', 90, 30), workflow('confirmed', 95, 5), workflow('succeeded', 99, 4)].flatMap(
      after.event,
    ),
  )
  expect(spans.map(shortly)).toEqual([
    ['decide', -40, 0],
    ['request', 0, 1],
    ['send', 51, 60],
    ['finalize', 60, 90],
    ['settle', 90, 95],
    ['confirm', 95, 99],
    ['liquidate', 0, 99],
  ])
  expect(new Set(spans.map(({ traceId, rootId }) => `${traceId} ${rootId}`))).toEqual(
    new Set([Object.values(traceOf(ID)).join(' ')]),
  )
  expect(spans[0]?.attributes).toMatchObject({ 'rolekeeper.hint.type': 'price.updated' })
  expect(JSON.stringify(spans)).not.toContain('0xb0b')
})

it.each([
  [10_000, ['decide']],
  [10_001, []],
])('takes a decision of %i ms ago for what a workflow was opened by: %s', (ms, spans) => {
  const book = createSpanBook(['liquidator'])
  book.heard('sweep', T - 20_000)
  expect([decision(-ms), workflow('discovered', 0, 0)].flatMap(book.event).map(({ name }) => name)).toEqual(
    spans,
  )
})

it('says why one did not come to what was meant', () => {
  const book = createSpanBook(['liquidator'])
  book.event(workflow('discovered', 0, 0))
  const [stage, root] = book.event(workflow('refused', 5, 5, { check: 'profit_min', message: 'of 0xb0b' }))
  expect([stage, root]).toMatchObject([
    { name: 'end', error: 'profit_min' },
    { name: 'liquidate', isRoot: true, error: 'profit_min' },
  ])
})

it('reaches a collector by OTLP, with the ids of its workflow, and the headers of now', async () => {
  const collector = await collect()
  let key = 'one'
  const otlp = otlpTo(collector.url, () => key)
  const book = createSpanBook(['liquidator'])
  for (const event of [workflow('discovered', 0, 0), workflow('requested', 1, 1)])
    for (const span of book.event(event)) otlp.send(span)
  await expect.poll(() => collector.spans.length).toBe(1)
  key = 'two'
  for (const span of book.event(workflow('refused', 3, 2, { check: 'stale' }))) otlp.send(span)
  await otlp.close()
  const { traceId, rootId } = traceOf(ID)
  expect(collector.spans).toMatchObject([
    { name: 'request', traceId, parentSpanId: rootId, startMs: T, endMs: T + 1, status: 0 },
    { name: 'end', traceId, parentSpanId: rootId, status: 2, attributes: { 'error.type': 'stale' } },
    { name: 'liquidate', traceId, spanId: rootId, parentSpanId: '', startMs: T, endMs: T + 3, status: 2 },
  ])
  expect(collector.resources[0]).toMatchObject({ 'service.name': 'rolekeeper' })
  expect(collector.headers.map(({ authorization }) => authorization)).toEqual(['one', 'two'])
})

it('sends at the end all that waits, though a batch is still under way', async () => {
  const collector = await collect()
  const otlp = otlpTo(collector.url)
  for (let count = 0; count < 1_000; count += 1) otlp.send(SPAN)
  await otlp.close()
  expect(collector.spans).toHaveLength(1_000)
})

it.each(['hang', 'fail', 'dead'] as const)(
  'loses spans, and nothing else, to a collector that is %s',
  async (fault) => {
    const collector = await collect()
    if (fault !== 'dead') collector.fault = fault
    else await collectors.pop()?.close()
    const otlp = otlpTo(collector.url)
    for (let count = 0; count < 10_000; count += 1) otlp.send(SPAN)
    await otlp.close()
  },
)

it('says once why a collector takes no spans, and how many it lacks once it takes some again', async () => {
  const collector = await collect()
  collector.fault = 'fail'
  const taken: Parameters<OnTaken>[0][] = []
  const otlp = otlpTo(collector.url, undefined, (each) => taken.push(each))
  otlp.send(SPAN)
  await expect.poll(() => taken).toEqual([{ problem: 'it answers 500', lost: 1 }])
  otlp.send(SPAN)
  await expect.poll(() => collector.bodies.length).toBe(2)
  collector.fault = 'none'
  otlp.send(SPAN)
  await expect
    .poll(() => taken)
    .toEqual([
      { problem: 'it answers 500', lost: 1 },
      { problem: null, lost: 2 },
    ])
  await otlp.close()
})

it('says that a collector is away', async () => {
  const collector = await collect()
  await collectors.pop()?.close()
  const taken: Parameters<OnTaken>[0][] = []
  const otlp = otlpTo(collector.url, undefined, (each) => taken.push(each))
  otlp.send(SPAN)
  await expect.poll(() => taken).toEqual([{ problem: 'not reached, or no answer within 5000 ms', lost: 1 }])
  await otlp.close()
})

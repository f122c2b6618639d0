import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WAIT_MS_MAX } from '../../support/until.ts'
import { type Cell, createNodesWorld, type NodesWorld } from './cell.ts'
import { METHODS } from './failures.ts'
import { isRight } from './table.ts'

let world: NodesWorld
beforeAll(async () => {
  world = await createNodesWorld()
})
afterAll(() => world.stop())

it.each<Cell>([
  { method: 'eth_getBlockByNumber', failure: 'hangs', nodes: 'one' },
  { method: 'eth_getBalance', failure: 'error', nodes: 'all' },
])('goes on or names what stands still, and recovers: $method $failure, $nodes', async (cell) => {
  const outcome = await world.run(cell, {
    goesOnMs: cell.nodes === 'one' ? WAIT_MS_MAX : 15_000,
    namedMs: WAIT_MS_MAX,
  })
  expect(outcome.calls).toBeGreaterThan(0)
  expect(outcome).toSatisfy(isRight)
})

it('fails every method that the product calls', () => {
  const called = readdirSync('src/chain', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => readFileSync(`src/chain/${name}`, 'utf8').match(/(?<=')eth_\w+(?=')/g) ?? [])
  expect([...new Set(called)].toSorted()).toEqual([...METHODS])
})

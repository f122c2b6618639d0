/**
 * `npm run nodes [-- --methods eth_call,eth_getLogs] [--nodes all] [--json]`: each method of a node fails in each way, at one of
 * three nodes and at all, beneath a keeper with a liquidation to do. It goes on, or what stands still is named within 30 s;
 * and it recovers with the nodes. Prints the table of docs/node-failures.md; exits 1 where a cell is neither.
 */
import { readScript } from '../../support/script.ts'
import { type Cell, createNodesWorld, type Outcome } from './cell.ts'
import { FAILURES, type Failure, METHODS } from './failures.ts'
import { isRight, tableOf } from './table.ts'

const { values } = readScript(import.meta.url, {
  methods: { type: 'string', default: METHODS.join(',') },
  nodes: { type: 'string', default: 'one,all' },
  json: { type: 'boolean', default: process.env.npm_config_json === 'true' },
})
const print = (line: string) => process.stdout.write(`${line}\n`)

const outcomes: Outcome[] = []
for (const method of METHODS.filter((each) => values.methods.split(',').includes(each))) {
  for (const nodes of (['one', 'all'] as const).filter((each) => values.nodes.split(',').includes(each))) {
    // Limits of the policy and the money of the market are of a world: each has no more cells than they carry.
    const world = await createNodesWorld()
    for (const failure of Object.keys(FAILURES) as Failure[]) {
      const cell: Cell = { method, failure, nodes }
      const outcome = await world.run(cell)
      await world.untilWell()
      outcomes.push(outcome)
      print(
        values.json
          ? JSON.stringify(outcome)
          : `${isRight(outcome) ? 'ok  ' : 'FAIL'} ${JSON.stringify(outcome)}`,
      )
    }
    await world.stop()
  }
}
const wrong = outcomes.filter((outcome) => !isRight(outcome))
if (!values.json) print(`\n${tableOf(outcomes)}\n\n${outcomes.length} cells, ${wrong.length} wrong`)
process.exitCode = wrong.length === 0 ? 0 : 1

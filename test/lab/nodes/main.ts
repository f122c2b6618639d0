/**
 * `npm run nodes [-- --methods eth_call,eth_getLogs] [--nodes all] [--failures hangs,slow] [--json]`: each method of a node
 * fails in each way, at one of three nodes and at all, beneath a keeper with a liquidation to do. It goes on, or what stands
 * still is named within 30 s; and it recovers with the nodes. `npm run nodes -- --limited all` (or `no_logs,late`): five
 * roles work on nodes that all limit or lack something.
 * Prints the tables of docs/node-failures.md; exits 1 where a cell is neither, or a role ended nothing.
 */
import { createProgress } from '../../support/progress.ts'
import { readScript } from '../../support/script.ts'
import { type Cell, createNodesWorld, type Outcome } from './cell.ts'
import { FAILURES, type Failure, METHODS } from './failures.ts'
import { isWorking, type Limited, limitedTable, runLimited } from './limited.ts'
import { LIMITS } from './limits.ts'
import { isRight, tableOf } from './table.ts'

const { values } = readScript(import.meta.url, {
  methods: { type: 'string', default: METHODS.join(',') },
  nodes: { type: 'string', default: 'one,all' },
  failures: { type: 'string', default: Object.keys(FAILURES).join(',') },
  limited: { type: 'string', default: '' },
  json: { type: 'boolean', default: process.env.npm_config_json === 'true' },
})
const WHOSE = ['one', 'all'] as const
const print = (line: string) => process.stdout.write(`${line}\n`)

/** The names that were asked for; ends with exit code 2 where one is none of these. */
function namesIn(text: string, known: readonly string[]): readonly string[] {
  const asked = text.split(',')
  const unknown = asked.find((name) => !known.includes(name))
  if (unknown === undefined) return asked
  process.stderr.write(`There is no "${unknown}"; known: ${known.join(', ')}.\n`)
  process.exit(2)
}

process.exitCode = (await (values.limited !== '' ? limited() : failures())) === 0 ? 0 : 1

/** How many limits keep a role from its work. */
async function limited(): Promise<number> {
  const all: Limited[] = []
  const names = Object.keys(LIMITS)
  const asked = values.limited === 'all' ? names : namesIn(values.limited, names)
  const step = createProgress('nodes', asked.length)
  for (const [name, { text, faults }] of Object.entries(LIMITS)) {
    if (!asked.includes(name)) continue
    const done = await runLimited(text, faults())
    all.push(done)
    step()
    print(values.json ? JSON.stringify(done) : `${isWorking(done) ? 'ok  ' : 'FAIL'} ${JSON.stringify(done)}`)
  }
  if (!values.json) print(`\n${limitedTable(all)}`)
  return all.filter((each) => !isWorking(each)).length
}

/** How many cells are wrong. */
async function failures(): Promise<number> {
  const outcomes: Outcome[] = []
  const [methods, whose] = [namesIn(values.methods, METHODS), namesIn(values.nodes, WHOSE)]
  const ways = namesIn(values.failures, Object.keys(FAILURES)) as readonly Failure[]
  const cells = methods.length * whose.length * ways.length
  const step = createProgress('nodes', cells)
  for (const method of METHODS.filter((each) => methods.includes(each))) {
    for (const nodes of WHOSE.filter((each) => whose.includes(each))) {
      // Limits of the policy and the money of the market are of a world: each has no more cells than they carry.
      const world = await createNodesWorld()
      for (const failure of ways) {
        const cell: Cell = { method, failure, nodes }
        const outcome = await world.run(cell)
        await world.untilWell()
        outcomes.push(outcome)
        step()
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
  return wrong.length
}

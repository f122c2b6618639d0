import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { agents } from '../../../agents/index.ts'
import { loadWithIncludes } from '../../../src/config/include.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { createShadowScores } from '../../../src/keeper/money/shadow-scores.ts'
import { compilePolicy } from '../../../src/keeper/policy/role-policy.ts'
import { ASSUMPTIONS } from '../../../src/service/contract/assumptions.ts'
import { deployment } from '../../guard/kinds.ts'
import { newDirectory } from '../../support/directory.ts'
import { SIGNER, TOKEN, workflowOf } from '../../support/workflows.ts'

const HOUR_MS = 3_600_000
const [does] = agents.filter(({ role }) => role === 'liquidator')
const hash = `0x${'00'.repeat(32)}` as const
const head = { number: 9n, hash, parentHash: hash, timestampS: 7_200, baseFeePerGasWei: 1n }

/** The shipped liquidator, where no oracle is to be asked. */
function liquidator() {
  if (does === undefined) throw new TypeError('there is a liquidator')
  const file = join('policies', 'liquidator.yaml')
  const ground = { environment: 'production' as const, deployment, service: { assumptions: ASSUMPTIONS } }
  const { ruleset, ...rest } = compilePolicy(loadWithIncludes(file), does, ground)
  const signer = { kind: 'kms', keyId: 'key', address: SIGNER, window: 4 } as const
  const agent = { role: does.role, mode: 'shadow', policy: file, signer } as const
  const bare = { ...ruleset, deployment: { ...deployment, markets: [] } }
  return { agent, does, apart: [], ...rest, ruleset: bare }
}

it('marks all that is left where what followed a role before it was opened anew wrote meanwhile', async () => {
  const directory = newDirectory()
  const journal = openSqliteJournal(directory)
  const outcome = { verdict: 'won', blockNumber: 1n, gasWei: 1n } as const
  const came = { assets: [{ token: TOKEN, assets: 5n }], atMs: 0 }
  const shadowed = { calls: [], ask: null, outcome: { ...outcome, came } }
  for (const id of ['a', 'b', 'c'])
    await journal.open(workflowOf('shadowed', { id, opportunity: id, shadow: true, shadowed }))
  const none = async () => ({ items: [] })
  const followed = async () => {
    const scores = createShadowScores(liquidator(), {
      collections: { rfqs: none, auctions: none, acquisitions: none },
      journal,
      clock: { nowMs: () => 2 * HOUR_MS },
      nodes: { finalized: async () => head, calls: async () => [] },
    })
    for (const workflow of await journal.unmarked('liquidator')) scores.add(workflow)
    return scores
  }
  const [before, after] = [await followed(), await followed()]
  await Promise.all([before.look(), after.look()])
  expect(await journal.unmarked('liquidator')).toEqual([])
  const [first] = await journal.shadowed()
  expect(first?.version).toBe(1)
  await journal.close()
  rmSync(directory, { recursive: true })
})

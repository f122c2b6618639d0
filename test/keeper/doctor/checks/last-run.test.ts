import { expect, it } from 'vitest'
import { loadRunConfig } from '../../../../src/config/config.ts'
import { openSqliteJournal } from '../../../../src/journal/sqlite/sqlite.ts'
import { examineLastRun, judgeLastRun } from '../../../../src/keeper/doctor/checks/last-run.ts'
import { newDirectory } from '../../../support/directory.ts'
import { proposalOf, slotOf, workflowOf } from '../../../support/workflows.ts'

const USD = 1_000_000n
const judged = (limitUsd: bigint) =>
  ({
    agent: { role: 'liquidator', policy: 'liquidator.yaml' },
    policy: { limits: { perWorkflow: { usdMicrosMax: limitUsd * USD } } },
  }) as Parameters<typeof judgeLastRun>[0]
const moved = (dollars: bigint) =>
  workflowOf('succeeded', {
    slots: [slotOf()],
    proposal: proposalOf({ exposure: { token: null, assets: 0n, usdMicros: dollars * USD } }),
  })
const all = (count: number, dollars = 1_000n) => Array.from({ length: count }, () => moved(dollars))

it.each([
  ['a hundred times above the most that was moved', 100_000n, all(20), ['limits.beyond_use']],
  ['less above it', 99_999n, all(20), []],
  ['far above too few to say', 1_000_000n, all(19), []],
  ['of a role that did nothing yet', 1_000_000n, [], []],
])('says of a limit that is %s', (_, limit, newest, expected) => {
  expect(judgeLastRun(judged(limit), newest).map(({ code }) => code)).toEqual(expected)
})

it('says what limits refused, how often, and what to write', () => {
  const note = { check: 'limit_hour_usd', message: '2,100,000 USD would move in one hour.' }
  const [found] = judgeLastRun(judged(5_000n), [workflowOf('refused', { note }), ...all(3)])
  expect(found).toMatchObject({
    check: 'limits',
    about: 'liquidator',
    state: 'warning',
    code: 'limits.too_narrow',
    message: expect.stringContaining('1 of the last 4 workflows; the newest: limit_hour_usd: 2,100,000 USD'),
    fix: expect.stringContaining('liquidator.yaml'),
  })
})

it('reads what the journal of the directory has, and nothing where there is none', async () => {
  const env = {
    ROLEKEEPER_NODE_A: 'https://a.example',
    ROLEKEEPER_NODE_B: 'https://b.example',
    ROLEKEEPER_NODE_SEND: 'https://send.example',
    ROLEKEEPER_SECRET_KEY: 'key',
  }
  const directory = newDirectory()
  const example = loadRunConfig('config/example.yaml', { env, isWellKnown: () => false })
  const config = { ...example, directory }
  expect(await examineLastRun(config, [judged(5_000n)])).toEqual([])
  const journal = openSqliteJournal(directory)
  const open = workflowOf('discovered', { version: 0 })
  await journal.open(open)
  await journal.write({
    ...open,
    state: 'refused',
    note: { check: 'limit_workflow_usd', message: 'Too much.' },
  })
  await journal.barrier()
  expect(await examineLastRun(config, [judged(5_000n)])).toMatchObject([{ code: 'limits.too_narrow' }])
  await journal.close()
})

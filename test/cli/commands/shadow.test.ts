import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { shadow } from '../../../src/cli/commands/shadow.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite.ts'
import { move, type ShadowVerdict } from '../../../src/workflow/workflow.ts'
import { proposalOf, workflowOf } from '../../support/workflows.ts'

const directory = mkdtempSync(join(tmpdir(), 'cli-shadow-'))
const run = async (...args: string[]) => {
  let out = ''
  const io = {
    ...{ outIsTty: false, errIsTty: false, env: {}, err: () => {} },
    out: (text: string) => {
      out += text
    },
  }
  await shadow(['--directory', directory, ...args], io)
  return out
}

const ask = { check: 'approval_always', message: 'asks' }
type Lot = 'won' | 'lost' | 'undecided'
const ENDS: readonly (readonly [
  subject: string,
  role: string,
  verdict: ShadowVerdict,
  gain: bigint | null,
  asked: boolean,
  lot?: Lot,
])[] = [
  ['a', 'liquidator', 'won', 99_000_000n, false],
  ['a', 'liquidator', 'won', 41_200_000n, false],
  ['b', 'liquidator', 'won', -1_200_000n, true],
  ['c', 'liquidator', 'won', null, false],
  ['d', 'liquidator', 'contested', 500_000_000n, false],
  ['e', 'liquidator', 'missed', 7_000_000n, false],
  ['f', 'nav-reporter', 'unscored', null, false],
  ['g', 'rfq-bidder', 'won', 5_000_000n, false, 'won'],
  ['g', 'rfq-bidder', 'won', 10_000_000n, false, 'won'],
  ['h', 'rfq-bidder', 'won', 20_000_000n, false, 'lost'],
  ['i', 'rfq-bidder', 'won', 30_000_000n, false, 'undecided'],
  ['j', 'rfq-bidder', 'contested', 40_000_000n, false, 'won'],
]

beforeAll(async () => {
  const journal = openSqliteJournal(directory)
  expect(await run()).toBe('Nothing ended in shadow yet.\n')
  for (const [index, [subject, role, verdict, gain, asked, lot]] of ENDS.entries()) {
    const id = String(index).padStart(32, '0')
    const proposal = proposalOf({ subject, ...(gain === null ? {} : { gainUsdMicros: gain }) })
    const open = workflowOf('cleared', { id, role, opportunity: id, proposal, shadow: true })
    await journal.open(open)
    const outcome = { verdict, blockNumber: 11n, gasWei: 1n, ...(lot === undefined ? {} : { lot }) }
    await journal.write(
      move(open, 'shadowed', 2_000, { shadowed: { calls: [], ask: asked ? ask : null, outcome } }),
    )
  }
  const live = workflowOf('discovered', { id: 'f'.repeat(32), opportunity: 'live' })
  await journal.open(live)
  await journal.barrier()
  await journal.close()
})

describe('the score of the shadows', () => {
  it('counts by role what was still possible, and the gain of that alone', async () => {
    expect(await run()).toBe(
      [
        'liquidator: would have done 6: 4 still possible a block later, 1 contested, 1 missed, 1 would have waited for a person',
        '  estimated gain +$40.00 (an estimate: nothing was signed, 1 state none)',
        'nav-reporter: would have done 1: 0 still possible a block later, 0 contested, 0 missed, 1 without a rival',
        '  estimated gain +$0.00 (an estimate: nothing was signed)',
        'rfq-bidder: would have done 5: 4 still possible a block later, 1 contested, 0 missed, of bids 2 would have won their lot, 1 not, 1 undecided',
        '  estimated gain +$10.00 (an estimate: nothing was signed)',
        '',
      ].join('\n'),
    )
  })

  it('is one JSON object a role', async () => {
    const lines = (await run('--json')).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        role: 'liquidator',
        wouldHaveDone: 6,
        verdicts: { won: 4, contested: 1, missed: 1, unscored: 0 },
        asked: 1,
        estimatedGainUsdMicros: '40000000',
        unpriced: 1,
      },
      { role: 'nav-reporter', verdicts: { unscored: 1 } },
      { role: 'rfq-bidder', bids: { won: 2, lost: 1, undecided: 1 } },
    ])
  })
})

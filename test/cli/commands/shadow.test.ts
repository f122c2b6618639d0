import { beforeAll, describe, expect, it } from 'vitest'
import { shadow } from '../../../src/cli/commands/shadow.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { type Mark, move, type ShadowVerdict } from '../../../src/workflow/workflow.ts'
import { capture } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'
import { proposalOf, workflowOf } from '../../support/workflows.ts'

const directory = newDirectory()
const run = async (...args: string[]) =>
  (await capture((io) => shadow(['--directory', directory, ...args], io))).out

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

/** What each was worth an hour later, by its place above; null where the hour is not over. */
const MARKS: Readonly<Record<number, bigint | null>> = {
  1: 9_500_000n,
  2: null,
  7: 4_000_000n,
  8: 8_000_000n,
  9: -50_000n,
}
const markOf = (usdMicros: bigint, index: number): Mark => ({
  usdMicros,
  blockNumber: BigInt(100 + index),
  atMs: index * 1_000,
  prices: [{ token: null, usdMicros: 3_000_000_000n }],
})

beforeAll(async () => {
  const journal = openSqliteJournal(directory)
  expect(await run()).toBe('Nothing ended in shadow yet.\n')
  for (const [index, [subject, role, verdict, gain, asked, lot]] of ENDS.entries()) {
    const id = String(index).padStart(32, '0')
    const proposal = proposalOf({ subject, ...(gain === null ? {} : { gainUsdMicros: gain }) })
    const open = workflowOf('cleared', { id, role, opportunity: id, proposal, shadow: true })
    await journal.open(open)
    const marked = MARKS[index]
    const outcome = {
      verdict,
      blockNumber: 11n,
      gasWei: 1n,
      ...(lot === undefined ? {} : { lot }),
      ...(marked === undefined ? {} : { came: { assets: [], atMs: 0 } }),
      ...(marked == null ? {} : { mark: markOf(marked, index) }),
    }
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
  it('counts by role what was still possible, what was expected of that alone, and what it was worth an hour later', async () => {
    expect(await run()).toBe(
      [
        'liquidator: would have done 6: 4 still possible a block later, 1 contested, 1 missed, 1 would have waited for a person',
        '  expected +$40.00 (1 state none); 1 marked an hour later: expected +$41.20, worth +$9.50 at the prices of block 101 (1970-01-01T00:00:01.000Z), 1 to be marked yet, 1 not measured',
        'nav-reporter: would have done 1: 0 still possible a block later, 0 contested, 0 missed, 1 without a rival',
        '  expected +$0.00; none marked',
        'rfq-bidder: would have done 5: 4 still possible a block later, 1 contested, 0 missed, of bids 2 would have won their lot, 1 not, 1 undecided',
        '  expected +$10.00; 2 marked an hour later: expected +$10.00, worth +$7.95 at the prices of block 108 (1970-01-01T00:00:08.000Z) to block 109 (1970-01-01T00:00:09.000Z), 1 to be marked yet',
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
        saidUsdMicros: '40000000',
        unpriced: 1,
        marked: {
          count: 1,
          saidUsdMicros: '41200000',
          usdMicros: '9500000',
          workflows: [
            {
              id: '1'.padStart(32, '0'),
              saidUsdMicros: '41200000',
              usdMicros: '9500000',
              block: '101',
              at: '1970-01-01T00:00:01.000Z',
              prices: [{ token: null, usdMicros: '3000000000' }],
            },
          ],
        },
        toMark: 1,
        unmeasured: 1,
      },
      { role: 'nav-reporter', verdicts: { unscored: 1 } },
      { role: 'rfq-bidder', bids: { won: 2, lost: 1, undecided: 1 } },
    ])
  })
})

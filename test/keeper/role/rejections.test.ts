import { afterEach, expect, it } from 'vitest'
import type { Journal } from '../../../src/journal/journal.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { createOpener } from '../../../src/keeper/role/open-proposal.ts'
import { createRejections } from '../../../src/keeper/role/rejections.ts'
import { fileMail } from '../../../src/ops/mail.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { type Hold, move, REJECTED, type Workflow } from '../../../src/workflow/workflow.ts'
import { runCommand } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'
import { proposalOf, SIGNER, TOKEN } from '../../support/workflows.ts'

const HOLD: Hold = {
  check: 'approval_always',
  message: 'It is asked about.',
  rules: 'c0'.repeat(32),
  shown: {
    calls: [],
    effects: [],
    changes: [],
    day: '',
    askedBy: 'the agent',
    quorum: 1,
    approvers: null,
  },
  hash: 'ab'.repeat(32),
  untilMs: 1,
  approvals: [],
}
const journals: Journal[] = []
afterEach(async () => {
  for (const journal of journals.splice(0)) await journal.close()
})

/** A role whose agent proposed something that a person rejected. */
async function rejected(changes: Partial<Proposal> = {}) {
  const directory = newDirectory()
  const journal = openSqliteJournal(directory)
  journals.push(journal)
  const begin = (newest: readonly Workflow[]) => {
    const mail = fileMail(directory, journal)
    const known = { approvers: {}, quorum: 1 }
    const rejections = createRejections(newest, { journal, mail, approval: known })
    const { open } = createOpener(
      { role: 'allocator', signer: SIGNER },
      {
        clock: { nowMs: () => 10_000_000 },
        nodes: { chainId: 31_337 },
        journal,
        alarm: () => {},
        alone: (work) => work(),
        keys: [],
        signers: { reasonsOf: () => [] },
        rejections,
      },
    )
    const proposed = async (more: Partial<Proposal> = {}) => {
      const opened = await open(proposalOf({ ...changes, ...more }), false)
      return opened.ok ? 'asked' : opened.check
    }
    return { open, proposed, rejections }
  }
  const first = begin([])
  const reject = async (more: Partial<Proposal> = {}) => {
    const opened = await first.open(proposalOf({ ...changes, ...more }), false)
    if (!opened.ok) throw new TypeError(opened.message)
    const note = { check: REJECTED, message: 'anna rejected it.' }
    const held = { ...opened.workflow, hold: HOLD }
    const ended = await journal.write(move(held, 'cancelled', 1_000, { note }))
    first.rejections.ended(ended)
    await journal.barrier()
    return ended
  }
  const ended = await reject()
  return { ...first, reject, journal, directory, id: ended.id, again: () => begin([ended]) }
}

const worth = (dollars: bigint): Partial<Proposal> => ({
  exposure: { token: TOKEN, assets: 1n, usdMicros: dollars * 1_000_000n },
  summary: `moves ${dollars} dollars`,
})

it('asks no second time in the same words, though a block has changed what it was read at', async () => {
  const { proposed, again } = await rejected()
  expect(await proposed()).toBe(REJECTED)
  expect(await proposed({ occurrence: 'idle=101' })).toBe(REJECTED)
  expect(await again().proposed({ occurrence: 'idle=102' })).toBe(REJECTED)
})

it('asks no second time while its amounts are within a tenth, and again beyond', async () => {
  const { proposed } = await rejected(worth(1_000n))
  expect(await proposed({ occurrence: '2', ...worth(1_100n) })).toBe(REJECTED)
  expect(await proposed({ occurrence: '3', ...worth(900n) })).toBe(REJECTED)
  expect(await proposed({ occurrence: '4', ...worth(1_000n), summary: 'x', worthUsdMicros: 5n })).toBe(
    'asked',
  )
  expect(await proposed({ occurrence: '5', ...worth(1_101n) })).toBe('asked')
  expect(await proposed({ occurrence: '6', ...worth(899n) })).toBe('asked')
})

it('is not asked by turns about two amounts that were both rejected', async () => {
  const { proposed, reject } = await rejected(worth(1_000n))
  await reject({ occurrence: '2', ...worth(1_200n) })
  expect(await proposed({ occurrence: '3', ...worth(1_000n) })).toBe(REJECTED)
  expect(await proposed({ occurrence: '4', ...worth(1_200n) })).toBe(REJECTED)
})

const [A, B, C] = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`, `0x${'c3'.repeat(20)}`]
const moving = (from: string, to: string, assets: string, more: readonly object[] = []) => ({
  occurrence: `${from} ${to} ${assets}`,
  summary: `${assets} from ${from} to ${to} and ${more.length}`,
  input: {
    withdrawals: [{ marketAddress: from, assets }],
    supplies: [{ marketAddress: to, assets }, ...more],
  } as Proposal['input'],
})

it('keeps nothing else of a subject from being asked about: as much that goes elsewhere, or back', async () => {
  const { proposed } = await rejected({ ...worth(1_000n), ...moving(A, B, '1000') })
  const some = [{ marketAddress: C, assets: '5' }]
  expect(await proposed(moving(A, B, '995', some))).toBe(REJECTED)
  expect(await proposed(moving(B, A, '1000'))).toBe('asked')
  expect(await proposed(moving(C, B, '1000'))).toBe('asked')
})

it('says nothing of another subject, kind or type, of what moves no amount in other words, or of an order', async () => {
  const { proposed } = await rejected({ exposure: { token: null, assets: 0n, usdMicros: 0n } })
  expect(await proposed({ subject: 'another' })).toBe('asked')
  expect(await proposed({ kind: 'another' })).toBe('asked')
  expect(await proposed({ occurrence: '2', summary: 'of another day' })).toBe('asked')
  const ordered = await rejected({ kind: 'order' })
  expect(await ordered.proposed({ occurrence: 'a later order' })).toBe('asked')
})

it.each([
  ['the same state', {}],
  ['another one', { occurrence: 'idle=101' }],
])('asks again of %s once a person has taken the no back', async (_, changes) => {
  const { proposed, directory, id } = await rejected()
  const taken = await runCommand(['reject', id.slice(0, 8), '--take-back', '--directory', directory])
  expect(taken).toMatchObject({
    code: 5,
    out: expect.stringContaining(`Taken back: the no to ${id}`),
    err: `No keeper runs in ${directory} now: its next start takes the answer.\n`,
  })
  expect(await proposed(changes)).toBe('asked')
})

it('takes back no no that nobody gave', async () => {
  const { directory, open, journal } = await rejected()
  const other = await open(proposalOf({ subject: 'another' }), false)
  const id = other.ok ? other.workflow.id : ''
  await journal.barrier()
  const { code, err } = await runCommand(['reject', id, '--take-back', '--directory', directory])
  expect(code).toBe(2)
  expect(err).toContain(`Nobody rejected workflow ${id.slice(0, 8)}; it is discovered.`)
})

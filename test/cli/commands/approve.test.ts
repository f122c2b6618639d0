import { chmodSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { approve } from '../../../src/cli/commands/approve.ts'
import { approver } from '../../../src/cli/commands/approver.ts'
import { approvalHash } from '../../../src/guard/approval/approval.ts'
import { countAnswers } from '../../../src/guard/approval/approvers.ts'
import { lockDirectory } from '../../../src/journal/directory/lock.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { setControl } from '../../../src/ops/control.ts'
import { readAnswers } from '../../../src/ops/orders.ts'
import { capture } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'
import { proposalOf, SIGNER, workflowOf } from '../../support/workflows.ts'

const directory = newDirectory()
const run = (...args: string[]) => capture((io) => approve(['--directory', directory, ...args], io))

const open = workflowOf('discovered', {
  id: 'a1'.repeat(16),
  proposal: proposalOf({ summary: 'repay\u001b[2J 1000' }),
})
const asked = {
  rules: 'c0'.repeat(32),
  shown: {
    calls: [
      {
        to: `btc 0x${'3a'.repeat(20)}`,
        function: 'liquidate',
        arguments: [{ name: 'repayAssets', value: '41,650.5 sUSD' }],
        notes: [],
      },
    ],
    effects: ['leaves us: at most 41,650.5 sUSD'],
    changes: [{ field: 'maxPriceBps', from: '93 %', to: '94 %' }],
    day: '90,000 USD in 24 h with this one',
    askedBy: 'the agent of the liquidator',
    quorum: 1,
    approvers: null,
  },
}
const hash = approvalHash(open, asked)
const why = { check: 'approval_always', message: 'The policy asks about every one.' }
const held = { ...open, hold: { ...why, ...asked, hash, untilMs: Date.now() + 600_000, approvals: [] } }

const people = { askedBy: 'ben', quorum: 2, approvers: [{ name: 'anna' }, { name: 'carla' }] }
const ofTwo = { ...asked, shown: { ...asked.shown, ...people } }
const hashOfTwo = approvalHash(open, ofTwo)

/** One of them is known as the user of this machine, and has approved. */
const user = `${userInfo().username}@${hostname()}`
const desk = { askedBy: 'ben', quorum: 2, approvers: [{ name: 'desk', user }, { name: 'dora' }] }
const ofDesk = { ...asked, shown: { ...asked.shown, ...desk } }
const hashOfDesk = approvalHash(open, ofDesk)

beforeAll(async () => {
  const journal = openSqliteJournal(directory)
  await journal.open(held)
  const other = { ...held, id: 'b2'.repeat(16), opportunity: 'other' }
  await journal.open({ ...other, hold: { ...held.hold, shown: { ...asked.shown, effects: [] } } })
  await journal.open({
    ...held,
    id: 'c3'.repeat(16),
    opportunity: 'two',
    hold: {
      ...held.hold,
      ...ofTwo,
      hash: hashOfTwo,
      approvals: [{ by: 'carla', identity: { user: 'carla@ops' }, atMs: 1_000 }],
    },
  })
  await journal.open({
    ...held,
    id: 'f6'.repeat(16),
    opportunity: 'desk',
    hold: {
      ...held.hold,
      ...ofDesk,
      hash: hashOfDesk,
      approvals: [{ by: 'desk', identity: { user }, atMs: 1_000 }],
    },
  })
  const order = {
    ...open,
    id: 'd4'.repeat(16),
    opportunity: 'order',
    proposal: proposalOf({ kind: 'order' }),
  }
  const value = `${'long '.repeat(200)}… and the rest of it`
  const calls = asked.shown.calls.map((each) => ({ ...each, arguments: [{ name: 'reason', value }] }))
  const ofLong = { ...asked, shown: { ...asked.shown, calls } }
  const wordy = { ...open, id: 'e5'.repeat(16), opportunity: 'wordy' }
  await journal.open({ ...wordy, hold: { ...held.hold, ...ofLong, hash: approvalHash(wordy, ofLong) } })
  await journal.open({ ...order, hold: { ...held.hold, hash: approvalHash(order, asked) } })
  await journal.open({ ...open, id: '17'.repeat(16), opportunity: 'idle' })
  await journal.open({
    ...held,
    id: '28'.repeat(16),
    opportunity: 'late',
    hold: { ...held.hold, untilMs: 1 },
  })
  await journal.barrier()
  await journal.close()
})

/** Run another command in this process; the file of a key that it makes lies in the directory. */
const make = async (name: string) => {
  const file = join(directory, `${name}.key`)
  let out = ''
  const io = {
    outIsTty: false,
    errIsTty: false,
    env: {},
    err: () => {},
    out: (text: string) => {
      out += text
    },
  }
  await approver(['new', name, '--out', file], io)
  return { file, publicKey: /ed25519:[^"]+/.exec(out)?.[0] ?? '' }
}

describe('an approval', () => {
  it('without a hash approves nothing, whatever waits, and shows on one screen what would be signed', async () => {
    const { code, out } = await run('a1a1')
    expect(readAnswers(directory, held.id)).toEqual([])
    expect(code).toBe(0)
    expect(out).toContain(`Signed by ${SIGNER} on chain 31337, nothing but:`)
    expect(out).toMatch(/ 1\. btc 0x(3a){20} liquidate\n +repayAssets {2}41,650\.5 sUSD\n/)
    expect(out).toContain('\n  maxPriceBps: 93 % → 94 %\n')
    expect(out).toContain('\n  leaves us: at most 41,650.5 sUSD\n')
    expect(out).toContain('\n  adds up to: 90,000 USD in 24 h with this one\n')
    expect(out).toContain(`\n  rolekeeper approve a1a1a1a1 --hash ${hash} --directory ${directory}\n`)
    const listed = (await run()).out
    expect(listed).toMatch(
      /^id +role +what +expires in +check +about\na1a1a1a1 +liquidator +liquidation +\d+ \S+ /,
    )
    expect(listed).toContain(`rolekeeper approve ID --directory ${directory}`)
    expect((await run('--role', 'allocator')).out).toBe('Nothing waits.\n')
    await expect(run('--role', 'liquidater')).rejects.toMatchObject({
      fix: expect.stringContaining('liquidator'),
    })
    expect(out.split('\n').length).toBeLessThan(30)
    expect(out).not.toContain('\u001b')
  })

  it('says that it waits while its role is paused, until when, and what lifts that', async () => {
    expect((await run('d4d4')).out).not.toContain('paused')
    setControl(directory, 'pause', true, { role: 'liquidator', by: 'anna@ops', reason: 'a look' })
    const paused = new RegExp(
      `The liquidator is paused: anna@ops did it, .*: a look\\. Fix: \`rolekeeper resume liquidator --directory ${directory}\` .*Until then what is approved waits; it expires at 2`,
    )
    expect((await run('d4d4')).out).toMatch(paused)
    const order = approvalHash({ ...open, proposal: proposalOf({ kind: 'order' }) }, asked)
    expect((await run('d4d4', '--hash', order)).out).toMatch(paused)
    setControl(directory, 'pause', false, { role: 'liquidator' })
  })

  it('shows what an order would change as the chain says what is there', async () => {
    const { out } = await run('d4d4')
    expect(out).toContain('\nChanges, by what the chain says is there:\n  maxPriceBps: 93 % → 94 %\n')
    expect((await run('a1a1')).out).toContain('\nChanges:\n')
  })

  it('shows a long argument to its end', async () => {
    expect((await run('e5e5')).out).toContain('… and the rest of it\n')
  })

  it('for another hash than what waits approves nothing: it changed since it was read', async () => {
    const refused = run('a1a1', '--hash', 'd4'.repeat(32))
    await expect(refused).rejects.toThrow(
      /What waits as a1a1a1a1 is not what (d4)+ names: nothing was approved/,
    )
    expect(readAnswers(directory, held.id)).toEqual([])
  })

  it('of a record that its hash does not name is refused: the screen would be another', async () => {
    await expect(run('b2b2')).rejects.toThrow('What is recorded of b2b2b2b2 is not what its hash names')
    await expect(run('b2b2', '--hash', hash)).rejects.toThrow(
      'What is recorded of b2b2b2b2 is not what its hash names',
    )
    expect(readAnswers(directory, 'b2'.repeat(16))).toEqual([])
  })

  it.each([
    ['17', 'Workflow 17171717 does not wait; it is discovered.'],
    ['28', 'Workflow 28282828 has expired.'],
  ])('of what waits no more is refused, and says where the list is: %s', async (part, said) => {
    await expect(run(part.repeat(2))).rejects.toThrow(
      `${said} Fix: see: rolekeeper approve --directory ${directory}`,
    )
  })

  it('is for exactly the hash that was read', async () => {
    const { code, out, err } = await run('a1a1', '--hash', hash)
    expect(out).toContain(`Approved: ${held.id}`)
    const until = new Date(held.hold.untilMs).toISOString()
    expect([code, err]).toEqual([
      5,
      `No keeper runs in ${directory} now: its next start takes the answer, if that is before ${until}.\n`,
    ])
    expect(readAnswers(directory, held.id)).toMatchObject([{ verdict: 'approve', hash }])
  })

  it('of those whom the policy names is signed with their own key, and nobody else’s is taken', async () => {
    const [anna, mallory, carla] = [await make('anna'), await make('mallory'), await make('carla')]
    const two = ['c3'.repeat(16), '--hash', hashOfTwo]
    const { out } = await run('c3c3')
    expect(out).toContain('  asked by ben, expires in')
    expect(out).toContain('Approved by: carla (1970-01-01T00:00:01.000Z)\nNeeded: 1 more of anna\n')
    expect(out).toContain(`--hash ${hashOfTwo} --key FILE --directory ${directory}\n`)
    await expect(run(...two)).rejects.toThrow('is none of those who may approve it: anna, carla.')
    await expect(run(...two, '--key', mallory.file)).rejects.toThrow('mallory is none of those')
    await expect(run(...two, '--key', carla.file)).rejects.toThrow(
      'carla has approved it already; 2 are needed',
    )
    chmodSync(anna.file, 0o644)
    await expect(run(...two, '--key', anna.file)).rejects.toThrow(/Others than its owner may read/)
    chmodSync(anna.file, 0o600)
    expect(readAnswers(directory, 'c3'.repeat(16))).toEqual([])
    await expect(run(...two, '--key', anna.file)).rejects.toThrow(
      /The key of anna would sign: approves workflow c3.* Nothing was signed\. Fix: add --yes/,
    )
    expect(readAnswers(directory, 'c3'.repeat(16))).toEqual([])
    await run(...two, '--key', anna.file, '--yes')
    const approvers = { anna: { key: anna.publicKey }, ben: { key: mallory.publicKey } }
    const workflow = { ...open, id: 'c3'.repeat(16), hold: { ...held.hold, hash: hashOfTwo } }
    expect(
      countAnswers(workflow, readAnswers(directory, workflow.id), { approvers, quorum: 1 }),
    ).toMatchObject({
      approved: [{ by: 'anna', identity: { name: 'anna' } }],
      rejected: null,
    })
    // A key is never written over another.
    await expect(make('anna')).rejects.toThrow('is there already')
  })
  it('by one’s own key is taken at the machine of another one who has approved, and the other’s is not again', async () => {
    const dora = await make('dora')
    const desks = ['f6'.repeat(16), '--hash', hashOfDesk]
    await expect(run(...desks)).rejects.toThrow('desk has approved it already')
    const stranger = await make('eve')
    await expect(run(...desks, '--key', stranger.file)).rejects.toThrow('eve is none of those who may')
    const answering = (line: string) =>
      approve(['--directory', directory, ...desks, '--key', dora.file], {
        out: () => undefined,
        err: (text) => asked.push(text),
        outIsTty: true,
        errIsTty: true,
        env: {},
        lines: async function* () {
          yield line
        },
      })
    const asked: string[] = []
    await expect(answering('')).rejects.toThrow('Nothing was signed. Fix: answer y where it is meant')
    expect(asked.join('')).toMatch(
      /^The key of dora would sign: approves workflow f6.*\nSign it\? \[y\/N\]: $/,
    )
    expect(readAnswers(directory, 'f6'.repeat(16))).toEqual([])
    const running = lockDirectory(directory)
    expect(await answering('y')).toBe(0)
    running.release()
    const approvers = { desk: { user }, dora: { key: dora.publicKey } }
    const workflow = { ...open, id: 'f6'.repeat(16), hold: { ...held.hold, hash: hashOfDesk } }
    expect(
      countAnswers(workflow, readAnswers(directory, workflow.id), { approvers, quorum: 2 }),
    ).toMatchObject({
      approved: [{ by: 'dora' }],
    })
  })
})

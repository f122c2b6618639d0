import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { approve } from '../../../src/cli/commands/approve.ts'
import { approvalHash } from '../../../src/guard/approval.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite.ts'
import { readAnswer } from '../../../src/ops/orders.ts'
import { proposalOf, SIGNER, workflowOf } from '../../support/workflows.ts'

const directory = mkdtempSync(join(tmpdir(), 'cli-approve-'))
const run = async (...args: string[]) => {
  let out = ''
  const io = {
    ...{ outIsTty: false, errIsTty: false, env: {}, err: () => {} },
    out: (text: string) => {
      out += text
    },
  }
  const code = await approve(['--directory', directory, ...args], io)
  return { code, out }
}

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
  },
}
const hash = approvalHash(open, asked)
const why = { check: 'approval_always', message: 'The policy asks about every one.' }
const held = { ...open, hold: { ...why, ...asked, hash, untilMs: Date.now() + 600_000 } }

beforeAll(async () => {
  const journal = openSqliteJournal(directory)
  await journal.open(held)
  const other = { ...held, id: 'b2'.repeat(16), opportunity: 'other' }
  await journal.open({ ...other, hold: { ...held.hold, shown: { ...asked.shown, effects: [] } } })
  await journal.barrier()
  await journal.close()
})

describe('an approval', () => {
  it('without a hash approves nothing, whatever waits, and shows on one screen what would be signed', async () => {
    const { code, out } = await run('a1a1')
    expect(readAnswer(directory, held.id)).toBeNull()
    expect(code).toBe(0)
    expect(out).toContain(`Signed by ${SIGNER} on chain 31337, nothing but:`)
    expect(out).toMatch(/ 1\. btc 0x(3a){20} liquidate\n +repayAssets {2}41,650\.5 sUSD\n/)
    expect(out).toContain('\n  maxPriceBps: 93 % → 94 %\n')
    expect(out).toContain('\n  leaves us: at most 41,650.5 sUSD\n')
    expect(out).toContain(`\n  rolekeeper approve a1a1a1a1 --hash ${hash}\n`)
    expect(out.split('\n').length).toBeLessThan(30)
    expect(out).not.toContain('\u001b')
  })

  it('for another hash than what waits approves nothing: it changed since it was read', async () => {
    const refused = run('a1a1', '--hash', 'd4'.repeat(32))
    await expect(refused).rejects.toThrow(/is not what (d4)+ names: nothing was approved/)
    expect(readAnswer(directory, held.id)).toBeNull()
  })

  it('of a record that its hash does not name is refused: the screen would be another', async () => {
    await expect(run('b2b2')).rejects.toThrow('is not what its hash names')
    await expect(run('b2b2', '--hash', hash)).rejects.toThrow('is not what its hash names')
    expect(readAnswer(directory, 'b2'.repeat(16))).toBeNull()
  })

  it('is for exactly the hash that was read', async () => {
    const { out } = await run('a1a1', '--hash', hash)
    expect(out).toContain(`Approved: ${held.id}`)
    expect(readAnswer(directory, held.id)).toEqual({ verdict: 'approve', hash })
  })
})

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fileMail, fileOutgoing } from '../../src/ops/mail.ts'
import { HASH, held, mailContract } from './mail-contract.ts'

async function open() {
  const directory = mkdtempSync(join(tmpdir(), 'mail-'))
  const values = new Map<string, string>()
  const journal = {
    getValue: async (key: string) => values.get(key) ?? null,
    setValue: async (key: string, value: string) => void values.set(key, value),
    barrier: async () => {},
  }
  return { mail: fileMail(directory, journal), outgoing: fileOutgoing(directory, journal) }
}

describe('mail in files', () => {
  mailContract(open)

  it('takes the later of two answers, and none once it was forgotten', async () => {
    const { mail, outgoing } = await open()
    await outgoing.answer(held, { verdict: 'approve', hash: HASH })
    await outgoing.answer(held, { verdict: 'reject', hash: HASH })
    expect(await mail.answer(held.id, HASH)).toBe('reject')
    await mail.forgetAnswer(held.id)
    expect(await mail.answer(held.id, HASH)).toBeNull()
  })
})

import { describe, expect, it } from 'vitest'
import { fileMail, fileOutgoing } from '../../src/ops/mail.ts'
import { newDirectory } from '../support/directory.ts'
import { BY, HASH, held, mailContract } from './mail-contract.ts'

async function open() {
  const directory = newDirectory()
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

  it('takes the later of two answers of a person, and none once it was forgotten', async () => {
    const { mail, outgoing } = await open()
    await outgoing.answer(held, { verdict: 'approve', hash: HASH, by: BY })
    await outgoing.answer(held, { verdict: 'reject', hash: HASH, by: BY })
    expect(await mail.answers(held.id, HASH)).toMatchObject([{ verdict: 'reject' }])
    await mail.forgetAnswers(held.id)
    expect(await mail.answers(held.id, HASH)).toEqual([])
  })
})

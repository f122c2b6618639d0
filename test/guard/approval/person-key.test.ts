import { expect, it } from 'vitest'
import {
  answerText,
  createPersonKey,
  isSigned,
  looseningText,
  releaseText,
  signText,
  submissionText,
} from '../../../src/guard/approval/person-key.ts'

it('signs texts that name what they are, each part on a line of its own', () => {
  expect(answerText('approve', 'w1', 'ab')).toBe('rolekeeper answer\napprove\nw1\nab')
  expect(submissionText('o1', 'ab')).toBe('rolekeeper submission\no1\nab')
  expect(looseningText('ab')).toBe('rolekeeper loosening\nab')
  expect(releaseText(1, '0xAb', 'cd')).toBe('rolekeeper release\n1\n0xab\ncd')
})

it('proves nothing by a key that is none, whatever the signature', () => {
  const { publicKey, privatePem } = createPersonKey()
  const signature = signText('a text', privatePem)
  expect(isSigned('a text', signature, publicKey)).toBe(true)
  expect(isSigned('a text', signature, publicKey.replace('ed25519:', ''))).toBe(false)
  expect(isSigned('a text', signature, 'ed25519:AAAA')).toBe(false)
})

import { describe, expect, it } from 'vitest'
import {
  type Approvers,
  approvers,
  approversIn,
  askerOf,
  countAnswers,
  isApproved,
  quorum,
  takenBackBy,
  whoLoosens,
} from '../../../src/guard/approval/approvers.ts'
import {
  answerText,
  createPersonKey,
  looseningText,
  signText,
  submissionText,
} from '../../../src/guard/approval/person-key.ts'
import { proposalOf, workflowOf } from '../../support/workflows.ts'

const HASH = 'a1'.repeat(32)
const [anna, ben, mallory] = [createPersonKey(), createPersonKey(), createPersonKey()]
const KNOWN: Approvers = {
  approvers: approvers.parse({
    anna: { key: anna.publicKey },
    ben: { key: ben.publicKey },
    carla: { user: 'carla@ops2' },
  }),
  quorum: 2,
}
const shown = { calls: [], effects: [], changes: [], day: '', askedBy: '', quorum: 2, approvers: null }
const hold = { check: '', message: '', hash: HASH, rules: '', shown, untilMs: 1, approvals: [] }
const workflowOfAsker = (askedBy?: string) => ({
  ...workflowOf('discovered'),
  proposal: proposalOf(askedBy === undefined ? {} : { askedBy }),
  hold,
})
const workflow = workflowOfAsker()

type Verdict = 'approve' | 'reject'
const signed = (name: string, key: typeof anna, verdict: Verdict = 'approve', text?: string) => ({
  verdict,
  hash: HASH,
  by: {
    user: 'x@y',
    name,
    signature: signText(text ?? answerText(verdict, workflow.id, HASH), key.privatePem),
  },
})
const count = (answers: Parameters<typeof countAnswers>[1], of = workflow, known = KNOWN) =>
  namesOf(countAnswers(of, answers, known))
const namesOf = ({ approved, rejected }: ReturnType<typeof countAnswers>) => ({
  approved: approved.map(({ by }) => by),
  rejected,
})

describe('who approves', () => {
  it('is whom their key proves, each counted once', () => {
    expect(count([signed('anna', anna), signed('anna', anna), signed('ben', ben)])).toEqual({
      approved: ['anna', 'ben'],
      rejected: null,
    })
  })

  it.each([
    ['under the name of another', signed('anna', ben)],
    ['by a key that the policy does not name', signed('mallory', mallory)],
    ['without a signature', { verdict: 'approve' as const, hash: HASH, by: { user: 'x@y', name: 'anna' } }],
    [
      'with bytes that are no signature',
      { ...signed('anna', anna), by: { user: 'x@y', name: 'anna', signature: 'AA==' } },
    ],
    [
      'that was signed for another workflow',
      signed('anna', anna, 'approve', answerText('approve', 'other', HASH)),
    ],
    [
      'that was signed for another hash',
      signed('anna', anna, 'approve', answerText('approve', workflow.id, 'b2')),
    ],
    [
      'that was signed as a rejection',
      signed('anna', anna, 'approve', answerText('reject', workflow.id, HASH)),
    ],
    ['that is for another hash', { ...signed('anna', anna), hash: 'b2'.repeat(32) }],
    [
      'by a user who is believed to be nobody',
      { verdict: 'approve' as const, hash: HASH, by: { user: 'carla@elsewhere' } },
    ],
    [
      'by another who says to be that user under a name',
      { verdict: 'approve' as const, hash: HASH, by: { user: 'carla@ops2', name: 'anna' } },
    ],
  ])('is nobody by an answer %s', (_, answer) => {
    expect(count([answer])).toEqual({ approved: [], rejected: null })
  })

  it('is believed of a user where the policy says so', () => {
    const carla = { verdict: 'approve' as const, hash: HASH, by: { user: 'carla@ops2' } }
    expect(count([carla]).approved).toEqual(['carla'])
  })

  it('is never who submitted it, who may reject it', () => {
    const annas = workflowOfAsker('anna')
    expect(count([signed('anna', anna), signed('ben', ben)], annas).approved).toEqual(['ben'])
    expect(count([signed('anna', anna, 'reject')], annas)).toEqual({ approved: [], rejected: 'anna' })
    // A rejection that nobody proved hides none that is.
    const rejections = [signed('anna', mallory, 'reject'), signed('ben', ben, 'reject')]
    expect(count(rejections, annas).rejected).toBe('ben')
    const alone: Approvers = { approvers: approvers.parse({ anna: { key: anna.publicKey } }), quorum: 1 }
    expect(count([signed('anna', anna)], annas, alone).approved).toEqual([])
  })

  it('is anybody where the policy names nobody', () => {
    const answer = { verdict: 'approve' as const, hash: HASH, by: { user: 'me@here' } }
    expect(count([answer], workflowOfAsker('me@here'), { approvers: {}, quorum: 1 }).approved).toEqual([
      'me@here',
    ])
  })
})

describe('a workflow that was approved', () => {
  const given = (approvedAtMs: number | undefined, ...answers: readonly ReturnType<typeof signed>[]) => ({
    id: workflow.id,
    proposal: workflow.proposal,
    hold: {
      ...hold,
      ...(approvedAtMs === undefined ? {} : { approvedAtMs }),
      approvals: answers.map(({ by }) => ({ by: by.name, identity: by, atMs: 1 })),
    },
  })
  it('is so by answers that prove it anew, as many as are asked', () => {
    expect(isApproved(given(1, signed('anna', anna), signed('ben', ben)), KNOWN)).toBe(true)
    expect(isApproved(given(undefined, signed('anna', anna), signed('ben', ben)), KNOWN)).toBe(false)
    expect(isApproved(given(1, signed('anna', anna)), KNOWN)).toBe(false)
    expect(isApproved(given(1, signed('anna', anna), signed('ben', mallory)), KNOWN)).toBe(false)
    expect(isApproved({ id: 'w', proposal: proposalOf() }, { approvers: {}, quorum: 0 })).toBe(false)
  })
})

describe('who takes back a rejection', () => {
  const back = (name: string, key: typeof anna) => ({
    ...signed(name, key, 'approve', answerText('take_back', workflow.id, HASH)),
    verdict: 'take_back' as const,
  })
  const me = { verdict: 'take_back' as const, hash: HASH, by: { user: 'me@here' } }
  const nobody: Approvers = { approvers: {}, quorum: 1 }

  it('is the first of the approvers whose key proves it for this very hash', () => {
    expect(takenBackBy(workflow, [back('ben', ben), back('anna', anna)], KNOWN)).toBe('ben')
    const unproven = [back('anna', mallory), { ...back('anna', anna), hash: 'b2'.repeat(32) }, me]
    expect(takenBackBy(workflow, unproven, KNOWN)).toBeNull()
    expect(takenBackBy(workflow, [...unproven, back('anna', anna)], KNOWN)).toBe('anna')
  })

  it('is nobody who answered otherwise, though they prove it', () => {
    expect(takenBackBy(workflow, [signed('anna', anna), signed('ben', ben, 'reject')], KNOWN)).toBeNull()
  })

  it('is anybody who says so where the policy names nobody', () => {
    expect(takenBackBy(workflow, [me], nobody)).toBe('me@here')
    expect(takenBackBy(workflow, [{ ...me, verdict: 'reject' }], nobody)).toBeNull()
    expect(takenBackBy(workflow, [{ ...me, hash: 'b2'.repeat(32) }], nobody)).toBeNull()
  })
})

describe('who approves a looser policy', () => {
  const by = (name: string, key: typeof anna, hash = HASH) => ({
    user: 'x@y',
    name,
    signature: signText(looseningText(hash), key.privatePem),
  })
  it('is each approver whose key proves it for this very change, once', () => {
    const given = [
      by('anna', anna),
      by('anna', anna),
      by('ben', mallory),
      by('ben', ben, 'b2'),
      by('ben', ben),
    ]
    expect(whoLoosens(HASH, given, KNOWN)).toEqual(['anna', 'ben'])
    expect(whoLoosens(HASH, given.slice(2, 4), KNOWN)).toEqual([])
  })

  it('is whom the policy names, nobody where it names nobody', () => {
    const named = { approvers: { anna: { user: 'a@b' } }, quorum: '1' }
    expect(approversIn({ role: 'liquidator', approval: { ...named, always: [] } })).toMatchObject({
      approvers: named.approvers,
      quorum: 1,
    })
    expect(approversIn({ role: 'liquidator' })).toEqual({ approvers: {}, quorum: 1 })
  })
})

it('a quorum is a number of approvals', () => {
  expect(quorum.safeParse('0').error?.issues[0]?.message).toMatch(/^allowed: 1 to \d+ approvals$/)
  expect(quorum.parse('2')).toBe(2)
})

describe('who submits', () => {
  const content = 'c0'.repeat(32)
  const by = (name: string, key: typeof anna, id = 'order-1', of = content) =>
    ({ user: 'x@y', name, signature: signText(submissionText(id, of), key.privatePem) }) as const
  const asker = (given: Parameters<typeof askerOf>[0]['by'], known = KNOWN) =>
    askerOf({ id: 'order-1', contentHash: content, by: given }, known)

  it('is one of the approvers, proven by their key for this very order', () => {
    expect(asker(by('anna', anna))).toEqual({ ok: true, asker: 'anna' })
    expect(asker({ user: 'carla@ops2' })).toEqual({ ok: true, asker: 'carla' })
    for (const other of [
      { user: 'x@y' },
      by('anna', ben),
      by('anna', anna, 'order-2'),
      by('anna', anna, 'order-1', 'd0'),
    ]) {
      expect(asker(other)).toMatchObject({ ok: false, check: 'submitter_unproven' })
    }
  })

  it('is believed where the policy names nobody', () => {
    expect(asker({ user: 'x@y' }, { approvers: {}, quorum: 1 })).toEqual({ ok: true, asker: 'x@y' })
  })
})

/** The same 32 bytes: the last digit of base64 has two bits that nobody reads. */
const alike = (publicKey: string) => {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  const last = digits[digits.indexOf(publicKey.at(-2) ?? '') ^ 1]
  return `${publicKey.slice(0, -2)}${last}=`
}

describe('approvers of a policy', () => {
  it.each([
    ['a name with spaces', { 'a b': { user: 'a@b' } }],
    ['a name that begins with a digit', { '1a': { user: 'a@b' } }],
    ['a name of 41 letters', { ['a'.repeat(41)]: { user: 'a@b' } }],
    ['a user without a machine', { anna: { user: 'anna' } }],
    ['a user of two machines', { anna: { user: 'a@b@c' } }],
    ['a user with a space', { anna: { user: 'a b@c' } }],
    ['a member that is none', { anna: { user: 'a@b', email: 'a@b' } }],
    ['a key that is none', { anna: { key: 'ed25519:AAAA' } }],
    ['another kind of key', { anna: { key: `rsa:${'A'.repeat(43)}=` } }],
    ['both key and user', { anna: { key: anna.publicKey, user: 'a@b' } }],
    ['neither', { anna: {} }],
    // With a quorum of two, the one person would approve alone.
    ['one key under two names', { anna: { key: anna.publicKey }, anne: { key: anna.publicKey } }],
    ['one key, written otherwise', { anna: { key: anna.publicKey }, anne: { key: alike(anna.publicKey) } }],
    ['one user under two names', { anna: { user: 'a@b' }, anne: { user: 'a@b' } }],
  ])('are not %s', (_, section) => {
    expect(approvers.safeParse(section).success).toBe(false)
  })
})

import { z } from 'zod'
import { type Checked, refuse } from '../../errors.ts'
import { count } from '../../service/contract/yaml-scalars.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import {
  answerText,
  type Identity,
  isPublicKey,
  isSigned,
  looseningText,
  submissionText,
  type Verdict,
} from './person-key.ts'

const key = z.string().refine(isPublicKey, {
  error: 'expected ed25519: and 32 bytes as base64, as `rolekeeper approver new` prints it',
})
const user = z.string().regex(/^[^\s@]{1,64}@[^\s@]{1,128}$/, 'expected user@host')

const proofOf = (approver: { readonly key: string } | { readonly user: string }): string =>
  'key' in approver ? approver.key : approver.user

/** Who may approve, by name: each known by a key of their own, or believed to be a user of a machine. */
export const approvers = z
  .record(
    z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'expected a name of lower-case letters, digits and hyphens'),
    z.union([z.strictObject({ key }), z.strictObject({ user })], { error: 'expected { key } or { user }' }),
  )
  .refine((named) => new Set(Object.values(named).map(proofOf)).size === Object.keys(named).length, {
    error: 'two of them have the same key or user: one person would count as two',
  })
  .default({})
/** How many of them. */
export const quorum = count('approvals', 1, 20).default(1)

/** Who may answer for a role; with no approvers, whoever can write to the keeper's records. */
export type Approvers = {
  readonly approvers: z.output<typeof approvers>
  readonly quorum: number
}

/** Find who of the approvers said a text; null when it is none of them, or not proven. Pure. */
function signerOf(
  text: string,
  { user, name, signature }: Identity,
  { approvers }: Pick<Approvers, 'approvers'>,
): string | null {
  const [found] = Object.entries(approvers).flatMap(([known, approver]) => {
    const isThem =
      'user' in approver
        ? approver.user === user && (name ?? known) === known
        : name === known && signature !== undefined && isSigned(text, signature, approver.key)
    return isThem ? [known] : []
  })
  return found ?? null
}

/**
 * Find who submitted an order. With approvers, it must be one of them, so that nobody approves what they asked for
 * themselves; without, the user is believed. Pure.
 */
export function askerOf(
  { id, contentHash, by }: { readonly id: string; readonly contentHash: string; readonly by: Identity },
  known: Approvers,
): Checked<{ readonly asker: string }> {
  const names = Object.keys(known.approvers)
  if (names.length === 0) return { ok: true, asker: by.user }
  const asker = signerOf(submissionText(id, contentHash), by, known)
  if (asker !== null) return { ok: true, asker }
  return refuse(
    'submitter_unproven',
    `The policy names approvers, and who submitted this is none of ${names.join(', ')}. Fix: submit with --key FILE of one of them.`,
  )
}

/** An answer as it was given. */
type Answer = { readonly verdict: Verdict; readonly hash: string; readonly by: Identity }

/** Who may approve a workflow: every approver but who submitted it. Pure. */
export const mayApprove = (asker: string | undefined, { approvers }: Approvers): readonly string[] =>
  Object.keys(approvers).filter((name) => name !== asker)

/** Who approved, and what proves it. */
type Approver = { readonly by: string; readonly identity: Identity }

/**
 * Find who approved and who rejected a workflow, each by an answer for its very hash that is proven to be theirs. Who
 * submitted it may reject it, never approve it. Without approvers every answer counts. Pure.
 */
export function countAnswers(
  { id, proposal, hold }: Pick<Workflow, 'id' | 'proposal' | 'hold'>,
  answers: readonly Answer[],
  known: Approvers,
): { readonly approved: readonly Approver[]; readonly rejected: string | null } {
  const isAnybody = Object.keys(known.approvers).length === 0
  const may = mayApprove(proposal.askedBy, known)
  const verdicts = answers
    .filter(({ hash }) => hash === hold?.hash)
    .flatMap(({ verdict, hash, by }) => {
      const name = isAnybody ? by.user : signerOf(answerText(verdict, id, hash), by, known)
      return name === null ? [] : [{ verdict, name, identity: by }]
    })
  const approved = verdicts.filter(
    ({ verdict, name }) => verdict === 'approve' && (isAnybody || may.includes(name)),
  )
  const names = new Map(approved.map(({ name, identity }) => [name, identity]))
  return {
    approved: [...names].map(([by, identity]) => ({ by, identity })),
    rejected: verdicts.find(({ verdict }) => verdict === 'reject')?.name ?? null,
  }
}

/** Find who took back the rejection of a workflow: of those who may answer about it. Null where nobody did. Pure. */
export function takenBackBy(
  { id, hold }: Pick<Workflow, 'id' | 'hold'>,
  answers: readonly Answer[],
  known: Approvers,
): string | null {
  const isAnybody = Object.keys(known.approvers).length === 0
  const names = answers
    .filter(({ verdict, hash }) => verdict === 'take_back' && hash === hold?.hash)
    .flatMap(({ verdict, hash, by }) =>
      isAnybody ? by.user : (signerOf(answerText(verdict, id, hash), by, known) ?? []),
    )
  return names[0] ?? null
}

/**
 * Whether as many approved a workflow as are asked, by the answers that its record keeps: each is proven again, because
 * who writes records approves nothing. Pure.
 */
export function isApproved(workflow: Pick<Workflow, 'id' | 'proposal' | 'hold'>, known: Approvers): boolean {
  const { hold } = workflow
  if (hold?.approvedAtMs === undefined) return false
  const answers = hold.approvals.map(({ identity }) => ({
    verdict: 'approve' as const,
    hash: hold.hash,
    by: identity,
  }))
  return countAnswers(workflow, answers, known).approved.length >= known.quorum
}

/** Find who of the approvers said a text. Pure. */
const allWhoSaid = (text: string, given: readonly Identity[], known: Pick<Approvers, 'approvers'>) => [
  ...new Set(given.flatMap((by) => signerOf(text, by, known) ?? [])),
]

/** Find who of the approvers approved a change of their policy, by its hash. Nobody submitted it to them. Pure. */
export const whoLoosens = (
  hash: string,
  given: readonly Identity[],
  known: Pick<Approvers, 'approvers'>,
): readonly string[] => allWhoSaid(looseningText(hash), given, known)

/** Find who of the approvers released a signer from its reasons, by `releaseText`. Pure. */
export const whoReleases = allWhoSaid

const named = z.looseObject({ approval: z.looseObject({ approvers, quorum }).optional() })

/** The approvers that a policy names, as its file says them; the file was checked when it was loaded. Pure. */
export const approversIn = (members: unknown): Approvers =>
  named.parse(members).approval ?? { approvers: {}, quorum: 1 }

import { printable } from '../../errors.ts'
import { approvalHash } from '../../guard/approval/approval.ts'
import { answerText, type Identity, type Verdict } from '../../guard/approval/person-key.ts'
import { keeperAt } from '../../journal/directory/presence.ts'
import { findWorkflow } from '../../journal/find/find-workflow.ts'
import type { JournalReads } from '../../journal/journal.ts'
import { type Hold, isHeld, REJECTED, type Workflow } from '../../workflow/workflow.ts'
import { type Io, usageError } from '../parse/command.ts'
import { EXIT } from '../parse/exit-codes.ts'
import { author } from '../target/author.ts'
import { type GivenPlace, isFleet, type KeeperPlace, placeOf, placeText } from '../target/place.ts'
import { heldUpText } from './held-up.ts'
import { order } from './order-desk.ts'
import { identify, keyToSign, readPersonKey, type Signing } from './person-key.ts'

/** A workflow that waits for a person. */
export type HeldWorkflow = Workflow & { readonly hold: Hold }

/** What is answered, and by whose key. */
type SignedAnswer = Signing & {
  readonly id: string
  /** The hash of what the person read; absent where whatever waits is to end. */
  readonly shownHash?: string
}

/**
 * Answer a workflow that waits for a person, for the one hash that the person was shown. Who carries it out takes the
 * answer and writes the journal.
 * @returns the exit code.
 * @throws RolekeeperError `usage` for a workflow that does not wait, waits under another hash or for somebody else,
 * `order.not_written`, and in a fleet `order.other` for one that the person answered otherwise.
 */
export async function answerHeld(
  verdict: 'approve' | 'reject',
  given: GivenPlace,
  { id, shownHash, ...signing }: SignedAnswer,
  io: Io,
): Promise<number> {
  const place = await placeOf(given, io)
  return order(place, async ({ mail, journal }) => {
    const workflow = await findHeld(journal, id, placeText(given))
    const { hash } = workflow.hold
    if (shownHash !== undefined && shownHash.toLowerCase() !== hash) {
      throw usageError(
        `What waits as ${workflow.id.slice(0, 8)} is not what ${shownHash} names: nothing was approved.`,
        `read what waits now: rolekeeper approve ${workflow.id.slice(0, 8)}${placeText(given)}`,
      )
    }
    const by = await answerBy(verdict, workflow, signing, io)
    await mail.answer(workflow, { verdict, hash, by })
    const done = verdict === 'approve' ? 'Approved' : 'Rejected'
    io.out(`${done}: ${workflow.id}, ${printable(workflow.proposal.summary)}\n  hash ${hash}\n`)
    const heldUp = verdict === 'approve' ? await heldUpText(workflow, place) : null
    if (heldUp !== null) io.out(`${printable(heldUp, 1_000)}\n`)
    const until =
      verdict === 'approve' ? `, if that is before ${new Date(workflow.hold.untilMs).toISOString()}` : ''
    return heard(place, until, io)
  })
}

/**
 * Take back the no to a workflow: what is like it is asked about again. Whoever may answer about it may.
 * @returns the exit code.
 * @throws RolekeeperError `usage` for a workflow that nobody rejected.
 */
export async function takeBack(
  given: GivenPlace,
  { id, ...signing }: Omit<SignedAnswer, 'shownHash'>,
  io: Io,
): Promise<number> {
  const place = await placeOf(given, io)
  return order(place, async ({ mail, journal }) => {
    const workflow = await findWorkflow(journal, id, placeText(given))
    const { hold, note } = workflow
    if (hold === undefined || note?.check !== REJECTED) {
      throw usageError(
        `Nobody rejected workflow ${workflow.id.slice(0, 8)}; it is ${workflow.state}.`,
        `see: rolekeeper workflows list${placeText(given)}`,
      )
    }
    const by = await answerBy('take_back', { ...workflow, hold }, signing, io)
    await mail.answer(workflow, { verdict: 'take_back', hash: hold.hash, by })
    io.out(`Taken back: the no to ${workflow.id}, ${printable(workflow.proposal.summary)}\n`)
    io.out('It is asked about again when it is proposed again.\n')
    return heard(place, '', io)
  })
}

/** Say that nobody takes an answer now, where that is so. Who works in a fleet is known to its Redis alone. */
function heard(place: KeeperPlace, until: string, io: Io): number {
  if (isFleet(place) || keeperAt(place.directory).state === 'running') return EXIT.done
  io.err(`No keeper runs in ${printable(place.directory)} now: its next start takes the answer${until}.\n`)
  return EXIT.noKeeper
}

const DOES = { approve: 'approves', reject: 'rejects', take_back: 'takes back the no to' } as const

/** Say who answers; with a key, only once the person has said that it may sign that. */
async function answerBy(
  verdict: Verdict,
  workflow: HeldWorkflow,
  signing: Signing,
  io: Io,
): Promise<Identity> {
  const { id, proposal, hold } = workflow
  const says = `${DOES[verdict]} workflow ${id}, ${proposal.summary}, hash ${hold.hash}`
  const own = signing.keyFile === undefined ? {} : { name: readPersonKey(signing.keyFile).name }
  checkPerson(verdict, { user: author().by, ...own }, workflow)
  const key = await keyToSign(signing, says, io)
  return identify(answerText(verdict, id, hold.hash), key)
}

/** Say at once what the keeper would not count; it is the keeper that decides. */
function checkPerson(
  verdict: Verdict,
  { user, name }: Pick<Identity, 'user' | 'name'>,
  { hold }: HeldWorkflow,
): void {
  const { approvers, askedBy, quorum } = hold.shown
  if (approvers === null) return
  // As it is counted: a key speaks for its own name alone, also at the machine of one who is known by their user.
  const found = approvers.find((one) =>
    one.user === undefined ? one.name === name : one.user === user && (name ?? one.name) === one.name,
  )
  if (verdict === 'approve' && hold.approvals.some(({ by }) => by === found?.name)) {
    throw usageError(
      `${found?.name} has approved it already; ${quorum} are needed, each of somebody else.`,
      'ask another one of the approvers',
    )
  }
  const isAsker = verdict !== 'approve' && name === askedBy
  if (isAsker || found !== undefined) return
  throw usageError(
    `${name ?? user} is none of those who may ${verdict === 'approve' ? 'approve' : 'reject'} it: ${approvers.map((one) => one.name).join(', ')}.`,
    name === askedBy ? 'ask one of them: who submits does not approve' : 'give --key FILE of one of them',
  )
}

/**
 * Find a workflow that waits for a person, by its id or the beginning of it, with a hash that names what is recorded.
 * @param at what leads a command to where it was read.
 * @throws RolekeeperError `usage` for one that does not wait, and for a record that its hash does not name.
 */
export async function findHeld(journal: JournalReads, id: string, at: string): Promise<HeldWorkflow> {
  const workflow = await findWorkflow(journal, id, at)
  const { hold } = workflow
  if (!isHeld(workflow) || hold === undefined) {
    const state = hold?.approvedAtMs === undefined ? workflow.state : `${workflow.state}, approved already`
    throw usageError(
      `Workflow ${workflow.id.slice(0, 8)} does not wait; it is ${state}.`,
      `see: rolekeeper approve${at}`,
    )
  }
  if (Date.now() >= hold.untilMs)
    throw usageError(`Workflow ${workflow.id.slice(0, 8)} has expired.`, `see: rolekeeper approve${at}`)
  if (approvalHash(workflow, hold) !== hold.hash) {
    throw usageError(
      `What is recorded of ${workflow.id.slice(0, 8)} is not what its hash names.`,
      'wait until the keeper has asked anew, and look where the record comes from',
    )
  }
  return { ...workflow, hold }
}

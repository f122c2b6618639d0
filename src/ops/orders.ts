import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { nearest } from '../config/check.ts'
import { printable, type Refusal, RolekeeperError, refuse } from '../errors.ts'
import { ROLE_NAME } from '../service/contract/roles.ts'
import type { InputValue } from '../workflow/proposal.ts'

/** Who says it: a user, which nobody proves, and where they have a key, their name and signature. */
const by = z.strictObject({
  user: z.string().min(1).max(200),
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,39}$/)
    .optional(),
  signature: z.base64().max(100).optional(),
})

/** A person's answer about a held workflow, and the hash of what was approved or rejected; `take_back` of a no. */
const answer = z.strictObject({
  verdict: z.enum(['approve', 'reject', 'take_back']),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  by,
})
export type Answer = z.infer<typeof answer>

const inputValue: z.ZodType<InputValue> = z.json().transform((value) => value as InputValue)

/** A workflow that a person asks for, instead of an agent. */
const submission = z.strictObject({
  by,
  role: z.string().regex(ROLE_NAME),
  workflowType: z.string().min(1).max(100),
  input: z.record(z.string(), inputValue),
  /** Everything up to the signature, and no further. */
  shadow: z.boolean(),
  /** As a proposal has them; absent, they are made of the input. */
  subject: z.string().min(1).max(400).optional(),
  summary: z.string().min(1).max(400).optional(),
  reason: z.record(z.string().max(60), z.union([z.string(), z.number(), z.boolean()])).optional(),
})
export type Submission = z.infer<typeof submission>
/** A submission before it is said who submits it. */
export type SubmissionDraft = Omit<Submission, 'by'>

/** What a person orders about one signer; without `yes` the keeper only says what it would do. */
const signerOrder = z.strictObject({
  verb: z.enum(['fill', 'cancel', 'release', 'resync']),
  signer: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
  nonce: z.number().int().min(0).optional(),
  yes: z.boolean(),
  /** Who releases it; absent in every other order. */
  by: by.optional(),
})
export type SignerOrder = z.infer<typeof signerOrder>

/** An order that waits, by the id that its author gave it; null stands for what holds none. */
export type QueuedOrder<Order> = {
  readonly id: string
  readonly order: Order | null
  /** Who took it has not replied in {@link AGE_MS_MAX}: what was done of it stands, and no more of it is. */
  readonly isLate?: true
}

const folderOf = (directory: string) => join(directory, 'orders')
const submissionFile = (directory: string, id: string) => join(folderOf(directory), `submit-${id}.json`)
const signerFile = (directory: string, id: string) => join(folderOf(directory), `signer-${id}.json`)
const filesOf = (directory: string, id: string) => [submissionFile(directory, id), signerFile(directory, id)]
/** The name that an order has once it is acted on: its author's own file is no more. */
const takenFile = (file: string) => file.replace(/\.json$/, '.taken.json')
const SUBMISSION = /^submit-([0-9a-f-]{36})(?:\.taken)?\.json$/
const SIGNER_ORDER = /^signer-([0-9a-f-]{36})(?:\.taken)?\.json$/

/** More people than these answer nothing. */
const ANSWERS_MAX = 20

/** Far above any workflow's input. */
const BYTES_MAX = 65_536

/** Refuse an order to a role that nobody here works as, and say which ones there are. Pure. */
export function roleAbsent(role: string, staffed: readonly string[]): Refusal {
  const known = [...new Set(staffed)]
  const near = nearest(role, known)
  const perhaps = near === undefined ? '' : `perhaps \`${near}\`; `
  const those = known.length === 0 ? '' : `submit to one of ${known.join(', ')}, or `
  return refuse(
    'role_absent',
    `The role ${printable(role)} is not configured. Fix: ${perhaps}${those}add it to \`agents\` of the run configuration and start the keeper anew.`,
  )
}

/** Who orders withdraws what nobody took within seconds; an older order was left behind by one that was ended. */
export const AGE_MS_MAX = 60_000

/** Refuse to go on with an order that was taken so long ago: what it was for is not as it was. Pure. */
export const leftBehind = (id: string): Refusal =>
  refuse(
    'order_late',
    `The order ${id} was taken, and not replied to within ${AGE_MS_MAX / 1_000} s. Fix: see in \`rolekeeper workflows list\` and \`rolekeeper signer show\` that nothing came of it, and order it again.`,
  )

/** Write an order as it is kept. Throws RolekeeperError `order.too_large`. Pure. */
export function encodeOrder(order: Answer | Submission | SignerOrder): string {
  const text = JSON.stringify(order)
  const bytes = Buffer.byteLength(text)
  if (bytes <= BYTES_MAX) return text
  throw new RolekeeperError(
    'order.too_large',
    `The order is ${bytes} bytes long; ${BYTES_MAX} are the most that is taken.`,
    { fix: 'make its input smaller, or several orders of it.', facts: { bytes } },
  )
}

/** Read a submission; null where the text holds none. Pure. */
export const parseSubmission = (text: string): Submission | null => parse(text, submission)

/** Read an answer; null where the text holds none. Pure. */
export const parseAnswer = (text: string): Answer | null => parse(text, answer)

/** Whose answer it is, as records of answers are kept apart: 16 hex digits. Pure. */
export const answererOf = ({ by: { user, name } }: Answer): string =>
  createHash('sha256')
    .update(JSON.stringify([name ?? null, user]))
    .digest('hex')
    .slice(0, 16)

/** Read an order about a signer; null where the text holds none. Pure. */
export const parseSignerOrder = (text: string): SignerOrder | null => parse(text, signerOrder)

function parse<T>(text: string, schema: z.ZodType<T>): T | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}

/**
 * Answer a held workflow; a later answer of the same person replaces an earlier one that was not taken.
 * @throws RolekeeperError `order.not_written` when the directory does not take it.
 */
export function writeAnswer(directory: string, id: string, given: Answer): void {
  writeOrder(directory, join(folderOf(directory), `${answerStart(id)}${answererOf(given)}.json`), given)
}

const answerStart = (id: string) => `answer-${id}-`

/** The files that hold what people answered about a workflow, the first of too many. */
function answerFiles(directory: string, id: string): readonly string[] {
  try {
    const names = readdirSync(folderOf(directory)).filter((name) => name.startsWith(answerStart(id)))
    return names.slice(0, ANSWERS_MAX).map((name) => join(folderOf(directory), name))
  } catch {
    return []
  }
}

/** Read the answers about a workflow. What cannot be read is none: silence approves nothing. */
export const readAnswers = (directory: string, id: string): readonly Answer[] =>
  answerFiles(directory, id).flatMap((file) => readOrder(file, answer) ?? [])

/** Forget the answers about a workflow that has ended. */
export function forgetAnswers(directory: string, id: string): void {
  for (const file of answerFiles(directory, id)) rmSync(file, { force: true })
}

/**
 * Ask the keeper of a directory for a workflow.
 * @param id a UUID of the caller's: the same order twice is one.
 * @throws RolekeeperError `order.not_written` when the directory does not take it.
 */
export function writeSubmission(directory: string, id: string, given: Submission): void {
  writeOrder(directory, submissionFile(directory, id), given)
}

/** Read the submissions that wait, those that are taken and not replied to among them. A directory that is not there has none. */
export const readSubmissions = (directory: string): readonly QueuedOrder<Submission>[] =>
  waitingIn(directory, SUBMISSION, submissionFile, submission)

/**
 * Order something about a signer.
 * @param id a UUID of the caller's: the reply has it.
 * @throws RolekeeperError `order.not_written` when the directory does not take it.
 */
export function writeSignerOrder(directory: string, id: string, given: SignerOrder): void {
  writeOrder(directory, signerFile(directory, id), given)
}

/** Read the orders about signers that wait, those that are taken and not replied to among them. */
export const readSignerOrders = (directory: string): readonly QueuedOrder<SignerOrder>[] =>
  waitingIn(directory, SIGNER_ORDER, signerFile, signerOrder)

/**
 * Take an order, of whichever kind: renamed, it is not its author's to take back any more. One that is taken is so again.
 * @returns false where its author has taken it back.
 */
export const takeOrder = (directory: string, id: string): boolean =>
  filesOf(directory, id).some((file) => isRenamed(file, takenFile(file)) || existsSync(takenFile(file)))

/** Take an order back, of whichever kind. @returns false where somebody has taken it, and has not forgotten it since. */
export function withdrawOrder(directory: string, id: string): boolean {
  for (const file of filesOf(directory, id)) rmSync(file, { force: true })
  return !filesOf(directory, id).some((file) => existsSync(takenFile(file)))
}

/** Forget an order, of whichever kind, that was replied to. */
export function forgetOrder(directory: string, id: string): void {
  for (const file of filesOf(directory, id)) {
    rmSync(file, { force: true })
    rmSync(takenFile(file), { force: true })
  }
}

function isRenamed(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch {
    return false
  }
}

/** The orders of one kind that wait; what was left behind goes. A directory that is not there has none. */
function waitingIn<T>(
  directory: string,
  kind: RegExp,
  fileOf: (directory: string, id: string) => string,
  schema: z.ZodType<T>,
): readonly QueuedOrder<T>[] {
  let names: readonly string[]
  try {
    names = readdirSync(folderOf(directory))
  } catch {
    return []
  }
  const ids = new Set(names.flatMap((name) => kind.exec(name)?.[1] ?? []))
  return [...ids].flatMap((id) => waitingAs(id, fileOf(directory, id), schema))
}

/** One order; none where its author takes it back meanwhile, or where it is nothing that could be: those beside it wait all the same. */
function waitingAs<T>(id: string, placed: string, schema: z.ZodType<T>): readonly QueuedOrder<T>[] {
  try {
    const file = existsSync(placed) ? placed : takenFile(placed)
    const found = statSync(file)
    if (found.isDirectory()) return []
    if (Math.abs(Date.now() - found.mtimeMs) <= AGE_MS_MAX) return [{ id, order: readOrder(file, schema) }]
    rmSync(file, { force: true })
  } catch {
    // Gone, or a link to nothing.
  }
  return []
}

function readOrder<T>(file: string, schema: z.ZodType<T>): T | null {
  try {
    const found = statSync(file)
    // Only a file has an end: what is read of anything else may never come.
    if (!found.isFile() || found.size > BYTES_MAX) return null
    return parse(readFileSync(file, 'utf8'), schema)
  } catch {
    return null
  }
}

/** Written beside and renamed: a reader sees the whole order or none. */
function writeOrder(directory: string, file: string, order: Answer | Submission | SignerOrder): void {
  const text = encodeOrder(order)
  try {
    mkdirSync(folderOf(directory), { mode: 0o700, recursive: false })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw notWritten(directory, file, cause)
  }
  try {
    writeFileSync(`${file}.new`, text, { mode: 0o600 })
    renameSync(`${file}.new`, file)
  } catch (cause) {
    throw notWritten(directory, file, cause)
  }
}

const notWritten = (directory: string, file: string, cause: unknown) =>
  new RolekeeperError('order.not_written', `${file} could not be written.`, {
    fix: `check that ${directory} is the keeper's directory and yours to write`,
    cause,
  })

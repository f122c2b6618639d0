import type { Address } from 'viem'
import { duration, percent, time } from '../../../src/units.ts'
import type { Proposal, Reason } from '../../../src/workflow/proposal.ts'
import {
  type Change,
  type Difference,
  type Ended,
  type Moment,
  type Pin,
  passOver,
  type Stop,
} from '../../agent.ts'

/** What to do about a difference, as far as one thing differs from another. */
type Step = Pick<
  Proposal,
  'workflowType' | 'kind' | 'subject' | 'occurrence' | 'comesBack' | 'input' | 'summary'
>

/** Nothing of ours moves by a reconciling step. */
const NO_EXPOSURE: Proposal['exposure'] = { token: null, assets: 0n, usdMicros: 0n }

/** Propose a step with the changes that it makes; one that `loosens` is always held for approval. Pure. */
export function differ(
  step: Step,
  direction: 'new' | 'stricter' | 'looser',
  changes: readonly Change[],
  loosens = false,
): Difference {
  const outcome: Proposal = {
    ...step,
    exposure: NO_EXPOSURE,
    ...(loosens ? { loosens } : {}),
    reason: reasonOf(changes),
  }
  return { subject: step.subject, direction, changes, outcome }
}

/** Why a declared thing is left alone, and what is to be pinned where that is why. */
export type LeftAlone = Stop & { readonly pin?: Pin }

/** Leave a declared thing as it is, and say why. Pure. */
export const leave = (
  subject: string,
  { pin, ...stop }: LeftAlone,
  direction: Difference['direction'] = 'none',
  changes: readonly Change[] = [],
): Difference => ({
  subject,
  direction,
  changes,
  ...(pin === undefined ? {} : { pin }),
  outcome: passOver(subject, { ...stop, reason: { ...stop.reason, ...reasonOf(changes) } }),
})

/** A thing that is there as it was declared. Pure. */
export const asDeclared = (subject: string): Difference =>
  leave(subject, { check: 'as_declared', message: 'It is as the policy declares it.' })

const reasonOf = (changes: readonly Change[]): Reason =>
  Object.fromEntries(
    changes.flatMap(({ field, from, to }) => [
      ...(from === null ? [] : [[`${field}From`, from] as const]),
      [`${field}To`, to] as const,
    ]),
  )

/** Write changes for people: `maxPriceBps 95 % → 90 %`; amounts as `write` has them, in base units without it. Pure. */
export const changesText = (changes: readonly Change[], write: typeof figureText = figureText): string =>
  changes
    .map(
      ({ field, from, to }) =>
        `${field} ${from === null ? '' : `${write(field, from)} → `}${write(field, to)}`,
    )
    .join(', ')

/** Write a figure with the unit that its name ends in; anything else as it is. Pure. */
export function figureText(field: string, text: string): string {
  if (!/^\d+$/.test(text)) return text
  const figure = BigInt(text)
  if (field.endsWith('Bps')) return percent(figure)
  if (field.endsWith('Seconds')) return duration(figure * 1_000n)
  if (field.endsWith('Timestamp')) return figure === 0n ? 'none' : time(figure)
  return text
}

/** Compare figures field by field. Pure. */
export const changesOf = (
  from: Readonly<Record<string, unknown>>,
  to: Readonly<Record<string, unknown>>,
): readonly Change[] =>
  Object.entries(to).flatMap(([field, wanted]) =>
    String(from[field]) === String(wanted) ? [] : [{ field, from: String(from[field]), to: String(wanted) }],
  )

/** What ended of late about a subject and may have had its effect, newest first. Pure. */
export const doneAbout = ({ recent }: Moment, subject: string): readonly Ended[] =>
  recent.filter((one) => one.subject === subject && MAY_BE_DONE.has(one.state))

const MAY_BE_DONE: ReadonlySet<Ended['state']> = new Set([
  'succeeded',
  'unconfirmed',
  'partial',
  'quarantined',
])

/** Whether a workflow of ours keeps a step of a kind waiting: what waits for a person keeps nothing stricter. Pure. */
export const isUnderWay = (
  { inFlight }: Moment,
  { subject, kind }: Pick<Step, 'subject' | 'kind'>,
): boolean =>
  inFlight.some(
    (one) =>
      one.subject === subject && (one.held !== true || one.kind === kind || !STRICTER_KINDS.includes(kind)),
  )

const STRICTER_KINDS: readonly string[] = ['pause', 'tighten']

/** The person that a declaration names. Pure. */
export const personOf = (person: Address | 'self', { signer }: Moment): Address =>
  person === 'self' ? signer : person

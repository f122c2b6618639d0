import { type Refusal, refuse } from '../../errors.ts'
import type { JudgedCase } from './judgement.ts'

type Proposal = JudgedCase['proposal']

/** What loosens must say so: a person is asked because it does. What a person orders is asked for already. Pure. */
export function checkLoosening({ kind, loosens }: Pick<Proposal, 'kind' | 'loosens'>): Refusal | null {
  if (kind === 'tighten') {
    return refuse('not_stricter', 'What was proposed as stricter than what is there is looser.')
  }
  if (kind === 'order' || loosens === true) return null
  return refuse('loosening_not_stated', 'What loosens must say so: a person is asked about it first.')
}

/** One thing that an act sets, beside what is there, as an agent writes both in its reason. */
export type Field = {
  /** As the request spells it. */
  readonly name: string
  readonly was: string
  readonly wanted: string
  /** Whether a protection is taken away by it. */
  readonly isLooser: boolean
}

/**
 * Judge what an act sets, field by field, against the chain: one that is looser has to say so, and an agent's sets nothing
 * otherwise than by what it saw. An act sets all its fields at once, and between its proposal and a person's yes somebody
 * may have made one of them stricter: that is not taken back. Pure.
 */
export function checkFields(
  { proposal }: Pick<JudgedCase, 'proposal'>,
  fields: readonly Field[],
): Refusal | null {
  const refused = fields.some(({ isLooser }) => isLooser) ? checkLoosening(proposal) : null
  if (refused !== null || proposal.kind === 'order') return refused
  for (const { name, was, wanted } of fields) {
    if (same(was, wanted)) continue
    const saw = proposal.reason[`${name}From`]
    if (saw !== undefined && same(String(saw), was)) continue
    return refuse(
      'changed_meanwhile',
      `${name} is ${was} and would become ${wanted}; what was proposed was to change ${saw === undefined ? 'no such thing' : `it from ${saw}`}.`,
    )
  }
  return null
}

/** Addresses go in any case. */
const same = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()

/** Write what is there and what is wanted of one field. Pure. */
export const fieldOf = (name: string, was: unknown, wanted: unknown, isLooser: boolean): Field => ({
  name,
  was: String(was),
  wanted: String(wanted),
  isLooser,
})

/** A field that is looser the higher it is: a cap, a fee. Pure. */
export const upTo = (name: string, was: bigint, wanted: bigint): Field =>
  fieldOf(name, was, wanted, wanted > was)

/** A field that is looser the lower it is: a buffer, a least deposit. Pure. */
export const downTo = (name: string, was: bigint, wanted: bigint): Field =>
  fieldOf(name, was, wanted, wanted < was)

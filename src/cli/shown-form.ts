import type { Address } from 'viem'
import { printable } from '../errors.ts'
import { usageError } from './command.ts'

/** What a person gives of something long: all of it, how it begins, or both its ends as the screen shows it. */
export type ShownForm = { readonly head: string; readonly tail: string }

/** Read what was copied from a screen: `6D50c1`, `0x6d9f…18b5` or `0x6d9f...18b5`. Pure. */
export function shownForm(text: string): ShownForm {
  const [head = '', tail = ''] = text
    .trim()
    .toLowerCase()
    .split(/…|\.{2,3}/)
  return { head, tail }
}

/** Whether a text is what was given. Pure. */
export const isShownAs = (text: string, { head, tail }: ShownForm): boolean => {
  const lower = text.toLowerCase()
  return lower.length >= head.length + tail.length && lower.startsWith(head) && lower.endsWith(tail)
}

/** Candidates that an error lists. */
const LISTED_MAX = 5

/** List what may be meant, the first of too many. Pure. */
export const candidates = (all: readonly string[]): string =>
  [...all.slice(0, LISTED_MAX), ...(all.length > LISTED_MAX ? [`${all.length - LISTED_MAX} more`] : [])].join(
    ', ',
  )

/**
 * Find a signer by its address in any form that is shown; a whole address is taken as it is.
 * @throws RolekeeperError `usage` where none or several are shown so.
 */
export function signerShownAs(given: string, known: readonly Address[]): Address {
  if (isAddress(given)) return given
  const found = known.filter((address) => isShownAs(address, shownForm(given)))
  const [first, second] = given.length < SIGNER_MIN ? [] : found
  if (first !== undefined && second === undefined) return first
  const [what, fix] =
    second === undefined
      ? ['No signer is', '`rolekeeper signer show` has them']
      : ['Several signers are', `write one of ${candidates(found)}`]
  throw usageError(`${what} "${printable(given)}".`, fix)
}

/** 0x and four digits: less was hardly meant. */
const SIGNER_MIN = 6
const isAddress = (text: string): text is Address => /^0x[0-9a-f]{40}$/i.test(text)

import { RolekeeperError } from '../../errors.ts'

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

/** Whether there is enough in what a person gives to look for: at least 4 letters or digits. Pure. */
export const saysSomething = (given: string): boolean => given.replace(/[^\p{L}\p{N}]/gu, '').length >= 4

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

/** What a person gave is nothing that is known. */
export const notFound = (message: string, fix: string) => new RolekeeperError('not_found', message, { fix })

/** What a person gave may be several things. */
export const ambiguous = (message: string, fix: string) => new RolekeeperError('usage', message, { fix })

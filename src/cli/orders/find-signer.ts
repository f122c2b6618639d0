import type { Address } from 'viem'
import { printable } from '../../errors.ts'
import { ambiguous, candidates, isShownAs, notFound, shownForm } from '../../journal/find/id-forms.ts'

/**
 * Find a signer by its address in any form that is shown; a whole address is taken as it is.
 * @param at what leads a command to where they are known.
 * @throws RolekeeperError `not_found` where none is shown so, `usage` where several are.
 */
export function signerShownAs(given: string, known: readonly Address[], at: string): Address {
  if (isAddress(given)) return given
  const found = known.filter((address) => isShownAs(address, shownForm(given)))
  const [first, second] = given.length < SIGNER_MIN ? [] : found
  if (first !== undefined && second === undefined) return first
  if (second === undefined)
    throw notFound(`No signer is "${printable(given)}".`, `\`rolekeeper signer show${at}\` has them`)
  throw ambiguous(`Several signers are "${printable(given)}".`, `write one of ${candidates(found)}`)
}

/** 0x and four digits: less was hardly meant. */
const SIGNER_MIN = 6
const isAddress = (text: string): text is Address => /^0x[0-9a-f]{40}$/i.test(text)

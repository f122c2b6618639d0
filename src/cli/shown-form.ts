import type { Address } from 'viem'
import { printable } from '../errors.ts'
import { candidates, isShownAs, shownForm } from '../journal/shown-form.ts'
import { usageError } from './command.ts'

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

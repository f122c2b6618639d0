import type { Address } from 'viem'
import { RolekeeperError } from '../../errors.ts'
import type { TakenBack } from '../../journal/watermark/take-back.ts'
import type { Mark } from '../../journal/watermark/watermark.ts'
import type { Doubt } from '../../pipeline/transactions/safe.ts'
import { plural } from '../../readable.js'

/** Doubt a journal that lacks marks of the watermark in a folder; `missed` are those that it could not take back. Pure. */
export const behind = (folder: string, lost: readonly Mark[], missed: readonly TakenBack[]): Doubt => {
  const nonces = lost.flatMap(noncesOf)
  const others = lost.filter(({ type }) => type === 'digest').length
  const had = [
    ...(nonces.length === 0
      ? []
      : [
          `nonces ${Math.min(...nonces)} to ${Math.max(...nonces)}, ${plural(nonces.length, 'claim or attempt', 'claims and attempts')}`,
        ]),
    ...(others === 0 ? [] : [`${others} digests of sign-ins and typed data`]),
  ]
  const rest =
    missed.length === 0
      ? ''
      : ` It holds something else at nonces ${missed.map(({ nonce }) => nonce).join(', ')}.`
  return {
    check: 'journal_behind_watermark',
    message: `The journal is older than its watermark, as one restored from a backup is.${rest}`,
    seen: `${folder} has ${had.join(', and ')} that the journal had lost`,
    toLeave:
      'find out where the journal came from; each nonce that was seen must be final, which the keeper sees to by itself',
  }
}

function noncesOf(mark: Mark): readonly number[] {
  if (mark.type === 'digest') return []
  return mark.type === 'claim' ? mark.workflow.slots.map(({ nonce }) => nonce) : [mark.nonce]
}

/** Doubt a journal whose watermark is gone from a folder. Pure. */
export const missing = (folder: string): Doubt => ({
  check: 'watermark_missing',
  message:
    'The watermark that the journal was kept with is gone, so nothing shows whether the journal is the newest.',
  seen: `no watermark.log in ${folder}`,
  toLeave: 'find out where it went, and that the journal was not restored from a backup',
})

/** Doubt a journal where lines of the watermark in a folder are not as they were written. Pure. */
export const unreadable = (folder: string, damaged: number): Doubt => ({
  check: 'watermark_unreadable',
  message: 'The watermark has lines that are not as they were written.',
  seen: `${damaged} of the lines in ${folder}`,
  toLeave: 'check that disk, and that the journal was not restored from a backup',
})

/** Make the error of a folder for the watermark that is not there. Pure. */
export const notThere = (folder: string) =>
  new RolekeeperError('watermark.not_opened', `There is no folder ${folder} for the watermark.`, {
    fix: 'mount its disk, or make the folder; or correct `watermark`.',
    facts: { folder },
  })

/** Make the error of a watermark of another chain. Pure. */
export const otherChain = (folder: string, found: number, chainId: number) =>
  new RolekeeperError(
    'watermark.other_chain',
    `The watermark in ${folder} is of chain ${found}; the configuration says ${chainId}.`,
    {
      fix: 'correct `chain.id`; or give this chain a `directory` and a `watermark` of its own.',
      facts: { found, chainId },
    },
  )

/** Make the error of a watermark of a signer that nobody here knows. Pure. */
export const otherSigner = (folder: string, signer: Address) =>
  new RolekeeperError(
    'watermark.other_signer',
    `The watermark in ${folder} is of the signer ${signer}, which neither the configuration nor the journal knows.`,
    {
      fix: 'put its agent back; or give this keeper a `directory` and a `watermark` of its own.',
      facts: { signer },
    },
  )

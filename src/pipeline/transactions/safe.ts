import type { Address } from 'viem'
import { type MinedTransaction, NO_TRANSACTION } from '../../chain/nodes.ts'
import { RolekeeperError } from '../../errors.ts'
import { contentHash } from '../../guard/content-hash.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Slot } from '../../workflow/slot.ts'

/** Why a signer is SAFE: what it is, what was seen where, and what must be proven before it may begin anything again. */
export type SafeReason = {
  /** A stable name, for example `nonce_used_elsewhere`. */
  readonly check: string
  /** What is in doubt, as a sentence. */
  readonly message: string
  /** What was seen, and where. */
  readonly seen: string
  /** What must be proven to leave it. */
  readonly toLeave: string
  readonly atMs: number
  /** The workflow that it is about, where it is about one. */
  readonly workflowId?: string
}

/** A reason to make a signer SAFE, before it is kept. */
export type Doubt = Omit<SafeReason, 'atMs'>

/** Doubt a key whose signer the chain counts more of than the journal holds: as of its head, or pending. Pure. */
export const usedElsewhere = (signer: Address, seen: string): Doubt => ({
  check: 'nonce_used_elsewhere',
  message:
    'Transactions of this key are not of this journal: somebody else signs with it, or the journal is old.',
  seen,
  toLeave: `give the key to this keeper alone; what others have pending and does not land is replaced by \`rolekeeper signer fill ${signer} --yes\`; once what they sent is final, \`rolekeeper signer resync ${signer} --yes\``,
})

const WITHOUT = 'an authorization that its key signed (EIP-7702), or by code at its address'

/**
 * Doubt a key at whose nonce something else landed than the workflow that holds it has there. Where a person had a no-op put
 * in the place of what the chain had lost, that may land after all, as may what an older journal had lost; anyone else has
 * the key, and may have done what the workflow is about.
 */
export async function takenBy(
  { hash, digest, receipt }: MinedTransaction,
  { nonce, signer }: Pick<Slot, 'nonce' | 'signer'>,
  workflowId: string,
  journal: Pick<Journal, 'ledgerEntry'>,
): Promise<Doubt> {
  const held = `Nonce ${nonce} of ${signer}, which workflow ${workflowId} holds, was taken by`
  const what = hash === NO_TRANSACTION ? 'no transaction of its own' : `transaction ${hash}`
  const about = { seen: `${what} in block ${receipt.blockNumber}`, workflowId }
  const entry = digest === null ? null : await journal.ledgerEntry(digest, signer)
  if (entry?.nonce === nonce)
    return {
      check: 'landed_after_all',
      message: `${held} what workflow ${entry.workflowId} had there before: the chain or the journal had lost it, and it landed.`,
      toLeave: `see what workflow ${entry.workflowId} did: it is not undone`,
      ...about,
    }
  return {
    check: 'nonce_taken',
    message: `${held} ${hash === NO_TRANSACTION ? WITHOUT : 'a transaction that is none of ours'}.`,
    toLeave:
      'give this key to this keeper alone, and see whether that transaction did what the workflow is about',
    ...about,
  }
}

/** Why nonces are closed before anything new of a fleet whose Redis had forgotten. */
const FORGOTTEN_NONCES = 'forgotten_nonces'

/** Whether a reason is that something which nobody remembers may land. Pure. */
export const isOfForgotten = ({ check }: Pick<SafeReason, 'check'>): boolean => check === FORGOTTEN_NONCES

/** Doubt nonces for which a key may have signed what nobody remembers: it may land at any time, until they are used. Pure. */
export const forgottenNonces = ({ from, to }: { readonly from: number; readonly to: number }): Doubt => ({
  check: FORGOTTEN_NONCES,
  message: `Something that nobody remembers may have been signed for nonces ${from} to ${to}.`,
  seen: 'what Redis had forgotten, and the witnesses of the instances',
  toLeave: 'no-ops at these nonces are final, which the holder sees to by itself',
})

/** What keeping signers SAFE needs. */
type SignersDeps = {
  readonly nowMs: () => number
  readonly chainId: number
  readonly journal: Pick<Journal, 'getValue' | 'setValue'>
  readonly alarm: (error: RolekeeperError) => void
}

/**
 * Which signers are SAFE. A signer in SAFE claims no nonce for a payload, and a payload that no node has is neither
 * signed nor sent but closed by a no-op; what is public goes on. It holds over a restart.
 */
export type Signers = {
  /** Make a signer SAFE, at once; a reason that it has already stays as it was seen first, unless it says something else now. */
  readonly safe: (signer: Address, doubt: Doubt) => void
  /** Why a signer is SAFE; empty when it is not. */
  readonly reasonsOf: (signer: Address) => readonly SafeReason[]
  /** Take one reason back, because what it asks for was proven. */
  readonly leave: (signer: Address, reason: SafeReason) => void
}

/** Where the journal keeps why a signer is SAFE. Pure. */
export const safeKey = (chainId: number, signer: Address): string => `safe:${chainId}:${signer.toLowerCase()}`

/** Read why a signer is SAFE, as the journal of one chain has it. */
export async function readSafe(
  journal: Pick<Journal, 'getValue'>,
  chainId: number,
  signer: Address,
): Promise<readonly SafeReason[]> {
  const text = await journal.getValue(safeKey(chainId, signer))
  return text === null ? [] : (JSON.parse(text) as readonly SafeReason[])
}

/** Name the reasons of a signer as they stand: what is approved by this is approved for no others. Pure. */
export const hashOfReasons = (reasons: readonly SafeReason[]): string =>
  contentHash(JSON.parse(JSON.stringify(reasons)))

const isSame = (one: Pick<SafeReason, 'check' | 'workflowId'>, other: typeof one): boolean =>
  one.check === other.check && one.workflowId === other.workflowId

/** Create the memory of which of some signers are SAFE, with what the journal knows of them. */
export async function createSigners(signers: readonly Address[], deps: SignersDeps): Promise<Signers> {
  const { nowMs, chainId, journal, alarm } = deps
  const reasons = new Map<string, readonly SafeReason[]>()
  for (const signer of signers) reasons.set(signer.toLowerCase(), await readSafe(journal, chainId, signer))

  const reasonsOf: Signers['reasonsOf'] = (signer) => reasons.get(signer.toLowerCase()) ?? []
  const kept = new Map(reasons)
  const writing = new Set<string>()
  /** Write what is known until the newest of it is there, one after another: of two at once the older may come last. */
  const write = async (signer: Address) => {
    const name = signer.toLowerCase()
    if (writing.has(name)) return
    writing.add(name)
    try {
      for (let next = reasonsOf(signer); kept.get(name) !== next; next = reasonsOf(signer)) {
        await journal.setValue(safeKey(chainId, signer), next.length === 0 ? null : JSON.stringify(next))
        kept.set(name, next)
      }
    } catch {
      // A journal that takes nothing for good ends the process by itself; one that is away is tried with the next word.
    } finally {
      writing.delete(name)
    }
  }
  // The gate is closed before anything is written.
  const keep = (signer: Address, next: readonly SafeReason[]) => {
    reasons.set(signer.toLowerCase(), next)
    void write(signer)
  }
  return {
    safe: (signer, doubt) => {
      const known = reasonsOf(signer)
      const same = known.find((each) => isSame(each, doubt))
      // What is in doubt may turn out to be more: what was seen of it stays with it.
      if (same === undefined) keep(signer, [...known, { ...doubt, atMs: nowMs() }])
      else if (same.message !== doubt.message)
        keep(
          signer,
          known.map((each) => (each === same ? { ...doubt, atMs: same.atMs } : each)),
        )
      else void write(signer)
      alarm(safeAlarm(signer, doubt))
    },
    reasonsOf,
    leave: (signer, reason) =>
      keep(
        signer,
        reasonsOf(signer).filter((each) => !isSame(each, reason)),
      ),
  }
}

/** What the keeper itself leaves as soon as it is over: there is nothing to release. */
const PASSING: readonly string[] = ['not_compared', 'journal_ahead_of_chain', 'next_nonce_too_high']

/** Say what a person does about a reason, in whole. Pure. */
export const wayOut = (signer: Address, { check, toLeave }: Pick<Doubt, 'check' | 'toLeave'>): string =>
  PASSING.includes(check) ? `${toLeave}.` : `${toLeave}; then \`rolekeeper signer release ${signer} --yes\`.`

/** Make the alarm of a signer in SAFE: what it is, what was seen, and what leaves it. Pure. */
const safeAlarm = (signer: Address, doubt: Doubt): RolekeeperError => {
  const { check, message, seen, workflowId } = doubt
  return new RolekeeperError('signer.safe', `${signer} is SAFE (${check}): ${message} Seen: ${seen}.`, {
    fix: wayOut(signer, doubt),
    facts: { signer, check, ...(workflowId === undefined ? {} : { workflowId }) },
    retry: 'later',
  })
}

import type { Hex } from 'viem'
import { printable, RolekeeperError } from '../../errors.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Signers } from '../../pipeline/transactions/safe.ts'
import type { ServiceClient } from '../../service/client.ts'
import type { Role } from '../../service/contract/roles.ts'
import { move, type Workflow } from '../../workflow/workflow.ts'

/** What comparing needs. */
export type CompareDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'ofSigner' | 'write'>
  readonly client: Pick<ServiceClient, 'getWorkflow'>
  readonly signers: Pick<Signers, 'safe'>
  /** A workflow ended by it. */
  readonly onMove: (before: Workflow, after: Workflow) => void
}

/**
 * Hold the journal against the service before a role signs anything: a transaction that is registered for a workflow
 * which has claimed no nonce here was sent by a keeper whose journal knew more. That workflow ends, so that nothing is
 * sent twice, and its signer is SAFE. Throws `service.*` when the service does not answer.
 */
export async function compareWithService(
  who: { readonly role: Role; readonly signer: Hex },
  { nowMs, journal, client, signers, onMove }: CompareDeps,
): Promise<void> {
  for (const workflow of await journal.ofSigner(who.signer)) {
    const requestId = workflow.prepared?.answer.requestId
    const isOurs = workflow.role === who.role && workflow.shadow !== true
    if (!isOurs || workflow.slots.length > 0 || requestId === undefined) continue
    const [sent] = await registered(requestId, client)
    if (sent === undefined) continue
    signers.safe(who.signer, {
      check: 'journal_behind_service',
      message: `The service knows a transaction of workflow ${workflow.id}, which has claimed no nonce in this journal: the journal is old, or another keeper has the key.`,
      seen: `transaction ${sent.txHash}, registered with the service for ${printable(requestId)}`,
      toLeave: 'stop the other keeper; what it sent must be final, then `rolekeeper signer resync`',
    })
    const message = `The service has the transaction ${sent.txHash} of it, and this journal has none. Fix: see \`rolekeeper signer show\`.`
    const note = { check: 'sent_before_restore', message }
    onMove(workflow, await journal.write(move(workflow, 'quarantined', nowMs(), { note })))
  }
}

/** What is registered for a request: nothing, where the service has forgotten it. */
async function registered(requestId: string, client: CompareDeps['client']) {
  try {
    return (await client.getWorkflow({ params: { requestId } })).answer.transactions
  } catch (error) {
    if (error instanceof RolekeeperError && error.facts.status === 404) return []
    throw error
  }
}

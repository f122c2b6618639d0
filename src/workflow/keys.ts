import { createHash } from 'node:crypto'
import type { Role } from '../service/contract/roles.ts'

const sha256 = (parts: readonly string[]) =>
  // A length before each part: "ab","c" and "a","bc" must not meet.
  createHash('sha256')
    .update(parts.map((part) => `${part.length}:${part}`).join(''))
    .digest('hex')

/** What makes one opportunity itself and no other. */
type OpportunityParts = {
  readonly chainId: number
  readonly role: Role
  readonly workflowType: string
  readonly kind: string
  readonly subject: string
  readonly occurrence: string
  /** Done in shadow it is not done: live, it is another. */
  readonly shadow: boolean
}

/**
 * Name an opportunity: one opportunity, one workflow, however often it is seen. Pure.
 * @returns 64 hex digits.
 */
export const opportunityKey = (parts: OpportunityParts): string =>
  sha256([
    String(parts.chainId),
    parts.role,
    parts.workflowType,
    parts.kind,
    parts.subject,
    parts.occurrence,
    ...(parts.shadow ? ['shadow'] : []),
  ])

/**
 * Name one try at an opportunity, for the service's `Idempotency-Key` and as the workflow's id. Pure.
 * @param round 0 at first; one more each time a try ended with nothing claimed and the opportunity came back.
 * @returns 32 hex digits.
 */
export const idempotencyKey = (opportunity: string, round: number): string =>
  sha256([opportunity, String(round)]).slice(0, 32)

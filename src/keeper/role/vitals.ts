import type { UsedParts } from '../../guard/limits/budget.ts'
import type { Ruleset } from '../../guard/ruleset.ts'
import type { Reservation } from '../../journal/journal.ts'
import type { Observer } from '../../observe/observer.ts'
import type { RolePolicy } from '../policy/role-policy.ts'
import { isLimitedWith } from '../policy/shared-limits.ts'
import type { KeyOutcome, RoleSigning } from '../signer/role-signing.ts'

/** How a role's work goes, for those who look at it. */
export type Vitals = {
  /** Whether what a workflow reserved is anything to this role: what is in shadow is not to a live one. */
  readonly counts: (one: Pick<Reservation, 'shadow' | 'signer'>) => boolean
  readonly limits: Ruleset['limits']
  readonly allowances: Ruleset['allowances']
  /** What part of the loss budget is used; empty where it has none, or in shadow. */
  readonly lossUsed: () => UsedParts
  readonly arming: Observer['arming']
  /** What the key's last call came to; null in shadow. */
  readonly key: () => KeyOutcome | null
  /** Ask whether the key is there and may sign, which `key` then says. */
  readonly askKey: () => Promise<void>
  /** How old our node's head may be by its policy. */
  readonly headAgeMsMax: number
}

/** Join the vitals of a role. `counts` says whether a reservation is anything to it. */
export const vitalsOf = (
  { ruleset, apart }: RolePolicy,
  signing: RoleSigning | null,
  counts: (one: Pick<Reservation, 'shadow' | 'signer'>) => boolean,
  { arming }: Observer,
): Vitals => ({
  counts: (row) => counts(row) && isLimitedWith(row, apart),
  limits: ruleset.limits,
  allowances: ruleset.allowances,
  lossUsed: signing?.lossUsed ?? (() => ({})),
  arming,
  key: signing?.key.outcome ?? (() => null),
  askKey: signing?.key.ask ?? (async () => undefined),
  headAgeMsMax: ruleset.freshness.headAgeMsMax,
})

import type { Address } from 'viem'
import type { RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Role } from '../../service/contract/roles.ts'
import { checkAccess, operationsOf } from '../startup/access.ts'
import { loadRolePolicy, type Position, positionOf, type RolePolicy } from './role-policy.ts'

/** A position with its policy, or with why that is refused: such a role is down until its file says something else. */
export type Candidate = Position & {
  readonly policy: RolePolicy | RolekeeperError
  /** How often it became a narrower one while it worked. */
  readonly tightened: number
}

/** A position whose policy may become another one while its keeper runs. */
export type Watched = Position & { policy: RolePolicy | RolekeeperError; tightened: number }

/**
 * Load what a configuration staffs. Throws RolekeeperError `config.role_unknown` and `config.credential_missing`: a
 * configuration that is wrong is refused before anything starts.
 */
export function candidatesOf(config: RunConfig): readonly Watched[] {
  const positions = config.agents.map(positionOf)
  checkAccess(
    config,
    positions.map(({ agent, does }) => ({ agent, operations: operationsOf(does) })),
  )
  return positions.map((position) => ({ ...position, policy: policyOf(position, config), tightened: 0 }))
}

function policyOf(position: Position, config: RunConfig): Candidate['policy'] {
  try {
    return loadRolePolicy(position, config)
  } catch (error) {
    if (error instanceof RolekeeperError) return error
    throw error
  }
}

/** Why nobody can work, when every policy is refused; null otherwise. */
export function refusalOfPolicies(candidates: readonly Candidate[]): RolekeeperError | null {
  const refusals = candidates.map(({ policy }) => (policy instanceof RolekeeperError ? policy : null))
  return refusals.every((each) => each !== null) ? (refusals[0] ?? null) : null
}

/** A signer that pays for gas, and what one of its workflows may pay at most. */
export type Payer = { readonly role: Role; readonly signer: Address; readonly gasWeiMax: bigint }

/** The signers of live agents whose policies are known, with what a workflow may pay for gas. Pure. */
export const payersOf = (candidates: readonly Candidate[]): readonly Payer[] =>
  candidates.flatMap(({ agent: { role, mode, signer }, policy }) =>
    mode === 'shadow' || policy instanceof RolekeeperError
      ? []
      : [{ role, signer: signer.address, gasWeiMax: policy.ruleset.limits.perWorkflow.gasWeiMax }],
  )

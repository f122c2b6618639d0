import type { Address } from 'viem'
import type { AgentConfig } from '../../config/config.ts'
import type { Reservation } from '../../journal/journal.ts'

/** What of an agent says whose limits it shares. */
export type Sharing = Pick<AgentConfig, 'role' | 'policy' | 'mode'> & {
  readonly signer: Pick<AgentConfig['signer'], 'address'>
}

/**
 * Name the signers of a role's other agents that have a policy file of their own, and so limits of their own: agents with
 * one file share its limits. Pure.
 */
export const apartOf = (
  { role, policy }: Pick<AgentConfig, 'role' | 'policy'>,
  agents: readonly AgentConfig[],
): readonly Address[] =>
  agents.flatMap((each) => (each.role === role && each.policy !== policy ? [each.signer.address] : []))

/** Name the signers of the live agents that share a policy file, and so its limits, lower case. Pure. */
export const sharingOf = (
  { role, policy }: Pick<Sharing, 'role' | 'policy'>,
  agents: readonly Sharing[],
): readonly Address[] =>
  agents.flatMap((each): Address[] =>
    each.role === role && each.policy === policy && each.mode === 'live'
      ? [`0x${each.signer.address.slice(2).toLowerCase()}`]
      : [],
  )

/** Whether what an agent of a role reserved counts in the limits of another: of one that is not known it does. Pure. */
export const isLimitedWith = ({ signer }: Pick<Reservation, 'signer'>, apart: readonly Address[]): boolean =>
  signer === undefined || !apart.includes(signer)

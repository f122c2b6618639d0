import type { Address } from 'viem'
import type { AgentConfig } from '../../config/config.ts'
import { type Checked, RolekeeperError, refuse } from '../../errors.ts'
import { type Approvers, whoReleases } from '../../guard/approval/approvers.ts'
import { type Identity, releaseText } from '../../guard/approval/person-key.ts'
import { hashOfReasons, type SafeReason } from '../../pipeline/transactions/safe.ts'
import type { RolePolicy } from '../policy/role-policy.ts'

/** Judge who has approved so far that a signer leaves SAFE; `missing` says whose word it still takes, null: nobody's. */
export type Releases = (
  signer: Address,
  reasons: readonly SafeReason[],
  by: Identity | undefined,
) => Checked<{ readonly missing: string | null }>

/**
 * Ask the quorum of every policy that a signer works by and that names approvers. What was approved is remembered while
 * exactly these reasons stand, and not over a restart: then people say so again.
 */
export function createReleases(
  chainId: number,
  candidates: readonly {
    readonly agent: Pick<AgentConfig, 'role' | 'mode' | 'signer' | 'policy'>
    readonly policy: Pick<RolePolicy, 'approval'> | RolekeeperError
  }[],
): Releases {
  const releases = new Map<Address, { readonly text: string; readonly by: readonly Identity[] }>()
  return (signer, reasons, by) => {
    const asked: (Approvers & { readonly role: string })[] = []
    for (const { agent, policy } of candidates) {
      if (agent.mode !== 'live' || agent.signer.address !== signer) continue
      const { role } = agent
      if (policy instanceof RolekeeperError) {
        return refuse(
          'approvers_unknown',
          `The policy of the ${role} does not load (${policy.code}), so who may release ${signer} is not known. Fix: mend ${agent.policy}.`,
        )
      }
      if (Object.keys(policy.approval.approvers).length > 0) asked.push({ role, ...policy.approval })
    }
    if (asked.length === 0) return { ok: true, missing: null }
    const text = releaseText(chainId, signer, hashOfReasons(reasons))
    if (by === undefined || asked.every((known) => whoReleases(text, [by], known).length === 0)) {
      const names = new Set(asked.flatMap(({ approvers }) => Object.keys(approvers)))
      return refuse(
        'release_unproven',
        `A policy names approvers, and who releases ${signer} is none of ${[...names].join(', ')}, or signed for other reasons than stand now. Fix: rolekeeper signer release ${signer} --yes --key FILE of one of them.`,
      )
    }
    const before = releases.get(signer)
    const all = [...(before?.text === text ? before.by : []), by]
    releases.set(signer, { text, by: all })
    const missing = asked.flatMap(({ role, approvers, quorum }) => {
      const given = whoReleases(text, all, { approvers })
      const left = Object.keys(approvers).filter((name) => !given.includes(name))
      return given.length >= quorum
        ? []
        : [`${quorum - given.length} more of ${left.join(', ')} for the ${role}`]
    })
    return { ok: true, missing: missing.length === 0 ? null : missing.join('; ') }
  }
}

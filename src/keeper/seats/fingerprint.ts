import { createHash } from 'node:crypto'
import type { RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import { encodeRecord } from '../../journal/sqlite/records.ts'
import type { Candidate } from '../policy/candidates.ts'

/** Say what an instance of a fleet works by, and how often that was tightened. */
export const agreementOf = (
  candidates: readonly Candidate[],
  version: string,
  limits: RunConfig['limits'],
): { readonly fingerprint: string; readonly tightened: number } => ({
  fingerprint: fingerprintOf(candidates, version, limits),
  tightened: candidates.reduce((sum, each) => sum + each.tightened, 0),
})

/** What two instances of a fleet have to agree on: the release, all limits and policies, and who signs for which role. Pure. */
export function fingerprintOf(
  candidates: readonly Pick<Candidate, 'agent' | 'policy'>[],
  version: string,
  limits: RunConfig['limits'],
): string {
  const agents = candidates.map(({ agent: { role, mode, signer }, policy }) => {
    const rules = policy instanceof RolekeeperError ? policy.code : `${hashOf(policy.policy)} ${policy.apart}`
    return `${role} ${mode} ${signer.address} ${rules}`
  })
  const cap = limits === undefined ? [] : [hashOf(limits)]
  return [version, ...cap, ...agents.toSorted()].join('\n')
}

/** Every section counts, also those that no ruleset holds. A fleet asks for it each second. */
function hashOf(settings: object): string {
  const hash = hashes.get(settings) ?? createHash('sha256').update(encodeRecord(settings)).digest('hex')
  hashes.set(settings, hash)
  return hash
}
const hashes = new WeakMap<object, string>()

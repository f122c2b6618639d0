import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import type { AgentConfig, RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import { approversIn, whoLoosens } from '../../guard/approval/approvers.ts'
import type { Identity } from '../../guard/approval/person-key.ts'
import type { Difference, Members } from '../../guard/policy/compare/difference.ts'
import { changeHash, changeOf, comparePolicies } from '../../guard/policy/compare/policies.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Log } from '../../ops/log.ts'
import type { RolePolicy } from './role-policy.ts'

/** What a policy is admitted by. */
export type AdmitDeps = {
  readonly journal: Pick<Journal, 'getValue' | 'setValue' | 'barrier'>
  readonly config: Pick<RunConfig, 'environment'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly log: Pick<Log, 'info'>
  /** The changes that this start may take up though they loosen, by their names. */
  readonly loosens: readonly string[]
}

/** Where the journal keeps the policy that a role and signer last worked by. Pure. */
const ranKey = ({ role, signer }: AgentConfig) => `policy:${role}:${signer.address}`
const ran = z.record(z.string(), z.unknown())

/** Where it keeps the loosenings that they took up: each name lets its change through once. Pure. */
const takenKey = ({ role, signer }: AgentConfig) => `loosened:${role}:${signer.address}`
const taken = z.array(
  z.object({
    change: z.string(),
    at: z.string(),
    /** Who started the keeper with its name, and who of the approvers had approved it. */
    startedBy: z.string(),
    approvedBy: z.array(z.string()),
    /** Whether it worked by the looser policy, and left it. */
    isOver: z.boolean().default(false),
  }),
)
type Taken = z.output<typeof taken>

/**
 * Name a loosening: by the hash of the change, the second time with `.2` behind it. One that a start wrote down and died, before
 * it worked by it, is still the same. Pure.
 */
function nameOf(hash: string, before: Taken): string {
  const same = before.filter(({ change }) => change.split('.')[0] === hash)
  const last = before.at(-1)
  const times = same.length + (last !== undefined && same.includes(last) && !last.isOver ? 0 : 1)
  return times === 1 ? hash : `${hash}.${times}`
}

/**
 * Let a live role work by its policy, and keep in the journal that it does: the first one, one that is narrower than the
 * one before, or one whose very change this start names and the approvers of the one before have approved: once, for the
 * name may stay in a service file. In a sandbox nobody has to say so, and a shadow signs nothing.
 * @throws RolekeeperError `policy.loosened`, `policy.loosening_unapproved`.
 */
export async function admitPolicy(
  { agent, members }: Pick<RolePolicy, 'agent' | 'members'>,
  { journal, config, loosens, clock, log }: AdmitDeps,
): Promise<void> {
  if (agent.mode === 'shadow') return
  const key = ranKey(agent)
  const before = await journal.getValue(key)
  const now = JSON.stringify(members)
  if (before === now) return
  if (before !== null && config.environment !== 'sandbox') {
    const was = ran.parse(JSON.parse(before))
    const done = taken.parse(JSON.parse((await journal.getValue(takenKey(agent))) ?? '[]'))
    const change = nameOf(changeHash(was, members), done)
    const refusal = refusalOfLoosening(agent, was, members, change)
    const keep = (next: Taken) => journal.setValue(takenKey(agent), JSON.stringify(next))
    if (refusal !== null) {
      if (!loosens.includes(change)) throw refusal
      const approvedBy = checkApproved(agent, was, change)
      const at = new Date(clock.nowMs()).toISOString()
      const startedBy = `${userInfo().username}@${hostname()}`
      const entry = { change, at, startedBy, approvedBy: [...approvedBy], isOver: false }
      // First, so that nothing lets it through twice.
      await keep([...done.filter((each) => each.change !== change), entry])
      log.info('a looser policy is taken up', {
        role: agent.role,
        change,
        startedBy,
        approvedBy: approvedBy.join(', '),
      })
    } else if (done.at(-1)?.isOver === false) {
      await keep(done.map((each) => ({ ...each, isOver: true })))
    }
  }
  await journal.setValue(key, now)
  await journal.barrier()
}

/**
 * Say why a role may not simply go on with a policy in the place of another; null where it is the same or narrower. Pure.
 * @param name absent where nobody knows how often it was taken up.
 */
export function refusalOfLoosening(
  { role, policy }: AgentConfig,
  was: Members,
  is: Members,
  name?: string,
): RolekeeperError | null {
  const differences = comparePolicies(was, is)
  const change = changeOf(differences)
  if (change === 'same' || change === 'narrower') return null
  const hash = name ?? changeHash(was, is)
  const again =
    name === undefined ? '; where it was taken up before, that start says its name of this time' : ''
  const word = change === 'wider' ? 'is wider than' : 'may be wider than'
  return new RolekeeperError(
    'policy.loosened',
    `The policy of the ${role} ${word} the one that it worked by: ${listOf(differences)}.`,
    {
      fix: `write into ${policy} what it worked by, in a fleet what its other instances have; or, to let more through, stop, and start once with: rolekeeper run --config FILE --loosen ${hash}${again}`,
      facts: { role, change, hash },
    },
  )
}

/** Differences that an alarm names. */
const NAMED_MAX = 5

function listOf(differences: readonly Difference[]): string {
  const found = differences.filter(({ direction }) => direction !== 'narrower')
  const named = found
    .slice(0, NAMED_MAX)
    .map(({ path, was, is }) => `${path} ${was ?? 'nothing'} → ${is ?? 'nothing'}`)
  return [...named, ...(found.length > NAMED_MAX ? [`${found.length - NAMED_MAX} more`] : [])].join(', ')
}

/** Where who approves a loosening leaves it: beside the policy that is looser. Pure. */
export const approvalsFileOf = (policy: string) => `${policy}.approvals`

/** The approvers of the policy that is left decide, not those of the one that comes. @returns who approved. */
function checkApproved({ role, policy }: AgentConfig, was: Members, hash: string): readonly string[] {
  const known = approversIn(was)
  if (Object.keys(known.approvers).length === 0) return []
  const given = whoLoosens(hash, readApprovals(policy), known)
  if (given.length >= known.quorum) return given
  throw new RolekeeperError(
    'policy.loosening_unapproved',
    `The ${role} is to work by a looser policy, and ${given.length} of ${known.quorum} approvals of ${hash} are in ${approvalsFileOf(policy)}.`,
    {
      fix: `ask ${Object.keys(known.approvers).join(', ')}: rolekeeper policy approve OLD ${policy} --hash ${hash} --key FILE --config RUN`,
      facts: { role, hash, given: given.join(', ') },
      retry: 'later',
    },
  )
}

const identity = z.strictObject({
  user: z.string().max(200),
  name: z.string().max(40).optional(),
  signature: z.string().max(200).optional(),
})
/** More people than any policy names: the file is added to with each change. */
const LINES_MAX = 100

/** Read who approved a loosening of a policy; a line that is none is left out, and proves nothing. */
function readApprovals(policy: string): readonly Identity[] {
  let text: string
  try {
    text = readFileSync(approvalsFileOf(policy), 'utf8')
  } catch {
    return []
  }
  return text
    .split('\n')
    .slice(-LINES_MAX)
    .flatMap((line) => {
      try {
        return identity.safeParse(JSON.parse(line)).data ?? []
      } catch {
        return []
      }
    })
}

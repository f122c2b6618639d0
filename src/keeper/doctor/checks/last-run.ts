import type { RunConfig } from '../../../config/config.ts'
import { recordsOf } from '../../../config/place.ts'
import { readJournal } from '../../../journal/open.ts'
import { exactUsd } from '../../../units.ts'
import type { Workflow } from '../../../workflow/workflow.ts'
import type { RolePolicy } from '../../policy/role-policy.ts'
import { type Finding, warned } from '../finding.ts'

type Judged = Pick<RolePolicy, 'agent' | 'policy'>

/** The newest of the journal; a day of a busy keeper. */
const WORKFLOWS = 1_000
/** Fewer say nothing of what is usual. */
const USED_MIN = 20
/** A limit so many times above all that was ever needed holds nobody up who got hold of it. */
const LOOSE_TIMES = 100n

/** Compare each policy's limits with what its role did by the journal, where there is one. */
export async function examineLastRun(
  config: RunConfig,
  policies: readonly Judged[],
): Promise<readonly Finding[]> {
  // What is wrong with a journal is for others to say.
  const newest = await readJournal(recordsOf(config), (journal) => journal.list(WORKFLOWS)).catch(() => [])
  return policies.flatMap((judged) =>
    judgeLastRun(
      judged,
      newest.filter(({ role }) => role === judged.agent.role),
    ),
  )
}

/** Judge whether limits refused what was to be done, or are far above all that was. Pure. */
export function judgeLastRun(
  { agent: { role, policy: file }, policy: { limits } }: Judged,
  newest: readonly Pick<Workflow, 'state' | 'note' | 'slots' | 'proposal'>[],
): readonly Finding[] {
  const refused = newest.filter(({ state, note }) => state === 'refused' && note?.check.startsWith('limit_'))
  const [last] = refused
  const narrow = {
    code: 'limits.too_narrow',
    message: `Limits refused ${refused.length} of the last ${newest.length} workflows; the newest: ${last?.note?.check}: ${last?.note?.message}`,
    fix: `raise that limit in ${file} if so much was meant to move, or find out why it was to.`,
  }
  const used = newest.filter(({ slots, proposal }) => slots.length > 0 && proposal.exposure.usdMicros > 0n)
  const most = used.reduce(
    (max, { proposal: { exposure } }) => (exposure.usdMicros > max ? exposure.usdMicros : max),
    0n,
  )
  const limit = limits.perWorkflow.usdMicrosMax
  const loose = {
    code: 'limits.beyond_use',
    message: `limits.perWorkflow.movedMax is ${exactUsd(limit)}, and the most that one of the last ${used.length} workflows moved is ${exactUsd(most)}.`,
    fix: `write what a good day needs into ${file}, ten times as much at the most: "${exactUsd(most * 10n)}".`,
  }
  return [
    ...(last === undefined ? [] : [warned('limits', role, narrow)]),
    ...(used.length >= USED_MIN && limit >= most * LOOSE_TIMES ? [warned('limits', role, loose)] : []),
  ]
}

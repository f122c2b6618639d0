import { rejectedText } from '../../decide/open.ts'
import { type Refusal, refuse } from '../../errors.ts'
import { type Approvers, takenBackBy } from '../../guard/approval/approvers.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Mail } from '../../ops/mail.ts'
import type { InputValue, Proposal } from '../../workflow/proposal.ts'
import { REJECTED, type Workflow } from '../../workflow/workflow.ts'

/** What people rejected of a role, for as long as it is the same that is proposed. */
export type Rejections = {
  /** Note what ended. */
  readonly ended: (workflow: Workflow) => void
  /** Why a proposal is not opened: it is what a person rejected, whatever a block has changed of it since; else null. */
  readonly against: (proposal: Proposal) => Promise<Refusal | null>
  /** Whether a person took back the rejection of a workflow. */
  readonly isTakenBack: (workflowId: string) => Promise<boolean>
}

/** What looking for the answer that takes one back needs. */
type RejectionsDeps = {
  readonly journal: Pick<Journal, 'get'>
  readonly mail: Pick<Mail, 'answers'>
  readonly approval: Approvers
}

/** Of one subject; whoever can move its amounts to and fro is not asked about each of them for ever. */
const REJECTED_MAX = 20

/** Remember what people rejected. @param newest what ended of late, the newest first. */
export function createRejections(
  newest: readonly Workflow[],
  { journal, mail, approval }: RejectionsDeps,
): Rejections {
  const rejected = new Map<string, readonly Workflow[]>()
  const ended: Rejections['ended'] = (workflow) => {
    const { proposal, note, hold } = workflow
    // An order is a person's own word, each time that it is given.
    if (hold === undefined || proposal.kind === 'order') return
    const key = keyOf(proposal)
    if (note?.check !== REJECTED) rejected.delete(key)
    else rejected.set(key, [workflow, ...(rejected.get(key) ?? [])].slice(0, REJECTED_MAX))
  }
  for (const workflow of newest.toReversed()) ended(workflow)
  const isTakenBack: Rejections['isTakenBack'] = async (id) => {
    const workflow = await journal.get(id)
    if (workflow?.hold === undefined) return false
    const answers = await mail.answers(id, workflow.hold.hash)
    return takenBackBy(workflow, answers, approval) !== null
  }
  return {
    ended,
    isTakenBack,
    against: async (proposal) => {
      for (const { id, proposal: then } of rejected.get(keyOf(proposal)) ?? []) {
        if (isAlike(proposal, then) && !(await isTakenBack(id))) return refuse(REJECTED, rejectedText(id))
      }
      return null
    },
  }
}

const keyOf = ({ workflowType, kind, subject }: Proposal) => `${workflowType} ${kind} ${subject}`

/**
 * Whether a proposal is what was rejected: in the same words, or with all amounts within a tenth of those, from and to the
 * same places. Its occurrence says less, for any block may change that.
 */
const isAlike = (now: Proposal, then: Proposal): boolean =>
  now.summary === then.summary ||
  (then.exposure.usdMicros > 0n &&
    isNear(now.exposure.usdMicros, then.exposure.usdMicros) &&
    isNear(now.worthUsdMicros ?? 0n, then.worthUsdMicros ?? 0n) &&
    areNear(amountsOf(now.input), amountsOf(then.input)))

const isNear = (now: bigint, then: bigint): boolean => {
  const moved = now > then ? now - then : then - now
  return moved * 10n <= (then < 0n ? -then : then)
}

/** What an input moves, base units by where: the way to the amount in it, and the addresses beside that. */
type Amounts = ReadonlyMap<string, bigint>

function amountsOf(input: InputValue, path = ''): Amounts {
  if (typeof input !== 'object' || input === null) return new Map()
  if (Array.isArray(input)) return new Map(input.flatMap((each) => [...amountsOf(each, path)]))
  const fields = Object.entries(input)
  const places = fields.flatMap(([, value]) =>
    /^0x[0-9a-f]{40}$/i.test(String(value)) ? [String(value)] : [],
  )
  return new Map(
    fields.flatMap(([name, value]): (readonly [string, bigint])[] => {
      const at = `${path}.${name}`
      if (!/assets$/i.test(name) || !/^\d+$/.test(String(value))) return [...amountsOf(value, at)]
      return [[`${at} ${places.join(' ').toLowerCase()}`, BigInt(String(value))]]
    }),
  )
}

/** Whether no more than a tenth of what was moved goes another way now. */
function areNear(now: Amounts, then: Amounts): boolean {
  let [apart, all] = [0n, 0n]
  for (const where of new Set([...now.keys(), ...then.keys()])) {
    const [one, other] = [now.get(where) ?? 0n, then.get(where) ?? 0n]
    apart += one > other ? one - other : other - one
    all += other
  }
  return apart * 10n <= all
}

import type { KeeperEvent, SlotEvent, WorkflowEvent } from '../../ops/events.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import type { Role } from '../../service/contract/roles.ts'
import { subjectName } from '../../service/contract/subject-name.ts'
import { isHeld, isTerminal, type Workflow } from '../../workflow/workflow.ts'

/** A workflow on its way, with when each state was reached; Unix milliseconds. */
type Flow = {
  readonly id: string
  readonly role: Role
  readonly workflowType: string
  readonly subject: string
  /** What people call it. */
  readonly name: string
  readonly summary: string
  readonly state: string
  readonly atMs: number
  readonly held: boolean
  readonly steps: readonly { readonly state: string; readonly atMs: number }[]
  readonly check: string | null
  readonly message: string | null
}

/** What was gained, and what somebody should look at. */
type Gain = Omit<Extract<KeeperEvent, { type: 'gain' }>, 'type'>
type Alarm = Omit<Extract<KeeperEvent, { type: 'alarm' }>, 'type'>

/** What happened of late, as pages show it. */
export type Flows = {
  /** What is live before all, then the newest first. */
  readonly list: (live: readonly Workflow[]) => readonly Flow[]
  /** Newest first. */
  readonly gains: () => readonly Gain[]
  readonly alarms: () => readonly Alarm[]
}

/** A page shows no more; what is older is in the journal. */
const FLOWS_MAX = 100
/** What has not ended is remembered beyond that; of so many at once, somebody looks at the journal. */
const LIVE_MAX = 1_000
const LINES_MAX = 50
/** States of a workflow and of its nonces: one that is bumped again and again has its newest. */
const STEPS_MAX = 24

/** Remember what happened of late. Bounded: a keeper that runs for a year remembers as much as after an hour. */
export function createFlows(
  onEvent: (listener: (event: KeeperEvent) => void) => unknown,
  known: Deployment,
): Flows {
  const flows = new Map<string, Flow>()
  const gains: Gain[] = []
  const alarms: Alarm[] = []
  const keep = (flow: Flow) => {
    flows.delete(flow.id)
    flows.set(flow.id, flow)
    if (flows.size <= FLOWS_MAX) return
    // What has not ended is shown until it has, with what it was begun for: one that waits for a person may be old.
    const ended = [...flows.values()].find(({ state }) => ENDED.has(state))
    const oldest = flows.size > LIVE_MAX ? flows.keys().next().value : ended?.id
    if (oldest !== undefined) flows.delete(oldest)
  }
  const newest = <Line>(lines: Line[], line: Line) => {
    lines.unshift(line)
    lines.length = Math.min(lines.length, LINES_MAX)
  }
  onEvent((event) => {
    if (event.type === 'workflow') keep(reached(event, flows.get(event.id), known))
    if (event.type === 'slot') {
      const flow = flows.get(event.id)
      if (flow !== undefined) keep(moved(event, flow))
    }
    if (event.type === 'gain') newest(gains, event)
    if (event.type === 'alarm') newest(alarms, event)
  })
  return {
    list: (live) => {
      const onTheWay = live
        .slice(-FLOWS_MAX)
        .map((workflow) => flowOf(workflow, flows.get(workflow.id), known))
      const ids = new Set(onTheWay.map(({ id }) => id))
      const ended = [...flows.values()].filter(({ id, state }) => !ids.has(id) && ENDED.has(state))
      const newestFirst = (one: Flow, other: Flow) => other.atMs - one.atMs
      return [...onTheWay.toSorted(newestFirst), ...ended.toSorted(newestFirst)].slice(0, FLOWS_MAX)
    },
    gains: () => gains,
    alarms: () => alarms,
  }
}

const withStep = (steps: Flow['steps'], state: string, atMs: number) =>
  [...steps, { state, atMs }].slice(-STEPS_MAX)

const ENDED = { has: (state: string) => isTerminal(state as Workflow['state']) }

function reached(event: WorkflowEvent, before: Flow | undefined, known: Deployment): Flow {
  const { id, role, workflowType, subject, state, summary, check = null, message = null } = event
  const atMs = Date.parse(event.at)
  return {
    id,
    role,
    workflowType,
    subject,
    state,
    atMs,
    check,
    message,
    name: subjectName(subject, known),
    summary: summary ?? before?.summary ?? '',
    held: false,
    steps: withStep(before?.steps ?? [], state, atMs),
  }
}

/** Nonces that moved alike at once are one step: an approval and the action that it is for. */
function moved({ state, nonce, at }: SlotEvent, flow: Flow): Flow {
  const atMs = Date.parse(at)
  const last = flow.steps.at(-1)
  if (last === undefined || last.atMs !== atMs || !last.state.startsWith(`${state} `))
    return { ...flow, steps: withStep(flow.steps, `${state} ${nonce}`, atMs) }
  return { ...flow, steps: withStep(flow.steps.slice(0, -1), `${last.state}, ${nonce}`, atMs) }
}

/** One that was taken up from the journal has told nothing yet. */
function flowOf(workflow: Workflow, before: Flow | undefined, known: Deployment): Flow {
  const { id, role, state, proposal, createdAtMs, updatedAtMs, note } = workflow
  const begun = [{ state: 'discovered', atMs: createdAtMs }]
  const steps = state === 'discovered' ? begun : [...begun, { state, atMs: updatedAtMs }]
  return {
    id,
    role,
    state,
    workflowType: proposal.workflowType,
    subject: proposal.subject,
    name: subjectName(proposal.subject, known),
    summary: proposal.summary,
    atMs: updatedAtMs,
    held: isHeld(workflow),
    steps: before?.steps ?? steps,
    check: note?.check ?? null,
    message: note?.message ?? null,
  }
}

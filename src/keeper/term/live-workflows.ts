import type { Address } from 'viem'
import { RolekeeperError } from '../../errors.ts'
import { heldEvent, type KeeperEvent, slotEvents, workflowEvent } from '../../ops/events.ts'
import type { Log } from '../../ops/log.ts'
import type { Mail } from '../../ops/mail.ts'
import type { Metrics } from '../../ops/metrics/metrics.ts'
import { isHeld, isTerminal, type Workflow } from '../../workflow/workflow.ts'
import type { RoleAtWork } from '../role/role.ts'

/** What following workflows needs. */
type LiveDeps = {
  readonly nowMs: () => number
  readonly mail: Pick<Mail, 'forgetAnswers'>
  readonly metrics: Metrics
  readonly log: Log
  readonly emit: (event: KeeperEvent) => void
  readonly alarm: (error: RolekeeperError) => void
  readonly role: (workflow: Workflow) => Pick<RoleAtWork, 'duty' | 'workflows'> | undefined
  /** Whether agents decide: then one looks again when a workflow of it ended. */
  readonly decides: boolean
  /** Run a workflow soon. */
  readonly wake: (id: string) => void
  /** Register with the service now what was sent. */
  readonly register: () => void
  readonly onEnded: (workflow: Workflow) => void
}

/** Every workflow that is not terminal, as last written, and what follows when one moves. */
export type LiveWorkflows = {
  /** Take one up from the journal. */
  readonly resume: (workflow: Workflow) => void
  readonly moved: (before: Workflow | null, after: Workflow) => void
  readonly list: () => readonly Workflow[]
  readonly get: (id: string) => Workflow | undefined
  /** What is urgent and in flight with a signer. */
  readonly urgentOf: (signer: Address) => readonly Workflow[]
  readonly wakeAll: (state: Workflow['state']) => void
}

/** Create the keeper's memory of what is live. */
export function createLiveWorkflows(deps: LiveDeps): LiveWorkflows {
  const live = new Map<string, Workflow>()
  const urgent = new Map<string, Workflow>()

  const keep = (workflow: Workflow) => {
    if (isTerminal(workflow.state)) live.delete(workflow.id)
    else live.set(workflow.id, workflow)
    if (workflow.state !== 'in_flight' || workflow.proposal.urgent !== true) urgent.delete(workflow.id)
    else {
      const isNew = !urgent.has(workflow.id)
      urgent.set(workflow.id, workflow)
      // What is in its way is bumped now, and not at the next head.
      if (isNew) wakeAll((other) => other.state === 'in_flight' && other.signer === workflow.signer)
    }
  }
  const wakeAll = (fits: (workflow: Workflow) => boolean) => {
    for (const workflow of live.values()) if (fits(workflow)) deps.wake(workflow.id)
  }

  const ended = (workflow: Workflow) => {
    deps.onEnded(workflow)
    if (workflow.hold !== undefined) {
      deps.mail
        .forgetAnswers(workflow.id)
        .catch((error: unknown) => deps.log.error('an answer was not forgotten', {}, error))
    }
    if (workflow.state === 'quarantined') deps.alarm(quarantined(workflow))
    const role = deps.role(workflow)
    role?.workflows.ended(workflow)
    // What it held back is free again.
    if (deps.decides) role?.duty.look()
  }

  return {
    resume: (workflow) => {
      keep(workflow)
      deps.wake(workflow.id)
    },
    moved: (before, after) => {
      const hasEnded = isTerminal(after.state)
      keep(after)
      report(before, after, deps)
      deps.role(after)?.workflows.moved(before, after)
      if (before === null) deps.wake(after.id)
      if (after.state === 'confirmed' || after.state === 'succeeded') {
        deps
          .role(after)
          ?.workflows.assess(after)
          .catch((error: unknown) => deps.log.error('a gain was not assessed', {}, error))
      }
      if (hasEnded) ended(after)
      else if (after.slots.some((slot) => slot.attempts.at(-1)?.state === 'sent')) deps.register()
    },
    list: () => [...live.values()],
    get: (id) => live.get(id),
    urgentOf: (signer) => [...urgent.values()].filter((workflow) => workflow.signer === signer),
    // What is quarantined may fail at every head, and has times of its own.
    wakeAll: (state) => wakeAll((workflow) => workflow.state === state && workflow.quarantined === undefined),
  }
}

/** Say what moved. */
function report(
  before: Workflow | null,
  after: Workflow,
  { emit, metrics, nowMs }: Pick<LiveDeps, 'emit' | 'metrics' | 'nowMs'>,
): void {
  if (before !== null) for (const event of slotEvents(after, before)) emit(event)
  const held = before === null ? null : heldEvent(after, before, nowMs())
  if (held !== null) emit(held)
  if (before?.state === after.state) return
  emit(workflowEvent(after, before))
  const tookMs = before === null ? 0 : after.updatedAtMs - before.updatedAtMs
  metrics.workflowMoved(after.role, after.proposal.workflowType, after.state, tookMs)
  if (after.state === 'refused') metrics.refused(after.role, 'guard', after.note?.check ?? 'unknown')
}

/** Whether anything goes on that does not wait for a person. Pure. */
export const isCarrying = (workflows: readonly Workflow[]): boolean =>
  workflows.some((workflow) => !isHeld(workflow))

/** A step of it failed in a way that nobody foresaw: a person should look, whatever has become of its nonces. */
const quarantined = ({ id, note }: Workflow): RolekeeperError =>
  new RolekeeperError('workflow.quarantined', `Workflow ${id} is quarantined: ${note?.message ?? ''}`, {
    fix: `see \`rolekeeper workflows show ${id}\` and the log.`,
    facts: { workflowId: id },
  })

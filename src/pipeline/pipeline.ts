import { BrokenInvariant, RolekeeperError } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import { failsForEver, giveUp, STRIKES_MAX } from '../workflow/quarantine.ts'
import type { Step } from '../workflow/step.ts'
import { isTerminal, move, type Note, type Workflow } from '../workflow/workflow.ts'

/** One stage of the story: from a workflow's record to what comes next. */
export type Stage = (workflow: Workflow) => Promise<Step>

/** Names the workflows that wait for a signer behind the one that holds it, in their order. */
export type InLine = () => readonly string[]

/** The stages, by the verb that each is. */
export type Stages = {
  readonly request: Stage
  readonly prepare: Stage
  readonly attest: Stage
  readonly clear: (workflow: Workflow, inLine?: InLine) => Promise<Step>
  readonly claim: Stage
  readonly carry: Stage
  readonly confirm: Stage
  /** Send again what is public of a workflow in flight, by nothing but what is remembered of it. */
  readonly resend: (workflow: Workflow) => Promise<void>
}

/** Take the one step that a workflow's state calls for. */
export function step(workflow: Workflow, stages: Stages, inLine?: InLine): Promise<Step> {
  switch (workflow.state) {
    case 'discovered':
      return stages.request(workflow)
    case 'requested':
      return stages.prepare(workflow)
    case 'prepared':
      return stages.attest(workflow)
    case 'attested':
      return stages.clear(workflow, inLine)
    case 'cleared':
      return stages.claim(workflow)
    case 'in_flight':
      return stages.carry(workflow)
    case 'confirmed':
      return stages.confirm(workflow)
    case 'succeeded':
    case 'refused':
    case 'expired':
    case 'reverted':
    case 'superseded':
    case 'partial':
    case 'cancelled':
    case 'unconfirmed':
    case 'quarantined':
    case 'shadowed':
      throw new BrokenInvariant(`workflow ${workflow.id} is ${workflow.state}: nothing more happens to it`)
  }
}

/** What running a workflow needs. */
export type PipelineDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'get' | 'write'>
  /** A live workflow as it was last announced. */
  readonly remembered: (id: string) => Workflow | undefined
  /** The stages of the workflow's role. */
  readonly stages: (workflow: Workflow) => Stages
  /** Hold the signer while a workflow is cleared and claims, so that simulations see each other's nonces. */
  readonly alone: <T>(
    signer: string,
    work: (inLine: InLine) => Promise<T>,
    lane: Lane,
    id: string,
  ) => Promise<T>
  readonly onMove: (before: Workflow, after: Workflow) => void
  readonly onStrike: (workflow: Workflow, error: unknown) => void
  /** A workflow that holds nonces was struck for the third time in a row: its signer begins nothing else. */
  readonly onQuarantined: (workflow: Workflow, note: Note) => void
}

/** Which of a signer's lanes a work waits in: what is urgent goes before all that is not. */
export type Lane = 'urgent' | 'usual'

const laneOf = ({ proposal }: Workflow): Lane => (proposal.urgent === true ? 'urgent' : 'usual')

/** A workflow that goes on for longer without a wait may go in a circle: what else there is to do has its turn. */
const STEPS_MAX = 64
const TURN_MS = 500
/** A quarantined workflow whose nonces are final and whose steps still fail after this long is ended as it is. */
const GIVE_UP_MS = 240_000
const STRIKE_WAIT_MS = 1_000
const STRIKE_WAIT_MS_MAX = 60_000
const NODE_WAIT_MS = 500
/** A record that cannot be reached is asked for again this soon: it has been tried for two seconds by then. */
const RECORD_WAIT_MS = 1_000

/** Whether a failure is of the record, as of one that is away or full: it says nothing of what the step was about. Pure. */
const isOfRecord = (error: unknown): error is RolekeeperError =>
  error instanceof RolekeeperError && (error.code === 'seat.lost' || error.code.startsWith('journal.'))

/**
 * Carry a workflow as far as it goes now. While its record cannot be reached, it is no further than it was, and only what is
 * public already is sent again; where its seat is another's, nothing more is done.
 * @returns milliseconds until it wants to be looked at again, or null when it is terminal, not there, or another's.
 */
export async function run(id: string, deps: PipelineDeps): Promise<number | null> {
  try {
    return await takeSteps(id, deps)
  } catch (error) {
    if (!isOfRecord(error)) throw error
    if (error.code === 'seat.lost') return null
    const known = deps.remembered(id)
    if (known?.state === 'in_flight') await deps.stages(known).resend(known)
    return RECORD_WAIT_MS
  }
}

/** Read a workflow; what was written of it and never heard of, as its answer was lost, is announced now. */
async function read(id: string, deps: PipelineDeps): Promise<Workflow | null> {
  const stored = await deps.journal.get(id)
  const known = deps.remembered(id)
  if (stored !== null && known !== undefined && known.version < stored.version) deps.onMove(known, stored)
  return stored
}

async function takeSteps(id: string, deps: PipelineDeps): Promise<number | null> {
  let workflow = await read(id, deps)
  for (let steps = 0; workflow !== null && !isTerminal(workflow.state); steps += 1) {
    if (steps === STEPS_MAX) return TURN_MS
    const needsSigner = workflow.state === 'attested' || workflow.state === 'cleared'
    const before: Workflow = workflow
    const waitMs: number | Workflow = needsSigner
      ? await deps.alone(before.signer, (inLine) => takeStep(before, deps, inLine), laneOf(before), id)
      : await takeStep(before, deps)
    if (typeof waitMs === 'number') return waitMs
    workflow = waitMs
  }
  return null
}

/** Take one step, or, with the signer held, all steps that need it. */
async function takeStep(workflow: Workflow, deps: PipelineDeps, inLine?: InLine): Promise<number | Workflow> {
  try {
    const result = await step(workflow, deps.stages(workflow), inLine)
    if (result.type === 'wait') {
      // Only strikes in a row count.
      if (workflow.strikes > 0) await deps.journal.write({ ...workflow, strikes: 0 })
      return result.ms
    }
    const next = result.type === 'moved' ? await deps.journal.write(result.workflow) : result.workflow
    deps.onMove(workflow, next)
    return inLine !== undefined && next.state === 'cleared' ? takeStep(next, deps, inLine) : next
  } catch (error) {
    if (error instanceof RolekeeperError && error.code === 'journal.conflict') {
      return (await read(workflow.id, deps)) ?? STRIKE_WAIT_MS
    }
    if (isOfRecord(error)) throw error
    if (error instanceof RolekeeperError && error.retry !== 'never') return NODE_WAIT_MS
    return strike(workflow, error, deps)
  }
}

/** Milliseconds until a struck workflow's step is tried again. Pure. */
const strikeWaitMs = (strikes: number): number =>
  Math.min(STRIKE_WAIT_MS * 2 ** Math.max(0, strikes - STRIKES_MAX), STRIKE_WAIT_MS_MAX)

/**
 * Count a step that failed unexpectedly. The third in a row quarantines the workflow, so that the others go on: one that
 * holds no open nonce ends; one that does is marked, and tried again less and less often until its nonces are closed. Where
 * only its conclusion is left and fails for ever, it is ended without one.
 */
async function strike(workflow: Workflow, error: unknown, deps: PipelineDeps): Promise<number | Workflow> {
  deps.onStrike(workflow, error)
  const stored = await deps.journal.get(workflow.id)
  // The step itself was written, and what failed came after it: go on from there.
  if (stored?.version !== workflow.version) return stored ?? STRIKE_WAIT_MS
  const strikes = workflow.strikes + 1
  const struck = { ...workflow, strikes }
  const atMs = deps.nowMs()
  const isOver = workflow.slots.every(({ state }) => state === 'final')
  const quarantinedMs = atMs - (workflow.quarantined?.atMs ?? atMs)
  if (isOver && failsForEver(struck) && quarantinedMs >= GIVE_UP_MS)
    return end(workflow, giveUp(struck, atMs), deps)
  if (strikes < STRIKES_MAX || workflow.quarantined !== undefined) {
    await deps.journal.write(struck)
    return strikeWaitMs(strikes)
  }
  const message = `Three steps in a row failed in state ${workflow.state}. Last: ${nameOf(error)}.`
  const note = { check: 'three_strikes', message }
  if (workflow.state !== 'in_flight') return end(workflow, move(struck, 'quarantined', atMs, { note }), deps)
  const marked = await deps.journal.write({ ...struck, quarantined: { atMs, note } })
  deps.onMove(workflow, marked)
  deps.onQuarantined(marked, note)
  return strikeWaitMs(strikes)
}

async function end(workflow: Workflow, ended: Workflow, deps: PipelineDeps): Promise<Workflow> {
  const written = await deps.journal.write(ended)
  deps.onMove(workflow, written)
  return written
}

/** What is safe to say of a failure: messages of others may carry anything. Pure. */
const nameOf = (error: unknown): string => {
  if (error instanceof RolekeeperError) return `${error.code}: ${error.shortMessage}`
  if (error instanceof BrokenInvariant) return error.message
  return error instanceof Error ? error.name : 'an unnamed failure'
}

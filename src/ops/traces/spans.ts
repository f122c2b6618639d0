import { createHash } from 'node:crypto'
import { isTerminal, type WorkflowState } from '../../workflow/workflow.ts'
import type { KeeperEvent, SlotEvent, WorkflowEvent } from '../events.ts'

/** A span that has ended. Times are Unix milliseconds. */
export type EndedSpan = {
  readonly name: string
  /** 32 hex digits. */
  readonly traceId: string
  /** The root of its trace, 16 hex digits: a span without `isRoot` is a child of it. */
  readonly rootId: string
  readonly isRoot?: true
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  /** Why it did not come to what was meant, by a stable name. */
  readonly error?: string
}

/** Turns what a keeper says into the spans of its workflows. */
export type SpanBook = {
  /** Something to look at was heard of. */
  readonly heard: (type: string, atMs: number) => void
  /** A workflow goes on that was begun before this process, or elsewhere. */
  readonly resumed: (workflow: Begun) => void
  /** @returns the spans that ended with it. */
  readonly event: (event: KeeperEvent) => readonly EndedSpan[]
}

/** What of a workflow a trace goes on from. */
type Begun = { readonly id: string; readonly createdAtMs: number }

/** A trace is its workflow's, whichever process carries it: both ids come of the workflow's alone. Pure. */
export function traceOf(workflowId: string): { readonly traceId: string; readonly rootId: string } {
  const hash = createHash('sha256').update(`rolekeeper workflow ${workflowId}`).digest('hex')
  return { traceId: hash.slice(0, 32), rootId: hash.slice(32, 48) }
}

/** What was done when a state is reached. */
const STAGES: Readonly<Partial<Record<WorkflowState, string>>> = {
  requested: 'request',
  prepared: 'prepare',
  attested: 'attest',
  cleared: 'clear',
  in_flight: 'claim',
  confirmed: 'settle',
  succeeded: 'confirm',
}
const SLOT_STAGES: Readonly<Record<SlotEvent['state'], string>> = {
  signed: 'sign',
  sent: 'send',
  mined: 'mine',
  reopened: 'reorg',
  final: 'finalize',
}
/** What ended so came to what was meant, or was not meant to come to more. */
const GOOD: ReadonlySet<string> = new Set(['succeeded', 'shadowed'])

/** A decision that was made longer ago than this is not what a workflow was opened by. */
const DECIDED_MS_MAX = 10_000
/** Workflows whose beginning is remembered; what is beyond has a root that begins with what this process saw of it. */
const BEGUN_MAX = 10_000

/** What a role heard of and has not decided on. */
type Heard = { readonly type: string; readonly atMs: number }

/** Create the book of the spans of a keeper with these roles. It remembers what is live and no more. */
export function createSpanBook(roles: readonly string[]): SpanBook {
  const waiting = new Map<string, Heard>()
  const decided = new Map<string, Heard & { readonly decidedAtMs: number }>()
  const begun = new Map<string, number>()

  const remember = (id: string, atMs: number) => {
    if (begun.size < BEGUN_MAX) begun.set(id, atMs)
  }
  const onWorkflow = (event: WorkflowEvent): readonly EndedSpan[] => {
    const { id, role, workflowType, state, durationMs, check } = event
    const atMs = Date.parse(event.at)
    const trace = traceOf(id)
    const attributes = attributesOf(event)
    if (state === 'discovered') {
      const heard = waiting.get(role) ?? recent(decided.get(role), atMs)
      remember(id, heard?.atMs ?? atMs)
      if (heard === undefined) return []
      const why = { ...attributes, 'rolekeeper.hint.type': heard.type }
      return [{ name: 'decide', ...trace, startMs: heard.atMs, endMs: atMs, attributes: why }]
    }
    const ended = isTerminal(state)
    const failed = ended && !GOOD.has(state) ? { error: check ?? state } : {}
    const stage = { ...attributes, 'rolekeeper.workflow.state': state }
    const spans: EndedSpan[] = [
      {
        name: STAGES[state] ?? 'end',
        ...trace,
        startMs: atMs - durationMs,
        endMs: atMs,
        attributes: stage,
        ...failed,
      },
    ]
    if (ended) {
      const startMs = begun.get(id) ?? atMs - durationMs
      begun.delete(id)
      spans.push({
        name: workflowType,
        ...trace,
        isRoot: true,
        startMs,
        endMs: atMs,
        attributes: stage,
        ...failed,
      })
    }
    return spans
  }

  return {
    heard: (type, atMs) => {
      for (const role of roles) if (!waiting.has(role)) waiting.set(role, { type, atMs })
    },
    resumed: ({ id, createdAtMs }) => remember(id, createdAtMs),
    event: (event) => {
      if (event.type === 'workflow') return onWorkflow(event)
      if (event.type === 'slot') return [slotSpan(event)]
      if (event.type === 'decision') {
        const heard = waiting.get(event.role)
        waiting.delete(event.role)
        if (heard !== undefined) decided.set(event.role, { ...heard, decidedAtMs: Date.parse(event.at) })
      }
      return []
    },
  }
}

const attributesOf = ({ id, role, workflowType }: WorkflowEvent) => ({
  'rolekeeper.workflow.id': id,
  'rolekeeper.workflow.type': workflowType,
  'rolekeeper.role': role,
})

/** The span of what a slot of a workflow in flight came to. Pure. */
const slotSpan = ({
  id,
  role,
  state,
  purpose,
  durationMs,
  hash,
  blockNumber,
  ...event
}: SlotEvent): EndedSpan => {
  const endMs = Date.parse(event.at)
  return {
    name: SLOT_STAGES[state],
    ...traceOf(id),
    startMs: endMs - durationMs,
    endMs,
    attributes: {
      'rolekeeper.workflow.id': id,
      'rolekeeper.role': role,
      'rolekeeper.transaction.purpose': purpose,
      ...(hash === undefined ? {} : { 'rolekeeper.transaction.hash': hash }),
      ...(blockNumber === undefined ? {} : { 'rolekeeper.block.number': Number(blockNumber) }),
    },
  }
}

const recent = (decision: (Heard & { readonly decidedAtMs: number }) | undefined, nowMs: number) =>
  decision !== undefined && nowMs - decision.decidedAtMs <= DECIDED_MS_MAX ? decision : undefined

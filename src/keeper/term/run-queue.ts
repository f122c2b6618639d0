import type { Clock } from '../../clock.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Log } from '../../ops/log.ts'
import type { Metrics } from '../../ops/metrics/metrics.ts'
import { type InLine, type Lane, run, type Stages } from '../../pipeline/pipeline.ts'
import type { Signers } from '../../pipeline/transactions/safe.ts'
import type { Queue } from '../../queue/queue.ts'
import type { TimersDeps } from '../../queue/timers.ts'
import type { Note, Workflow } from '../../workflow/workflow.ts'

/**
 * Runs works of one name one after another, the urgent ones first, and those of different names side by side. A work may
 * ask who is behind it: the ids of those that gave one.
 */
export type Serial = <T>(
  name: string,
  work: (inLine: InLine) => Promise<T>,
  lane?: Lane,
  id?: string,
) => Promise<T>

type Lanes = Readonly<
  Record<Lane, { readonly id: string | undefined; readonly begin: () => Promise<void> }[]>
>

/** What running workflows needs. */
type RunQueueDeps = {
  readonly clock: Clock
  readonly journal: Journal
  readonly remembered: (id: string) => Workflow | undefined
  readonly stagesOf: (workflow: Workflow) => Stages
  readonly alone: Serial
  readonly onMove: (before: Workflow, after: Workflow) => void
  readonly signers: Pick<Signers, 'safe'>
  readonly metrics: Pick<Metrics, 'struck'>
  readonly createQueue: (deps: TimersDeps) => Queue
  readonly log: Pick<Log, 'error'>
}

/** Create the queue that runs every workflow through the stages of its role. */
export function createRunQueue(given: RunQueueDeps): Queue {
  const { clock, journal, remembered, stagesOf, alone, onMove, signers, metrics, log } = given
  const deps = {
    nowMs: clock.nowMs,
    journal,
    remembered,
    stages: stagesOf,
    alone,
    onMove,
    onStrike: (workflow: Workflow, error: unknown) => {
      metrics.struck(workflow.role)
      log.error('a step failed', { workflowId: workflow.id, state: workflow.state }, error)
    },
    onQuarantined: ({ id, signer }: Workflow, { message }: Note) =>
      signers.safe(signer, {
        check: 'three_strikes',
        message: `Workflow ${id} holds nonces and does not go on: ${message}`,
        seen: `the log of workflow ${id}`,
        toLeave: `see what failed; the nonces of ${id} must be final, which the keeper sees to by itself`,
        workflowId: id,
      }),
  }
  return given.createQueue({
    clock,
    run: (id) => run(id, deps),
    onError: (id, error) => log.error('a run failed', { workflowId: id }, error),
  })
}

/** Create a {@link Serial}: a work that failed holds up none after it. */
export function createSerial(): Serial {
  const waiting = new Map<string, Lanes>()
  const drain = async (name: string, lanes: Lanes) => {
    for (;;) {
      const next = lanes.urgent.shift() ?? lanes.usual.shift()
      if (next === undefined) break
      await next.begin()
    }
    waiting.delete(name)
  }
  return (name, work, lane = 'usual', id) =>
    new Promise((resolve, reject) => {
      const known = waiting.get(name)
      const lanes = known ?? { urgent: [], usual: [] }
      const inLine = () => [...lanes.urgent, ...lanes.usual].flatMap((each) => each.id ?? [])
      lanes[lane].push({ id, begin: () => work(inLine).then(resolve, reject) })
      if (known !== undefined) return
      waiting.set(name, lanes)
      void drain(name, lanes)
    })
}

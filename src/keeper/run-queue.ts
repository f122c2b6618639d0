import type { Clock } from '../clock.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../ops/log.ts'
import type { Metrics } from '../ops/metrics.ts'
import { type Lane, run, type Stages } from '../pipeline/pipeline.ts'
import type { Signers } from '../pipeline/transactions/safe.ts'
import type { Queue } from '../queue/queue.ts'
import { createTimers } from '../queue/timers.ts'
import type { Note, Workflow } from '../workflow/workflow.ts'

/** Runs works of one name one after another, the urgent ones first, and those of different names side by side. */
export type Serial = <T>(name: string, work: () => Promise<T>, lane?: Lane) => Promise<T>

/** What running workflows needs. */
type RunQueueDeps = {
  readonly clock: Clock
  readonly journal: Journal
  readonly stagesOf: (workflow: Workflow) => Stages
  readonly alone: Serial
  readonly onMove: (before: Workflow, after: Workflow) => void
  readonly signers: Pick<Signers, 'safe'>
  readonly metrics: Pick<Metrics, 'struck'>
  readonly log: Pick<Log, 'error'>
}

/** Create the queue that runs every workflow through the stages of its role. */
export function createRunQueue(given: RunQueueDeps): Queue {
  const { clock, journal, stagesOf, alone, onMove, signers, metrics, log } = given
  const deps = {
    nowMs: clock.nowMs,
    journal,
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
  return createTimers({
    clock,
    run: (id) => run(id, deps),
    onError: (id, error) => log.error('a run failed', { workflowId: id }, error),
  })
}

/** Create a {@link Serial}: a work that failed holds up none after it. */
export function createSerial(): Serial {
  const waiting = new Map<string, Readonly<Record<Lane, (() => Promise<void>)[]>>>()
  const drain = async (name: string, lanes: Readonly<Record<Lane, (() => Promise<void>)[]>>) => {
    for (;;) {
      const next = lanes.urgent.shift() ?? lanes.usual.shift()
      if (next === undefined) break
      await next()
    }
    waiting.delete(name)
  }
  return (name, work, lane = 'usual') =>
    new Promise((resolve, reject) => {
      const known = waiting.get(name)
      const lanes = known ?? { urgent: [], usual: [] }
      lanes[lane].push(() => work().then(resolve, reject))
      if (known !== undefined) return
      waiting.set(name, lanes)
      void drain(name, lanes)
    })
}

import { Agent, request } from 'undici'
import { type Clock, endsWithin } from '../../clock.ts'
import type { AlarmTargetConfig } from '../../config/alarms.ts'
import { RolekeeperError } from '../../errors.ts'
import { type Notice, pagerdutyBody, slackBody, webhookBody } from './shapes.ts'

/** What became of a notice; `failed` is tried again. */
export const DELIVERIES = ['delivered', 'failed', 'dropped'] as const
export type Delivery = (typeof DELIVERIES)[number]

/** How a target stands. */
export type TargetState = {
  readonly name: string
  /** Since when it has taken nothing, milliseconds of the monotonic clock; null while it does. */
  readonly failingSinceMs: number | null
  /** Why not: never with its URL, or what it answered. */
  readonly problem: string | null
}

/** Where notices are told, one after another; whatever the target does, nobody waits for it. */
export type AlarmTarget = {
  readonly push: (notice: Notice) => void
  readonly state: () => TargetState
  /** Give what waits a short time, and tell nothing more. */
  readonly close: () => Promise<void>
}

/** Of headers and body together. */
const ANSWER_MS = 5_000
const RETRY_MS = 1_000
const RETRY_MS_MAX = 60_000
/** Nobody acts on what is older. */
const AGE_MS_MAX = 3_600_000
/** Twice as many as incidents may be open. */
const QUEUE_MAX = 400
const CLOSE_MS = 2_000
const BYTES_MAX = 65_536

/** What is to be told, and when it was pushed by the monotonic clock. */
type Queued = { readonly notice: Notice; readonly pushedAtMs: number }

/** What a target needs. */
type TargetDeps = {
  readonly clock: Clock
  /** Names this keeper to those who read it. */
  readonly source: string
  readonly onDelivery: (name: string, delivery: Delivery) => void
}

function requestOf({ kind, key }: AlarmTargetConfig, notice: Notice, source: string) {
  const secret = key?.reveal()
  if (kind === 'slack') return { headers: {}, body: slackBody(notice, source) }
  if (kind === 'pagerduty') return { headers: {}, body: pagerdutyBody(notice, source, secret ?? '') }
  return {
    headers: secret === undefined ? {} : { authorization: secret },
    body: webhookBody(notice, source),
  }
}

/** Create what tells one target. */
export function createAlarmTarget(config: AlarmTargetConfig, deps: TargetDeps): AlarmTarget {
  const { clock, source, onDelivery } = deps
  const { name } = config
  const agent = new Agent({ connections: 1, pipelining: 1, maxResponseSize: BYTES_MAX })
  const stop = new AbortController()
  const queue: Queued[] = []
  let failing: { readonly sinceMs: number; readonly problem: string } | null = null
  let working: Promise<void> | undefined

  /** @returns why it was not taken, or null; and whether what was told may be the reason, and not the target. */
  const deliver = async (notice: Notice): Promise<{ problem: string | null; isRefused?: boolean }> => {
    const { headers, body } = requestOf(config, notice, source)
    try {
      const answer = await request(config.url.reveal(), {
        dispatcher: agent,
        method: 'POST',
        body: JSON.stringify(body),
        headers: { ...headers, 'content-type': 'application/json' },
        signal: AbortSignal.any([stop.signal, AbortSignal.timeout(ANSWER_MS)]),
      })
      await answer.body.dump()
      const { statusCode } = answer
      if (statusCode >= 200 && statusCode < 300) return { problem: null }
      return { problem: `it answers ${statusCode}`, isRefused: isRefusal(statusCode) }
    } catch (error) {
      const { name: kind, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {}
      if (kind === 'TimeoutError') return { problem: `no answer within ${ANSWER_MS} ms`, isRefused: true }
      return { problem: `not reached (${code ?? kind})` }
    }
  }
  const work = async () => {
    let waitMs = RETRY_MS
    for (let next = queue[0]; next !== undefined && !stop.signal.aborted; next = queue[0]) {
      const { problem, isRefused } = await deliver(next.notice)
      if (problem === null) {
        failing = null
        waitMs = RETRY_MS
      } else failing = { sinceMs: failing?.sinceMs ?? clock.monotonicMs(), problem }
      const isOld = clock.monotonicMs() - next.pushedAtMs > AGE_MS_MAX
      onDelivery(name, problem === null ? 'delivered' : isOld ? 'dropped' : 'failed')
      // While it was told, those before the others may have gone.
      if ((problem === null || isOld) && queue[0] === next) queue.shift()
      else if (isRefused === true) putBehind(next, queue)
      if (problem === null) continue
      await clock.sleep(waitMs, stop.signal).catch(() => undefined)
      waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)
    }
    working = undefined
  }
  return {
    push: (notice) => {
      if (stop.signal.aborted) return
      queue.push({ notice, pushedAtMs: clock.monotonicMs() })
      if (queue.length > QUEUE_MAX) {
        queue.shift()
        onDelivery(name, 'dropped')
      }
      working ??= work()
    },
    state: () => ({ name, failingSinceMs: failing?.sinceMs ?? null, problem: failing?.problem ?? null }),
    close: async () => {
      if (working !== undefined) await endsWithin(working, CLOSE_MS, clock)
      stop.abort()
      await working
      await agent.destroy()
    },
  }
}

/** Statuses of a key, an address, a limit or an outage: they are of the target, and of whatever it is told. */
const OF_TARGET = [401, 403, 404, 408, 425, 429, 502, 503, 504]
/** What it says of one notice: it does not take that, or fails at it (500). */
const isRefusal = (status: number): boolean => status >= 400 && !OF_TARGET.includes(status)

/** Let the others pass what is refused; all of its incident goes with it, as its end may not come before its beginning. */
function putBehind({ notice: { key } }: Queued, queue: Queued[]): void {
  const isOwn = ({ notice }: Queued) => notice.key === key
  const [own, others] = [queue.filter(isOwn), queue.filter((each) => !isOwn(each))]
  queue.splice(0, queue.length, ...others, ...own)
}

/** A target that is away for less loses nothing. */
export const TARGET_FAILING_MS = 60_000

/** Make the alarm of a target that takes nothing. */
export const targetFailing = (name: string, problem: string | null, ms: number) =>
  new RolekeeperError(
    'alarms.target_failing',
    `The alarm target ${name} has taken nothing for ${Math.round(ms / 1_000)} s: ${problem}.`,
    {
      fix: 'see whether it is there and its key still counts: rolekeeper alarms test. Until then alarms are on the screen, in the log and in metrics.',
      facts: { problem: name },
      retry: 'later',
    },
  )

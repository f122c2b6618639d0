import type { Clock } from '../clock.ts'
import {
  createRequests,
  type NoAnswer,
  type NodeAddress,
  type Requests,
  type RpcAnswer,
  type RpcCall,
  type RpcReply,
} from './json-rpc.ts'
import { isAnswerTooLarge, isRateLimit } from './node-errors.ts'

/** Calls to one address, those of one event-loop turn in one request where the node takes as many. */
export type Batches = {
  /** Ask once; where the node is left alone for a while, later, unless it is in vain by then (`waits`). Never throws. */
  readonly ask: (method: string, params: readonly unknown[], waits?: boolean) => Promise<RpcAnswer | NoAnswer>
  /** Give up what is under way and ask no more. */
  readonly close: () => Promise<void>
}

/** Calls beyond this many go out as another batch: nodes cap theirs (geth at 1,000, some providers at 100, or 10). */
export const BATCH_MAX = 100
/** What was too wide for a node is tried again after so long, milliseconds. */
export const NARROW_MS = 600_000
/** Answers that were asked for alone and are too large, after which the rest of a batch is given up. */
const TOO_LARGE_MAX = 16
/** How long a node that says no time is left alone: at first, and at most, twice as long each time. */
const LIMITED_MS = { least: 1_000, most: 60_000 }
/** A call waits so long for a node that is left alone; what would take longer fails at once, so that another is asked. */
const PATIENCE_MS = 5_000
/** A node whose answer takes us longer than this to read, milliseconds, is left alone for so many times as long. */
const HELD = { ms: 100, times: 10 }
/** Also where it says that its time is over. */
const AGAIN_MS_MIN = 100

type Answers = readonly (RpcAnswer | NoAnswer)[]
type BatchReply = Pick<RpcReply, 'answers' | 'refusal'>
type WaitingCall = RpcCall & {
  readonly waits: boolean
  readonly answer: (answer: RpcAnswer | NoAnswer) => void
}

/**
 * Batch the calls to one address. A node that refuses a batch as too wide gets narrower ones, what is too large together is
 * asked for in parts, and one that limits how often it is asked, or holds up all else by what it answers, is asked nothing
 * until its time is over: what comes meanwhile waits for that, where it is soon.
 */
export function createBatches(given: NodeAddress, timeoutMs: number, clock: Clock): Batches {
  const requests = createRequests(given, timeoutMs, clock)
  const { inParts, width } = createParts(requests.send, clock)
  const closing = new AbortController()
  let waiting: WaitingCall[] = []

  /** Ask, and again for what a node that is asked too often leaves out, once its time is over. */
  async function post(batch: readonly WaitingCall[], waitedMs = 0): Promise<void> {
    const answers = await inParts(batch)
    const ms = Math.max((answers.find(isLimited)?.untilMs ?? 0) - clock.monotonicMs(), AGAIN_MS_MIN)
    const isOver = waitedMs + ms > PATIENCE_MS || closing.signal.aborted
    const left = batch.filter((call, index) => {
      if (call.waits && isLimited(answers[index]) && !isOver) return true
      call.answer(answers[index] ?? { kind: 'garbage' })
      return false
    })
    if (left.length === 0) return
    await clock.sleep(ms, closing.signal).catch(() => undefined)
    await post(left, waitedMs + ms)
  }

  function flush(): void {
    const batches = chunks(waiting, width())
    waiting = []
    for (const batch of batches) void post(batch)
  }

  return {
    ask: (method, params, waits = true) =>
      new Promise((answer) => {
        waiting.push({ method, params, waits, answer })
        if (waiting.length === 1) setImmediate(flush)
      }),
    close: async () => {
      closing.abort('closed')
      await requests.close()
    },
  }
}

/** Ask for a batch whole, or in the parts that the node takes. */
function createParts(send: Requests['send'], clock: Pick<Clock, 'nowMs' | 'monotonicMs'>) {
  const limit = createLimit(clock)
  let narrow = { width: BATCH_MAX, untilMs: 0 }

  /** One request, which is not made while the node is to be left alone. */
  async function once(calls: readonly RpcCall[]): Promise<BatchReply> {
    const limited = limit.now()
    return limited === null
      ? limit.apply(await send(calls))
      : { answers: calls.map(() => limited), refusal: null }
  }

  async function all(calls: readonly RpcCall[]): Promise<Answers> {
    const { answers, refusal } = await once(calls)
    if (calls.length === 1) return answers
    return refusal === null ? apart(calls, answers) : narrower(calls, refusal)
  }

  /** What was too large together is asked for again in parts. */
  async function apart(calls: readonly RpcCall[], answers: Answers): Promise<Answers> {
    const large = calls.filter((_, index) => isTooLarge(answers[index]))
    if (large.length === 0 || calls.length === 1) return answers
    const size = large.length < calls.length ? large.length : Math.ceil(large.length / 2)
    const again = await inTurn(large, size)
    let taken = 0
    return answers.map((answer) => (isTooLarge(answer) ? (again[taken++] ?? answer) : answer))
  }

  /** Find how many calls the node takes at once, and keep to that. */
  async function narrower(calls: readonly RpcCall[], refusal: RpcAnswer | NoAnswer): Promise<Answers> {
    for (let size = calls.length; size > 1; ) {
      size = Math.ceil(size / 2)
      const some = calls.slice(0, size)
      const { answers } = await once(some)
      if (isSame(answers[0], refusal)) continue
      // Also where its limit ends the search, which goes on from here and does not begin anew each time.
      if (answers.some((answer) => 'ok' in answer || isLimited(answer)))
        narrow = { width: size, untilMs: clock.monotonicMs() + NARROW_MS }
      return [...(await apart(some, answers)), ...(await inTurn(calls.slice(size), size))]
    }
    // It refuses each of them alone: that is no matter of how many.
    return calls.map(() => refusal)
  }

  /** Ask for so many at once, one request after another. */
  async function inTurn(calls: readonly RpcCall[], size: number): Promise<Answers> {
    const answers: (RpcAnswer | NoAnswer)[] = []
    for (const some of chunks(calls, size)) {
      answers.push(...(await all(some)))
      // One whose every answer is too large may cost us no more than so many.
      const [first] = answers
      if (first !== undefined && answers.length >= TOO_LARGE_MAX && answers.every(isTooLarge))
        return calls.map((_, index) => answers[index] ?? first)
    }
    return answers
  }

  const width = () => (clock.monotonicMs() < narrow.untilMs ? narrow.width : BATCH_MAX)
  return { inParts: (calls: readonly RpcCall[]) => inTurn(calls, width()), width }
}

function chunks<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )
}

const isLimited = (
  answer: RpcAnswer | NoAnswer | undefined,
): answer is Extract<NoAnswer, { readonly kind: 'limited' }> =>
  answer !== undefined && 'kind' in answer && answer.kind === 'limited'

const isTooLarge = (answer: RpcAnswer | NoAnswer | undefined): boolean =>
  answer !== undefined &&
  ('ok' in answer ? !answer.ok && isAnswerTooLarge(answer.failure) : answer.kind === 'too_large')

/** Whether two say the same, where neither is a result. Pure. */
const isSame = (one: RpcAnswer | NoAnswer | undefined, other: RpcAnswer | NoAnswer): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/** Keep until when a node is to be left alone. */
function createLimit({ nowMs, monotonicMs }: Pick<Clock, 'nowMs' | 'monotonicMs'>) {
  let limited: Extract<NoAnswer, { readonly kind: 'limited' }> = { kind: 'limited', untilMs: 0 }
  let nextMs = LIMITED_MS.least
  const saysLimit = (answer: RpcAnswer | NoAnswer, retryAfter: string | null): boolean =>
    'ok' in answer ? !answer.ok && isRateLimit(answer.failure) : isBusy(answer, retryAfter !== null)
  return {
    now: (): NoAnswer | null => (monotonicMs() < limited.untilMs ? limited : null),
    /** Take note of what a reply says of limits, and of what it cost to read. */
    apply: ({ answers, refusal, retryAfter, heldMs }: RpcReply): BatchReply => {
      if (heldMs > HELD.ms) {
        const untilMs = monotonicMs() + Math.min(HELD.times * heldMs, LIMITED_MS.most)
        limited = { kind: 'limited', untilMs, heldMs }
      }
      if (!answers.some((answer) => saysLimit(answer, retryAfter))) {
        if (answers.some((answer) => 'ok' in answer)) nextMs = LIMITED_MS.least
        return { answers, refusal }
      }
      const saidMs = waitOf(retryAfter, nowMs())
      // What was under way as it began is of the same spell.
      if (saidMs !== null || monotonicMs() >= limited.untilMs) {
        limited = {
          kind: 'limited',
          untilMs: monotonicMs() + Math.min(saidMs ?? nextMs, LIMITED_MS.most),
        }
        nextMs = Math.min(2 * nextMs, LIMITED_MS.most)
      }
      return {
        answers: answers.map((answer) => (saysLimit(answer, retryAfter) ? limited : answer)),
        refusal: null,
      }
    },
  }
}

/** Whether a status says that a node is asked too often, or is to be left alone for a while. Pure. */
const isBusy = (answer: NoAnswer, saysWhen: boolean): boolean =>
  answer.kind === 'status' && (answer.status === 429 || (answer.status === 503 && saysWhen))

/**
 * The wait that a `Retry-After` asks for, milliseconds: in seconds, or until a date; null where it asks for none, as one that
 * says 0 would be asked again and again. Source: RFC 9110, 10.2.3. Pure.
 */
function waitOf(retryAfter: string | null, nowMs: number): number | null {
  if (retryAfter === null) return null
  const ms = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - nowMs
  return Number.isNaN(ms) || ms <= 0 ? null : ms
}

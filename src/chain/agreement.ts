import { keccak256, stringToHex } from 'viem'
import { type Clock, endsWithin } from '../clock.ts'
import { invariant, RolekeeperError } from '../errors.ts'
import { plural } from '../readable.js'
import type { Endpoint } from './endpoint.ts'

/** One question to the reading nodes. */
export type Question<T> = {
  readonly method: string
  /** The block that it is about, by hash, height or tag. */
  readonly block: string
  /** Ask one node. The same facts must come back as the same value, field by field. */
  readonly ask: (node: Endpoint) => Promise<T>
  /** How long `collect` waits for every node, milliseconds; absent: as long as an answer may take. */
  readonly waitMs?: number
  /** What `collect` need not wait any longer with, once enough have said so; absent: anything. */
  readonly counts?: (value: T) => boolean
}

/** The two ways to ask several nodes. Both throw `node.quorum_missing`, or what the only node failed with. */
export type Agreement = {
  /** Ask until `agree` nodes say the same; null where only some have it. Throws `node.disagreement`. */
  readonly ask: <T>(question: Question<T>) => Promise<T>
  /** Ask every node, and return what those say that answer in time: at least `agree`. */
  readonly collect: <T>(question: Question<T>) => Promise<readonly T[]>
}

/** What asking needs and reports. */
export type AgreementDeps = {
  readonly agree: number
  /** The reading nodes, best first. */
  readonly order: () => readonly Endpoint[]
  readonly clock: Clock
  /** How long an answer may take before the next node is asked as well, milliseconds. */
  readonly hedgeMs: number
  readonly onSlow: (node: Endpoint) => void
  readonly onFailed: (node: Endpoint, error: RolekeeperError) => void
  /** All were asked, and too few said the same. */
  readonly onDisagreed: (error: RolekeeperError) => void
  /** A question came to an answer, which may be that there is nothing. */
  readonly onAnswered: (method: string) => void
  /** It came to none. */
  readonly onUnanswered: (method: string, error: RolekeeperError) => void
  /** A node said something else than those that agree. */
  readonly onAlone: (node: Endpoint, question: { readonly method: string; readonly block: string }) => void
}

/** Write a value so that equal values are equal texts. Pure. */
export const fingerprint = (value: unknown): string =>
  JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? `${item}n` : item)) ?? ''

/** The highest value that `agree` of these reach: one that says too much moves nothing. Pure. */
export function reachedBy(values: readonly bigint[], agree: number): bigint {
  const reached = values.toSorted((a, b) => (a > b ? -1 : a < b ? 1 : 0))[agree - 1]
  invariant(reached !== undefined, `${values.length} values, of which ${agree} must reach one`)
  return reached
}

type Answer<T> = { readonly node: Endpoint; readonly text: string; readonly value: T }

/**
 * Ask the best `agree` nodes at once; one that fails, is slow or says something else costs a question to the next one.
 * An answer that comes after agreement is still compared.
 */
export const createAgreement = (deps: AgreementDeps): Agreement => ({
  ask: async (question) => {
    const round = createRound(question, deps)
    const stop = new AbortController()
    void hedge(round, stop.signal, deps)
    try {
      return await reporting(question, round.agreed, deps)
    } finally {
      // Nobody reads the reason; without one an abort makes an error with a stack each time.
      stop.abort('ended')
    }
  },
  collect: (question) => reporting(question, collect(question, deps), deps),
})

/** Report what a question came to. */
async function reporting<T>(
  { method }: Pick<Question<unknown>, 'method'>,
  asked: Promise<T>,
  { onAnswered, onUnanswered }: AgreementDeps,
): Promise<T> {
  try {
    const answer = await asked
    onAnswered(method)
    return answer
  } catch (error) {
    if (error instanceof RolekeeperError) onUnanswered(method, error)
    throw error
  }
}

async function collect<T>(
  { method, block, ask, waitMs, counts = () => true }: Question<T>,
  deps: AgreementDeps,
): Promise<readonly T[]> {
  const { agree, order, clock, hedgeMs } = deps
  const { promise: enough, resolve } = Promise.withResolvers<void>()
  const values: T[] = []
  const failures: RolekeeperError[] = []
  const asked = Promise.all(
    order().map(async (node) => {
      try {
        values.push(await ask(node))
        if (values.filter(counts).length >= agree) resolve()
      } catch (error) {
        if (!(error instanceof RolekeeperError)) throw error
        deps.onFailed(node, error)
        failures.push(error)
      }
    }),
  )
  await endsWithin(asked, waitMs ?? hedgeMs, clock)
  await Promise.race([enough, asked])
  if (values.length < agree) throw quorumMissing({ method, block, agree, answered: values.length }, failures)
  return [...values]
}

/** Ask one more node whenever those that are being asked take too long. */
async function hedge(round: Round<unknown>, signal: AbortSignal, { clock, hedgeMs, onSlow }: AgreementDeps) {
  while (!signal.aborted) {
    try {
      await clock.sleep(hedgeMs, signal)
    } catch {
      return
    }
    for (const node of round.waitingFor()) onSlow(node)
    round.askNext()
  }
}

type Round<T> = {
  readonly agreed: Promise<T>
  readonly askNext: () => void
  readonly waitingFor: () => readonly Endpoint[]
}

function createRound<T>(question: Question<T>, deps: AgreementDeps): Round<T> {
  const { promise: agreed, resolve, reject } = Promise.withResolvers<T>()
  const { agree } = deps
  const queue = [...deps.order()]
  const waiting = new Set<Endpoint>()
  const answers: Answer<T>[] = []
  const failures: RolekeeperError[] = []
  let settled: Answer<T> | undefined

  function askNext(): void {
    const node = queue.shift()
    if (node === undefined) return
    waiting.add(node)
    question.ask(node).then(
      (value) => take({ node, value, text: agree === 1 ? '' : fingerprint(value) }),
      (error: unknown) => fail(node, error),
    )
  }

  function take(answer: Answer<T>): void {
    waiting.delete(answer.node)
    answers.push(answer)
    if (settled === undefined) {
      if (answers.filter(({ text }) => text === answer.text).length < agree) goOn()
      else settleOn(answer)
    } else compare(answer, settled)
  }

  function settleOn(answer: Answer<T>): void {
    settled = answer
    resolve(answer.value)
    for (const other of answers) compare(other, answer)
  }

  function compare(answer: Answer<T>, settledOn: Answer<T>): void {
    // To have nothing there yet is no lie.
    if (answer.text === settledOn.text || answer.value === null || settledOn.value === null) return
    deps.onAlone(answer.node, question)
  }

  function fail(node: Endpoint, error: unknown): void {
    waiting.delete(node)
    if (error instanceof RolekeeperError) {
      deps.onFailed(node, error)
      failures.push(error)
      if (settled === undefined) goOn()
    } else reject(error)
  }

  /** Ask as many as can still agree, or give up when too few are left. */
  function goOn(): void {
    const most = Math.max(
      0,
      ...answers.map(({ text }) => answers.filter((each) => each.text === text).length),
    )
    while (waiting.size + most < agree && queue.length > 0) askNext()
    if (waiting.size + most >= agree) return
    const end = conclude(question, agree, answers, failures)
    if (end instanceof RolekeeperError) {
      if (end.code === 'node.disagreement') deps.onDisagreed(end)
      reject(end)
    } else resolve(end.value)
  }

  for (let count = 0; count < agree; count += 1) askNext()
  return { agreed, askNext, waitingFor: () => [...waiting] }
}

/** What it comes to when too few say the same: null where only some have it, as it is not there yet; else an error. Pure. */
function conclude<T>(
  { method, block }: Question<T>,
  agree: number,
  answers: readonly Answer<T>[],
  failures: readonly RolekeeperError[],
): { readonly value: T } | RolekeeperError {
  if (answers.length < agree) {
    return quorumMissing({ method, block, agree, answered: answers.length }, failures)
  }
  const none = answers.find(({ value }) => value === null)
  const texts = new Set(answers.flatMap(({ value, text }) => (value === null ? [] : [text])))
  if (none !== undefined && texts.size <= 1) return none
  const who = answers
    .map(({ node, text }) => `${node.name}=${keccak256(stringToHex(text)).slice(2, 10)}`)
    .join(' ')
  return new RolekeeperError(
    'node.disagreement',
    `The nodes do not agree on ${method}: ${who}; ${agree} must say the same.`,
    {
      fix: 'nothing, when it passes by itself; else compare the nodes with one that you trust, and remove the wrong one.',
      facts: { method, block, agree, who },
      retry: 'later',
    },
  )
}

/** Make the error of too few answers; where one node is enough, what the first one failed with. Pure. */
export function quorumMissing(
  facts: {
    readonly method: string
    readonly block: string
    readonly agree: number
    readonly answered: number
  },
  failures: readonly RolekeeperError[],
): RolekeeperError {
  const [first] = failures
  if (facts.agree === 1 && first !== undefined) return first
  const why = failures.map(({ shortMessage }) => ` ${shortMessage}`).join('')
  return new RolekeeperError(
    'node.quorum_missing',
    `${plural(facts.answered, 'reading node')} answered ${facts.method}; ${facts.agree} must say the same.${why}`,
    {
      fix: 'look at the nodes that do not answer, or add one to `chain.nodes.read`.',
      facts: { ...facts, failed: failures.map(({ code }) => code).join(' ') },
      retry: 'later',
      cause: first,
    },
  )
}

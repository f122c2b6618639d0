import type { Answer, FoundCollection, FoundRows, Look, Question, Wave } from '../../agents/agent.ts'
import type { BorrowerCollection, Rows, WatchedCollection } from '../../agents/rows.ts'
import type { Head, Nodes } from '../chain/nodes.ts'
import type { Clock } from '../clock.ts'
import { invariant, RolekeeperError } from '../errors.ts'
import { joinPages } from '../service/collection.ts'
import type { Freshness } from '../service/contract/resources.ts'
import type { BorrowerRows } from './borrower-rows.ts'
import type { Collections, ListedRows } from './collections.ts'
import { type FreshnessLimits, freshnessOf } from './freshness.ts'

/** An agent that asks for more than this is not done after it: a defect of the agent. */
const WAVES_MAX = 4

/** What waves are answered from. */
export type WaveDeps = {
  readonly collections: Collections
  readonly ofWallets: BorrowerRows['ofWallets']
  readonly nodes: Pick<Nodes, 'calls'>
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>
  /** Answers questions that are not for the chain. Never throws. */
  readonly outside: (question: Exclude<Question, { kind: 'call' }>) => Promise<Answer>
}

/** What was listed, by collection; of what was read several times, all of it with the worst freshness. */
export type Lists = Partial<Record<WatchedCollection, ListedRows<unknown>>>

/** The answers to one wave. */
export type WaveAnswers = {
  readonly answers: readonly Answer[]
  /** Rows of wallets, which have to be fresh. */
  readonly lists: Lists
  /** Collections that the agent can do without. */
  readonly optional: Lists
}

/**
 * Answer one wave: its calls in one round trip at a head or a height, else at the newest block; everything else beside
 * them. Throws what the reads throw; an optional collection that cannot be read is absent.
 */
export async function answerWave(
  { ask, rows = [] }: Wave,
  { collections, ofWallets, nodes, clock, outside }: WaveDeps,
  at?: bigint | Head | Promise<Head>,
): Promise<WaveAnswers> {
  const calls = ask.flatMap((question) => (question.kind === 'call' ? [question] : []))
  const ofBorrowers = rows.flatMap((question) => ('wallets' in question ? [question] : []))
  const whole = rows.flatMap((question) => ('wallets' in question ? [] : [question.collection]))
  const [results, others, found, optional] = await Promise.all([
    calls.length === 0 ? [] : Promise.resolve(at).then((head) => nodes.calls(calls, head)),
    Promise.all(ask.map((question) => (question.kind === 'call' ? null : outside(question)))),
    Promise.all(
      ofBorrowers.map(
        async ({ collection, wallets }) => [collection, await ofWallets(collection, wallets)] as const,
      ),
    ),
    listOptional(whole, collections),
  ])
  const byCall = new Map(calls.map((call, index) => [call, results[index] ?? null]))
  const answers = ask.map((question, index): Answer => {
    const other = others[index]
    if (other != null) return other
    const text = question.kind === 'call' ? (byCall.get(question) ?? null) : null
    return text === null
      ? { ok: false, check: 'call_failed', message: 'The call reverted, or nothing is at its address.' }
      : { ok: true, text, atMs: clock.nowMs() }
  })
  return { answers, lists: Object.fromEntries(found), optional }
}

/** List whole collections side by side. Throws what the first that fails throws. */
export const listAll = async (
  names: readonly WatchedCollection[],
  collections: Collections,
): Promise<Lists> =>
  Object.fromEntries(await Promise.all(names.map(async (name) => [name, await collections[name]()] as const)))

/** List whole collections side by side, without those that cannot be read. */
export async function listOptional(
  names: readonly WatchedCollection[],
  collections: Collections,
): Promise<Lists> {
  const listed = await Promise.all(
    names.map(async (name) => {
      try {
        return [[name, await collections[name]()] as const]
      } catch (error) {
        if (error instanceof RolekeeperError) return []
        throw error
      }
    }),
  )
  return Object.fromEntries(listed.flat())
}

/** The rows of lists, by collection. Pure. */
export const rowsOf = (lists: Lists): Partial<Rows> =>
  Object.fromEntries(Object.entries(lists).map(([name, { items }]) => [name, items]))

/** Describe the rows of a wave to an agent: how old they are at a head, and whether that is too old. Pure. */
export function foundRows(
  { lists, optional }: Pick<WaveAnswers, 'lists' | 'optional'>,
  head: Head,
  nowMs: number,
  limits: FreshnessLimits,
): FoundRows {
  const found = Object.entries({ ...lists, ...optional }).map(([name, listed]) => {
    const { ok, message } = freshnessOf({ [name]: listed }, head, nowMs, limits)
    const elapsed: Omit<FoundCollection<BorrowerCollection>, 'items'> = {
      elapsedS: elapsedS(listed.freshness, head),
      stale: ok ? null : message,
    }
    return [name, { items: listed.items, ...elapsed }]
  })
  return Object.fromEntries(found)
}

/** Chain seconds from what the service describes to our head. */
function elapsedS({ blockTimestamp, lagSeconds }: Freshness, head: Head): number {
  if (blockTimestamp == null) return lagSeconds
  return Math.max(0, head.timestampS - Math.floor(Date.parse(blockTimestamp) / 1_000))
}

/** Put what was read later behind what was read before. Pure. */
export function joinLists(before: Lists, after: Lists): Lists {
  const joined = Object.entries(after).map(([name, listed]) => {
    const earlier = before[name as WatchedCollection]
    return [name, earlier === undefined ? listed : joinPages([earlier, listed])]
  })
  return { ...before, ...Object.fromEntries(joined) }
}

const viewEmpty = (what: string) =>
  new RolekeeperError('node.view_empty', `The chain does not say ${what}: its contract returns nothing.`, {
    fix: 'ask another node for the same: one that answers calls with nothing has lost its state, or the contract is another than the pinned one.',
    retry: 'later',
  })

/**
 * Follow a look to its end, wave by wave.
 * @returns what was seen, and every list that has to be fresh.
 * @throws RolekeeperError `node.view_empty` where the chain did not say what nothing may be decided without.
 */
export async function follow<Seen>(
  begun: Look<Seen>,
  answer: (wave: Wave) => Promise<WaveAnswers>,
  describe: (answered: WaveAnswers) => FoundRows,
  who: string,
): Promise<{ readonly seen: Seen; readonly lists: Lists }> {
  let look = begun
  let lists: Lists = {}
  for (let wave = 0; 'ask' in look; wave += 1) {
    invariant(wave < WAVES_MAX, `the ${who} asks for more than ${WAVES_MAX} waves`)
    const answered = await answer(look)
    lists = joinLists(lists, answered.lists)
    look = look.next(answered.answers, describe(answered))
  }
  const { seen, unread } = look
  if (unread !== undefined) throw viewEmpty(unread)
  return { seen, lists }
}

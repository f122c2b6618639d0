import type { Address } from 'viem'
import { decodeFunctionResult, encodeFunctionData, erc20Abi, isHex } from 'viem'
import type {
  Agent,
  Answer,
  Armed,
  BeforeReading,
  Moment,
  Question,
  RowsQuestion,
} from '../../agents/agent.ts'
import type { Nodes } from '../chain/nodes.ts'
import type { KeptBook } from './book.ts'
import { type FreshnessLimits, freshnessOf } from './freshness.ts'
import {
  answerWave,
  follow,
  foundRows,
  joinLists,
  type Lists,
  listAll,
  listOptional,
  rowsOf,
  type WaveAnswers,
  type WaveDeps,
} from './waves.ts'

/** What observing needs from outside. */
export type ObserveDeps = WaveDeps & {
  readonly nodes: Pick<Nodes, 'head' | 'calls' | 'balanceWei'>
  /** What a transaction pays for its bytes beside gas, wei. */
  readonly dataFeeWei: () => bigint
}

/** What the keeper knows when it looks. */
export type ObserveInput = Pick<
  Moment,
  | 'signer'
  | 'chainId'
  | 'ours'
  | 'inFlight'
  | 'recent'
  | 'colleagues'
  | 'experience'
  | 'rivals'
  | 'deployment'
> & {
  readonly limits: FreshnessLimits
  readonly priorityFeePerGasWei: bigint
}

/** What an observer keeps from look to look. */
export type ObserverMemory<Seen, Book> = {
  readonly previous: Seen | null
  readonly book: KeptBook<Book> | null
  readonly armed: ReadonlyMap<Address, Armed>
}

/**
 * Observe for an agent: its collections, its first wave, our balances and our head side by side, with what changed in
 * its book; then what it asks for, wave by wave, at the head's block. Throws what the reads throw; an optional collection
 * that cannot be read is absent.
 */
export async function observe<Policy, Seen, Book>(
  agent: Pick<Agent<Policy, Seen, Book>, 'role' | 'watches' | 'first' | 'see'>,
  policy: Policy,
  { previous, book, armed }: ObserverMemory<Seen, Book>,
  deps: ObserveDeps,
  { limits, priorityFeePerGasWei, ...known }: ObserveInput,
): Promise<Moment & Seen> {
  const { nodes, clock } = deps
  // An agent without a book looks at none.
  const current = () => (book === null ? (undefined as Book) : book.current())
  const throughBook: WaveDeps = { ...deps, ofWallets: readerOf(book, deps) }
  const ask = agent.first?.(known, policy, previous, current(), book?.changed() ?? []) ?? { ask: [] }
  const balances = balanceQuestions(known)
  // Asked for anew: an event is often here before the poll shows its block, and what is read below that has not seen it.
  const newest = nodes.head()
  const [required, optional, first, head, nativeBalanceWei] = await Promise.all([
    listAll(agent.watches.collections, deps.collections),
    listOptional(agent.watches.optional ?? [], deps.collections),
    answerWave({ ask: [...balances, ...ask.ask], rows: withBook(ask.rows ?? [], book) }, throughBook, newest),
    newest,
    newest.then(() => nodes.balanceWei(known.signer)),
    book?.sweepIfDue(),
  ])
  const nowMs = clock.nowMs()
  const judge = (lists: Lists, others: readonly string[]) =>
    freshnessOf(withSweeps(lists, book), head, nowMs, limits, others)
  const bookStale = [book?.staleness(clock.monotonicMs()) ?? []].flat()
  const listed = joinLists(required, first.lists)
  const moment: Moment = {
    ...known,
    nowMs,
    chain: {
      blockNumber: head.number,
      timestampS: head.timestampS,
      baseFeePerGasWei: head.baseFeePerGasWei,
      priorityFeePerGasWei,
      dataFeeWei: deps.dataFeeWei(),
    },
    freshness: judge(listed, bookStale),
    nativeBalanceWei,
    balances: knownBalances(known.deployment, first.answers),
  }
  const describe = (answered: Pick<WaveAnswers, 'lists' | 'optional'>) =>
    foundRows(answered, head, nowMs, limits)
  const answers = first.answers.slice(balances.length)
  const beside = { book: current(), answers, found: describe(first), armed }
  const rows = rowsOf({ ...required, ...optional })
  const { seen, lists } = await follow(
    agent.see(rows, moment, policy, previous, beside),
    (wave) => answerWave(wave, throughBook, head),
    describe,
    agent.role,
  )
  const freshness = judge(joinLists(listed, lists), bookStale)
  return { ...moment, freshness, ...seen }
}

/** Rows that a book holds are read through it, so that it takes them in. */
const readerOf =
  (book: KeptBook<unknown> | null, { ofWallets }: WaveDeps): WaveDeps['ofWallets'] =>
  (collection, wallets) =>
    book?.collections.includes(collection) ? book.read(collection, wallets) : ofWallets(collection, wallets)

/** Every collection of the book is read at each look: for what changed, and for how fresh it is. */
function withBook(rows: readonly RowsQuestion[], book: KeptBook<unknown> | null): readonly RowsQuestion[] {
  const asked = rows.map(({ collection }) => collection)
  const others = (book?.collections ?? []).filter((collection) => !asked.includes(collection))
  return [...rows, ...others.map((collection) => ({ collection, wallets: [] }))]
}

/** A collection of the book is as fresh as its last read and its last sweep. */
const withSweeps = (lists: Lists, book: KeptBook<unknown> | null): Lists =>
  book === null
    ? lists
    : {
        ...lists,
        ...Object.fromEntries(
          book.collections.flatMap((collection) => {
            const read = lists[collection]
            if (read === undefined) return []
            return [[collection, { ...read, freshness: book.freshnessWith(collection, read.freshness) }]]
          }),
        ),
      }

function balanceQuestions({ deployment, signer }: BeforeReading): readonly Question[] {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [signer] })
  return deployment.assets.map(({ address }) => ({ kind: 'call', to: address, data }))
}

/** The balances that could be read, from the answers that begin with them. */
function knownBalances(
  { assets }: BeforeReading['deployment'],
  answers: readonly Answer[],
): Moment['balances'] {
  const read = assets.flatMap(({ address }, index) => {
    const balance = balanceOf(answers[index])
    return balance === null ? [] : [[address, balance] as const]
  })
  return Object.fromEntries(read)
}

function balanceOf(answer: Answer | undefined): bigint | null {
  if (answer?.ok !== true || !isHex(answer.text)) return null
  try {
    return decodeFunctionResult({ abi: erc20Abi, functionName: 'balanceOf', data: answer.text })
  } catch {
    // Another contract's answer, or none at all: not known, which stops what needs it.
    return null
  }
}

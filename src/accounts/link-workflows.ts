import type { Address } from 'viem'
import type { Balance, Page } from '../journal/sqlite/accounts.ts'
import { inputText, type Proposal } from '../workflow/proposal.ts'
import { isTerminal, type Workflow } from '../workflow/workflow.ts'
import { backKey, type Entry } from './entries.ts'

/** What of a workflow tells which opportunity it is of, and what was expected of that. */
export type LinkedWorkflow = Pick<Workflow, 'id' | 'createdAtMs'> &
  Pick<Proposal, 'lot' | 'said' | 'gainUsdMicros'> & {
    /** The same for all that is about one opportunity: a claim is its liquidation's. */
    readonly opportunity: string
    /** What it is to bring, where it says so: that joins, and is no figure of any sum. */
    readonly brings?: { readonly token?: Address; readonly assets: bigint }
    readonly isOver: boolean
    /** Others were first: it ended without effect, and had given something to be before them. */
    readonly isRaceLost: boolean
    /** It took back what was given before. */
    readonly isTakenBack: boolean
    /** It is over, and was without effect. */
    readonly hasFailed: boolean
    /** Whether the journal has it; one that was restored from before it has not. */
    readonly isKnown: boolean
  }

/** All that moved of one opportunity, and its workflows in the order in which they were created. */
export type Thread = { readonly linked: LinkedWorkflow[]; readonly entries: Entry[] }

/** Take of a workflow what tells what was expected. Pure. */
export function linkedOf({ id, createdAtMs, state, proposal, realized }: Workflow): LinkedWorkflow {
  const { kind, lot, said, gainUsdMicros, subject, occurrence, input, offer, reason } = proposal
  const claim = realized?.claimId ?? inputText(input, 'claimId')
  const { assetAmount } = reason
  const named =
    typeof assetAmount === 'string' && /^\d+$/.test(assetAmount) ? { assets: BigInt(assetAmount) } : undefined
  const brings = said?.brings ?? named
  return {
    id,
    createdAtMs,
    isKnown: true,
    ...(lot === undefined ? {} : { lot }),
    ...(said === undefined ? {} : { said }),
    ...(gainUsdMicros === undefined ? {} : { gainUsdMicros }),
    ...(brings === undefined ? {} : { brings }),
    opportunity:
      lot ??
      (claim === undefined ? `${subject}:${occurrence}` : `${inputText(input, 'marketAddress')}:${claim}`),
    isOver: isTerminal(state),
    isRaceLost: offer !== undefined && (state === 'reverted' || state === 'superseded'),
    isTakenBack: kind === 'cancel' && state === 'succeeded',
    hasFailed: isTerminal(state) && state !== 'succeeded',
  }
}

/** What the journal does not have may be in a newer one: it is none of any other's opportunity, and not over. */
const untold = (id: string): LinkedWorkflow => ({
  id,
  createdAtMs: 0,
  opportunity: id,
  isOver: false,
  isRaceLost: false,
  isTakenBack: false,
  hasFailed: false,
  isKnown: false,
})

/** Join what moved by what it was of; what came by another's transaction belongs to what was given for it there. Pure. */
export function threadsOf(
  entries: readonly Entry[],
  workflows: ReadonlyMap<string, LinkedWorkflow>,
): readonly Thread[] {
  const threads = new Map<string, Thread>()
  const others: Entry[] = []
  // What comes back is of one of those that gave as much, and where that are several, of one that brought nothing else.
  const gave = new Map<string, Set<Thread>>()
  for (const entry of entries) {
    const { workflowId, page, line } = entry
    if (workflowId === null) {
      others.push(entry)
      continue
    }
    const own = workflows.get(workflowId) ?? untold(workflowId)
    // A vault's moves are each an opportunity of its own.
    const key = page.owner === 'vault' ? own.id : own.opportunity
    const thread = threads.get(key) ?? { linked: [], entries: [] }
    if (!thread.linked.some(({ id }) => id === own.id)) thread.linked.push(own)
    thread.entries.push(entry)
    threads.set(key, thread)
    if (line.assets < 0n)
      gave.set(backKey(page, line), (gave.get(backKey(page, line)) ?? new Set()).add(thread))
  }
  for (const { linked } of threads.values()) linked.sort((one, other) => one.createdAtMs - other.createdAtMs)
  const all = [...threads.values()]
  const doubtful = takeDoubtful(all, gave)
  // Last of all: by then it is known what came back, and a lot like another brings nothing once it is lost.
  joinOthers(others, all)
  giveBack(doubtful, gave)
  for (const { entries: own } of all)
    own.sort((one, other) => Number(one.page.to.number - other.page.to.number))
  return all
}

/** What came back by another's transaction and may be of several, with the one that has it until it is known what each brought. */
type Doubtful = { readonly entry: Entry; readonly thread: Thread }

function takeDoubtful(
  threads: readonly Thread[],
  gave: ReadonlyMap<string, ReadonlySet<Thread>>,
): readonly Doubtful[] {
  const isNamed = (thread: Thread) => bringsOf(thread) !== undefined
  const keys = new Set(
    [...gave].flatMap(([key, givers]) => (givers.size > 1 && [...givers].every(isNamed) ? key : [])),
  )
  const isDoubtful = ({ page, line }: Entry) => line.workflowId === null && keys.has(backKey(page, line))
  return threads.flatMap((thread) => {
    const doubtful = thread.entries.filter(isDoubtful)
    for (const entry of doubtful) thread.entries.splice(thread.entries.indexOf(entry), 1)
    return doubtful.map((entry) => ({ entry, thread }))
  })
}

/** Give each back to the first that paid alone and did not get it yet; uses `gave` up. */
function giveBack(doubtful: readonly Doubtful[], gave: ReadonlyMap<string, Set<Thread>>): void {
  const inOrder = doubtful.toSorted((one, other) =>
    Number(one.entry.line.blockNumber - other.entry.line.blockNumber),
  )
  for (const { entry, thread } of inOrder) {
    const key = backKey(entry.page, entry.line)
    const left = ({ entries }: Thread) =>
      entries.reduce(
        (sum, { page, line }) =>
          line.blockNumber <= entry.line.blockNumber && backKey(page, line) === key ? sum + line.assets : sum,
        0n,
      )
    const givers = gave.get(key) ?? new Set()
    let found: Thread | undefined
    for (const each of givers) {
      if (!isPaidAlone(each)) givers.delete(each)
      else if (left(each) < 0n) {
        found = each
        break
      }
    }
    const { entries } = found ?? thread
    entries.push(entry)
  }
}

/** What a thread has with somebody to whom it gave more than came back. */
type OpenBalance = {
  readonly thread: Thread
  readonly given: readonly Balance[]
  readonly at: Address | null
  readonly sinceBlock: bigint
  readonly brings: LinkedWorkflow['brings']
  /** Tokens that came to the thread already. */
  readonly tokensIn: ReadonlySet<Address | null>
}

/** Of what an opportunity was to bring so much may be missing, as of a token that takes a fee: what is less was something else. */
const MISSING_BPS_MAX = 1_000n

function joinOthers(others: readonly Entry[], threads: readonly Thread[]): void {
  // Taken up as the chain comes to what they gave, so that a year of them is not looked through for each line.
  const later = threads
    .flatMap(waitingOf)
    .toSorted((one, other) => Number(one.sinceBlock - other.sinceBlock))
    .values()
  let next = later.next().value
  const waitingAt = new Map<Address | null, Set<OpenBalance>>()
  for (const entry of others) {
    const { line } = entry
    if (line.assets <= 0n) continue
    for (; next !== undefined && next.sinceBlock <= line.blockNumber; next = later.next().value)
      waitingAt.set(next.at, (waitingAt.get(next.at) ?? new Set()).add(next))
    const waiting = waitingAt.get(line.counterparty)
    const found = bringing(entry, [...(waiting ?? [])])
    if (found === undefined) continue
    found.thread.entries.push(entry)
    waiting?.delete(found)
  }
}

function waitingOf(thread: Thread): readonly OpenBalance[] {
  const moved = thread.entries.filter(isMoved)
  const tokensIn = new Set(moved.flatMap(({ line }) => (line.assets > 0n ? [line.token] : [])))
  const brings = bringsOf(thread)
  if (netOf(moved).every(({ assets }) => assets >= 0n)) return []
  return [...Map.groupBy(moved, ({ line }) => line.counterparty)].flatMap(([at, own]) => {
    const given = netOf(own).filter(({ assets }) => assets < 0n)
    const [first] = own
    if (given.length === 0 || first === undefined) return []
    return { at, thread, given, sinceBlock: first.line.blockNumber, brings, tokensIn }
  })
}

/**
 * The thread that something came to: what gave just that, in all of its bids; or what was to bring it, or a little less, the
 * nearest of several; or where nothing says what it brings, the only one that waits.
 */
function bringing({ line }: Entry, all: readonly OpenBalance[]): OpenBalance | undefined {
  const waiting = all.filter(
    ({ tokensIn, sinceBlock }) => !tokensIn.has(line.token) && sinceBlock <= line.blockNumber,
  )
  const isGiven = ({ token }: Balance) => token === line.token
  const back = waiting.find(({ given }) =>
    given.some((each) => isGiven(each) && each.assets === -line.assets),
  )
  if (back !== undefined) return back
  const open = waiting.filter(({ given }) => !given.some(isGiven))
  const named = open.flatMap((each) => {
    const { brings } = each
    if (brings === undefined || (brings.token ?? line.token) !== line.token) return []
    const missing = brings.assets - line.assets
    return missing < 0n || missing * 10_000n > brings.assets * MISSING_BPS_MAX ? [] : { each, missing }
  })
  const [nearest] = named.toSorted((one, other) => Number(one.missing - other.missing))
  const [only, ...more] = open
  return nearest?.each ?? (only?.brings === undefined && more.length === 0 ? only : undefined)
}

/** What a thread is to bring, by the last that says so. */
const bringsOf = ({ linked }: Thread) => linked.findLast(({ brings }) => brings !== undefined)?.brings

/** Whether a line is more than what it cost to move something. Pure. */
export const isMoved = ({ line }: Entry): boolean => line.kind !== 'gas'

/** What came less what went, by token, base units. Pure. */
export function netOf(entries: readonly Entry[]): readonly Balance[] {
  return [...Map.groupBy(entries, ({ line }) => line.token)]
    .map(([token, own]) => ({ token, assets: own.reduce((sum, { line }) => sum + line.assets, 0n) }))
    .filter(({ assets }) => assets !== 0n)
}

/** Whether something was given and nothing is there for it yet. Pure. */
export function isPaidAlone({ entries }: Thread): boolean {
  const net = netOf(entries.filter(isMoved))
  return net.length > 0 && net.every(({ assets }) => assets < 0n)
}

/** So long what was paid for may be on its way. */
const ON_ITS_WAY_MS = 7 * 24 * 3_600_000

/**
 * Find what was to bring something, and paid for it a week ago or earlier, when by the newest page neither that nor what was
 * paid is there, came back, or is where it was paid. What is where it was paid belongs to those who paid last. Pure.
 */
export function neverPaid(threads: readonly Thread[], newest: Page | undefined): ReadonlySet<Thread> {
  const lost = new Set<Thread>()
  if (newest === undefined) return lost
  const positions = newest.positions.map((each) => ({ ...each }))
  const waiting = threads
    .filter((thread) => bringsOf(thread) !== undefined && isPaidAlone(thread))
    .map((thread) => ({ thread, lastMs: lastMovedMs(thread) }))
    .toSorted((one, other) => other.lastMs - one.lastMs)
  for (const { thread, lastMs } of waiting) {
    const { entries } = thread
    const at = new Set(entries.map(({ line }) => line.counterparty))
    const brings = bringsOf(thread)
    const wanted = netOf(entries.filter(isMoved)).map(({ token, assets }) => ({ token, least: -assets }))
    if (brings?.token !== undefined)
      wanted.push({ token: brings.token, least: brings.assets - (brings.assets * MISSING_BPS_MAX) / 10_000n })
    const held = positions.find(
      (each) =>
        (each.at === undefined || at.has(each.at)) &&
        wanted.some(({ token, least }) => token === each.token && least <= each.assets),
    )
    if (held !== undefined) held.assets -= wanted.find(({ token }) => token === held.token)?.least ?? 0n
    else if (newest.to.atMs - lastMs >= ON_ITS_WAY_MS) lost.add(thread)
  }
  return lost
}

/** When the last of a thread moved, by the end of its page; Unix milliseconds. */
const lastMovedMs = ({ entries }: Thread): number =>
  Math.max(...entries.filter(isMoved).map(({ page }) => page.to.atMs))

/** Whether a market takes a token as collateral, so that its oracle prices it; all else counts as money. Pure. */
export const isCollateral = ({ tokens }: Page, token: Address | null): boolean =>
  tokens.some((each) => each.token === token && each.isCollateral === true)

import type { Address, Hex } from 'viem'
import type { Balance, Line, Page } from '../journal/accounts.ts'
import { inputText } from '../workflow/proposal.ts'
import type { Workflow } from '../workflow/workflow.ts'

/** What came is marked so long after it came: at once it would be worth what was said. */
export const MARKED_AFTER_MS = 3_600_000

/** A line with what it was worth when it came, millionths of a US dollar, and the workflow that it belongs to. */
export type Entry = {
  readonly page: Page
  readonly line: Line
  readonly usdMicros: bigint
  /** Its own, or of what was given back by another's transaction the one that gave it. */
  readonly workflowId: string | null
}

/** What is summed up: the money of a group of entries, millionths of a US dollar. */
export type Result = {
  readonly key: string
  /** What was expected of the workflows that succeeded, of each opportunity once; what was given back whole is not. */
  readonly said: bigint
  /** Received less paid, each at the price when it moved. */
  readonly moved: bigint
  readonly gas: bigint
  /** By what escrow, claims and shares of vaults changed; null in a group that is no part of the time. */
  readonly positions: bigint | null
  /** By what prices changed what was held already. */
  readonly marked: bigint | null
  readonly workflows: readonly string[]
  readonly hashes: readonly string[]
}

/** What can be summed up by. */
export const GROUPS = ['role', 'day', 'market', 'asset', 'counterparty', 'workflow'] as const
export type Group = (typeof GROUPS)[number]

/** Pages of some signers, each with the one before it, which opens it. */
export type Period = readonly { readonly before: Page; readonly page: Page }[]

/** Take what closed at or after a time; the first page of a signer opens its accounts, and is no part of any period. Pure. */
export function periodOf(pages: readonly Page[], sinceMs: number): Period {
  const byHash = new Map(pages.map((page) => [`${page.signer}:${page.to.hash}`, page]))
  return pages.flatMap((page) => {
    const before = byHash.get(`${page.signer}:${page.from?.hash}`)
    return before === undefined || page.to.atMs < sinceMs ? [] : [{ before, page }]
  })
}

/** List what moved in a period. What came back by another's transaction belongs to what had given as much. Pure. */
export function entriesOf(period: readonly Pick<Period[number], 'page'>[]): readonly Entry[] {
  // What has not come back yet, oldest first, by what coming back would look like: strangers may send as much dust as they like.
  const given = new Map<string, Entry[]>()
  const like = ({ signer }: Page, { token, counterparty }: Line, assets: bigint) =>
    `${signer}:${token}:${counterparty}:${assets}`
  return period.flatMap(({ page }) =>
    page.lines.map((line) => {
      const usdMicros = moneyAt(page, line)
      const isReturn = line.workflowId === null && line.assets > 0n && line.counterparty !== null
      const source = isReturn ? given.get(like(page, line, line.assets))?.shift() : undefined
      const workflowId = line.workflowId ?? source?.workflowId ?? null
      const entry = { page, line, usdMicros, workflowId }
      if (line.workflowId !== null && line.assets < 0n) {
        const key = like(page, line, -line.assets)
        given.set(key, [...(given.get(key) ?? []), entry])
      }
      return entry
    }),
  )
}

/** What an amount was worth at the end of a page, millionths of a US dollar; nothing where it had no price. Pure. */
export function moneyAt({ prices, tokens }: Page, { token, assets }: Balance): bigint {
  const price = prices.find((each) => each.token === token)?.usdMicros ?? 0n
  const decimals = tokens.find((each) => each.token === token)?.decimals ?? 0
  return (assets * price) / 10n ** BigInt(decimals)
}

/**
 * Sum a period up by a group. Pure.
 * @param funds of which roles bid the money: what came back to one is said by its pages alone.
 */
export function resultsOf(
  period: Period,
  by: Group,
  workflows: ReadonlyMap<string, Workflow>,
  funds: Period = [],
): readonly Result[] {
  const entries = entriesOf(period)
  const ofHash = new Map(entries.map(({ line, workflowId }) => [line.hash, workflowId]))
  const ofFunds = entriesOf(funds.map(({ page }) => ({ page: namedBy(page, ofHash) })))
  const said = saidOf([...entries, ...ofFunds], workflows)
  const groups = Map.groupBy(entries, (entry) => keyOf(entry, by, workflows))
  // Said once: where its workflow moved something, or paid gas alone.
  const home = new Map<string | null, string>()
  for (const entry of entries.toSorted((one, other) => Number(isGas(one)) - Number(isGas(other)))) {
    if (!home.has(entry.workflowId)) home.set(entry.workflowId, keyOf(entry, by, workflows))
  }
  const parts = by === 'role' || by === 'day' ? Map.groupBy(period, ({ page }) => partOf(page, by)) : null
  const keys = [...new Set([...groups.keys(), ...(parts?.keys() ?? [])])].toSorted()
  return keys.map((key) => {
    const own = groups.get(key) ?? []
    const ids = [...new Set(own.flatMap(({ workflowId }) => workflowId ?? []))]
    const part = parts?.get(key) ?? []
    return {
      key,
      said: ids.reduce((total, id) => total + (home.get(id) === key ? (said.get(id) ?? 0n) : 0n), 0n),
      moved: sum(own.filter((entry) => !isGas(entry))),
      gas: sum(own.filter(isGas)),
      positions: parts === null ? null : part.reduce((all, each) => all + positionsOf(each), 0n),
      marked: parts === null ? null : part.reduce((all, each) => all + markedOf(each), 0n),
      workflows: ids,
      hashes: [...new Set(own.flatMap(({ line }) => line.hash ?? []))],
    }
  })
}

const isGas = ({ line }: Entry) => line.kind === 'gas'

const sum = (entries: readonly Entry[]) => entries.reduce((all, { usdMicros }) => all + usdMicros, 0n)

const partOf = ({ role, to }: Page, by: 'role' | 'day') =>
  by === 'role' ? role : new Date(to.atMs).toISOString().slice(0, 10)

const NONE = '-'

function keyOf(
  { page, line, workflowId }: Entry,
  by: Group,
  workflows: ReadonlyMap<string, Workflow>,
): string {
  switch (by) {
    case 'role':
    case 'day':
      return partOf(page, by)
    case 'asset':
      return symbolOf(page, line)
    case 'counterparty':
      return line.counterparty ?? NONE
    case 'workflow':
      return workflowId ?? NONE
    case 'market':
      return placeOf(workflows.get(workflowId ?? '')) ?? line.counterparty ?? NONE
  }
}

/** The token of a line, by its symbol. Pure. */
export const symbolOf = ({ tokens }: Page, { token }: Balance): string =>
  tokens.find((each) => each.token === token)?.symbol ?? String(token)

/** The contract that a workflow is about. */
const PLACES = [
  'marketAddress',
  'vaultAddress',
  'rfqAddress',
  'auctionAddress',
  'oracleAddress',
  'fundAddress',
]

function placeOf(workflow: Workflow | undefined): string | undefined {
  const places = PLACES.map((name) => inputText(workflow?.proposal.input ?? {}, name))
  return places.find((place) => place !== undefined)?.toLowerCase()
}

/** What was said, by workflow: of each opportunity the last that succeeded counts, where not all it gave came back. */
function saidOf(
  entries: readonly Entry[],
  workflows: ReadonlyMap<string, Workflow>,
): ReadonlyMap<string, bigint> {
  const subjectOf = (workflow: Workflow) =>
    `${workflow.signer}:${workflow.proposal.lot ?? workflow.proposal.subject}`
  const moved = new Map<string, Map<unknown, bigint>>()
  for (const { line, workflowId } of entries) {
    const workflow = workflows.get(workflowId ?? '')
    if (workflow === undefined || line.kind === 'gas') continue
    const balance = moved.get(subjectOf(workflow)) ?? new Map<unknown, bigint>()
    moved.set(subjectOf(workflow), balance.set(line.token, (balance.get(line.token) ?? 0n) + line.assets))
  }
  const isReturned = (subject: string) => {
    const balance = [...(moved.get(subject)?.values() ?? [])]
    return balance.length > 0 && balance.every((assets) => assets === 0n)
  }
  const last = new Map<string, Workflow>()
  for (const workflow of workflows.values()) {
    if (workflow.state !== 'succeeded' || workflow.proposal.gainUsdMicros === undefined) continue
    const known = last.get(subjectOf(workflow))
    if (known === undefined || known.createdAtMs < workflow.createdAtMs)
      last.set(subjectOf(workflow), workflow)
  }
  return new Map(
    [...last]
      .filter(([subject]) => !isReturned(subject))
      .map(([, { id, proposal }]) => [id, proposal.gainUsdMicros ?? 0n]),
  )
}

/** By what escrow, claims, shares and loans changed, at the prices of the page. Pure. */
export const positionsOf = ({ before, page }: Period[number]): bigint =>
  all(page.positions, page) - all(before.positions, page)

/** What was held already, at the prices of the page less those of the one before. Pure. */
export function markedOf({ before, page }: Period[number]): bigint {
  const held = [...before.closing, ...before.positions]
  return all(held, page) - all(held, before)
}

const all = (balances: readonly Balance[], page: Page) =>
  balances.reduce((total, balance) => total + moneyAt(page, balance), 0n)

/** One account over a period: opening, what moved, and closing; base units or wei. */
export type AccountRow = {
  readonly role: string
  /** Whose money it is, where it is not the signer's. */
  readonly owner: Page['owner']
  readonly signer: Address
  readonly token: Address | null
  readonly symbol: string
  readonly decimals: number
  readonly opening: bigint
  readonly received: bigint
  readonly paid: bigint
  readonly gas: bigint
  readonly unexplained: bigint
  readonly closing: bigint
  /** The last block that is counted, and its hash. */
  readonly block: bigint
  readonly hash: Hex
}

/** Name the workflow of each line by its transaction, of which our signer paid the gas: a fund names none. Pure. */
const namedBy = (page: Page, ofHash: ReadonlyMap<Line['hash'], string | null>): Page => ({
  ...page,
  lines: page.lines.map((line) => ({
    ...line,
    workflowId: line.workflowId ?? ofHash.get(line.hash) ?? null,
  })),
})

/** Sum up each account of a period: opening and all lines make the closing balance, to the base unit. Pure. */
export function balancesOf(period: Period): readonly AccountRow[] {
  const bySigner = Map.groupBy(period, ({ page }) => page.signer)
  return [...bySigner.values()].flatMap((own) => {
    const [first, last] = [own[0], own.at(-1)]
    if (first === undefined || last === undefined) return []
    const lines = own.flatMap(({ page }) => page.lines)
    return last.page.tokens.flatMap(({ token, symbol, decimals }) => {
      const at = (balances: readonly Balance[]) => balances.find((each) => each.token === token)?.assets
      const closing = at(last.page.closing)
      const opened = own.find(({ before }) => at(before.closing) !== undefined)
      const opening = opened === undefined ? closing : at(opened.before.closing)
      if (opening === undefined || closing === undefined) return []
      const of = (kinds: readonly Line['kind'][], isIn: (assets: bigint) => boolean = () => true) =>
        lines
          .filter((line) => line.token === token && kinds.includes(line.kind) && isIn(line.assets))
          .reduce((total, { assets }) => total + assets, 0n)
      return {
        ...{ role: last.page.role, owner: last.page.owner, signer: last.page.signer },
        ...{ token, symbol, decimals, opening, closing },
        received: of(['moved', 'flow'], (assets) => assets > 0n),
        paid: of(['moved', 'flow', 'sent'], (assets) => assets < 0n),
        gas: of(['gas']),
        unexplained: of(['unexplained']),
        block: last.page.to.number,
        hash: last.page.to.hash,
      }
    })
  })
}

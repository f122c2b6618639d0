import type { Line, Page } from '../journal/sqlite/accounts.ts'
import { moneyAt, type Period } from './period.ts'

/** What came is marked so long after it came: at once it would be worth what was expected. */
export const MARKED_AFTER_MS = 3_600_000

/** A line with what it was worth when it came, millionths of a US dollar, and the workflow that it belongs to. */
export type Entry = {
  readonly page: Page
  readonly line: Line
  readonly usdMicros: bigint
  /** Its own, or of what was given back by another's transaction the one that gave it. */
  readonly workflowId: string | null
}

/** What is given and what comes back of it have this in common. Pure. */
export const backKey = ({ signer }: Page, { token, counterparty, assets }: Line): string =>
  `${signer}:${token}:${counterparty}:${assets < 0n ? -assets : assets}`

/** List what moved in a period. What came back by another's transaction belongs to what had given as much. Pure. */
export function entriesOf(period: readonly Pick<Period[number], 'page'>[]): readonly Entry[] {
  // What has not come back yet, oldest first, by what coming back would look like: strangers may send as much dust as they like.
  const given = new Map<string, Entry[]>()
  return period.flatMap(({ page }) =>
    page.lines.map((line) => {
      const usdMicros = moneyAt(page, line)
      const isReturn = line.workflowId === null && line.assets > 0n && line.counterparty !== null
      const source = isReturn ? given.get(backKey(page, line))?.shift() : undefined
      const workflowId = line.workflowId ?? source?.workflowId ?? null
      const entry = { page, line, usdMicros, workflowId }
      if (line.workflowId !== null && line.assets < 0n) {
        const key = backKey(page, line)
        const before = given.get(key) ?? []
        before.push(entry)
        given.set(key, before)
      }
      return entry
    }),
  )
}

/** Name the workflow of each line by its transaction, of which our signer paid the gas: a fund names none. Pure. */
export const namedBy = (page: Page, ofHash: ReadonlyMap<Line['hash'], string | null>): Page => ({
  ...page,
  lines: page.lines.map((line) => ({
    ...line,
    workflowId: line.workflowId ?? ofHash.get(line.hash) ?? null,
  })),
})

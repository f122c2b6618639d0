import type { Address } from 'viem'
import type { Page } from '../journal/sqlite/accounts.ts'
import { entriesOf } from './entries.ts'
import { markedOf, type Period, positionsOf } from './period.ts'

/** What a period brought a vault or a fund, millionths of a US dollar: none of it is the signer's. */
export type WorkedFor = {
  readonly account: Address
  readonly owner: NonNullable<Page['owner']>
  readonly role: Page['role']
  /** What those who own it put in, less what they took. */
  readonly flows: bigint
  /** Traded and lent: what came less what went, and what its claims on markets and its leading bids changed by. */
  readonly earned: bigint
  /** What prices did to what was held before: nothing was sold. */
  readonly marked: bigint
  readonly hashes: readonly string[]
}

/** Sum up what a period brought each vault and fund. Pure. */
export function workedForOf(period: Period): readonly WorkedFor[] {
  return [...Map.groupBy(period, ({ page }) => page.signer)].flatMap(([account, own]) => {
    const [first] = own
    if (first?.page.owner === undefined) return []
    const entries = entriesOf(own)
    const sum = (isFlow: boolean) =>
      entries.reduce(
        (all, { line, usdMicros }) => ((line.kind === 'moved') === isFlow ? all : all + usdMicros),
        0n,
      )
    return {
      account,
      owner: first.page.owner,
      role: first.page.role,
      flows: sum(true),
      earned: sum(false) + own.reduce((all, each) => all + positionsOf(each), 0n),
      marked: own.reduce((all, each) => all + markedOf(each), 0n),
      hashes: [...new Set(entries.flatMap(({ line }) => line.hash ?? []))],
    }
  })
}

import type { Address, Hex } from 'viem'
import type { Balance, Line, Page } from '../journal/sqlite/accounts.ts'
import type { Period } from './period.ts'

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
  /** Whether its token is read no more since then: it was taken off the deployment. */
  readonly isUnread: boolean
  /** The last block that is counted, and its hash. */
  readonly block: bigint
  readonly hash: Hex
}

/** Sum up each account of a period: opening and all lines make the closing balance, to the base unit. Pure. */
export function balancesOf(period: Period): readonly AccountRow[] {
  const bySigner = Map.groupBy(period, ({ page }) => page.signer)
  return [...bySigner.values()].flatMap((own) => {
    const [first, last] = [own[0], own.at(-1)]
    if (first === undefined || last === undefined) return []
    const lines = own.flatMap(({ page }) => page.lines)
    return last.page.tokens.flatMap(({ token, symbol, decimals, readUntil }) => {
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
        role: last.page.role,
        owner: last.page.owner,
        signer: last.page.signer,
        token,
        symbol,
        decimals,
        opening,
        closing,
        received: of(['moved', 'flow'], (assets) => assets > 0n),
        paid: of(['moved', 'flow', 'sent'], (assets) => assets < 0n),
        gas: of(['gas']),
        unexplained: of(['unexplained']),
        isUnread: readUntil !== undefined,
        block: (readUntil ?? last.page.to).number,
        hash: (readUntil ?? last.page.to).hash,
      }
    })
  })
}

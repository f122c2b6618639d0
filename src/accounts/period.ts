import type { Balance, Page } from '../journal/sqlite/accounts.ts'

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

/** What an amount was worth at the end of a page, millionths of a US dollar; nothing where it had no price. Pure. */
export function moneyAt({ prices, tokens }: Page, { token, assets }: Balance): bigint {
  const price = prices.find((each) => each.token === token)?.usdMicros ?? 0n
  const decimals = tokens.find((each) => each.token === token)?.decimals ?? 0
  return (assets * price) / 10n ** BigInt(decimals)
}

/** The token of a line, by its symbol. Pure. */
export const symbolOf = ({ tokens }: Page, { token }: Pick<Balance, 'token'>): string =>
  tokens.find((each) => each.token === token)?.symbol ?? String(token)

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

import type { Address } from 'viem'
import type { Balance, Line, Page, Position } from '../journal/sqlite/accounts.ts'
import type { Deployment } from '../service/contract/deployment.ts'

/**
 * Go on with what was taken off the deployment or the policy since the last page, as it was read last: a token, what was at a
 * contract, a price. Nothing of it is lost; nobody reads it any more. What came from such a contract is there no more. Pure.
 * @param lines what moved since the last page.
 */
export function markUnread(
  read: Omit<Page, 'lines'>,
  lines: readonly Line[],
  last: Page,
  { markets, vaults, contracts }: Pick<Deployment, 'markets' | 'vaults' | 'contracts'>,
): Omit<Page, 'lines'> {
  const of = (token: Address | null) => (each: { readonly token: Address | null }) => each.token === token
  const isRead = ({ token }: Pick<Balance, 'token'>) => read.tokens.some(of(token))
  const known = new Set([...markets, ...vaults, ...contracts].map(({ address }) => address))
  const left = last.positions.filter((each) => (each.at === undefined ? !isRead(each) : !known.has(each.at)))
  const cameFrom = ({ at, token }: Position) =>
    lines.reduce(
      (sum, line) =>
        line.counterparty === at && line.token === token && line.assets > 0n ? sum + line.assets : sum,
      0n,
    )
  const rest = left.flatMap((each) => {
    const assets = each.assets - cameFrom(each)
    return assets > 0n ? { ...each, assets } : []
  })
  const positions = [...read.positions, ...rest]
  const held = [...last.closing, ...positions].filter(({ assets }) => assets !== 0n)
  const tokens = last.tokens
    .filter((each) => !isRead(each) && held.some(of(each.token)))
    .map((each) => ({ ...each, readUntil: each.readUntil ?? last.to }))
  const all = [...read.tokens, ...tokens]
  const prices = last.prices
    .filter(({ token }) => all.some(of(token)) && !read.prices.some(of(token)))
    .map((each) => ({ ...each, readUntil: each.readUntil ?? last.to }))
  return {
    ...read,
    tokens: all,
    positions,
    closing: [...read.closing, ...last.closing.filter(({ token }) => tokens.some(of(token)))],
    prices: [...read.prices, ...prices],
  }
}

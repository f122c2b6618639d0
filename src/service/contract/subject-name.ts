import { short } from '../../readable.js'
import type { PinnedDeployment } from './deployment.ts'

/** What is pinned, by its name: a market by its assets where no other has the same. */
function namedOf({ assets, markets, vaults, funds, contracts }: PinnedDeployment) {
  const symbolOf = (address: string) => assets.find((asset) => asset.address === address)?.symbol ?? '?'
  const pairs = markets.map((market) => `${symbolOf(market.collateralAsset)}/${symbolOf(market.loanAsset)}`)
  const isOnly = (pair: string | undefined) => pairs.filter((each) => each === pair).length === 1
  return [
    ...markets.map(({ address, name }, index) => ({
      address,
      name: isOnly(pairs[index]) ? pairs[index] : (name ?? short(address)),
    })),
    ...[...vaults, ...funds, ...contracts, ...markets],
    ...assets.map(({ address, symbol }) => ({ address, name: symbol })),
  ]
}

/**
 * Name what a workflow or a decision is about (`market:vault:borrower`, `contract:number`) as people do: what is pinned by
 * its name, any other address by its ends. `explain` finds it by that. Pure.
 */
export function subjectName(subject: string, known: PinnedDeployment): string {
  const named = namedOf(known)
  const nameOf = (part: string) => named.find(({ address }) => address === part)?.name ?? short(part)
  return subject.split(':').map(nameOf).join(' ')
}

/** Find what is pinned under a name, in whatever case where no other differs by that alone; null where nothing is. Pure. */
export function pinnedUnder(name: string, known: PinnedDeployment): string | null {
  const named = namedOf(known)
  const alike = named.filter((each) => each.name?.toLowerCase() === name.toLowerCase())
  const exact = alike.find((each) => each.name === name)
  const isOne = new Set(alike.map(({ address }) => address)).size === 1
  return (exact ?? (isOne ? alike[0] : undefined))?.address ?? null
}

import { short } from '../../readable.js'
import type { Deployment } from './deployment.ts'

/** What is pinned under a name: a market without one of its own goes by its assets. */
const namedOf = ({ assets, markets, vaults, funds, contracts }: Deployment) => {
  const symbolOf = (address: string) => assets.find((asset) => asset.address === address)?.symbol ?? '?'
  return [
    ...markets.map(({ address, name, collateralAsset, loanAsset }) => ({
      address,
      name: name ?? `${symbolOf(collateralAsset)}/${symbolOf(loanAsset)}`,
    })),
    ...[...vaults, ...funds, ...contracts],
    ...assets.map(({ address, symbol }) => ({ address, name: symbol })),
  ]
}

/**
 * Name what a workflow or a decision is about (`market:vault:borrower`, `contract:number`) as people do: what is pinned by
 * its name, any other address by its ends. `explain` finds it by that. Pure.
 */
export function subjectName(subject: string, known: Deployment): string {
  const named = namedOf(known)
  const nameOf = (part: string) => named.find(({ address }) => address === part)?.name ?? short(part)
  return subject.split(':').map(nameOf).join(' ')
}

/** Find what is pinned under a name; null where nothing is. Pure. */
export const pinnedUnder = (name: string, known: Deployment): string | null =>
  namedOf(known).find((each) => each.name === name)?.address ?? null

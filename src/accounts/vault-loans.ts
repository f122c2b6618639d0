import { type Address, parseAbi } from 'viem'
import type { Head, Nodes } from '../chain/nodes.ts'
import { createReads, createView, uint } from '../guard/reads/views.ts'
import { allocatedView } from '../guard/sanity/allocator/views.ts'
import type { Balance, VaultLoan } from '../journal/sqlite/accounts.ts'
import type { Deployment } from '../service/contract/deployment.ts'

const view = createView(parseAbi(['function supplyRatePerSecond() view returns (uint256)']))
const rateView = (market: Address) => view('supplyRatePerSecond', market, [], uint)

/** Read what a vault has in each market at a block. Where a market does not say it, nothing is lent there. Throws `node.*`. */
export async function readVaultLoans(
  vault: Address,
  { markets }: Pick<Deployment, 'markets'>,
  nodes: Pick<Nodes, 'calls'>,
  head: Head,
): Promise<readonly (VaultLoan & Balance)[]> {
  const reads = createReads()
  const asked = markets.map(({ address: market, loanAsset: token }) => ({
    market,
    token,
    assets: reads.ask(allocatedView(market, vault)),
    rate: reads.ask(rateView(market)),
  }))
  reads.fill(await nodes.calls(reads.calls, head))
  return asked.map(({ market, token, assets, rate }) => ({
    market,
    token,
    assets: assets() ?? 0n,
    ratePerSecondWad: rate() ?? 0n,
  }))
}

/** Read what each market pays its lenders at a block, a wad a second; those that do not say it are left out. Throws `node.*`. */
export async function readRates(
  { markets }: Pick<Deployment, 'markets'>,
  nodes: Pick<Nodes, 'calls'>,
  head: Head,
): Promise<ReadonlyMap<Address, bigint>> {
  const reads = createReads()
  const asked = markets.map(({ address }) => ({ address, rate: reads.ask(rateView(address)) }))
  reads.fill(await nodes.calls(reads.calls, head))
  return new Map(
    asked.flatMap(({ address, rate }) => {
      const answer = rate()
      return answer === null ? [] : [[address, answer] as const]
    }),
  )
}

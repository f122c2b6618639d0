import { type Address, parseAbi } from 'viem'
import { z } from 'zod'
import type { Head, Nodes } from '../chain/nodes.ts'
import { address, createReads, createView, uint, type View } from '../guard/reads/views.ts'
import { lotView } from '../guard/sanity/asset-manager/views.ts'
import type { Position } from '../journal/sqlite/accounts.ts'
import type { Deployment } from '../service/contract/deployment.ts'

const view = createView(
  parseAbi([
    'function reservedAssets() view returns (uint256)',
    'function lastReservationId() view returns (uint256)',
    'function reservation(uint256 reservationId) view returns (uint8 status, address house, uint256 lotId, uint256 epochId, uint256 assets)',
  ]),
)
const reservation = z.tuple([uint, address, uint, uint, uint])
/** A fund's code of a reservation that is neither released nor spent, and a house's of a lot that is not awarded. */
const [ACTIVE, OPEN] = [1n, 1n]

/** One that was outbid may stay active for ever: so many of the newest are looked at. */
const RESERVATIONS_MAX = 300n

/**
 * Read what the deployment's houses have of a fund at a block: in bids that lead. What the fund calls reserved is more, as
 * what was outbid is back with it and stays reserved until somebody releases it. Where a contract does not say it, nothing
 * is there. Throws `node.*`.
 */
export async function readLeadingBids(
  fund: Address,
  { funds, contracts }: Pick<Deployment, 'funds' | 'contracts'>,
  nodes: Pick<Nodes, 'calls'>,
  head: Head,
): Promise<readonly Position[]> {
  const token = funds.find((each) => each.address === fund)?.quoteAsset
  if (token === undefined) return []
  const ask = async <T>(views: readonly View<T>[]) => {
    const reads = createReads()
    const asked = views.map((each) => reads.ask(each))
    reads.fill(await nodes.calls(reads.calls, head))
    return asked.map((read) => read())
  }
  const [reserved, last] = await ask(
    (['reservedAssets', 'lastReservationId'] as const).map((name) => view(name, fund, [], uint)),
  )
  const newest = last ?? 0n
  const count = reserved ? (newest < RESERVATIONS_MAX ? newest : RESERVATIONS_MAX) : 0n
  const ids = Array.from({ length: Number(count) }, (_, index) => newest - BigInt(index))
  const found = await ask(ids.map((id) => view('reservation', fund, [id], reservation)))
  const bids = found.flatMap((each) => {
    const [status, at, lotId] = each ?? []
    return status === ACTIVE && at && lotId && contracts.some((one) => one.address === at)
      ? { at, lotId }
      : []
  })
  const lots = await ask(bids.map(({ at, lotId }) => lotView(at, lotId)))
  return bids.flatMap(({ at }, index) => {
    const lot = lots[index]
    return lot?.state === OPEN && lot.bestBidder === fund ? { at, token, assets: lot.bestAssets } : []
  })
}

import type { Moment } from '../agent.ts'
import type { Recovered } from '../protocol/experience.ts'
import { tokenUnit } from '../protocol/health.ts'
import { withFee } from './bid.ts'
import { lotOf } from './lot.ts'
import type { ManagerPolicy } from './policy.ts'
import type { ManagerSeen } from './seen.ts'

/**
 * List what funds of ours bought and sold again, and lots that others won, by the service's rows. Pure. What is not known
 * is left out.
 */
export function recoveredOf(seen: Moment & ManagerSeen, policy: ManagerPolicy): readonly Recovered[] {
  const { funds, sold, signer } = seen
  const ours = new Set(funds.flatMap(({ row }) => (row.managerAddress === signer ? row.address : [])))
  const lost = sold.filter(({ winnerAddress }) => winnerAddress !== null && !ours.has(winnerAddress))
  return [
    ...resold(seen, policy),
    ...lost.map((row) => ({
      lot: lotOf(row),
      paidUsdMicros: 0n,
      cameUsdMicros: null,
      atMs: Date.parse(row.closesAt),
    })),
  ]
}

function resold(
  { funds, deployment, signer }: Moment & ManagerSeen,
  { bidding }: ManagerPolicy,
): readonly Recovered[] {
  return funds.flatMap(({ row }) => {
    const quote = deployment.assets.find(({ address }) => address === row.quoteAssetAddress)
    const price = quote === undefined ? undefined : bidding.quoteAssets[quote.symbol]?.priceUsdMicros
    if (quote === undefined || price === undefined || row.managerAddress !== signer) return []
    const usdOf = (assets: bigint) => (assets * price) / tokenUnit(quote.decimals)
    return (row.holdings ?? []).flatMap(
      ({ holdingStatus, positionId, transferPriceAssets, recoveryValueAssets, disposedAt }) => {
        if (holdingStatus !== 'disposed' || disposedAt == null) return []
        if (transferPriceAssets == null || recoveryValueAssets == null) return []
        return {
          lot: positionId.toLowerCase(),
          paidUsdMicros: usdOf(withFee(BigInt(transferPriceAssets), bidding)),
          cameUsdMicros: usdOf(BigInt(recoveryValueAssets)),
          atMs: Date.parse(disposedAt),
        }
      },
    )
  })
}

import type { Address } from 'viem'
import type { Answer } from '../agent.ts'
import { liquidationViews } from '../protocol/liquidation-views.ts'
import type { Wave } from '../protocol/reading.ts'
import type { ClaimSeen } from './seen.ts'

type Answers = readonly Answer[]
type PinnedMarket = { readonly address: Address; readonly collateralAsset: Address }
type Read = (answers: Answers) => ClaimSeen | null

/** Our open claims after the first wave: what the second asks, and how both are read. */
type ClaimReads = {
  /** The claims, or null when any of their reads failed, so that none is overlooked. */
  readonly seen: (second: Answers) => readonly ClaimSeen[] | null
}

/**
 * Ask for the signer's unsettled claims in each pinned market: their numbers, and in the same wave the details of
 * those that were `known` before. The returned function reads the answers, and asks in a second wave about the claims
 * that they revealed.
 */
export function askClaims(
  wave: Wave,
  markets: readonly PinnedMarket[],
  signer: Address,
  known: readonly ClaimSeen[],
): (first: Answers, second: Wave) => ClaimReads {
  const asked = markets.map((market) => ({
    market,
    openIds: wave.ask(liquidationViews, market.address, 'openClaims', [signer]),
    details: new Map(
      known
        .filter((claim) => claim.marketAddress === market.address)
        .map(({ claimId }) => [claimId, askClaim(wave, market, claimId)]),
    ),
  }))
  return (first, second) => {
    const reads = asked.map(({ market, openIds, details }) =>
      openIds(first)?.map((claimId): Read => {
        const known = details.get(claimId)
        return known === undefined ? askClaim(second, market, claimId) : () => known(first)
      }),
    )
    return {
      seen: (answers) => {
        const claims = reads.flatMap((ofMarket) => ofMarket?.map((read) => read(answers)) ?? [null])
        const known = claims.filter((claim) => claim !== null)
        return known.length === claims.length ? known : null
      },
    }
  }
}

function askClaim(wave: Wave, { address, collateralAsset }: PinnedMarket, claimId: bigint): Read {
  const read = wave.ask(liquidationViews, address, 'claim', [claimId])
  return (answers) => {
    const claim = read(answers)
    if (claim === null) return null
    return {
      marketAddress: address,
      claimId,
      collateralAsset,
      collateralAssets: claim[4],
      settleableAtS: Number(claim[5]),
    }
  }
}

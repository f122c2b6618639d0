import type { Address } from 'viem'
import type { ClaimSeen } from '../../../agents/agent.ts'
import { type Batch, readClaim, readOpenClaims } from '../views.ts'
import type { PinnedMarket } from './pins.ts'

/** Our open claims, as they are being read. */
type ClaimReads = {
  /** After the first wave: ask about the claims that it revealed. */
  readonly askNew: (second: Batch) => void
  /** After both waves: the claims, or null when any of their reads failed, so that none is overlooked. */
  readonly seen: () => readonly ClaimSeen[] | null
}

/**
 * Ask for the signer's unsettled claims in each pinned market: their numbers, and in the same wave the details of
 * those that were `known` before.
 */
export function askClaims(
  batch: Batch,
  markets: readonly PinnedMarket[],
  signer: Address,
  known: readonly ClaimSeen[],
): ClaimReads {
  const asked = markets.map((market) => ({
    market,
    openIds: batch.ask(readOpenClaims(market.address, signer)),
    details: new Map(
      known
        .filter((claim) => claim.marketAddress === market.address)
        .map(({ claimId }) => [claimId, batch.ask(readClaim(market.address, claimId))]),
    ),
  }))
  return {
    askNew: (second) => {
      for (const { market, openIds, details } of asked) {
        for (const id of openIds() ?? []) {
          if (!details.has(id)) details.set(id, second.ask(readClaim(market.address, id)))
        }
      }
    },
    seen: () => {
      const claims: ClaimSeen[] = []
      for (const { market, openIds, details } of asked) {
        const ids = openIds()
        if (ids === null) return null
        for (const claimId of ids) {
          const claim = details.get(claimId)?.() ?? null
          if (claim === null) return null
          claims.push({
            marketAddress: market.address,
            claimId,
            collateralAsset: market.collateralAsset,
            ...claim,
          })
        }
      }
      return claims
    },
  }
}

import type { Commitments, Venue } from './commitments.ts'
import type { RfqBidderPolicy } from './policy.ts'
import type { Priced } from './price.ts'
import { assetsFor } from './value.ts'

/** The most that limits leave for a bid, base units of the quote asset, and the tightest one's name. */
export type Headroom = { readonly limitedBy: string; readonly assets: bigint }

/**
 * Return what the limits of the policy and our funds leave for a bid. Pure.
 * @param standing what the bid that it replaces has in escrow, base units of the quote asset: that counts once.
 */
export function headroomFor(
  { asset, quote, terms }: Priced,
  at: Venue,
  standing: bigint,
  commitments: Commitments,
  policy: RfqBidderPolicy,
): Headroom {
  const taken = (counts: (escrow: Commitments['escrows'][number]) => boolean) =>
    commitments.escrows.filter(counts).reduce((sum, { usdMicros }) => sum + usdMicros, 0n)
  const left = (usdMicrosMax: bigint, takenUsdMicros: bigint) =>
    assetsFor(usdMicrosMax - takenUsdMicros, quote) + standing
  const rooms: readonly Headroom[] = [
    { limitedBy: 'bid_max', assets: assetsFor(policy.bidUsdMicrosMax, quote) },
    {
      limitedBy: 'open_bids_max',
      assets: left(
        policy.openBidsUsdMicrosMax,
        taken(() => true),
      ),
    },
    {
      limitedBy: 'asset_bids_max',
      // What is not known to be for another asset may be for this one.
      assets: left(
        terms.openBidsUsdMicrosMax,
        taken((escrow) => escrow.asset === asset.address || escrow.asset === null),
      ),
    },
    { limitedBy: 'out_of_funds', assets: (commitments.tokens.get(quote.address) ?? 0n) + standing },
    ...(at === 'rfq'
      ? []
      : [
          {
            limitedBy: 'owed_max',
            assets: left(
              policy.auction.owedUsdMicrosMax,
              taken((escrow) => escrow.at === 'auction'),
            ),
          },
        ]),
  ]
  const tightest = rooms.reduce((least, headroom) => (headroom.assets < least.assets ? headroom : least))
  return tightest.assets > 0n ? tightest : { ...tightest, assets: 0n }
}

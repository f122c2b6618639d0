import type { Address } from 'viem'
import { z } from 'zod'
import { refuse } from '../../../errors.ts'
import {
  byToken,
  contractName,
  nonEmpty,
  pinnedSymbol,
  positiveAssets,
  settings,
} from '../../../service/contract/yaml-scalars.ts'
import type { Denomination } from '../../../units.ts'
import { balanceView, type Reads } from '../../reads/views.ts'
import { holdingOf, judgeHoldings, partsOf, readAll } from '../holdings.ts'
import { type JudgedCase, keysOf, unread } from '../judgement.ts'
import { referenceLimit } from '../second-price.ts'
import { commitmentsView } from './views.ts'

const escrowAssetsMax = (pinned: readonly Denomination[]) =>
  byToken(pinned, nonEmpty(pinnedSymbol, positiveAssets(pinned), 'bid'))

/** Members of the RFQ bidder's `guard.sanity` that bound all of its bids together, as the venues themselves count them. */
export const escrowLimits = (pinned: readonly Denomination[]) => ({
  /** Names in deployment.contracts: where bids have their escrow, all of it counted together. */
  venues: z.array(contractName).min(1).max(20),
  /** Most in escrow at once by quote asset, whatever it is for. */
  escrowAssetsMax: escrowAssetsMax(pinned),
  assets: byToken(
    pinned,
    nonEmpty(
      pinnedSymbol,
      settings({
        /** Most in escrow for it at once, by quote asset. */
        escrowAssetsMax: escrowAssetsMax(pinned),
        /** Most of it that we hold and that open bids may win, together; base units. */
        inventoryAssetsMax: positiveAssets(pinned),
        ...referenceLimit,
      }),
      'bid for',
    ),
  ),
})
type EscrowLimits = Readonly<z.output<z.ZodObject<ReturnType<typeof escrowLimits>>>>

/** What is bid for, and what it is paid in. */
type Pair = { readonly asset: Address; readonly quoteAsset: Address }

/** Ask what each key has at each venue, for each asset in each quote asset, and what it holds itself. */
function askKeys(
  keys: readonly Address[],
  {
    venues,
    assets,
    quotes,
  }: Readonly<Record<'venues' | 'assets' | 'quotes', readonly { address: Address }[]>>,
  after: Reads,
) {
  const pairs = assets.flatMap(({ address: asset }) =>
    quotes.flatMap(({ address: quoteAsset }) => (quoteAsset === asset ? [] : [{ asset, quoteAsset }])),
  )
  return {
    asked: keys.flatMap((signer) =>
      venues.flatMap(({ address }) =>
        pairs.map((pair) => {
          const view = commitmentsView(address, signer, pair.asset, pair.quoteAsset)
          return { signer, ...pair, read: after.ask(view) }
        }),
      ),
    ),
    balances: keys.flatMap((signer) =>
      assets.map(({ address: asset }) => {
        return { signer, asset, read: after.ask(balanceView(asset, signer)) }
      }),
    ),
  }
}

/**
 * Ask what all bids of the keys that share these limits come to once a bundle ran, the one that is judged among them, as
 * the venues count it: it owes nothing to what the service lists. Pure.
 */
export function askEscrow(
  limits: EscrowLimits,
  { subject, after }: JudgedCase,
  venue: Address,
  readOffer: () => Pair | null,
) {
  const { deployment } = subject
  const keys = keysOf(subject)
  const venues = deployment.contracts.filter(({ name }) => limits.venues.includes(name))
  const quotes = deployment.assets.filter(({ symbol }) => symbol in limits.escrowAssetsMax)
  const { asked, balances } = askKeys(keys, { venues, assets: deployment.assets, quotes }, after)
  return judgeHoldings(() => {
    const offer = readOffer()
    if (offer === null) return unread('what is bid for')
    if (venues.length < limits.venues.length || venues.every(({ address }) => address !== venue)) {
      return refuse(
        'venue_not_counted',
        `guard.sanity.venues are ${limits.venues.join(', ')}; one is not pinned, or ${venue} is none of them.`,
      )
    }
    const asset = deployment.assets.find(({ address }) => address === offer.asset)
    const quote = quotes.find(({ address }) => address === offer.quoteAsset)
    const own = asset === undefined ? undefined : limits.assets[asset.symbol]
    if (asset === undefined || quote === undefined || own === undefined) {
      return refuse(
        'asset_not_listed',
        'guard.sanity lists no limits for what is sold and what it is paid in.',
      )
    }
    const isForIt = (each: { readonly asset: Address }) => each.asset === asset.address
    const known = readAll(asked)
    const held = readAll(balances.filter(isForIt))
    if (known === null || held === null) return unread('what our bids come to')
    const paid = known.filter(({ quoteAsset }) => quoteAsset === quote.address)
    const escrowOf = (rows: typeof known) => partsOf(rows, ({ escrowAssets }) => escrowAssets)
    const winnable = partsOf(known.filter(isForIt), ({ winnableAmount }) => winnableAmount)
    // Without a limit nothing is allowed.
    const inAll = {
      check: 'escrow_above_limit',
      of: 'in escrow',
      token: quote.address,
      assetsMax: limits.escrowAssetsMax[quote.symbol] ?? 0n,
    }
    const forIt = {
      check: 'asset_escrow_above_limit',
      of: `in escrow for ${asset.symbol}`,
      token: quote.address,
      assetsMax: own.escrowAssetsMax[quote.symbol] ?? 0n,
    }
    const inventory = {
      check: 'inventory_above_limit',
      of: 'held or to be won',
      token: asset.address,
      assetsMax: own.inventoryAssetsMax,
    }
    const holdings = [
      holdingOf(inAll, keys, escrowOf(paid)),
      holdingOf(forIt, keys, escrowOf(paid.filter(isForIt))),
      holdingOf(inventory, keys, [...partsOf(held, (assets) => assets), ...winnable]),
    ]
    return { ok: true, holdings }
  }, deployment)
}

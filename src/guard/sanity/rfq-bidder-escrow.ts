import type { Address } from 'viem'
import { z } from 'zod'
import { type Refusal, refuse } from '../../errors.ts'
import {
  byToken,
  contractName,
  nonEmpty,
  pinnedSymbol,
  positiveAssets,
  settings,
} from '../../service/contract/yaml-scalars.ts'
import { type Denomination, tokens } from '../../units.ts'
import { balanceView } from '../views.ts'
import { type About, unread } from './judgement.ts'
import { type CommitmentRead, commitmentsView } from './rfq-bidder-views.ts'

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
      }),
      'bid for',
    ),
  ),
})
type EscrowLimits = Readonly<z.output<z.ZodObject<ReturnType<typeof escrowLimits>>>>

/** What the venues show of us in one asset and one quote asset, at one venue each. */
type Asked = {
  readonly asset: Address
  readonly quoteAsset: Address
  readonly read: () => CommitmentRead | null
}

/**
 * Ask the venues what all our bids come to once a bundle ran, the one that is judged among them. The answer refuses
 * where that passes a limit; it owes nothing to what the service lists. Pure.
 */
export function askEscrow(limits: EscrowLimits, { subject, after }: About, venue: Address) {
  const { deployment, self } = subject
  const venues = deployment.contracts.filter(({ name }) => limits.venues.includes(name))
  const quotes = deployment.assets.filter(({ symbol }) => symbol in limits.escrowAssetsMax)
  const asked = venues.flatMap(({ address }) =>
    deployment.assets.flatMap((asset) =>
      quotes
        .filter((quote) => quote.address !== asset.address)
        .map(
          (quote): Asked => ({
            asset: asset.address,
            quoteAsset: quote.address,
            read: after.ask(commitmentsView(address, self, asset.address, quote.address)),
          }),
        ),
    ),
  )
  const balances = new Map(
    deployment.assets.map(({ address }) => [address, after.ask(balanceView(address, self))]),
  )
  return (offer: { readonly asset: Address; readonly quoteAsset: Address }): Refusal | null => {
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
    const known = readAll(asked)
    const balance = balances.get(asset.address)?.() ?? null
    if (known === null || balance === null) return unread('what our bids come to')
    const paid = known.filter(({ quoteAsset }) => quoteAsset === quote.address)
    const wanted = known.filter((each) => each.asset === asset.address)
    const inAll = sum(paid, 'escrowAssets')
    const forIt = sum(
      paid.filter((each) => each.asset === asset.address),
      'escrowAssets',
    )
    const held = balance + sum(wanted, 'winnableAmount')
    return (
      above('escrow_above_limit', 'in escrow', quote, inAll, limits.escrowAssetsMax[quote.symbol]) ??
      above(
        'asset_escrow_above_limit',
        `in escrow for ${asset.symbol}`,
        quote,
        forIt,
        own.escrowAssetsMax[quote.symbol],
      ) ??
      above('inventory_above_limit', 'held or to be won', asset, held, own.inventoryAssetsMax)
    )
  }
}

type Known = Omit<Asked, 'read'> & CommitmentRead

/** Every answer; null where one is missing. */
function readAll(asked: readonly Asked[]): readonly Known[] | null {
  const known: Known[] = []
  for (const { read, ...of } of asked) {
    const found = read()
    if (found === null) return null
    known.push({ ...of, ...found })
  }
  return known
}

const sum = (known: readonly Known[], what: keyof CommitmentRead): bigint =>
  known.reduce((total, each) => total + each[what], 0n)

/** Refuse more than a limit; without a limit nothing is allowed. */
function above(check: string, where: string, of: Denomination, assets: bigint, limit = 0n): Refusal | null {
  if (assets <= limit) return null
  return refuse(
    check,
    `With this bid ${tokens(assets, of)} would be ${where}, as the venues count it; the policy allows ${tokens(limit, of)}.`,
  )
}

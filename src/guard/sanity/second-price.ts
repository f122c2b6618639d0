import type { Address } from 'viem'
import { type Refusal, refuse } from '../../errors.ts'
import type { PinnedMarket } from '../../service/contract/deployment.ts'
import { contractName } from '../../service/contract/yaml-scalars.ts'
import { percent } from '../../units.ts'
import { type JudgedCase, unread } from './judgement.ts'
import { checkUsable, type PriceRead, priceView } from './price.ts'
import { BPS, priceText } from './units.ts'

/** A member of what `guard.sanity.assets` says of an asset. */
export const referenceLimit = {
  /** A name in deployment.contracts: it prices the asset as a market's oracle does, and from another source. */
  referenceContract: contractName,
}

type Limits = {
  readonly assets: Readonly<Record<string, { readonly referenceContract: string }>>
  readonly priceAgeSMax: bigint
  readonly priceDivergenceBpsMax: bigint
}

/** Name the second sources that limits of assets, or of pairs, name. Pure. */
export const referencesOf = (place: string, of: Limits['assets']): readonly (readonly [string, string])[] =>
  Object.entries(of).map(([name, { referenceContract }]) => [
    `${place}.${name}.referenceContract`,
    referenceContract,
  ])

/**
 * Ask the second source of every asset that the policy lists, and refuse a price of a market's oracle that it does not
 * bear out: service, oracle and fund may read one and the same wrong price. An asset without a second source is never
 * bought.
 */
export function askSecondPrice(limits: Limits, { subject: { deployment }, before }: JudgedCase) {
  const asked = deployment.assets.flatMap(({ symbol, address }) => {
    const name = limits.assets[symbol]?.referenceContract
    const second = deployment.contracts.find((contract) => contract.name === name)
    if (second === undefined) return []
    return { asset: address, source: second.address, read: before.ask(priceView(second.address)) }
  })
  return (asset: Address, price: PriceRead, market: PinnedMarket, timestampS: number): Refusal | null => {
    const second = asked.find((one) => one.asset === asset)
    if (second === undefined || second.source === market.oracle) {
      return refuse(
        'no_second_price',
        `Nothing but the oracle of ${market.address} prices ${asset}. Fix: name another source of it in guard.sanity.assets, and pin that in deployment.contracts.`,
      )
    }
    const found = second.read()
    if (found === null) return unread('the second source of the price')
    const unusable = checkUsable(found, limits.priceAgeSMax, timestampS)
    if (unusable !== null) return unusable
    const { priceWad } = price
    const apart = priceWad > found.priceWad ? priceWad - found.priceWad : found.priceWad - priceWad
    if (apart * BPS <= found.priceWad * limits.priceDivergenceBpsMax) return null
    const say = (wad: bigint) => priceText(wad, market, deployment)
    return refuse(
      'prices_apart',
      `The oracle says ${say(priceWad)}, the second source ${say(found.priceWad)}; the policy allows ${percent(limits.priceDivergenceBpsMax)} between them.`,
    )
  }
}

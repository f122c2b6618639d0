import type { Address } from 'viem'
import type { Answer, BeforeReading } from '../agent.ts'
import { exitViews } from '../protocol/liquidation-views.ts'
import type { Wave } from '../protocol/reading.ts'
import type { LiquidatorPolicy } from './policy.ts'
import type { ExitSeen } from './seen.ts'

/** As much as is held and may be sold at a time is asked about, and each half of it, so often: a sale goes by what a venue says, never by a curve. */
const HALVES = 8

/**
 * Ask each venue of the policy what it would pay for what was held a look ago, and for parts of it; nothing where nothing
 * was. The returned function says what was seen, with what is held now.
 */
export function askExits(
  wave: Wave,
  { deployment }: Pick<BeforeReading, 'deployment'>,
  { exits }: Pick<LiquidatorPolicy, 'exits'>,
  previous: readonly ExitSeen[],
) {
  const symbolOf = (token: Address) => deployment.assets.find(({ address }) => address === token)?.symbol
  const asked = Object.entries(exits).flatMap(([pair, { venue: contract, saleAssetsMax }]) => {
    const market = deployment.markets.find(
      ({ collateralAsset, loanAsset }) => `${symbolOf(collateralAsset)}/${symbolOf(loanAsset)}` === pair,
    )
    if (market === undefined) return []
    const { address: marketAddress, collateralAsset } = market
    const venue = deployment.contracts.find(({ name }) => name === contract)?.address ?? null
    const held = previous.find((exit) => exit.marketAddress === marketAddress)?.held ?? 0n
    const most = held < saleAssetsMax ? held : saleAssetsMax
    const sizes = Array.from({ length: HALVES }, (_, times) => most >> BigInt(times))
    const quotes = sizes.flatMap((assets) =>
      assets === 0n || venue === null
        ? []
        : [{ assets, read: wave.ask(exitViews, venue, 'quote', [collateralAsset, assets]) }],
    )
    return [{ pair, contract, marketAddress, collateralAsset, venue, quotes }]
  })
  return (answers: readonly Answer[], balances: Readonly<Record<Address, bigint>>): readonly ExitSeen[] =>
    asked.map(({ collateralAsset, quotes, ...exit }) => ({
      ...exit,
      held: balances[collateralAsset] ?? 0n,
      quotes: quotes.map(({ assets, read }) => ({ assets, loanAssets: read(answers) })),
    }))
}

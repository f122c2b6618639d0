import { type Address, createPublicClient, encodeFunctionData, http, parseUnits } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { SandboxKeys } from '../cast/keys.ts'
import { TO_CHAIN } from '../chain/to-chain.ts'
import type { Call } from '../chain/transactions.ts'
import { assetAbi, exitPoolAbi, priceOracleAbi } from '../contracts/abis.ts'
import type { Deployment } from '../deploy/deploy.ts'
import { MARKET_NAMES, type MarketName, marketContracts } from '../deploy/markets.ts'
import type { SideStory } from './weather.ts'

const WAD = 10n ** 18n
const BPS = 10_000n
/** A pool this near to the oracle's price is left alone: its fee would cost more. */
const NEAR_BPS = 10n
/** Of the way to the oracle's price, each tick goes one part in so many: arbitrage takes its time. */
const PART = 3n

/**
 * Create the story of who trades between the exit pools and elsewhere: each tick brings them nearer to their oracle's price.
 * What to do follows from the chain alone, so that a restart goes on.
 */
export function createExitStory(
  rpcUrl: string,
  deployment: Deployment,
  { whale }: Pick<SandboxKeys, 'whale'>,
): SideStory {
  const reader = createPublicClient({
    cacheTime: 0,
    transport: http(rpcUrl, { ...TO_CHAIN, batch: true }),
  })
  const self = privateKeyToAddress(whale)
  const loan = deployment.contracts.sUSD.address
  const held = (token: Address, of: Address) =>
    reader.readContract({ address: token, abi: assetAbi, functionName: 'balanceOf', args: [of] })

  const trade = async (name: MarketName, nowS: bigint): Promise<readonly Call[]> => {
    const { exit, oracle, collateral, collateralDecimals } = marketContracts(deployment, name)
    const [[priceWad], collateralAssets, loanAssets] = await Promise.all([
      reader.readContract({ address: oracle, abi: priceOracleAbi, functionName: 'read' }),
      held(collateral, exit),
      held(loan, exit),
    ])
    const swap = towards(
      { collateralAssets, loanAssets },
      (priceWad * parseUnits('1', 6)) / parseUnits('1', collateralDecimals),
    )
    if (swap === null) return []
    const args = [swap.sells ? collateral : loan, swap.assets, 1n, self, nowS + 60n] as const
    const data = encodeFunctionData({ abi: exitPoolAbi, functionName: 'swap', args })
    return [{ from: whale, to: exit, data }]
  }
  return async (nowS) => (await Promise.all(MARKET_NAMES.map((name) => trade(name, nowS)))).flat()
}

/**
 * Find the swap that brings a pool a part of the way to a price, loan base units for one of collateral as a wad; null where
 * it is near. Pure.
 */
export function towards(
  { collateralAssets, loanAssets }: { readonly collateralAssets: bigint; readonly loanAssets: bigint },
  priceWad: bigint,
): { readonly sells: boolean; readonly assets: bigint } | null {
  const product = collateralAssets * loanAssets
  const wanted = root((product * WAD) / priceWad)
  const missing = wanted - collateralAssets
  const far = missing < 0n ? -missing : missing
  if (far * BPS * 2n <= collateralAssets * NEAR_BPS) return null
  if (missing > 0n) return { sells: true, assets: missing / PART }
  return { sells: false, assets: product / (collateralAssets - far / PART) - loanAssets }
}

/** The whole part of a square root, by Newton's method. */
function root(value: bigint): bigint {
  let guess = 1n << BigInt(Math.ceil(value.toString(2).length / 2))
  for (;;) {
    const next = (guess + value / guess) / 2n
    if (next >= guess) return guess
    guess = next
  }
}

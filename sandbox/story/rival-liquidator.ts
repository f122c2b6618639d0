import { type Address, encodeFunctionData } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { SandboxKeys } from '../cast/keys.ts'
import type { Call, Transactions } from '../chain/transactions.ts'
import { lendingMarketAbi } from '../contracts/abis.ts'
import type { Canonical, Snapshot } from '../indexer/canonical.ts'
import { lower } from '../indexer/logs.ts'
import { roll } from './story.ts'

/** What a rival liquidator works with. */
type RivalOptions = {
  readonly canonical: Pick<Canonical, 'onSnapshot'>
  readonly keys: Pick<SandboxKeys, 'rivalLiquidator'>
  readonly transactions: Pick<Transactions, 'send'>
  readonly seed: number
  /** Of what can be liquidated, how much it goes for. */
  readonly share: number
  /** It rests while the weather does. */
  readonly isPaused: () => boolean
  /** Gets why nothing could be sent, such as a node that does not answer. */
  readonly onTrouble: (cause: unknown) => void
}

/** The rival takes nothing that would pay less than this: dust is left alone. In base units of the loan asset. */
const REPAY_ASSETS_MIN = 50_000_000n
/** It offers up to this much for its place in a block; the keeper's policy offers 1 gwei. */
const TIP_WEI_MAX = 2_000_000_000
/** A transaction that is not in a block after so many seconds is not waited for. */
const FORGET_S = 10

/**
 * Start a liquidator that is not ours: as soon as a block is indexed it goes for a share of what can be liquidated,
 * for a tip of its own, and settles its claims. Which it goes for follows from the seed and the position.
 */
export function startRivalLiquidator(options: RivalOptions): { readonly stop: () => Promise<void> } {
  const { canonical, keys, transactions, seed, share, isPaused, onTrouble } = options
  const self = lower(privateKeyToAddress(keys.rivalLiquidator))
  const tried = new Map<string, number>()
  let sending: Promise<unknown> = Promise.resolve()

  const once = (key: string, nowS: number): boolean => {
    if (tried.has(key)) return false
    tried.set(key, nowS)
    return true
  }
  const call = (to: Address, data: Call['data'], tip: number): Call => ({
    ...{ from: keys.rivalLiquidator, to, data },
    priorityFeePerGasWei: BigInt(Math.round(TIP_WEI_MAX * tip)),
  })

  const look = ({ block, recoveries, claims }: Snapshot) => {
    if (isPaused()) return
    const nowS = block.timestampS
    for (const [key, triedS] of tried) if (nowS - triedS > FORGET_S) tried.delete(key)
    const liquidations = recoveries.flatMap((row): readonly Call[] => {
      const { marketAddress, vaultAddress, borrowerAddress } = row
      const repayAssets = BigInt(row.repayAssets ?? 0)
      if (row.executable !== true || repayAssets < REPAY_ASSETS_MIN) return []
      const name = `${marketAddress}:${vaultAddress}:${borrowerAddress}`
      // By what is owed rather than who owes it: addresses are another each time.
      const chance = (what: string) => roll(seed, 'rival', what, String(repayAssets))
      if (chance('goes') >= share || !once(name, nowS)) return []
      const args = [vaultAddress, borrowerAddress, repayAssets, 1n, self, BigInt(nowS + FORGET_S)] as const
      const data = encodeFunctionData({ abi: lendingMarketAbi, functionName: 'liquidate', args })
      return [call(marketAddress, data, chance('tip'))]
    })
    const settlements = claims.flatMap((claim): readonly Call[] => {
      const { marketAddress, claimId } = claim
      if (claim.settled || claim.liquidator !== self || claim.settleableAtS > nowS) return []
      if (!once(`${marketAddress}:${claimId}`, nowS)) return []
      const args = [BigInt(claimId)] as const
      const data = encodeFunctionData({ abi: lendingMarketAbi, functionName: 'settleLiquidationClaim', args })
      return [call(marketAddress, data, 0)]
    })
    const calls = [...liquidations, ...settlements]
    if (calls.length > 0) sending = transactions.send(calls).catch(onTrouble)
  }
  const unsubscribe = canonical.onSnapshot(look)
  return {
    stop: async () => {
      unsubscribe()
      await sending
    },
  }
}

import { type Address, createPublicClient, encodeFunctionData, http, maxUint256, parseUnits } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { SandboxKeys } from '../cast/keys.ts'
import type { Call } from '../chain/transactions.ts'
import { lendingMarketAbi, lendingVaultAbi } from '../contracts/abis.ts'
import type { Deployment } from '../deploy/deploy.ts'
import { type MarketName, marketContracts } from '../deploy/markets.ts'
import type { Lending } from './scenarios.ts'
import type { SideStory } from './weather.ts'

/** What the whale borrows against, in whole collateral tokens: many times what the vaults hold. */
const COLLATERAL = { btc: '500', eth: '10000' } as const
/** A difference below this part of what a vault has in a market is left alone. */
const TOLERANCE_BPS = 50n
/** How often markets and vaults are looked at. */
const EVERY_TICKS = 2
const BPS = 10_000n
/** How long allocators have for a redemption that is due before somebody else calls the money back. */
const GRACE_S = 15n

/**
 * Create the story of large borrowing and lending: it drives each market's utilization where the scenario wants it,
 * queues vault shares for redemption, takes what was paid and deposits it again. What to do follows from the
 * chain and the tick alone, so that a restart goes on.
 */
export function createLendingStory(
  rpcUrl: string,
  deployment: Deployment,
  keys: Pick<SandboxKeys, 'deployer' | 'whale'>,
  lending: Lending,
): SideStory {
  const { primeVault, growthVault } = deployment.contracts
  const whale = createWhale(rpcUrl, deployment, keys)
  const btc = { name: 'btc', vaults: [primeVault.address], share: 0 } as const
  const eth = { name: 'eth', vaults: [primeVault.address, growthVault.address], share: 0.5 } as const
  let lookAtTick = 0

  return async (nowS, tick) => {
    if (tick < lookAtTick) return []
    lookAtTick = tick + EVERY_TICKS
    const borrowing = [btc, eth].map(({ name, vaults, share }) => {
      // The markets go up and down in turn, so that there is always a better one.
      const at = tick + Math.round(share * lending.periodS)
      return whale.borrowUpTo(name, vaults, utilizationBps(lending, at))
    })
    const isTime = tick % lending.redemptionEveryS >= lending.redemptionEveryS - EVERY_TICKS
    const lendings = [primeVault.address, growthVault.address].map((vault) =>
      whale.lend(vault, lending.redemptionBps, isTime, nowS),
    )
    return (await Promise.all([...borrowing, ...lendings])).flat()
  }
}

/** Where utilization should be at a tick. Pure. */
export function utilizationBps(
  { utilizationBps: [least, most], shape, periodS }: Lending,
  tick: number,
): bigint {
  const phase = (tick % periodS) / periodS
  const share = shape === 'wave' ? (1 + Math.cos(2 * Math.PI * phase)) / 2 : phase < 1 / 3 ? 1 : 0
  return BigInt(Math.round(least + (most - least) * share))
}

/** Works out the whale's calls from what it finds on the chain. */
function createWhale(rpcUrl: string, deployment: Deployment, keys: Pick<SandboxKeys, 'deployer' | 'whale'>) {
  const reader = createPublicClient({
    cacheTime: 0,
    transport: http(rpcUrl, { batch: true, retryCount: 0, timeout: 5_000 }),
  })
  const account = privateKeyToAddress(keys.whale)
  const call = (to: Address, data: Call['data'], from = keys.whale): Call => ({ from, to, data })

  const partitionMove = async (
    market: Address,
    vault: Address,
    targetBps: bigint,
  ): Promise<readonly Call[]> => {
    const of = { address: market, abi: lendingMarketAbi } as const
    const [[cash, debt], own] = await Promise.all([
      reader.readContract({ ...of, functionName: 'partition', args: [vault] }),
      reader.readContract({ ...of, functionName: 'debtOf', args: [vault, account] }),
    ])
    const wanted = ((cash + debt) * targetBps) / BPS - debt
    const tolerance = ((cash + debt) * TOLERANCE_BPS) / BPS
    if (wanted > tolerance) {
      const args = [vault, wanted < cash ? wanted : cash] as const
      return [call(market, encodeFunctionData({ ...of, functionName: 'borrow', args }))]
    }
    if (-wanted <= tolerance || own === 0n) return []
    const args = [vault, account, -wanted < own ? -wanted : maxUint256] as const
    return [call(market, encodeFunctionData({ ...of, functionName: 'repay', args }))]
  }

  const borrowUpTo = async (
    name: MarketName,
    vaults: readonly Address[],
    targetBps: bigint,
  ): Promise<readonly Call[]> => {
    const { market, collateralDecimals } = marketContracts(deployment, name)
    const of = { address: market, abi: lendingMarketAbi } as const
    const held = await reader.readContract({ ...of, functionName: 'collateralOf', args: [account] })
    const moves = await Promise.all(vaults.map((vault) => partitionMove(market, vault, targetBps)))
    if (held > 0n) return moves.flat()
    const args = [parseUnits(COLLATERAL[name], collateralDecimals)] as const
    const deposit = encodeFunctionData({ ...of, functionName: 'depositCollateral', args })
    return [call(market, deposit), ...moves.flat()]
  }

  /** Call cash back for a redemption that waited past the grace: nobody allocates here. */
  const rescue = async (vault: Address, missing: bigint): Promise<readonly Call[]> => {
    const of = { address: vault, abi: lendingVaultAbi } as const
    const markets = await reader.readContract({ ...of, functionName: 'markets' })
    const cashes = await Promise.all(
      markets.map(async (market) => {
        const [cash] = await reader.readContract({
          address: market,
          abi: lendingMarketAbi,
          functionName: 'partition',
          args: [vault],
        })
        return { market, cash }
      }),
    )
    const [most] = cashes.toSorted((a, b) => (a.cash < b.cash ? 1 : -1))
    if (most === undefined || most.cash === 0n) return []
    const args = [most.market, missing < most.cash ? missing : most.cash] as const
    return [call(vault, encodeFunctionData({ ...of, functionName: 'deallocate', args }), keys.deployer)]
  }

  const lend = async (
    vault: Address,
    redemptionBps: number,
    isTime: boolean,
    nowS: bigint,
  ): Promise<readonly Call[]> => {
    const of = { address: vault, abi: lendingVaultAbi } as const
    const [head, end, idle, queued, total, shares] = await Promise.all([
      reader.readContract({ ...of, functionName: 'queueHead' }),
      reader.readContract({ ...of, functionName: 'queueEnd' }),
      reader.readContract({ ...of, functionName: 'idleAssets' }),
      reader.readContract({ ...of, functionName: 'queuedAssets' }),
      reader.readContract({ ...of, functionName: 'totalAssets' }),
      reader.readContract({ ...of, functionName: 'balanceOf', args: [account] }),
    ])
    if (head < end) {
      const first = await reader.readContract({ ...of, functionName: 'request', args: [head] })
      // Others claim what is theirs, when they want it.
      if (first.owner !== account || nowS < first.dueAt) return []
      const needed = await reader.readContract({
        ...of,
        functionName: 'convertToAssets',
        args: [first.shares],
      })
      if (needed <= idle) {
        return [call(vault, encodeFunctionData({ ...of, functionName: 'processQueue', args: [1n] }))]
      }
      return nowS < first.dueAt + GRACE_S ? [] : rescue(vault, queued - idle)
    }
    const worth = (total * BigInt(redemptionBps)) / BPS
    const wanted = await reader.readContract({ ...of, functionName: 'convertToShares', args: [worth] })
    if (shares < wanted) {
      return [call(vault, encodeFunctionData({ ...of, functionName: 'deposit', args: [worth, account] }))]
    }
    if (!isTime) return []
    return [
      call(vault, encodeFunctionData({ ...of, functionName: 'requestWithdrawal', args: [wanted, account] })),
    ]
  }

  return { borrowUpTo, lend }
}

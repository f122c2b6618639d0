import {
  type Address,
  createPublicClient,
  encodeFunctionData,
  type Hex,
  http,
  maxUint256,
  type PublicClient,
  parseUnits,
} from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { SandboxKeys } from '../cast/keys.ts'
import { TO_CHAIN } from '../chain/to-chain.ts'
import type { Call } from '../chain/transactions.ts'
import { lendingMarketAbi, lendingVaultAbi } from '../contracts/abis.ts'
import type { Deployment } from '../deploy/deploy.ts'
import { type MarketName, marketContracts } from '../deploy/markets.ts'
import type { Lending } from './scenarios.ts'
import type { SideStory } from './weather.ts'

/** What the whale borrows against, in whole collateral tokens: many times what the vaults hold. */
const COLLATERAL = { btc: '10000', eth: '200000' } as const
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
  const { primeVault, growthVault, rivalVault, ownedVault, weatherVault } = deployment.contracts
  const [prime, growth, rival] = [primeVault.address, growthVault.address, rivalVault.address]
  const owned = ownedVault.address
  const whale = createWhale(rpcUrl, deployment, keys)
  const btc = { name: 'btc', vaults: [prime, rival, owned, weatherVault.address], share: 0 } as const
  const eth = { name: 'eth', vaults: [prime, growth, rival, owned], share: 0.5 } as const
  let lookAtTick = 0

  return async (nowS, tick) => {
    if (tick < lookAtTick) return []
    lookAtTick = tick + EVERY_TICKS
    const borrowing = [btc, eth].map(({ name, vaults, share }) => {
      // The markets go up and down in turn, so that there is always a better one.
      const at = tick + Math.round(share * lending.periodS)
      return borrowUpTo(whale, name, vaults, utilizationBps(lending, at))
    })
    const isTime = tick % lending.redemptionEveryS >= lending.redemptionEveryS - EVERY_TICKS
    const lendings = [prime, growth].map((vault) => lend(whale, vault, lending.redemptionBps, isTime, nowS))
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

/** What the whale's calls are worked out from: the chain, and who it is there. */
type Whale = {
  readonly reader: PublicClient
  readonly deployment: Deployment
  readonly keys: Pick<SandboxKeys, 'deployer' | 'whale'>
  readonly account: Address
}

function createWhale(rpcUrl: string, deployment: Deployment, keys: Whale['keys']): Whale {
  const reader = createPublicClient({
    cacheTime: 0,
    transport: http(rpcUrl, { ...TO_CHAIN, batch: true }),
  })
  return { reader, deployment, keys, account: privateKeyToAddress(keys.whale) }
}

/** Move a market's utilization, vault by vault, to where it should be; the first time, pledge for it. */
async function borrowUpTo(
  whale: Whale,
  name: MarketName,
  vaults: readonly Address[],
  targetBps: bigint,
): Promise<readonly Call[]> {
  const { reader, deployment, keys, account } = whale
  const { market, collateralDecimals } = marketContracts(deployment, name)
  const of = { address: market, abi: lendingMarketAbi } as const
  const held = await reader.readContract({ ...of, functionName: 'collateralOf', args: [account] })
  const moves = await Promise.all(vaults.map((vault) => partitionMove(whale, market, vault, targetBps)))
  if (held > 0n) return moves.flat()
  const args = [parseUnits(COLLATERAL[name], collateralDecimals)] as const
  const data = encodeFunctionData({ ...of, functionName: 'depositCollateral', args })
  return [{ from: keys.whale, to: market, data }, ...moves.flat()]
}

async function partitionMove(
  { reader, keys, account }: Whale,
  market: Address,
  vault: Address,
  targetBps: bigint,
): Promise<readonly Call[]> {
  const of = { address: market, abi: lendingMarketAbi } as const
  const [[cash, debt], own] = await Promise.all([
    reader.readContract({ ...of, functionName: 'partition', args: [vault] }),
    reader.readContract({ ...of, functionName: 'debtOf', args: [vault, account] }),
  ])
  const wanted = ((cash + debt) * targetBps) / BPS - debt
  const tolerance = ((cash + debt) * TOLERANCE_BPS) / BPS
  const call = (data: Hex): readonly Call[] => [{ from: keys.whale, to: market, data }]
  if (wanted > tolerance) {
    const args = [vault, wanted < cash ? wanted : cash] as const
    return call(encodeFunctionData({ ...of, functionName: 'borrow', args }))
  }
  if (-wanted <= tolerance || own === 0n) return []
  const args = [vault, account, -wanted < own ? -wanted : maxUint256] as const
  return call(encodeFunctionData({ ...of, functionName: 'repay', args }))
}

/** Queue a part of a vault's shares for redemption when it is time, take what was paid, and deposit it again. */
async function lend(
  whale: Whale,
  vault: Address,
  redemptionBps: number,
  isTime: boolean,
  nowS: bigint,
): Promise<readonly Call[]> {
  const { reader, keys, account } = whale
  const of = { address: vault, abi: lendingVaultAbi } as const
  const [head, end, total, shares] = await Promise.all([
    reader.readContract({ ...of, functionName: 'queueHead' }),
    reader.readContract({ ...of, functionName: 'queueEnd' }),
    reader.readContract({ ...of, functionName: 'totalAssets' }),
    reader.readContract({ ...of, functionName: 'balanceOf', args: [account] }),
  ])
  if (head < end) return takePayment(whale, vault, head, nowS)
  const worth = (total * BigInt(redemptionBps)) / BPS
  const wanted = await reader.readContract({ ...of, functionName: 'convertToShares', args: [worth] })
  const call = (data: Hex): readonly Call[] => [{ from: keys.whale, to: vault, data }]
  if (shares < wanted)
    return call(encodeFunctionData({ ...of, functionName: 'deposit', args: [worth, account] }))
  if (!isTime) return []
  return call(encodeFunctionData({ ...of, functionName: 'requestWithdrawal', args: [wanted, account] }))
}

/** Take the payment of our request at the head of the queue once it is due; others claim theirs when they want it. */
async function takePayment(
  whale: Whale,
  vault: Address,
  head: bigint,
  nowS: bigint,
): Promise<readonly Call[]> {
  const { reader, keys, account } = whale
  const of = { address: vault, abi: lendingVaultAbi } as const
  const [first, idle, queued] = await Promise.all([
    reader.readContract({ ...of, functionName: 'request', args: [head] }),
    reader.readContract({ ...of, functionName: 'idleAssets' }),
    reader.readContract({ ...of, functionName: 'queuedAssets' }),
  ])
  if (first.owner !== account || nowS < first.dueAt) return []
  const needed = await reader.readContract({
    ...of,
    functionName: 'convertToAssets',
    args: [first.shares],
  })
  if (needed <= idle) {
    const data = encodeFunctionData({ ...of, functionName: 'processQueue', args: [1n] })
    return [{ from: keys.whale, to: vault, data }]
  }
  return nowS < first.dueAt + GRACE_S ? [] : rescue(whale, vault, queued - idle)
}

/** Call cash back for a redemption that waited past the grace: nobody allocates here. */
async function rescue({ reader, keys }: Whale, vault: Address, missing: bigint): Promise<readonly Call[]> {
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
  const data = encodeFunctionData({ ...of, functionName: 'deallocate', args })
  return [{ from: keys.deployer, to: vault, data }]
}

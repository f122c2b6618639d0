import { type Address, createPublicClient, encodeFunctionData, http, parseUnits } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { SandboxKeys } from '../cast/keys.ts'
import { TO_CHAIN } from '../chain/to-chain.ts'
import type { Call } from '../chain/transactions.ts'
import { assetAbi, recoveryFundAbi } from '../contracts/abis.ts'
import { EPOCH_SECONDS } from '../deploy/fund-plan.ts'
import type { SideStory } from './weather.ts'

/** What the deployer puts into each epoch: enough that every epoch moves the fund. */
const SUBSCRIPTION_ASSETS = parseUnits('25000', 6)
/** Seconds until the fund is looked at again after its epochs were moved on. */
const LOOK_AGAIN_S = 3n

/** The fund that the story is of, and its quote asset. */
type FundOfStory = { readonly fundAddress: Address; readonly quoteAsset: Address }

/**
 * Create the story of a recovery fund's epochs: each is closed when it is due, what it gave is claimed, and the next
 * one opens with a subscription in it. What to do follows from the chain alone, so that a restart goes on.
 */
export function createFundStory(
  rpcUrl: string,
  { fundAddress, quoteAsset }: FundOfStory,
  keys: Pick<SandboxKeys, 'deployer'>,
): SideStory {
  const reader = createPublicClient({
    cacheTime: 0,
    transport: http(rpcUrl, { ...TO_CHAIN, batch: true }),
  })
  const fund = { address: fundAddress, abi: recoveryFundAbi } as const
  const admin = privateKeyToAddress(keys.deployer)
  const call = (data: Call['data'], to = fund.address): Call => ({ from: keys.deployer, to, data })
  let lookAtS = 0n

  const opening = (): readonly Call[] => {
    const mint = { abi: assetAbi, functionName: 'mint', args: [admin, SUBSCRIPTION_ASSETS] } as const
    const approve = { ...mint, functionName: 'approve', args: [fund.address, SUBSCRIPTION_ASSETS] } as const
    return [
      call(encodeFunctionData({ ...fund, functionName: 'openEpoch', args: [EPOCH_SECONDS] })),
      call(encodeFunctionData(mint), quoteAsset),
      call(encodeFunctionData(approve), quoteAsset),
      call(encodeFunctionData({ ...fund, functionName: 'subscribe', args: [SUBSCRIPTION_ASSETS] })),
    ]
  }

  return async (nowS) => {
    if (nowS < lookAtS) return []
    const epochId = await reader.readContract({ ...fund, functionName: 'epochId' })
    const [epoch, subscribed] = await Promise.all([
      reader.readContract({ ...fund, functionName: 'epoch', args: [epochId] }),
      reader.readContract({ ...fund, functionName: 'subscriptionOf', args: [epochId, admin] }),
    ])
    const closed = epoch.closedAt !== 0n
    if (!closed && nowS < epoch.scheduledCloseAt) {
      lookAtS = epoch.scheduledCloseAt
      return []
    }
    lookAtS = nowS + LOOK_AGAIN_S
    const claim = encodeFunctionData({ ...fund, functionName: 'claimShares', args: [epochId] })
    return [
      ...(closed ? [] : [call(encodeFunctionData({ ...fund, functionName: 'closeEpoch' }))]),
      ...(subscribed === 0n ? [] : [call(claim)]),
      ...opening(),
    ]
  }
}

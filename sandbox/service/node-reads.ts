import { createPublicClient, erc20Abi, http } from 'viem'
import { TO_CHAIN } from '../chain/to-chain.ts'
import type { ServiceRecords } from './records.ts'
import type { Reads } from './workflows/preparer.ts'

/** Create what preparing reads beside the snapshot: the chain as it is now, and what lives at the service. */
export function createNodeReads(rpcUrl: string, chainId: number, records: ServiceRecords): Reads {
  // One try: a caller that reads "retryable" asks again.
  const node = createPublicClient({
    cacheTime: 0,
    transport: http(rpcUrl, TO_CHAIN),
  })
  return {
    chainId,
    node,
    records,
    balanceOf: (token, owner) =>
      node.readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [owner] }),
  }
}

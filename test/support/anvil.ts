import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Chain, startChain } from '../../sandbox/chain/chain.ts'

/** The chain id of a test's chain. */
export const testChainId = 731_337

/**
 * Start a fresh chain in a temporary directory: no history, no funded account, each transaction mined at once.
 * Its `stop` also removes the directory.
 */
export async function startAnvil(): Promise<Chain> {
  const directory = await mkdtemp(join(tmpdir(), 'rolekeeper-anvil-'))
  // A slow machine mines many blocks in a test, and some read the first of them.
  const chain = await startChain({
    stateFile: join(directory, 'chain.json'),
    chainId: testChainId,
    statesKept: 5_000,
  })
  return {
    ...chain,
    stop: async () => {
      await chain.stop()
      await rm(directory, { recursive: true })
    },
  }
}

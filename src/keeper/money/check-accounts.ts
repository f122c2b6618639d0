import type { AccountRow } from '../../accounts/balances.ts'
import type { Nodes } from '../../chain/nodes.ts'
import { systemClock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import { balanceView } from '../../guard/reads/views.ts'
import { openNodes } from '../startup/connect.ts'

/** An account with what the chain says that it holds at the block where it closes; null where the nodes have that no more. */
export type CheckedAccount = AccountRow & { readonly onChain: bigint | null }

/** Compare closing balances with the chain, by the nodes of a run configuration in agreement. Throws `accounts.forked`. */
export async function checkAccounts(
  rows: readonly AccountRow[],
  config: RunConfig,
): Promise<readonly CheckedAccount[]> {
  const nodes = await openNodes(config, systemClock)
  try {
    return await Promise.all(rows.map(async (row) => ({ ...row, onChain: await balanceOf(row, nodes) })))
  } finally {
    await nodes.close()
  }
}

async function balanceOf({ signer, token, block, hash }: AccountRow, nodes: Nodes): Promise<bigint | null> {
  const head = await nodes.block(block)
  if (head === null) return null
  if (head.hash !== hash) {
    throw new RolekeeperError(
      'accounts.forked',
      `The accounts of ${signer} close at block ${block} ${hash}, which is not on this chain.`,
      { fix: 'ask the nodes of the chain that they are kept on, with --config.', facts: { signer } },
    )
  }
  try {
    if (token === null) return await nodes.balanceWei(signer, head)
    const { call, decode } = balanceView(token, signer)
    return decode((await nodes.calls([call], head))[0])
  } catch (error) {
    // A node without an archive has the state of the newest blocks alone.
    if (error instanceof RolekeeperError && error.code.startsWith('node.')) return null
    throw error
  }
}

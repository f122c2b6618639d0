import type { Nodes } from '../../chain/nodes.ts'
import { tokens } from '../../readable.js'
import type { Deployment } from '../../service/contract/deployment.ts'
import { amountText } from '../../units.ts'
import { inputText } from '../../workflow/proposal.ts'
import type { Inclusion } from '../../workflow/slot.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { LIQUIDATED_TOPIC, liquidationOf } from './effects.ts'

/** Blocks up to the revert that are looked through. */
const BLOCKS_MAX = 300n

/**
 * Say who liquidated the same borrower between the simulation of a liquidation and its revert. For people alone: it is by
 * the market's logs.
 * @returns a clause; null where it is no liquidation, or too few nodes give the logs.
 */
export async function lostTo(
  { proposal, clearance }: Workflow,
  { hash, blockNumber: toBlock }: Inclusion,
  { nodes, deployment }: { nodes: Pick<Nodes, 'logs'>; deployment: Pick<Deployment, 'assets'> },
): Promise<string | null> {
  if (proposal.workflowType !== 'role.liquidator.liquidate' || clearance === undefined) return null
  const address = inputText(proposal.input, 'marketAddress') as `0x${string}`
  const borrower = inputText(proposal.input, 'borrowerAddress')?.toLowerCase()
  const since = clearance.blockNumber + 1n
  const fromBlock = toBlock - since < BLOCKS_MAX ? since : toBlock - BLOCKS_MAX
  try {
    const logs = await nodes.logs({ addresses: [address], topic: LIQUIDATED_TOPIC, fromBlock, toBlock })
    const theirs = logs.filter((log) => log.hash !== hash && liquidationOf(log).borrower === borrower).at(-1)
    if (theirs === undefined)
      return `nobody else liquidated the borrower since block ${fromBlock - 1n}, so its price, collateral or debt had changed`
    const { who, repayAssets } = liquidationOf(theirs)
    const repaid = amountText(repayAssets, proposal.exposure.token ?? undefined, deployment, tokens)
    return `${who} liquidated the borrower first, in transaction ${theirs.hash} of block ${theirs.blockNumber}, and repaid ${repaid}`
  } catch {
    // An end does not wait for what only its text would say.
    return null
  }
}

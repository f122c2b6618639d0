import type { Address } from 'viem'
import type { MinedLog, Nodes } from '../../chain/nodes.ts'
import { type Clock, endsWithin } from '../../clock.ts'
import { tokens } from '../../readable.js'
import type { Deployment } from '../../service/contract/deployment.ts'
import { amountText } from '../../units.ts'
import { inputText } from '../../workflow/proposal.ts'
import type { Slot } from '../../workflow/slot.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { LIQUIDATED_TOPIC, liquidationOf } from './effects.ts'

/** Blocks up to the revert that are looked through. */
const BLOCKS_MAX = 300n
/** An end waits no longer for what only its text says. */
const ASK_MS_MAX = 1_000

type LostRaceDeps = {
  readonly nodes: Pick<Nodes, 'logs'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly deployment: Pick<Deployment, 'assets'>
}

/**
 * Say who liquidated the same borrower between the simulation of a liquidation and its revert. For people alone: it is by
 * the market's logs.
 * @returns a clause; null where it is no liquidation, or nodes do not say in time.
 */
export async function lostTo(
  workflow: Workflow,
  slot: Slot | undefined,
  deps: LostRaceDeps,
): Promise<string | null> {
  if (slot?.inclusion?.status !== 'reverted') return null
  if (workflow.proposal.workflowType !== 'role.liquidator.liquidate') return null
  const market = slot.payload.to
  // What it sends first allows the market to take the repayment.
  if (market === null || inputText(workflow.proposal.input, 'marketAddress')?.toLowerCase() !== market)
    return null
  const asked = find(workflow, market, slot.inclusion.blockNumber, deps).catch(() => null)
  return (await endsWithin(asked, ASK_MS_MAX, deps.clock)) ? asked : null
}

async function find(
  { proposal, clearance, slots }: Workflow,
  market: Address,
  toBlock: bigint,
  { nodes, deployment }: LostRaceDeps,
): Promise<string | null> {
  const borrower = inputText(proposal.input, 'borrowerAddress')?.toLowerCase()
  const since = (clearance?.blockNumber ?? toBlock) + 1n
  const fromBlock = toBlock - since < BLOCKS_MAX ? since : toBlock - BLOCKS_MAX
  const logs = await nodes.logs({ addresses: [market], topic: LIQUIDATED_TOPIC, fromBlock, toBlock })
  const ours = slots.map(({ inclusion }) => inclusion?.hash)
  const first = logs.find((log) => !ours.includes(log.hash) && borrowerOf(log) === borrower)
  if (first === undefined)
    return fromBlock === since
      ? `nobody else liquidated the borrower since block ${since - 1n}, so its price, collateral or debt had changed`
      : null
  const { who, repayAssets } = liquidationOf(first)
  const repaid = amountText(repayAssets, proposal.exposure.token ?? undefined, deployment, tokens)
  // Logs do not say which of two transactions of a block was before the other.
  const when = first.blockNumber === toBlock ? 'in the same block' : `first, in block ${first.blockNumber}`
  return `${who} liquidated the borrower ${when}, in transaction ${first.hash}, and repaid ${repaid}`
}

/** Whose position a log is of; null where it cannot be read. */
function borrowerOf(log: MinedLog): string | null {
  try {
    return liquidationOf(log).borrower
  } catch {
    return null
  }
}

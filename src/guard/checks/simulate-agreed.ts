import type { SimulationResult } from '../../chain/nodes.ts'
import { type Checked, RolekeeperError, refuse } from '../../errors.ts'

/**
 * Wait for a simulation, and refuse where the nodes show different ones: what is not agreed on decides nothing about
 * money. Throws what else the nodes throw.
 */
export async function simulateAgreed(
  simulating: Promise<SimulationResult>,
): Promise<Checked<{ readonly result: SimulationResult }>> {
  try {
    return { ok: true, result: await simulating }
  } catch (error) {
    if (!(error instanceof RolekeeperError) || error.code !== 'node.disagreement') throw error
    return refuse('nodes_disagree', `${error.shortMessage} Fix: see which node stands alone, and replace it.`)
  }
}

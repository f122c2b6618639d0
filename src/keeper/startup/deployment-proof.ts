import type { Nodes } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import { type Refusal, RolekeeperError, refuse } from '../../errors.ts'
import { askUnits, type UnitDifference } from '../../guard/reads/deployed-units.ts'
import { createReads } from '../../guard/reads/views.ts'
import type { Gate } from '../../ops/control.ts'
import type { Log } from '../../ops/log.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import { createCachedRead } from '../cached-read.ts'
import { provePins } from './pins.ts'

/** Whether the deployment is what the configuration says, as of the last proof. */
export type DeploymentProof = {
  /** Resolve when it is proven, with a proof that is recent. Throws what the proof throws. */
  readonly prove: () => Promise<void>
  /** Begin another proof if one is due, and do not wait for it. */
  readonly again: () => void
  /** Why nothing may be signed now; null while nothing was disproven. */
  readonly disproven: () => Refusal | null
}

type ProofDeps = {
  readonly nodes: Pick<Nodes, 'codeHashes' | 'calls' | 'simulate'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly log: Log
  readonly alarm: (error: RolekeeperError) => void
}

const PROVE_EVERY_MS = 300_000
/** What was disproven is asked again soon: a person mends it. */
const REPROVE_MS = 10_000

/** Keep proving one deployment: the code of every contract, and every unit that amounts are counted in. */
export function createDeploymentProof(
  deployment: Deployment,
  { nodes, clock, log, alarm }: ProofDeps,
): DeploymentProof {
  const proof = createCachedRead(() => disproofOf(deployment, nodes, alarm), {
    clock,
    everyMs: ({ disproof }) => (disproof === null ? PROVE_EVERY_MS : REPROVE_MS),
    onFailed: (error) => log.warn('could not prove the deployment again', {}, error),
  })
  return {
    prove: async () => {
      const { disproof } = await proof.get()
      if (disproof !== null) throw disproof
    },
    again: proof.begin,
    disproven: () => {
      const disproof = proof.last()?.disproof ?? null
      return disproof === null ? null : refuse(disproof.code.replace('.', '_'), disproof.shortMessage)
    },
  }
}

/** Close a gate while a deployment is disproven: nothing new begins, and what no node has is closed. */
export const gateBy =
  ({ disproven }: Pick<DeploymentProof, 'disproven'>, gate: () => Gate): (() => Gate) =>
  () => {
    const safe = disproven()
    return safe === null ? gate() : { ...gate(), safe }
  }

/** What disproves a deployment; nodes that do not answer disprove nothing: what is cleared is read again anyway. */
async function disproofOf(
  deployment: Deployment,
  nodes: ProofDeps['nodes'],
  alarm: ProofDeps['alarm'],
): Promise<{ readonly disproof: RolekeeperError | null }> {
  try {
    await Promise.all([provePins(nodes, deployment), proveUnits(nodes, deployment)])
    return { disproof: null }
  } catch (error) {
    if (!(error instanceof RolekeeperError) || !error.code.startsWith('deployment.')) throw error
    alarm(error)
    return { disproof: error }
  }
}

/** Find each unit that a deployment states otherwise than its contracts. Throws `node.*` when too few nodes answer. */
export async function unitDifferences(
  nodes: Pick<Nodes, 'calls'>,
  deployment: Deployment,
): Promise<readonly UnitDifference[]> {
  const reads = createReads()
  const judge = askUnits(deployment, reads)
  reads.fill(await nodes.calls(reads.calls))
  return judge()
}

/**
 * Prove that the units of a deployment are those of its contracts. Throws RolekeeperError `deployment.units_differ`, and
 * `node.*` when too few nodes answer.
 */
export async function proveUnits(nodes: Pick<Nodes, 'calls'>, deployment: Deployment): Promise<void> {
  const [first] = await unitDifferences(nodes, deployment)
  if (first !== undefined)
    throw new RolekeeperError('deployment.units_differ', first.message, { fix: first.fix })
}

import { fingerprint } from '../../chain/agreement.ts'
import type {
  Frame,
  Nodes,
  SimulatedTransaction,
  SimulationRequest,
  SimulationResult,
} from '../../chain/nodes.ts'
import { RolekeeperError } from '../../errors.ts'
import { askedBy, type FinalOptions } from '../../guard/checks/check-final.ts'
import type { Journal } from '../../journal/journal.ts'
import type { InLine } from '../../pipeline/pipeline.ts'
import type { Workflow } from '../../workflow/workflow.ts'

/** What clearing one workflow asks by, with those that wait for the same signer behind it. */
type Together = (
  options: FinalOptions & { readonly workflow: Workflow },
  inLine: InLine,
) => Pick<Nodes, 'chainId' | 'simulate'>

/** What simulating together needs. */
type TogetherDeps = {
  readonly monotonicMs: () => number
  readonly nodes: Pick<Nodes, 'chainId' | 'simulate'>
  readonly journal: Pick<Journal, 'get'>
}

/** A node runs so many in a few milliseconds, and the first one waits for all. */
const BEHIND_MAX = 31
/** Nonces that nodes keep of one sender. */
const PENDING_MAX = 64
/** What was shown so long ago is asked again. */
const AGE_MS_MAX = 1_000

/** What was asked of the chain about one workflow, and what it showed. */
type Made = { readonly request: SimulationRequest; readonly result: SimulationResult; readonly atMs: number }

/**
 * Simulate what waits for a signer in one call of the nodes: the first on top of what is in flight, each other one on top
 * of those before it. An answer is used for exactly the question that it answers: where one before it was refused, or the
 * head moved, its pending transactions are others than were simulated, and it is asked about anew.
 */
export function createTogether({ monotonicMs, nodes, journal }: TogetherDeps): Together {
  let made = new Map<string, Made>()
  const simulate = async (request: SimulationRequest, behind: readonly Behind[]) => {
    const following = behind.map(({ frame }) => frame)
    const atMs = monotonicMs()
    const result = await nodes.simulate({ ...request, following })
    const { at, pending } = request
    made = new Map(
      behind.map(({ id, frame }, index) => {
        const before = [request, ...following.slice(0, index)].flatMap(({ bundle }) => bundle)
        const own = { ...frame, pending: [...pending, ...before], ...(at === undefined ? {} : { at }) }
        const shown = result.following[index]
        return [id, { request: own, result: { ...result, ...shown, following: [] }, atMs }]
      }),
    )
    return result
  }
  return (options, inLine) => ({
    chainId: nodes.chainId,
    simulate: async (request) => {
      const known = made.get(options.workflow.id)
      if (known !== undefined && monotonicMs() - known.atMs <= AGE_MS_MAX && isSame(known.request, request))
        return known.result
      const behind = await behindOf(options, request, inLine(), { nodes, journal })
      if (behind.length === 0) return nodes.simulate(request)
      try {
        return await simulate(request, behind)
      } catch (error) {
        // It may be about one behind it, whose turn has not come.
        if (error instanceof RolekeeperError) return nodes.simulate(request)
        throw error
      }
    },
  })
}

type Behind = { readonly id: string; readonly frame: Frame }

/** What those in line would ask, each at the nonces after the one before it. */
async function behindOf(
  options: Parameters<Together>[0],
  { pending, bundle }: SimulationRequest,
  ids: readonly string[],
  { nodes, journal }: Pick<TogetherDeps, 'nodes' | 'journal'>,
): Promise<readonly Behind[]> {
  const { role } = options.workflow
  const found: Behind[] = []
  let nextNonce = options.signer.nextNonce + bundle.length
  let count = pending.length + bundle.length
  for (const id of ids) {
    const workflow = await journal.get(id)
    // The rules are one role's.
    if (workflow?.state !== 'attested' || workflow.role !== role || workflow.shadow === true) continue
    const frame = askedBy({ ...options, workflow, signer: { ...options.signer, nextNonce } }, nodes.chainId)
    if (frame === null) continue
    count += frame.bundle.length
    if (count > PENDING_MAX || found.length === BEHIND_MAX) break
    nextNonce += frame.bundle.length
    found.push({ id, frame })
  }
  return found
}

/** What a transaction does: its fees may be others by the time that it is claimed, and its gas limit is lower. */
const deedOf = ({ from, to, data, valueWei, nonce }: SimulatedTransaction) => ({
  from,
  to,
  data,
  valueWei,
  nonce,
})

/** Whether two simulations ask the same of the same state. Pure. */
const isSame = (one: SimulationRequest, other: SimulationRequest): boolean => nameOf(one) === nameOf(other)

const nameOf = ({ pending, before, bundle, after, codeAt, slots, at }: SimulationRequest): string =>
  fingerprint({ pending: pending.map(deedOf), before, bundle, after, codeAt, slots, at: at?.hash })

import type { Head, NodeHealth, Nodes } from '../../chain/nodes.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Finding } from '../../ops/facet.ts'
import { roughly } from '../../units.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import {
  leftOutOf,
  lowBalance,
  NO_QUORUM_MS_MAX,
  noQuorum,
  overdueOf,
  type Payer,
  passedByOf,
  RUNWAY_MIN,
} from './lookout.ts'

/** What is known of the chain at a look. */
export type ChainSeen = {
  readonly nodes: Pick<Nodes, 'agree' | 'health' | 'quorumMissingSinceMs'> | undefined
  /** Why the chain is not followed yet, or null. */
  readonly waitsFor: RolekeeperError | null
  /** Of the agreed head; null before there is one. */
  readonly headAgeMs: number | null
  /** The least that a role at work allows a head's age to be; null while none works. */
  readonly headAgeMsMax: number | null
}

const CHAIN = { facet: 'chain', about: '' } as const

/** Whether the chain is followed, by nodes that agree, to a head that is young. Pure. */
export function chainFinding(
  { nodes, waitsFor, headAgeMs, headAgeMsMax }: ChainSeen,
  nowMs: number,
): Finding {
  if (waitsFor !== null) return { ...CHAIN, state: 'failing', error: waitsFor, isSaid: true }
  if (nodes === undefined) return { ...CHAIN, state: 'failing', error: NOT_FOLLOWED, isBeginning: true }
  const missingMs = nowMs - (nodes.quorumMissingSinceMs() ?? nowMs)
  if (missingMs > NO_QUORUM_MS_MAX) return { ...CHAIN, state: 'failing', error: noQuorum(nodes, missingMs) }
  // Two thirds of what is allowed: then somebody knows before nothing is done any more.
  if (headAgeMs !== null && headAgeMsMax !== null && headAgeMs > (headAgeMsMax * 2) / 3) {
    const state = headAgeMs > headAgeMsMax ? 'failing' : 'warning'
    return { ...CHAIN, state, error: headOld(headAgeMs, headAgeMsMax) }
  }
  const age = headAgeMs === null ? 'no head yet' : `the newest block is ${roughly(headAgeMs)} old`
  return { ...CHAIN, state: 'ok', message: `${nodes.agree} nodes must agree; ${age}` }
}

const NOT_FOLLOWED = new RolekeeperError('chain.not_followed', 'The chain is not followed yet.', {
  fix: 'wait: nodes are being asked.',
  retry: 'later',
})

const headOld = (ms: number, msMax: number) =>
  new RolekeeperError(
    'node.head_old',
    `The newest block that the nodes agree on is ${roughly(ms)} old; the policies allow ${roughly(msMax)}, and then nothing new begins.`,
    {
      fix: 'look whether the chain makes blocks and whether the nodes follow it; compare another node.',
      retry: 'later',
    },
  )

/** How each node stands beside the others. Pure. */
export const nodeFindings = (health: readonly NodeHealth[], nowMs: number): readonly Finding[] =>
  health.map((node) => {
    const where = { facet: 'node', about: node.node } as const
    const [error] = leftOutOf(node, nowMs)
    if (error === undefined) return { ...where, state: 'ok', message: node.state }
    return { ...where, state: node.state === 'down' ? 'failing' : 'warning', error }
  })

/** Whether a signer can pay for the gas of what it may have to send. A balance that is not known says nothing. Pure. */
export const gasFinding = (payer: Payer, balanceWei: bigint | null): Finding => {
  const where = { facet: 'gas', about: payer.role } as const
  if (balanceWei === null) return { ...where, state: 'ok', message: 'not read yet' }
  if (payer.gasWeiMax === 0n)
    return { ...where, state: 'ok', message: 'its policy lets no workflow pay for gas' }
  const runway = balanceWei / payer.gasWeiMax
  if (runway >= RUNWAY_MIN) return { ...where, state: 'ok', message: `for ${runway} workflows at the most` }
  return { ...where, state: runway < 1n ? 'failing' : 'warning', error: lowBalance(payer, balanceWei) }
}

/** What of a role's workflows takes too long: the first of them. Pure. */
export function noncesFinding(
  role: string,
  mine: readonly Workflow[],
  head: Head | null,
  nowMs: number,
): Finding {
  const where = { facet: 'nonces', about: role } as const
  const [error] = mine.flatMap((workflow) => overdueOf(workflow, nowMs))
  if (error !== undefined) return { ...where, state: 'failing', error }
  const passedBy = passedByOf(mine, head, nowMs)
  if (passedBy !== undefined) return { ...where, state: 'warning', error: passedBy }
  return { ...where, state: 'ok', message: `${mine.length} workflows live` }
}

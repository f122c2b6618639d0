import type { NodeHealth, Nodes, UnansweredMethod, UnreadBlock } from '../../../chain/nodes.ts'
import { RolekeeperError } from '../../../errors.ts'
import type { Finding } from '../../../ops/facet.ts'
import { native, plural, span } from '../../../readable.js'
import type { Payer } from '../../policy/candidates.ts'

/** A node that catches up by then is not worth an alarm. */
const LEFT_OUT_MS_MAX = 10_000
/** Until enough nodes agree again nothing is signed and nothing ends. */
const NO_QUORUM_MS_MAX = 15_000
/** What is asked for in vain for so long stands still, or will; a block that is not read, as well. */
const UNANSWERED_MS_MAX = 15_000
/** What is decided and sent without: accounts are kept later, tips start at the policy's least, a no-op's gas at what it usually costs. */
const SPARED: ReadonlySet<string> = new Set(['eth_estimateGas', 'eth_feeHistory', 'eth_getLogs'])
/** A signer with less than the gas of so many workflows, each at the policy's most, needs money soon. */
const RUNWAY_MIN = 3n

/** What is known of the chain at a look. */
export type ChainSeen = {
  readonly nodes: Pick<Nodes, 'agree' | 'health' | 'quorumMissingSinceMs' | 'unanswered'> | undefined
  /** Why the chain is not followed yet, or null. */
  readonly waitsFor: RolekeeperError | null
  /** Where it is followed no further, for whose signers ever. */
  readonly unread: readonly UnreadBlock[]
  /** Of the agreed head; null before there is one. */
  readonly headAgeMs: number | null
  /** The least that a role at work allows a head's age to be; null while none works. */
  readonly headAgeMsMax: number | null
}

const CHAIN = { facet: 'chain', about: '' } as const

/** Whether the chain is followed, by nodes that agree, to a head that is young. Pure. */
export function chainFinding(
  { nodes, waitsFor, unread, headAgeMs, headAgeMsMax }: ChainSeen,
  monotonicMs: number,
): Finding {
  if (waitsFor !== null) return { ...CHAIN, state: 'failing', error: waitsFor, isSaid: true }
  if (nodes === undefined) return { ...CHAIN, state: 'failing', error: NOT_FOLLOWED, isBeginning: true }
  const missingMs = monotonicMs - (nodes.quorumMissingSinceMs() ?? monotonicMs)
  if (missingMs > NO_QUORUM_MS_MAX) return { ...CHAIN, state: 'failing', error: noQuorum(nodes, missingMs) }
  const [stuck] = unread.filter(({ sinceMs }) => monotonicMs - sinceMs > UNANSWERED_MS_MAX)
  if (stuck !== undefined)
    return { ...CHAIN, state: 'failing', error: blockUnread(stuck, monotonicMs - stuck.sinceMs) }
  const unanswered = nodes.unanswered().filter(({ sinceMs }) => monotonicMs - sinceMs > UNANSWERED_MS_MAX)
  const needed = unanswered.find(({ method }) => !SPARED.has(method))
  const first = needed ?? unanswered[0]
  if (first !== undefined) {
    const error = methodUnanswered(first, monotonicMs - first.sinceMs)
    return { ...CHAIN, state: needed === undefined ? 'warning' : 'failing', error }
  }
  // Two thirds of what is allowed: then somebody knows before nothing is done any more.
  if (headAgeMs !== null && headAgeMsMax !== null && headAgeMs > (headAgeMsMax * 2) / 3) {
    const state = headAgeMs > headAgeMsMax ? 'failing' : 'warning'
    return { ...CHAIN, state, error: headOld(headAgeMs, headAgeMsMax) }
  }
  const age = headAgeMs === null ? 'no head yet' : `the newest block is ${span(headAgeMs)} old`
  return { ...CHAIN, state: 'ok', message: `${plural(nodes.agree, 'node')} must agree; ${age}` }
}

const NOT_FOLLOWED = new RolekeeperError('chain.not_followed', 'The chain is not followed yet.', {
  fix: 'wait: nodes are being asked.',
  retry: 'later',
})

const headOld = (ms: number, msMax: number) =>
  new RolekeeperError(
    'node.head_old',
    `The newest block that the nodes agree on is ${span(ms)} old; the policies allow ${span(msMax)}, and then nothing new begins.`,
    {
      fix: 'look whether the chain makes blocks and whether the nodes follow it; compare another node.',
      retry: 'later',
    },
  )

const noQuorum = ({ agree, health }: Pick<Nodes, 'agree' | 'health'>, ms: number) =>
  new RolekeeperError(
    'node.no_quorum',
    `For ${span(ms)} no ${agree} nodes have shown one newer block; ${span(NO_QUORUM_MS_MAX)} is too long. ${health()
      .map(
        ({ node, state, lastErrorCode }) => `${node} is ${state}, its last error ${lastErrorCode ?? 'none'}.`,
      )
      .join(' ')}`,
    {
      fix: 'bring the nodes of `chain.nodes.read` back, or put others there: until as many agree, nothing is signed and nothing ends.',
      facts: { agree },
      retry: 'later',
    },
  )

const blockUnread = ({ error }: UnreadBlock, ms: number) =>
  new RolekeeperError(
    'node.block_unread',
    `For ${span(ms)} the chain could not be followed: ${error instanceof RolekeeperError ? error.shortMessage : 'something unforeseen.'}`,
    {
      fix: 'see with `rolekeeper doctor` what the nodes lack or limit, and put others into `chain.nodes`: what is sent is not seen to land.',
      facts: { reason: error instanceof RolekeeperError ? error.code : 'unexpected' },
      retry: 'later',
    },
  )

const methodUnanswered = ({ method, error }: UnansweredMethod, ms: number) =>
  new RolekeeperError(
    'node.method_unanswered',
    `For ${span(ms)} the nodes have given no answer to ${method} that counts; ${span(UNANSWERED_MS_MAX)} is too long. ${error.shortMessage}`,
    {
      fix: `see with \`rolekeeper doctor\` which nodes lack or limit ${method}, and put others into \`chain.nodes\`.`,
      facts: { method, reason: error.code },
      retry: 'later',
    },
  )

/** How each node stands beside the others. Pure. */
export const nodeFindings = (health: readonly NodeHealth[], monotonicMs: number): readonly Finding[] =>
  health.map((node) => {
    const where = { facet: 'node', about: node.node } as const
    const ms = monotonicMs - node.sinceMs
    if (node.state === 'ok' || ms <= LEFT_OUT_MS_MAX) return { ...where, state: 'ok', message: node.state }
    const error = leftOut(node, ms, health.length)
    return { ...where, state: node.state === 'down' ? 'failing' : 'warning', error }
  })

const leftOut = ({ node, state, blocksBehind, lastErrorCode }: NodeHealth, ms: number, nodes: number) =>
  new RolekeeperError(
    'node.left_out',
    `Node ${node} has been ${state} for ${span(ms)}, and is ${blocksBehind === null ? 'an unknown number of blocks' : plural(blocksBehind, 'block')} behind; the limit is ${span(LEFT_OUT_MS_MAX)}.${lastErrorCode === null ? '' : ` Its last error was ${lastErrorCode}.`}${nodes === 1 ? '' : ' The others are asked first.'}`,
    {
      fix:
        nodes === 1
          ? 'look at this node: there is no other, and everything is late until it is well.'
          : 'look at this node: until it is well, there is one node fewer that can agree.',
      facts: { node, state, blocksBehind, lastErrorCode },
      retry: 'later',
    },
  )

/** Whether a signer can pay for the gas of what it may have to send. A balance that is not known says nothing. Pure. */
export const gasFinding = (payer: Payer, balanceWei: bigint | null): Finding => {
  const where = { facet: 'gas', about: payer.role } as const
  if (balanceWei === null) return { ...where, state: 'ok', message: 'not read yet' }
  if (payer.gasWeiMax === 0n)
    return { ...where, state: 'ok', message: 'its policy lets no workflow pay for gas' }
  const runway = balanceWei / payer.gasWeiMax
  if (runway >= RUNWAY_MIN)
    return { ...where, state: 'ok', message: `for ${plural(runway, 'workflow')} at the most` }
  return { ...where, state: runway < 1n ? 'failing' : 'warning', error: lowBalance(payer, balanceWei) }
}

const lowBalance = ({ role, signer, gasWeiMax }: Payer, balanceWei: bigint) =>
  new RolekeeperError(
    'signer.low_balance',
    `The ${role}'s signer ${signer} holds ${native(balanceWei)}, the gas of ${balanceWei / gasWeiMax} workflows at the policy's most of ${native(gasWeiMax)} each; ${RUNWAY_MIN} are the least.`,
    {
      fix: 'send it native coins: without them its nonces cannot even be closed.',
      facts: { role, signer, balanceWei: String(balanceWei), gasWeiMax: String(gasWeiMax) },
      retry: 'later',
    },
  )

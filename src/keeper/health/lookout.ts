import type { Address } from 'viem'
import type { Head, NodeHealth, Nodes } from '../../chain/nodes.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Role } from '../../service/contract/roles.ts'
import { duration, native, roughly } from '../../units.ts'
import type { Slot } from '../../workflow/slot.ts'
import type { Workflow } from '../../workflow/workflow.ts'

/** A nonce that is open for this long holds up every other of its signer, whatever the fees. */
const OPEN_MS_MAX = 60_000
/** One that could pay for every block of so long, and of so many blocks, is not where those who make them look. */
const PASSED_BY_MS = 25_000
const PASSED_BY_BLOCKS = 3n
/** The slowest finality is a quarter of an hour. */
const MINED_MS_MAX = 1_800_000
/** No policy lets one wait longer than ten minutes: this one is not looked at. */
const CONFIRMED_MS_MAX = 660_000
/** What is final is ended within seconds, where the nodes answer. */
const FINAL_MS_MAX = 120_000
/** A signer with less than the gas of so many workflows, each at the policy's most, needs money soon. */
export const RUNWAY_MIN = 3n

/** A decision older than this many milliseconds is four sweeps missed. */
export const DECISION_MS_MAX = 20_000
/** A node that catches up by then is not worth an alarm. */
const LEFT_OUT_MS_MAX = 10_000
/** Until enough nodes agree again nothing is signed and nothing ends. */
export const NO_QUORUM_MS_MAX = 15_000

/** An open nonce whose newest form offers enough and is in no block, or undefined. Pure. */
export function passedByOf(mine: readonly Workflow[], head: Head | null, nowMs: number) {
  if (head === null) return undefined
  return mine.flatMap((workflow) =>
    workflow.slots.flatMap((slot) => {
      const [first] = slot.attempts
      const offers = slot.attempts.findLast(({ state }) => state === 'sent')?.maxFeePerGasWei ?? 0n
      const blocks = head.number - (first?.sentAtBlock ?? head.number)
      const isPassedBy = blocks >= PASSED_BY_BLOCKS && offers >= head.baseFeePerGasWei
      const isIt = slot.state === 'open' && openMs(slot, nowMs) > PASSED_BY_MS && isPassedBy
      return isIt ? [noncePassedBy(workflow, slot, blocks)] : []
    }),
  )[0]
}

const noncePassedBy = ({ id }: Workflow, { nonce, signer }: Slot, blocks: bigint) =>
  new RolekeeperError(
    'nonce.passed_by',
    `Nonce ${nonce} of ${signer} was sent ${blocks} blocks ago, offers more than the base fee, and is in none.`,
    {
      fix: 'ask a node for the transaction (`rolekeeper workflows show` has its hash): one that takes it and does not have it swallows what is sent; put another into `chain.nodes.send`.',
      facts: { workflow: id, nonce, signer },
      retry: 'later',
    },
  )

/** Age of a nonce that has not landed, milliseconds since its payload was ordered. Pure. */
export const openMs = ({ attempts }: Slot, nowMs: number): number =>
  nowMs - (attempts[0]?.orderedAtMs ?? nowMs)

/** A signer that pays for gas, and what one of its workflows may pay at most. */
export type Payer = { readonly role: Role; readonly signer: Address; readonly gasWeiMax: bigint }

/**
 * What of a workflow takes too long, as alarms of its signer or role and not its own, so that a thousand workflows
 * behind one stuck nonce are one alarm. Pure.
 */
export function overdueOf(workflow: Workflow, nowMs: number): readonly RolekeeperError[] {
  const { slots, state, updatedAtMs, awaiting } = workflow
  const stuck = slots.find((slot) => slot.state === 'open' && openMs(slot, nowMs) > OPEN_MS_MAX)
  if (stuck !== undefined) return [nonceStuck(workflow, stuck, openMs(stuck, nowMs))]
  // A slot that is mined changes no more until it is final or opens again.
  const mined = slots.find((slot) => slot.state === 'mined')
  const sinceMs = nowMs - updatedAtMs
  if (mined !== undefined && sinceMs > MINED_MS_MAX) return [nonceNotFinal(workflow, mined, sinceMs)]
  if (state === 'in_flight' && sinceMs > FINAL_MS_MAX && slots.every((slot) => slot.state === 'final'))
    return [notEnded(workflow, sinceMs)]
  if (state !== 'confirmed' || awaiting === undefined) return []
  const waitedMs = nowMs - awaiting.sinceMs
  return waitedMs > CONFIRMED_MS_MAX ? [notConfirmed(workflow, awaiting.blockNumber, waitedMs)] : []
}

const nonceStuck = ({ id }: Workflow, { nonce, signer }: Slot, ms: number) =>
  new RolekeeperError(
    'nonce.stuck',
    `Nonce ${nonce} of ${signer} has been open for ${roughly(ms)}; ${duration(OPEN_MS_MAX)} is stuck.`,
    {
      fix: 'look at the kill switch, the KMS and the nodes; if the base fee is above what it may offer, raise fees.maxFeePerGas, fees.gainShare or limits.*.gasMax.',
      facts: { workflow: id, nonce, signer },
      retry: 'later',
    },
  )

const nonceNotFinal = ({ id }: Workflow, { nonce, signer, inclusion }: Slot, ms: number) =>
  new RolekeeperError(
    'nonce.not_final',
    `Nonce ${nonce} of ${signer} was mined in block ${inclusion?.blockNumber}, and is not final after ${roughly(ms)}; ${duration(MINED_MS_MAX)} is too long.`,
    {
      fix: 'look whether the nodes follow the chain, and whether it finalizes blocks.',
      facts: { workflow: id, nonce, signer },
      retry: 'later',
    },
  )

const notEnded = ({ id }: Workflow, ms: number) =>
  new RolekeeperError(
    'workflow.not_ended',
    `Every nonce of workflow ${id} is final, and for ${roughly(ms)} it could not be ended; ${duration(FINAL_MS_MAX)} is too long.`,
    {
      fix: 'look whether the nodes show the blocks of its transactions, and whether fees.maxFeePerGas leaves room to take an approval back.',
      facts: { workflow: id },
      retry: 'later',
    },
  )

const notConfirmed = ({ id, role }: Workflow, blockNumber: bigint, ms: number) =>
  new RolekeeperError(
    'workflow.not_confirmed',
    `Workflow ${id} is final on the chain since block ${blockNumber}, and for ${roughly(ms)} it was not ended; ${duration(CONFIRMED_MS_MAX)} is too long.`,
    {
      fix: 'look in the log for why nothing happens to it, and compare the nodes.',
      facts: { workflow: id, role },
      retry: 'later',
    },
  )

export const noQuorum = ({ agree, health }: Pick<Nodes, 'agree' | 'health'>, ms: number) =>
  new RolekeeperError(
    'node.no_quorum',
    `For ${roughly(ms)} no ${agree} nodes have shown one newer block; ${duration(NO_QUORUM_MS_MAX)} is too long. ${health()
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

/** The alarm of a node that is left out for too long, if any. Pure. */
export function leftOutOf({ node, state, sinceMs, blocksBehind, lastErrorCode }: NodeHealth, nowMs: number) {
  if (state === 'ok' || nowMs - sinceMs <= LEFT_OUT_MS_MAX) return []
  const lag = `${blocksBehind ?? 'an unknown number of'} blocks behind`
  return [
    new RolekeeperError(
      'node.left_out',
      `Node ${node} is ${state}, ${lag}, for ${roughly(nowMs - sinceMs)}; ${duration(LEFT_OUT_MS_MAX)} is too long. Its last error is ${lastErrorCode ?? 'none'}. The others are asked first.`,
      {
        fix: 'look at this node: while it is so, there is one fewer to agree.',
        facts: { node, state, blocksBehind, lastErrorCode },
        retry: 'later',
      },
    ),
  ]
}

/** Say that a role sees nothing, and for how long. Pure. */
export function notDeciding(role: Role, error: unknown, ms: number): RolekeeperError {
  const known = error instanceof RolekeeperError ? error : null
  const why = known === null ? 'something unforeseen' : `${known.code}: ${known.shortMessage}`
  return new RolekeeperError(
    'role.not_deciding',
    `The ${role} has decided nothing for ${roughly(ms)}: ${why}`,
    {
      fix: known?.fix ?? `see in the log why it could not look; it goes on by itself.`,
      facts: { role, reason: known?.code ?? 'unexpected' },
      retry: 'later',
    },
  )
}

/** Say that a key does not sign, and for how long. Pure. */
export const notSigning = (
  { role, signer }: { readonly role: Role; readonly signer: Address },
  said: string,
  ms: number,
) =>
  new RolekeeperError(
    'key.not_signing',
    `The key of the ${role}'s signer ${signer} signs nothing for ${roughly(ms)} (${said}).`,
    {
      fix: 'look at the KMS, and at what it allows this keeper; what waits for a signature goes on by itself.',
      facts: { role, signer, reason: said },
      retry: 'later',
    },
  )

export const lowBalance = ({ role, signer, gasWeiMax }: Payer, balanceWei: bigint) =>
  new RolekeeperError(
    'signer.low_balance',
    `The ${role}'s signer ${signer} holds ${native(balanceWei)}, the gas of ${balanceWei / gasWeiMax} workflows at the policy's most of ${native(gasWeiMax)} each; ${RUNWAY_MIN} are the least.`,
    {
      fix: 'send it native coins: without them its nonces cannot even be closed.',
      facts: { role, signer, balanceWei: String(balanceWei), gasWeiMax: String(gasWeiMax) },
      retry: 'later',
    },
  )

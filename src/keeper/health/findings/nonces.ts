import type { Head } from '../../../chain/nodes.ts'
import { RolekeeperError } from '../../../errors.ts'
import type { Finding } from '../../../ops/facet.ts'
import { plural, span } from '../../../readable.js'
import { isMetadata } from '../../../workflow/metadata.ts'
import type { Slot } from '../../../workflow/slot.ts'
import type { Workflow } from '../../../workflow/workflow.ts'

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

/** What of a role's workflows takes too long: the first of them. Pure. */
export function noncesFinding(
  role: string,
  mine: readonly Workflow[],
  head: Head | null,
  nowMs: number,
): Finding {
  const where = { facet: 'nonces', about: role } as const
  const [error] = mine.flatMap((workflow) => overdueOf(workflow, nowMs))
  const passedBy = passedByOf(mine, head, nowMs)
  // What keeps it from landing says more than for how long it has not.
  if (error !== undefined)
    return { ...where, state: 'failing', error: error.code === 'nonce.stuck' ? (passedBy ?? error) : error }
  if (passedBy !== undefined) return { ...where, state: 'warning', error: passedBy }
  return { ...where, state: 'ok', message: `${plural(mine.length, 'workflow')} live` }
}

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
    `The transaction at nonce ${nonce} of ${signer} was sent ${plural(blocks, 'block')} ago and offers more than the base fee, but is in no block.`,
    {
      fix: `ask each node of \`chain.nodes.send\` for it (\`rolekeeper workflows show ${id.slice(0, 8)}\` has its hash). A node that does not know it drops what it is sent: replace that node.`,
      facts: { workflow: id, nonce, signer },
      retry: 'later',
    },
  )

/** Age of a nonce that has not landed, milliseconds since its payload was ordered. Pure. */
export const openMs = ({ attempts }: Slot, nowMs: number): number =>
  nowMs - (attempts[0]?.orderedAtMs ?? nowMs)

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
    `Nonce ${nonce} of ${signer} has been open for ${span(ms)}; ${span(OPEN_MS_MAX)} is stuck.`,
    {
      fix: 'look at the kill switch, the KMS and the nodes; if the base fee is above what it may offer, raise fees.maxFeePerGas, fees.gainShare or limits.*.gasMax.',
      facts: { workflow: id, nonce, signer },
      retry: 'later',
    },
  )

const nonceNotFinal = ({ id }: Workflow, { nonce, signer, inclusion }: Slot, ms: number) =>
  new RolekeeperError(
    'nonce.not_final',
    `Nonce ${nonce} of ${signer} was mined in block ${inclusion?.blockNumber}, and is not final after ${span(ms)}; ${span(MINED_MS_MAX)} is too long.`,
    {
      fix: 'look whether the nodes follow the chain, and whether it finalizes blocks.',
      facts: { workflow: id, nonce, signer },
      retry: 'later',
    },
  )

const notEnded = ({ id }: Workflow, ms: number) =>
  new RolekeeperError(
    'workflow.not_ended',
    `Every nonce of workflow ${id} is final, and for ${span(ms)} it could not be ended; ${span(FINAL_MS_MAX)} is too long.`,
    {
      fix: 'look whether the nodes show the blocks of its transactions, and whether fees.maxFeePerGas leaves room to take an approval back.',
      facts: { workflow: id },
      retry: 'later',
    },
  )

const notConfirmed = ({ id, role, proposal }: Workflow, blockNumber: bigint, ms: number) => {
  const [done, compare] = isMetadata(proposal.workflowType)
    ? ['was taken by the service to be saved', 'see at the service whether it is saved']
    : [`is final on the chain since block ${blockNumber}`, 'compare the nodes']
  return new RolekeeperError(
    'workflow.not_confirmed',
    `Workflow ${id} ${done}, and for ${span(ms)} it was not ended; ${span(CONFIRMED_MS_MAX)} is too long.`,
    {
      fix: `look in the log for why nothing happens to it, and ${compare}.`,
      facts: { workflow: id, role },
      retry: 'later',
    },
  )
}

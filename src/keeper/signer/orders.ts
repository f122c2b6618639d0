import type { Address } from 'viem'
import type { Clock } from '../../clock.ts'
import { RolekeeperError, refuse } from '../../errors.ts'
import type { Mail } from '../../ops/mail.ts'
import { leftBehind } from '../../ops/orders.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import type { Candidate } from '../policy/candidates.ts'
import type { KeeperRecords } from '../records/records.ts'
import type { ChainFollower } from '../startup/chain-follower.ts'
import { createSignerDesk, type SignerDesk } from './desk.ts'
import { type Filler, fillNonce } from './fill-nonce.ts'
import { createReleases } from './release-quorum.ts'

/** What a signer desk is joined from. */
type DeskParts = {
  readonly records: KeeperRecords
  readonly ground: ChainFollower
  readonly candidates: readonly Candidate[]
  readonly clock: Clock
  /** A workflow was opened (without `before`) or changed, and is to be looked at. */
  readonly onChanged: (before: Workflow | null, after: Workflow) => void
}

/** Open the desk of a keeper's signers, and compare each with the chain before anything of it is signed. */
export async function openSignerDesk(parts: DeskParts): Promise<SignerDesk> {
  const { records, ground, candidates, clock, onChanged } = parts
  const { journal, signers, addresses } = records
  const { nodes, chain, gas } = ground
  const desk = createSignerDesk({
    nodes,
    journal,
    chain,
    signers,
    addresses,
    onChanged,
    nowMs: clock.nowMs,
    releases: createReleases(nodes.chainId, candidates),
    fill: (signer, nonce, filling) =>
      fillNonce(signer, nonce, filling, {
        nowMs: clock.nowMs,
        chainId: nodes.chainId,
        journal,
        noopGas: gas.noopGas,
        baseFeePerGasWei: () => chain.of(signer).baseFeePerGasWei,
        fillerOf: (address) => fillerOf(address, candidates),
        onFilled: (workflow) => onChanged(null, workflow),
      }),
  })
  await desk.look()
  return desk
}

function fillerOf(signer: Address, candidates: readonly Candidate[]): Filler | undefined {
  for (const { agent, does, policy } of candidates) {
    const [workflowType] = does.workflowTypes
    if (agent.mode !== 'live' || agent.signer.address !== signer || workflowType === undefined) continue
    if (policy instanceof RolekeeperError) continue
    return { role: agent.role, workflowType, fees: policy.policy.fees }
  }
  return undefined
}

/** Take what people ordered about signers. */
export async function takeSignerOrders(
  desk: Pick<SignerDesk, 'take'>,
  mail: Pick<Mail, 'signerOrders' | 'take' | 'reply'>,
): Promise<void> {
  for (const { id, order, isLate } of await mail.signerOrders()) {
    if (!(await mail.take(id))) continue
    const taken =
      order === null
        ? refuse('order_unreadable', `The order ${id} does not hold one.`)
        : isLate === true
          ? leftBehind(id)
          : await desk.take(order)
    await mail.reply(id, taken.ok ? { said: taken.text } : taken)
  }
}

import type { Address } from 'viem'
import type { AgentConfig } from './config/config.ts'
import { readAnswer } from './ops/orders.ts'
import type { Stages } from './pipeline.ts'
import { createWalletSession, type WalletSession } from './service/session.ts'
import { attestChallenge, openSigner } from './signers.ts'
import type { RolePolicy, Shared } from './staff.ts'
import { createStages } from './stages.ts'

/** What a live role has and one in shadow has not: its key, and what only a key opens. */
export type Hands = {
  readonly signer: Address
  readonly session: WalletSession
  readonly stages: Stages
  /** The KMS's last word: `ok` or an error's code. */
  readonly kmsOutcome: () => string
}

/** Open the signer of a live role, and join what it signs for. Throws what opening the signer throws. */
export async function openHands(
  agent: AgentConfig,
  { policy, ruleset, approval }: RolePolicy,
  shared: Shared,
): Promise<Hands> {
  const { config, clock, journal, nodes, client } = shared
  let kmsOutcome = 'ok'
  const signer = await openSigner(agent, config, (outcome, tookMs) => {
    kmsOutcome = outcome
    shared.metrics.kmsCalled(outcome, tookMs)
  })
  const session = createWalletSession(
    { address: signer.address, chainId: nodes.chainId },
    {
      client,
      clock,
      attest: (digest) =>
        attestChallenge(digest, signer, {
          journal,
          nowMs: clock.nowMs,
          isClosed: () => shared.gate().closed,
        }),
    },
  )
  const stages = createStages({
    nowMs: clock.nowMs,
    journal,
    nodes,
    client,
    chain: shared.chain,
    signer,
    ruleset,
    approval,
    answer: (id) => readAnswer(config.directory, id),
    fees: policy.fees,
    gate: shared.gate,
    alarm: shared.alarm,
  })
  return { signer: signer.address, session, stages, kmsOutcome: () => kmsOutcome }
}

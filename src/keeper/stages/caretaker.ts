import type { Address } from 'viem'
import type { AgentConfig } from '../../config/config.ts'
import { RolekeeperError, refuse } from '../../errors.ts'
import { CONFIRMATION_MS_MAX } from '../../pipeline/confirm.ts'
import type { Stage, Stages } from '../../pipeline/pipeline.ts'
import type { FeePolicy } from '../../pipeline/transactions/fees.ts'
import { wait } from '../../workflow/step.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { createFollowingStages, type FollowingStagesDeps } from './live.ts'

/** What cannot go on without its role is looked at this often; a role that comes up wakes it at once. */
const CARE_MS = 10_000

/** What no policy allows is not offered. */
const OFFERS_NOTHING: FeePolicy = {
  maxFeePerGasWei: -1n,
  priorityFeePerGasWei: 0n,
  priorityFeePerGasWeiMax: 0n,
  gainShareBps: 1n,
  nativePriceUsdMicros: 1n,
  baseFeeBps: 10_000n,
  bumpBps: 1_000n,
  bumpAfterBlocks: 0n,
}

const waits: Stage = async () => wait(CARE_MS)
const WAITING: Stages = {
  request: waits,
  prepare: waits,
  attest: waits,
  clear: waits,
  claim: waits,
  carry: waits,
  confirm: waits,
  resend: async () => undefined,
}

/** What following a workflow takes when no key, no rules and no fees of its role are known. */
type CaretakerDeps = Omit<
  FollowingStagesDeps,
  | 'signer'
  | 'fees'
  | 'rulesetHash'
  | 'gasWeiMax'
  | 'confirmationMsMax'
  | 'recheck'
  | 'prove'
  | 'lookAgain'
  | 'checkBudget'
  | 'reserve'
>

/**
 * Give the stages of a workflow whose role does not work. What its role would have to decide waits; what is public is
 * followed and sent again to its end, and with the role's own stages (`live`) also bumped and closed, as far as its key
 * opens. Without them nothing is signed and nothing is sent for the first time.
 */
export function caretakerStages(workflow: Workflow, live: Stages | null, deps: CaretakerDeps): Stages {
  if (workflow.shadow === true) return WAITING
  const { carry, confirm, resend } = live ?? unstaffedStages(workflow, deps)
  return { ...WAITING, carry, confirm, resend }
}

function unstaffedStages({ role, signer, clearance }: Workflow, deps: CaretakerDeps) {
  const refused = async () => refuse('role_absent', `No rules of the ${role} are loaded to look by.`)
  const stages = createFollowingStages({
    ...deps,
    fees: OFFERS_NOTHING,
    gasWeiMax: 0n,
    confirmationMsMax: CONFIRMATION_MS_MAX,
    rulesetHash: clearance?.rulesetHash ?? '',
    signer: {
      address: signer,
      keyId: 'none',
      signDigest: async () => {
        throw roleAbsent(role, signer)
      },
    },
    // Nothing is signed.
    prove: () => null,
    recheck: refused,
    lookAgain: refused,
    checkBudget: refused,
    reserve: refused,
  })
  return { ...stages, carry: unhurried(stages.carry), confirm: unhurried(stages.confirm) }
}

/** Heads wake what waits for the chain; what waits for a role need not be asked twice a second. */
const unhurried =
  (stage: Stage): Stage =>
  async (workflow) => {
    const step = await stage(workflow)
    return step.type === 'wait' ? wait(Math.max(step.ms, CARE_MS)) : step
  }

/** Make the error of a workflow whose role no agent of the configuration holds live. */
export const roleAbsent = (role: AgentConfig['role'], signer: Address): RolekeeperError =>
  new RolekeeperError(
    'role.absent',
    `Workflows of the ${role} with the signer ${signer} have not ended, and no live agent has this role and signer.`,
    {
      fix: 'put the agent back into `agents` until they have ended: without its key and rules they are only followed.',
      facts: { role, signer },
      retry: 'later',
    },
  )

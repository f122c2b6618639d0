import type { Clock } from '../../../clock.ts'
import type { AgentConfig, RunConfig } from '../../../config/config.ts'
import { RolekeeperError } from '../../../errors.ts'
import { proveMaySign } from '../../../sign/kms.ts'
import { kmsSettingsOf, openSigner } from '../../signer/role-signing.ts'
import { ANSWER_MS_MAX } from '../../startup/service.ts'
import { agentText, type Finding, failed, failedBy, passed, warned } from '../finding.ts'

/** What was found of a key, and by how much its KMS's time is ahead of ours, milliseconds. */
type ExaminedKey = { readonly finding: Finding; readonly aheadMs: number | null }

/** Look at each agent's key: there, of the address that is pinned, able to sign and allowed to us. Nothing is signed. */
export const examineKeys = (
  config: RunConfig,
  clock: Pick<Clock, 'nowMs'>,
): Promise<readonly ExaminedKey[]> =>
  Promise.all(config.agents.map((agent) => examineKey(agent, config, clock)))

async function examineKey(
  agent: AgentConfig,
  config: RunConfig,
  { nowMs }: Pick<Clock, 'nowMs'>,
): Promise<ExaminedKey> {
  const { role, signer } = agent
  const stop = AbortSignal.timeout(ANSWER_MS_MAX)
  try {
    await openSigner(agent, config, () => undefined, stop)
    const settings = kmsSettingsOf(agent, config)
    const aheadMs = settings === null ? null : await proveMaySign(settings, nowMs, stop)
    return { finding: passed('key', role, `it is that of ${signer.address}, and may sign.`), aheadMs }
  } catch (error) {
    const finding = stop.aborted
      ? failed('key', role, {
          code: 'kms.timeout',
          message: `The key of ${role} gave no answer within ${ANSWER_MS_MAX / 1_000} s.`,
          fix: 'check `kms.endpoint`, its region and the network path to it.',
        })
      : isOfAnother(agent, config.agents, error)
    // A shadow signs nothing: its key is proven when it goes live.
    if (agent.mode === 'live') return { finding, aheadMs: null }
    const { code, message, fix = '' } = finding
    return { finding: warned('key', role, { code, message, fix }), aheadMs: null }
  }
}

/** Say whose key it is, where it is that of another agent. Pure. */
function isOfAnother(agent: AgentConfig, agents: readonly AgentConfig[], error: unknown): Finding {
  const { role, signer } = agent
  const found = error instanceof RolekeeperError ? String(error.facts.found ?? '').toLowerCase() : ''
  if (found === '') return failedBy('key', role, error)
  const at = `agents[${agents.indexOf(agent)}].signer`
  const other = agents.find((each) => each !== agent && each.signer.address === found)
  const whose = other === undefined ? '' : `, that of ${agentText(other, agents)}`
  return failed('key', role, {
    code: other === undefined ? 'kms.wrong_key' : 'key.of_another_role',
    message: `The key of ${agentText(agent, agents)}, has the address ${found}${whose}; ${at} pins ${signer.address}.`,
    fix: `write the key of ${signer.address} as ${at}.kms.keyId, or ${found} as its address if that key is meant.`,
  })
}

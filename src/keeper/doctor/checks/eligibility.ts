import type { AgentConfig } from '../../../config/config.ts'
import { positionOf } from '../../policy/role-policy.ts'
import { agentText, type Finding, failed, passed, warned } from '../finding.ts'
import type { World } from '../world.ts'

/**
 * Judge whether a signer may do what its role does, by the contracts' own word. One that may not, where the signer of another
 * role of this configuration may, was mixed up with it. Pure.
 */
export function judgeEligibility(
  agent: AgentConfig,
  agents: readonly AgentConfig[],
  { mayOf }: Pick<World, 'mayOf'>,
): Finding {
  const { role, signer } = agent
  const types = positionOf(agent).does.workflowTypes
  const places = mayOf(types, signer.address).filter(({ may }) => may !== null)
  const denied = places.filter(({ may }) => may === false)
  if (places.length === 0) {
    return passed('eligibility', role, 'the chain does not say; the service does with each preflight.')
  }
  if (denied.length === 0) {
    return passed(
      'eligibility',
      role,
      `${signer.address} may act at ${places.map(({ at }) => at).join(', ')}.`,
    )
  }
  const where = denied.map(({ at }) => at).join(', ')
  const needs = [...new Set(denied.map((each) => each.needs))].join('; ')
  const message = `${signer.address}, the signer of ${agentText(agent, agents)}, may not act at ${where}: it needs ${needs}.`
  const other = agents.find(
    (each) =>
      each.role !== role &&
      each.signer.address !== signer.address &&
      denied.some(({ at }) =>
        mayOf(types, each.signer.address).some((place) => place.at === at && place.may === true),
      ),
  )
  // A key that two roles share is right for one of them at most where it may not do what the other is for.
  const shared = agents.find((each) => each.role !== role && each.signer.address === signer.address)
  if (other !== undefined || shared !== undefined) {
    const who = other ?? shared
    const whose =
      other === undefined
        ? `It is the signer of ${agentText(shared ?? agent, agents)}, too.`
        : `${other.signer.address}, the signer of ${agentText(other, agents)}, may: they look swapped.`
    const fix =
      other === undefined
        ? `give agents[${agents.indexOf(agent)}] the ${role}'s own signer, not that of the ${who?.role}.`
        : `write ${other.signer.address} with its key as agents[${agents.indexOf(agent)}].signer, or have ${signer.address} admitted at ${where}.`
    return failed('eligibility', role, { code: 'key.of_another_role', message: `${message} ${whose}`, fix })
  }
  const fix = `ask the operator of ${where} to admit ${signer.address}, or correct agents[${agents.indexOf(agent)}].signer.`
  return denied.length < places.length
    ? warned('eligibility', role, { code: 'eligibility.partial', message, fix })
    : failed('eligibility', role, { code: 'eligibility.none', message, fix })
}

import { existsSync } from 'node:fs'
import { printable, RolekeeperError } from '../../errors.ts'
import { inputLines } from '../../guard/explain/input-text.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import { isMetadata } from '../../workflow/metadata.ts'
import type { Workflow } from '../../workflow/workflow.ts'

/** The longest text of an input, or a call with a list of a hundred addresses. */
const VALUE_MAX = 10_000

/**
 * Write what a person's order asks for, and once it is prepared its calls as the guard reads them by the policy of now; nothing
 * for what an agent proposed, whose figures say why.
 * @param config the run configuration, which need not be there.
 */
export async function orderLines(
  workflow: Workflow,
  known: Deployment,
  config: string,
): Promise<readonly string[]> {
  const { proposal, signer } = workflow
  if (proposal.kind !== 'order') return []
  const members = inputLines(proposal.input, signer, known)
  const width = Math.max(0, ...members.map(([path]) => path.length))
  return [
    'Input:',
    ...members.map(([path, text]) => `  ${printable(path).padEnd(width)}  ${printable(text, VALUE_MAX)}`),
    ...(await callLines(workflow, config)),
  ]
}

async function callLines(workflow: Workflow, config: string): Promise<readonly string[]> {
  const { prepared, proposal } = workflow
  if (prepared === undefined) return []
  if (prepared.answer.transactions.length === 0) {
    const isDone = isMetadata(proposal.workflowType) && prepared.answer.preflight.status === 'passed'
    return [isDone ? 'Calls: none, preparing it was the effect.' : 'Calls: the service prepared none.']
  }
  const calls = await decoded(workflow, config)
  if ('none' in calls) return [`Calls: ${prepared.answer.transactions.length}, not decoded: ${calls.none}`]
  return ['Calls:', ...calls.map((call) => `  ${printable(call, VALUE_MAX)}`)]
}

/** The calls, or why they cannot be read. */
async function decoded(
  workflow: Workflow,
  config: string,
): Promise<readonly string[] | { readonly none: string }> {
  if (!existsSync(config)) return { none: 'give the run configuration with --config.' }
  const { preparedCalls } = await import('../../keeper/policy-tools/explain.ts')
  try {
    return preparedCalls(workflow, config) ?? { none: `${config} has no agent of this role and signer.` }
  } catch (error) {
    if (!(error instanceof RolekeeperError)) throw error
    return { none: printable(error.message) }
  }
}

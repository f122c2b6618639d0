import { printable } from '../../../errors.ts'
import { explainFile } from '../../../keeper/policy-tools/explain.ts'
import type { Io } from '../../parse/command.ts'

type Explained = ReturnType<typeof explainFile>
type Call = Explained['calls'][number]

/** Names and amounts fit; of what the service says no more is shown. */
const LINE_MAX = 1_000

/** Say what a policy says of one answer of the service, rule by rule. @returns 0 where it clears it, else 1. */
export function explainPolicy(file: string, prepared: string, config: string, io: Io): number {
  const explained = explainFile(file, config, prepared)
  const { role, workflowType, asks, refusal, calls } = explained
  const verdict =
    refusal === null
      ? `The policy of the ${role} clears this ${workflowType}, as far as it is judged without the chain.`
      : `The policy of the ${role} refuses this ${workflowType}: ${refusal.check}. ${refusal.message}`
  const asked = asks === null ? '' : `A person is asked first: ${printable(asks.message, LINE_MAX)}\n`
  io.out(`${printable(verdict, LINE_MAX)}\n${asked}${calls.map(callText).join('')}${NOT_JUDGED}`)
  return refusal === null ? 0 : 1
}

const NOT_JUDGED = `
Not judged here, for it takes the chain and the journal: facts, simulation, effects, the role's own judgement, fees, budgets.
`

function callText({ order, to, calls, rules }: Call): string {
  const lines = rules.flatMap(({ rule, clears, why, facts }) => [
    `  ${clears ? 'cleared by' : 'not by'} ${rule}`,
    ...why.map(({ check, message }) => `      ${check}: ${printable(message, LINE_MAX)}`),
    ...(facts.length === 0 ? [] : [`      rests besides on facts: ${facts.join(', ')}`]),
  ])
  return ['', `Intent ${order}: ${printable(`${calls} of ${to}`)}`, ...lines, ''].join('\n')
}

import { join } from 'node:path'
import { printable } from '../../errors.ts'
import { changeText } from '../../guard/explain/reason-text.ts'
import type { PlannedDifference } from '../../keeper/policy-tools/plan.ts'
import { DEFAULT_DIRECTORY } from '../../ops/directory.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import { configAt } from '../orders/run-order.ts'
import { pinText } from '../output/pin-text.ts'
import { command, usageError } from '../parse/command.ts'
import { DIRECTORY } from '../parse/options.ts'

/** `rolekeeper plan`: what differs from what a policy declares, and what would be done about it. */
export const plan = command({
  name: 'plan',
  usage: '[--role ROLE] [--config FILE | --directory DIR] [--json]',
  help: `Compare the vaults, funds, channel policies, mobility rules and settings of vaults that a policy declares with what is
there, in the order in which they would be applied. It signs nothing and changes nothing; a keeper that runs applies it.
Exits with 0 when everything is as declared, 1 when something differs.

  rolekeeper plan --config config/production.yaml`,
  options: {
    role: {
      help: 'whose policy (default: of every role that declares anything)',
      value: 'ROLE',
    },
    config: { help: 'the run configuration', value: 'FILE' },
    directory: DIRECTORY,
    json: { help: 'print JSON, one object a line' },
  },
  argumentsMax: 0,
  run: async ({ role, json, ...given }, _args, io) => {
    if (given.config !== undefined && given.directory !== undefined) {
      throw usageError(
        '--config and --directory are both given.',
        'a configuration names its directory: give one',
      )
    }
    const { DECLARING_ROLES, planOf } = await import('../../keeper/policy-tools/plan.ts')
    if (role !== undefined && !DECLARING_ROLES.includes(role)) {
      throw usageError(
        `The role ${printable(role)} declares nothing.`,
        `leave --role out, or give ${DECLARING_ROLES.join(' or ')}`,
      )
    }
    const roles = role === undefined ? DECLARING_ROLES : [role]
    const config = await configAt(given, io)
    const differences = await planOf(config, roles)
    const file = given.config ?? join(given.directory ?? DEFAULT_DIRECTORY, 'run.yaml')
    const text = (one: PlannedDifference) => textOf(one, config.deployment, file)
    io.out(differences.map(json === true ? jsonOf : text).join(''))
    const differing = differences.filter((one) => !isAsDeclared(one))
    if (json !== true) io.out(summaryOf(differences.length, differing))
    return differing.length === 0 ? 0 : 1
  },
})

const isApplied = ({ outcome }: PlannedDifference) => 'workflowType' in outcome
const isAsDeclared = ({ outcome }: PlannedDifference) => 'check' in outcome && outcome.check === 'as_declared'

const jsonOf = ({ subject, direction, changes, outcome, asked, pin }: PlannedDifference): string =>
  `${JSON.stringify({
    subject,
    direction,
    changes,
    ...('workflowType' in outcome
      ? { workflowType: outcome.workflowType, input: outcome.input, asked }
      : { check: outcome.check, message: outcome.message }),
    ...(pin === null ? {} : { pin }),
  })}\n`

const SIGNS = { new: '+', stricter: '↓', looser: '↑', none: '≠' } as const

/** Names of funds and vaults come from outside: none reaches the terminal as it is. */
function textOf(difference: PlannedDifference, known: Deployment, file: string): string {
  const { subject, direction, changes, asset, outcome, asked, pin } = difference
  const sign = isAsDeclared(difference) ? '=' : SIGNS[direction]
  const input = {
    ...(asset === undefined ? {} : { baseAssetAddress: asset }),
    ...Object.fromEntries(changes.map(({ field, to }) => [field, to])),
  }
  const fund = known.funds.find(({ name }) => name === subject.split(':')[1]) ?? null
  const write = (field: string, value: string) =>
    changeText(field, value, { input, fund, market: null }, known)
  const lines = [
    `${sign} ${printable(subject)}`,
    ...changes.map(
      ({ field, from, to }) =>
        `    ${printable(`${field}: ${from === null ? '' : `${write(field, from)} → `}${write(field, to)}`)}`,
    ),
    ...('check' in outcome && !isAsDeclared(difference)
      ? [`    left: ${printable(`${outcome.check}: ${outcome.message}`, 1_000)}`]
      : []),
    ...(pin === null ? [] : pinText(pin, file)),
    ...(asked === null ? [] : [`    a person is asked first: ${printable(asked)}`]),
  ]
  return `${lines.join('\n')}\n`
}

function summaryOf(all: number, differing: readonly PlannedDifference[]): string {
  const applied = differing.filter(isApplied)
  const asked = applied.filter((one) => one.asked !== null).length
  const left = differing.length - applied.length
  return `\n${all} declared: ${all - differing.length} as declared, ${applied.length - asked} to apply, ${asked} to ask about, ${left} left.\n`
}

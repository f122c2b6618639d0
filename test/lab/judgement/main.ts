/**
 * `npm run judgement [-- ROLE…] [--json]`: what each role's decisions are worth by the worlds' own ledgers, beside what professionals
 * would do, over seeded scenarios; then whether deadly mistakes are found out, and at the end all of it in one table.
 */
import { styleText } from 'node:util'
import { createProgress } from '../../support/progress.ts'
import { readScript } from '../../support/script.ts'
import type { Judge } from './judgement.ts'
import { judges } from './judges.ts'
import { foundOut, mutants } from './mutants.ts'
import { type Finding, judgeScenario } from './tally.ts'
import { tableOf } from './worlds-table.ts'

const SEEDS = 100

const roles = [...new Set(judges.map(({ role }) => role))]
const { values, positionals } = readScript(
  import.meta.url,
  { json: { type: 'boolean', default: false } },
  roles,
)
const isAsked = ({ role }: Pick<Judge, 'role'>) => positionals.length === 0 || positionals.includes(role)
// Without a "--" before it npm takes the option for its own, and only says so in the environment.
const json = values.json || process.env.npm_config_json === 'true'
const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1)
const print = (line: string) => process.stdout.write(`${line}\n`)
const markOf = (isGood: boolean) => (isGood ? styleText('green', 'pass') : styleText('red', 'FAIL'))

const [ours, asked] = [judges.filter(isAsked), mutants.filter(({ judge }) => isAsked(judge))]
const step = createProgress(
  'judgement',
  ours.reduce((sum, { scenarios }) => sum + scenarios.length, asked.length),
)
const findings: Finding[] = []
for (const judge of ours) {
  if (!json) print(`\n${judge.role}, seeds 1 to ${SEEDS}, beside: ${judge.baseline}`)
  for (const scenario of judge.scenarios) {
    for (const finding of judgeScenario(judge, scenario, seeds)) {
      findings.push(finding)
      print(json ? JSON.stringify(finding) : text(finding))
    }
    step()
  }
}
const failed = findings.filter(({ failures }) => failures.length > 0).length

if (!json) print('\nRoles with a deadly mistake, and what each is found out by')
let missed = 0
for (const mutant of asked) {
  const { name, scenario, figure, judge } = mutant
  const failures = foundOut(mutant)
  if (failures.length === 0) missed += 1
  const told = { role: judge.role, mutant: name, scenario, figure, failures }
  const words = `${judge.role}: ${name}`.padEnd(58)
  const by = `${scenario} ${figure}: ${failures.join(', ') || 'nothing'}`
  print(json ? JSON.stringify(told) : `${markOf(failures.length > 0)}  ${words} ${by}`)
  step()
}

const { lines, ok } = tableOf(findings)
const sum = {
  passed: findings.length - failed,
  failed,
  mutants: asked.length,
  missed,
  besideProfessionals: ok,
}
print(json ? JSON.stringify(sum) : `\n${lines.join('\n')}`)
if (!json) {
  print(`${asked.length - missed} of ${asked.length} deadly mistakes are found out.`)
  print(`${sum.passed} figures passed, ${failed} failed.`)
}
process.exitCode = failed === 0 && missed === 0 && ok ? 0 : 1

function text({ scenario, figure, ours, baseline, failures }: Finding): string {
  const pair = ({ median, worst }: Finding['ours']) => `${number(median)} (worst ${number(worst)})`
  const beside = baseline === null ? '' : `beside ${pair(baseline)}`
  const mark = markOf(failures.length === 0)
  const line = `${mark}  ${scenario.padEnd(22)} ${figure.padEnd(30)} ${pair(ours).padEnd(34)} ${beside}`
  return [line.trimEnd(), ...failures.map((failure) => `      ${failure}`)].join('\n')
}

function number(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 6 })
}

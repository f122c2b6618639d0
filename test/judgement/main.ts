/** `npm run judgement [--json]`: what each role's decisions are worth, beside the obvious way, over seeded scenarios. */
import { parseArgs, styleText } from 'node:util'
import { judges } from './judges.ts'
import { type Finding, judgeScenario } from './tally.ts'

const SEEDS = 100

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } })
// Without a "--" before it npm takes the option for its own, and only says so in the environment.
const json = values.json || process.env.npm_config_json === 'true'
const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1)
const print = (line: string) => process.stdout.write(`${line}\n`)

let failed = 0
let passed = 0
for (const judge of judges) {
  if (!json) print(`\n${judge.role}, seeds 1 to ${SEEDS}, beside: ${judge.baseline}`)
  for (const scenario of judge.scenarios) {
    for (const finding of judgeScenario(judge, scenario, seeds)) {
      if (finding.failures.length > 0) failed += 1
      else passed += 1
      print(json ? JSON.stringify(finding) : text(finding))
    }
  }
}
print(json ? JSON.stringify({ passed, failed }) : `\n${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

function text({ scenario, figure, ours, baseline, failures }: Finding): string {
  const mark = failures.length === 0 ? styleText('green', 'pass') : styleText('red', 'FAIL')
  const pair = ({ median, worst }: Finding['ours']) => `${number(median)} (worst ${number(worst)})`
  const beside = baseline === null ? '' : `beside ${pair(baseline)}`
  const line = `${mark}  ${scenario.padEnd(22)} ${figure.padEnd(30)} ${pair(ours).padEnd(34)} ${beside}`
  return [line.trimEnd(), ...failures.map((failure) => `      ${failure}`)].join('\n')
}

function number(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 6 })
}

import { parseArgs, styleText } from 'node:util'
import type { Row } from './row.ts'
import { runConformance } from './run.ts'

/** One wrong schema can be reported in a hundred ways; --json gives them all. */
const PROBLEMS_SHOWN_MAX = 12

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } })
// Without a `--` before it, npm takes the flag for its own and hands it over so.
const json = values.json || process.env.npm_config_json === 'true'
const { rows } = await runConformance(json ? (row) => print(JSON.stringify(asJson(row))) : printRow)
const failed = rows.filter((row) => row.problems.length > 0).length
const passed = rows.length - failed
print(json ? JSON.stringify({ passed, failed }) : `\n${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

function asJson({ problems, ...row }: Row) {
  return { ...row, passed: problems.length === 0, problems }
}

function printRow({ name, checks, problems, ms }: Row): void {
  const passes = problems.length === 0
  const mark = passes ? styleText('green', 'pass') : styleText('red', 'FAIL')
  print(`${mark}  ${name.padEnd(66)} ${String(checks).padStart(4)} checks ${String(ms).padStart(6)} ms`)
  for (const problem of problems.slice(0, PROBLEMS_SHOWN_MAX)) print(`      ${problem}`)
  if (problems.length > PROBLEMS_SHOWN_MAX) print(`      and ${problems.length - PROBLEMS_SHOWN_MAX} more`)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

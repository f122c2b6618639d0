/**
 * `npm run slips [-- ROLE…] [--json]`: what becomes of a slip of the pen. Each number of the shipped policies is written a
 * thousand times as large, as a thousandth, as zero, in a neighbouring unit and, where it is a part, as all of it; each file
 * is loaded and checked as `rolekeeper policy check` does. With `--json` each slip is one line. Exits 1 when one is neither
 * refused nor listed, and is not known to be harmless.
 */
import { rmSync } from 'node:fs'
import { newDirectory } from '../../support/directory.ts'
import { readScript } from '../../support/script.ts'
import { harmless, ROLES, tryAll, type Verdict } from './slips.ts'

const { values, positionals } = readScript(
  import.meta.url,
  { json: { type: 'boolean', default: false } },
  ROLES,
)
const print = (line: string) => process.stdout.write(`${line}\n`)
const directory = newDirectory()
try {
  if (!values.json) print('role             numbers   slips  refused   listed  harmless  silent')
  for (const role of positionals.length === 0 ? ROLES : positionals) {
    const slips = tryAll(role, directory)
    const silent = slips.filter((slip) => slip.verdict === 'silent' && harmless(slip) === null)
    if (silent.length > 0) process.exitCode = 1
    if (values.json) {
      for (const slip of slips) print(JSON.stringify({ role, ...slip, harmless: harmless(slip) }))
      continue
    }
    const numbers = new Set(slips.map(({ path }) => path.join('.'))).size
    const of = (verdict: Verdict) => slips.filter((slip) => slip.verdict === verdict).length
    const figures = [
      numbers,
      slips.length,
      of('refused'),
      of('listed'),
      of('silent') - silent.length,
      silent.length,
    ]
    const widths = [7, 8, 9, 9, 10, 8]
    print(role.padEnd(17) + figures.map((figure, at) => String(figure).padStart(widths[at] ?? 0)).join(''))
    for (const { path, was, is } of silent) print(`  ${path.join('.')}: ${is} for ${was}`)
  }
} finally {
  rmSync(directory, { recursive: true })
}

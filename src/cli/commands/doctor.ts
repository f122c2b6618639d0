import { printable } from '../../errors.ts'
import type { Finding } from '../../keeper/doctor/finding.ts'
import { plural } from '../../readable.js'
import { configAt } from '../orders/run-order.ts'
import { command } from '../parse/command.ts'
import { EXIT } from '../parse/exit-codes.ts'
import { DIRECTORY } from '../parse/options.ts'

/** `rolekeeper doctor`: everything that can be known before the first signature. */
export const doctor = command({
  name: 'doctor',
  usage: '[--config FILE | --directory DIR] [--json] [--all]',
  help: `Look at everything that can be known before the first signature, all at once: clock, nodes, contracts, service, keys,
rights, policies, gas, limits, disk and ports. Nothing is signed or sent. Each failure and warning has its fix; passes are
counted, and shown with --all. Exits with 0 when nothing fails, 1 when something does, 2 for a configuration that does not load.

  rolekeeper doctor --config config/production.yaml`,
  options: {
    config: { help: 'the run configuration', value: 'FILE' },
    directory: DIRECTORY,
    json: { help: 'print findings as JSON, one object a line' },
    all: { help: 'show what passes too' },
  },
  argumentsMax: 0,
  run: async ({ config, directory, json, all }, _args, io) => {
    const { examine } = await import('../../keeper/doctor/doctor.ts')
    const { systemClock } = await import('../../clock.ts')
    const place = {
      ...(config === undefined ? {} : { config }),
      ...(directory === undefined ? {} : { directory }),
    }
    const findings = await examine(await configAt(place, io), systemClock)
    if (json === true) for (const finding of findings) io.out(`${JSON.stringify(finding)}\n`)
    else io.out(textOf(findings, all === true))
    return findings.some(({ state }) => state === 'failing') ? EXIT.failed : EXIT.done
  },
})

const SIGNS = { failing: '✗', warning: '!', ok: '✓' } as const

/** Write findings, the worst first. Pure. */
function textOf(findings: readonly Finding[], all: boolean): string {
  const of = (state: Finding['state']) => findings.filter((each) => each.state === state)
  const [failing, warnings, passes] = [of('failing'), of('warning'), of('ok')]
  const lines = [...failing, ...warnings, ...(all ? passes : [])].map(
    ({ state, check, about, message, fix }) => {
      const what = about === '' ? check : `${check} ${printable(about)}`
      const then = fix === undefined ? '' : `\n    Fix: ${printable(fix, 1_000)}`
      return `${SIGNS[state]} ${what}: ${printable(message, 1_000)}${then}\n`
    },
  )
  const sum = `${failing.length} failing, ${plural(warnings.length, 'warning')}, ${passes.length} passed.`
  return `${lines.join('')}${sum}\n`
}

/**
 * `npm run day -- --seed S [--scenario NAME] [--blocks N] [--restarts N] [--gas-hour "0.05 ETH"] [--json]`: all roles live for
 * 7,200 blocks, two hours of a chain on a clock seven times as fast.
 */
import { rmSync } from 'node:fs'
import { newDirectory } from '../../support/directory.ts'
import { readScript } from '../../support/script.ts'

const { values } = readScript(import.meta.url, {
  seed: { type: 'string', default: '1' },
  scenario: { type: 'string' },
  blocks: { type: 'string', default: '7200' },
  restarts: { type: 'string', default: '0' },
  'gas-hour': { type: 'string' },
  json: { type: 'boolean', default: false },
})
// Without a "--" before it npm takes the option for its own, and only says so in the environment.
const json = values.json || process.env.npm_config_json === 'true'
const { playDay } = await import('./day.ts')
const directory = newDirectory()
const report = await playDay({
  directory,
  seed: Number(values.seed),
  scenario: values.scenario,
  blocks: BigInt(values.blocks),
  restarts: Number(values.restarts),
  gasHour: values['gas-hour'],
  onProgress: (text) => process.stderr.write(`day: ${text}\n`),
})
const failed = report.problems.length > 0
// What went wrong is still there to be looked at.
if (failed) process.stderr.write(`day: kept ${directory}\n`)
else rmSync(directory, { recursive: true })
process.stdout.write(json ? `${JSON.stringify(report)}\n` : summary())
process.exitCode = failed ? 1 : 0

function summary(): string {
  const roles = Object.entries(report.roles).map(([role, counts]) => {
    const ends = Object.entries(counts).map(([state, count]) => `${count} ${state}`)
    return `${role.padEnd(14)} ${ends.join(', ')}`
  })
  return [
    `${report.blocks} blocks, ${report.workflows} workflows in ${(report.tookMs / 60_000).toFixed(1)} minutes`,
    `ready after ${report.startsMs.map((ms) => `${(ms / 1_000).toFixed(1)} s`).join(', ')}`,
    ...roles,
    ...Object.entries(report.gasHours).map(
      ([role, text]) => `${role.padEnd(14)} ${text} in its dearest hour`,
    ),
    ...Object.entries(report.reasons)
      .toSorted(([, one], [, other]) => other - one)
      .map(([reason, count]) => `  ${String(count).padStart(5)}  ${reason}`),
    ...(failed
      ? report.problems.map((problem) => `PROBLEM ${problem}`)
      : ['none lost, doubled or quarantined']),
    '',
  ].join('\n')
}

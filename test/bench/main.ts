/** `npm run bench reaction [--json]`: the figures that are held over time. It always exits 0: a figure is no test. */
import { parseArgs } from 'node:util'
import { measureReaction, type ReactionFigures, type SideFigures } from './reaction.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
})
// Without a "--" before it npm takes the option for its own, and only says so in the environment.
const json = values.json || process.env.npm_config_json === 'true'
if (positionals.join() === 'reaction') {
  const figures = await measureReaction((text) => process.stderr.write(`reaction: ${text}\n`))
  process.stdout.write(json ? `${JSON.stringify(figures)}\n` : describe(figures))
} else {
  process.stderr.write('Usage: npm run bench reaction [--json]\n')
}

function describe({ keeper, script, ratio, failures, load, delaysMs }: ReactionFigures): string {
  const { service, node, kms } = delaysMs
  return [
    `Event in to raw transactions accepted; delays: service ${service} ms, node ${node} ms, KMS ${kms} ms.`,
    side('keeper', keeper),
    side('script', script),
    `ratio of p50 ${ratio.toFixed(2)}; load ${load.map((one) => one.toFixed(1)).join(' to ')}`,
    ...failures,
    '',
  ].join('\n')
}

function side(name: string, { rounds, p50Ms, p95Ms, waves }: SideFigures): string {
  const ms = (value: number) => `${value.toFixed(1)} ms`
  return [
    `${name}: p50 ${ms(p50Ms)}, p95 ${ms(p95Ms)}, ${rounds} rounds, ${waves.length} sequential waves`,
    ...waves.map(
      ({ calls, ownMs, tookMs }, index) =>
        `  ${index + 1}. after ${ms(ownMs)} of its own, ${ms(tookMs)}: ${calls.join(', ')}`,
    ),
  ].join('\n')
}

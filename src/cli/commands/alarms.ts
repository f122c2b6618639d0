import { createHash, randomUUID } from 'node:crypto'
import { systemClock } from '../../clock.ts'
import type { AlarmTargetConfig } from '../../config/alarms.ts'
import type { Notice } from '../../ops/alarms/shapes.ts'
import { createAlarmTarget } from '../../ops/alarms/target.ts'
import { command, unknownWord, usageError } from '../parse/command.ts'
import { EXIT } from '../parse/exit-codes.ts'

const WORDS = {
  known: ['test'],
  a: 'a command of alarms',
  asks: 'Say what to do.',
  fix: 'write `alarms test --config FILE`',
}

/** `rolekeeper alarms`: whether those who should hear of alarms do. */
export const alarms = command({
  name: 'alarms',
  usage: 'test --config FILE [--json]',
  help: `Tell each target of \`alarms\` in a run configuration of an alarm that is none, and that it is over, and say which of
them took it. No keeper need run.

  rolekeeper alarms test --config config/production.yaml`,
  options: {
    config: { help: 'the run configuration', value: 'FILE' },
    json: { help: 'print what each target said as JSON, one object a line' },
  },
  argumentsMax: 1,
  run: async ({ config: file, json }, [what], io) => {
    if (what !== 'test') throw unknownWord(what, WORDS)
    if (file === undefined) throw usageError('--config is missing.', 'name a run configuration')
    const { openRunConfig } = await import('../../config/config.ts')
    const { isWellKnown } = await import('../../sign/well-known.ts')
    const config = await openRunConfig(file, { env: io.env, isWellKnown })
    const source = `rolekeeper ${config.deployment.namespace}`
    const results = await Promise.all(config.alarms.map((target) => tell(target, source)))
    config.store?.close()
    for (const one of results) {
      const { name, kind, problem } = one
      io.out(
        json === true
          ? `${JSON.stringify(one)}\n`
          : `${problem === null ? 'ok    ' : 'failed'}  ${name}  ${kind}${problem === null ? '' : `  ${problem}`}\n`,
      )
    }
    if (results.length === 0)
      io.err(`${file} names no target: add \`alarms\`, as config/example.yaml shows.\n`)
    return results.length > 0 && results.every(({ problem }) => problem === null) ? EXIT.done : EXIT.failed
  },
})

/** Tell one target of a beginning and an end. @returns why it did not take both, or null. */
async function tell(config: AlarmTargetConfig, source: string) {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  let taken = 0
  const target = createAlarmTarget(config, {
    clock: systemClock,
    source,
    onDelivery: (_, outcome) => {
      if (outcome === 'delivered') taken += 1
      if (outcome !== 'delivered' || taken === 2) end()
    },
  })
  for (const action of ['trigger', 'resolve'] as const)
    target.push({ ...TEST, key: KEY, action, atMs: Date.now() })
  await ended
  const { problem } = target.state()
  await target.close()
  return { name: config.name, kind: config.kind, problem }
}

const KEY = createHash('sha256').update(randomUUID()).digest('hex').slice(0, 32)
const TEST: Omit<Notice, 'key' | 'action' | 'atMs'> = {
  code: 'alarms.test',
  about: '',
  severity: 'info',
  message: 'This is a test: nothing is wrong.',
  fix: '',
}

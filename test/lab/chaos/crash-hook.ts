/**
 * Preloaded into a keeper with `--import`: it ends the process by SIGKILL at the commit that holds a state, right
 * before or right after it. CHAOS_CRASH is `{"state":"signed","when":"before","live":50}`: the commit is the first one
 * that holds a workflow in that state once so many workflows have been read or written that are not terminal. `may_be_posted`
 * is the state of one whose request was let out to be posted.
 */
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { z } from 'zod'

const asked = z
  .object({ state: z.string(), when: z.enum(['before', 'after']), live: z.number() })
  .parse(JSON.parse(process.env.CHAOS_CRASH ?? '{}'))

const attempt = z.looseObject({ state: z.string() })
const slot = z.looseObject({ state: z.string(), attempts: z.array(attempt) })
const request = z.looseObject({ sentAtMs: z.unknown() })
const record = z.looseObject({
  id: z.string(),
  state: z.string(),
  slots: z.array(slot),
  request: request.optional(),
})

const TERMINAL =
  /^(succeeded|refused|expired|reverted|superseded|cancelled|unconfirmed|quarantined|partial|shadowed)$/
const live = new Set<string>()
let isDue = false

/** Every state that a record is in: its own, its slots', and those of their last attempts. */
function statesOf({ state, slots, request }: z.output<typeof record>): readonly string[] {
  const posted = request?.sentAtMs === undefined ? [] : ['may_be_posted']
  return [state, ...posted, ...slots.flatMap((one) => [one.state, one.attempts.at(-1)?.state ?? ''])]
}

function look(values: readonly unknown[], writes: boolean): void {
  for (const value of values) {
    if (typeof value !== 'string' || !value.startsWith('{')) continue
    const parsed = record.safeParse(JSON.parse(value))
    if (!parsed.success) continue
    if (TERMINAL.test(parsed.data.state)) live.delete(parsed.data.id)
    else live.add(parsed.data.id)
    if (writes && live.size >= asked.live && statesOf(parsed.data).includes(asked.state)) isDue = true
  }
}

/** Look at what a statement is given or gives; which of the overloads it is does not matter here. */
function watch(name: 'run' | 'all', see: (given: readonly unknown[], gave: unknown) => void): void {
  const original: unknown = Reflect.get(StatementSync.prototype, name)
  if (typeof original !== 'function') throw new TypeError(`node:sqlite has no ${name}`)
  Reflect.set(StatementSync.prototype, name, function (this: StatementSync, ...given: unknown[]) {
    const gave: unknown = Reflect.apply(original, this, given)
    see(given, gave)
    return gave
  })
}

watch('run', (given) => look(given, true))
watch('all', (_given, gave) => {
  for (const row of z.array(z.record(z.string(), z.unknown())).parse(gave)) look(Object.values(row), false)
})

const { exec } = DatabaseSync.prototype
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
  const isHere = isDue && sql === 'COMMIT'
  if (isHere && asked.when === 'before') process.kill(process.pid, 'SIGKILL')
  exec.call(this, sql)
  if (isHere) process.kill(process.pid, 'SIGKILL')
}

/**
 * `npm run simulate -- [--runs N] [--seed S] [--trace]`: run the schedules of N seeds from S on, and name those that broke an
 * invariant of docs/simulation.md. `--trace` with one seed prints what happened in it. Exits 1 when one broke.
 */
import { readScript } from '../../support/script.ts'

const RUNS = 2_000
const SHRINK_TRIES = 300

const { values } = readScript(import.meta.url, {
  runs: { type: 'string' },
  seed: { type: 'string' },
  trace: { type: 'boolean', default: false },
})
const { planOf, runSeeds, smallest } = await import('./replay.ts')
const { runSchedule } = await import('./schedule.ts')
const print = (text: string) => process.stdout.write(`${text}\n`)
const show = (value: unknown) =>
  JSON.stringify(value, (_key, each) => (typeof each === 'bigint' ? String(each) : each), 1)

if (values.trace) {
  const seed = Number(values.seed ?? 1)
  const plan = planOf(seed)
  print(show(plan))
  const { violations } = await runSchedule(plan, print)
  if (violations.length > 0) process.exitCode = 1
} else {
  const first = Number(values.seed ?? 1)
  const runs = Number(values.runs ?? (values.seed === undefined ? RUNS : 1))
  const ends = new Map<string, number>()
  let [done, deaths, lies] = [0, 0, 0]
  const begun = process.cpuUsage()
  const failures = await runSeeds(first, runs, (seed, outcome) => {
    done += 1
    deaths += outcome.deaths
    lies += outcome.lies
    for (const [state, count] of Object.entries(outcome.states)) {
      ends.set(state, (ends.get(state) ?? 0) + count)
    }
    for (const violation of outcome.violations) print(`seed ${seed}: ${violation}`)
    if (done % 1_000 === 0) print(`${done} schedules`)
  })
  const { user, system } = process.cpuUsage(begun)
  const states = [...ends].map(([state, count]) => `${count} ${state}`).join(', ')
  print(`${runs} schedules from seed ${first}: ${failures.length} broke an invariant.`)
  print(`Processes that died ${deaths}, lies ${lies}; workflows: ${states}.`)
  print(`${((user + system) / 1_000 / runs).toFixed(1)} ms of one core each.`)
  const [worst] = failures
  if (worst !== undefined) {
    process.exitCode = 1
    print(`Replay: npm run simulate -- --seed ${worst.seed} --trace`)
    const plan = await smallest(worst.seed, SHRINK_TRIES)
    print(`The smallest schedule found that breaks one: ${plan === null ? 'none' : show(plan)}`)
  }
}

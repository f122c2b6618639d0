import type { FleetFigures } from './fleet.ts'

/** Write a fleet's figures for people. Pure. */
export function describeFleet(figures: FleetFigures): string {
  const { redis, fence, wake, rolling, failover, leaseMs, load, commands } = figures
  const ms = (value: number) => `${value.toFixed(2)} ms`
  const s = (value: number) => `${(value / 1_000).toFixed(1)} s`
  const pace = ({ perSecond, p50Ms, p99Ms }: typeof wake) =>
    `${Math.round(perSecond).toLocaleString('en')} a second, p50 ${ms(p50Ms)}, p99 ${ms(p99Ms)}`
  const named = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${Number(count.toFixed(2))}`)
      .join(', ')
  const carried = (rate: (typeof figures)['rates'][number]['ofOneRole']) =>
    `${rate.perSecond.toFixed(1)}, ${rate.toSqlite.toFixed(2)} of SQLite; a workflow took ${rate.cpuMsEach.toFixed(1)} ms of computing, ${rate.redisCpuMsEach.toFixed(2)} of Redis's, and ${named(rate.commandsEach)}`
  const steps = Object.entries(commands)
  const total = steps.flatMap(([, counts]) => Object.values(counts)).reduce((sum, count) => sum + count, 0)
  return [
    `Workflows to confirmed a second over 8 signers, all on this machine; SQLite ${figures.sqlitePerSecond.toFixed(1)}.`,
    ...figures.rates.flatMap(({ instances, ofOneRole, ...own }) => [
      `  ${instances} instances, a role a signer: ${carried(own)}`,
      `  ${instances} instances, all of one role: ${carried(ofOneRole)}`,
    ]),
    `Commands of one workflow of one transaction, carried alone: ${total.toFixed(1)}; after each state:`,
    ...steps.map(([step, counts]) => `  ${step}: ${named(counts)}`),
    ...([0, 1] as const).flatMap((index) => [
      `${['Singly', '64 in flight'][index]}:`,
      `  claim of 7 KB ${pace(redis.claim[index])}`,
      `  a bare script of one HSET of 7 KB ${pace(redis.bareScript[index])}`,
      `  one INCR ${pace(redis.incr[index])}`,
    ]),
    `fence ${pace(fence.alone)}`,
    `fence and WAIT for one replica ${pace(fence.withReplica)}`,
    `fence, WAIT and witness ${pace(fence.withWitness)}`,
    `wake-up from another process p50 ${ms(wake.p50Ms)}, p99 ${ms(wake.p99Ms)}`,
    `lease ${s(leaseMs)}; from SIGKILL to the next claim of a seat by another: p50 ${s(failover.p50Ms)}, most ${s(failover.maxMs)} of ${failover.seats}`,
    `three instances replaced one after another: a seat's longest gap between claims p50 ${s(rolling.p50Ms)}, most ${s(rolling.maxMs)} of ${rolling.seats}`,
    `load ${load.map((one) => one.toFixed(1)).join(' to ')}`,
    '',
  ].join('\n')
}

import type { Exchange } from './delay-proxy.ts'

/** Calls that ran side by side. `ownMs` passed between the answer that was waited for and the first of them. */
export type Wave = { readonly calls: readonly string[]; readonly ownMs: number; readonly tookMs: number }

type Answered = Exchange & { readonly endMs: number }

/**
 * Group what one side asked into the sequential waves that led to its last answer. Pure. From the end backwards, what
 * a call waited for is taken to be the answer that came last before it; what started meanwhile ran beside it.
 * @param exchanges those after the event, without the ones that run whether or not there is an event.
 */
export function wavesOf(eventMs: number, exchanges: readonly Exchange[]): readonly Wave[] {
  const answered = exchanges.filter((one): one is Answered => one.endMs !== null)
  const path: Answered[] = []
  let next = latest(answered)
  while (next !== undefined) {
    path.unshift(next)
    const { startMs } = next
    next = latest(answered.filter((one) => one.endMs <= startMs))
  }
  return path.map((call, index) => {
    const before = path[index - 1]?.endMs ?? eventMs
    const after = path[index + 1]?.startMs ?? Number.POSITIVE_INFINITY
    const beside = answered.filter(
      ({ startMs }) => startMs >= before && startMs < Math.min(call.endMs, after),
    )
    return {
      calls: counted(beside.map(({ name }) => name)),
      ownMs: Math.min(...beside.map(({ startMs }) => startMs)) - before,
      tookMs: call.endMs - Math.min(...beside.map(({ startMs }) => startMs)),
    }
  })
}

const latest = (exchanges: readonly Answered[]) =>
  exchanges.reduce<Answered | undefined>(
    (last, one) => (last === undefined || one.endMs > last.endMs ? one : last),
    undefined,
  )

/** Write equal names once, with their number. Pure. */
export function counted(names: readonly string[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).toSorted()
}

/** Return the value below which a share of the values lies, by nearest rank; NaN for none. Pure. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

import type { Origins } from '../protocol/origins.ts'
import type { SourcePolicy } from './source-policy.ts'

type Sources = Readonly<Record<string, SourcePolicy>>

/** Sources that vote together, and all that they have their values from. */
type Group = { readonly names: readonly string[]; readonly from: readonly string[] }

/**
 * Give sources that have an origin in common one upstream, whether the policy says so or not: what is wrong there is wrong
 * with all of them, and together they must not outvote others. Pure.
 */
export function withUpstreams(sources: Sources, origins: Origins): Sources {
  let groups: readonly Group[] = []
  for (const [name, source] of Object.entries(sources)) {
    const own = { names: [name], from: originsOf(source, origins) }
    const shares = ({ from }: Group) => from.some((each) => own.from.includes(each))
    groups = [...groups.filter((each) => !shares(each)), [...groups.filter(shares), own].reduce(joined)]
  }
  return Object.fromEntries(
    Object.entries(sources).map(([name, source]) => {
      const names = groups.find((group) => group.names.includes(name))?.names ?? []
      return [name, { ...source, upstream: names.length > 1 ? names.join('+') : undefined }]
    }),
  )
}

/** What a source has its values from. The chain, and a fund's row, which is built of it, are read by our own nodes and service. */
const originsOf = (source: SourcePolicy, origins: Origins): readonly string[] => [
  ...(source.upstream === undefined ? [] : [`upstream ${source.upstream}`]),
  ...('source' in source ? (origins.get(source.source) ?? []) : ['our own reading']),
]

const joined = (one: Group, other: Group): Group => ({
  names: [...one.names, ...other.names],
  from: [...one.from, ...other.from],
})

/** The sources that have a vote each: their names, or those of several that have one together. Pure. */
export const votersOf = (sources: Readonly<Record<string, { readonly upstream?: string | undefined }>>) =>
  new Set(Object.entries(sources).map(([source, { upstream }]) => upstream ?? source))

/** Why a quorum that is larger than this is never reached. Pure. */
export function neverReached(sources: Sources): string {
  const votes = [...votersOf(sources)]
  const shared = votes.filter((vote) => vote.includes('+')).map((vote) => vote.split('+').join(' and '))
  const why = shared.map((names) => `; ${names} have one vote, as they have an origin in common`)
  return `there are ${votes.length} votes, so it is never reached${why.join('')}`
}

/** What a quorum that is never reached is mended by. Pure. */
export const reachable = (sources: Sources) =>
  `write at most "${votersOf(sources).size}", or add sources that have nothing in common with these`

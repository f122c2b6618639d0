import type { Upstreams } from '../protocol/upstreams.ts'
import type { SourcePolicy } from './source-policy.ts'

type Sources = Readonly<Record<string, SourcePolicy>>

/** Sources that vote together, and all that they have their values from. */
type Group = { readonly names: readonly string[]; readonly from: readonly string[] }

/**
 * Give sources that share an upstream the same one, whether the policy says so or not: what is wrong there is wrong with all of
 * them, and together they must not outvote others. Pure.
 */
export function withUpstreams(sources: Sources, upstreams: Upstreams): Sources {
  let groups: readonly Group[] = []
  for (const [name, source] of Object.entries(sources)) {
    const own = { names: [name], from: upstreamsOf(name, source, upstreams) }
    const shares = ({ from }: Group) => from.some((each) => own.from.includes(each))
    groups = [...groups.filter((each) => !shares(each)), [...groups.filter(shares), own].reduce(joined)]
  }
  return Object.fromEntries(
    Object.entries(sources).map(([name, source]) => {
      const names = groups.find((group) => group.names.includes(name))?.names ?? []
      // No source has a plus in its name.
      return [name, { ...source, upstream: names.length > 1 ? names.join('+') : undefined }]
    }),
  )
}

/** What a source has its values from. The chain, and a fund's row, which is built of it, are read by our own nodes and service. */
const upstreamsOf = (name: string, source: SourcePolicy, upstreams: Upstreams): readonly string[] => [
  // One may name another source as what it has its values from.
  ...[name, source.upstream ?? name].map((each) => `upstream ${each}`),
  ...('source' in source ? (upstreams.get(source.source) ?? []) : ['our own reading']),
]

const joined = (one: Group, other: Group): Group => ({
  names: [...one.names, ...other.names],
  from: [...one.from, ...other.from],
})

/** The names of the sources of each vote. Pure. */
export const votesOf = (
  sources: Readonly<Record<string, { readonly upstream?: string | undefined }>>,
): readonly (readonly string[])[] =>
  [...Map.groupBy(Object.entries(sources), ([name, { upstream }]) => upstream ?? name).values()].map((vote) =>
    vote.map(([name]) => name),
  )

/** Why a quorum that is larger than there are votes is never reached, and the fix. Pure. */
export function unreachable(sources: Sources): Readonly<Record<'problem' | 'fix', string>> {
  const votes = votesOf(sources)
  const shared = votes.filter(({ length }) => length > 1).map((names) => names.join(' and '))
  const why = shared.map((names) => `; ${names} have one vote, as they share an upstream`)
  return {
    problem: `there are ${votes.length} votes, so it is never reached${why.join('')}`,
    fix: `write at most "${votes.length}", or add sources that share nothing with these`,
  }
}

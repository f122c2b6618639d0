import { type FacetName, type Finding, facetKey } from '../../ops/facet.ts'

/**
 * What each facet may suffer from, the likelier cause first. One that is of a role suffers from its own role's; what is not
 * named suffers from nothing.
 */
const SUFFERS_FROM: Readonly<Partial<Record<FacetName, readonly FacetName[]>>> = {
  chain: ['clock', 'node'],
  service: ['secrets', 'clock', 'chain', 'node'],
  node: ['secrets'],
  key: ['secrets'],
  seats: ['journal'],
  stream: ['service', 'chain'],
  role: ['journal', 'clock', 'chain', 'node', 'key', 'service'],
  duty: [
    ...(['kill', 'pause', 'journal', 'clock', 'chain', 'node', 'service', 'key', 'role', 'signer'] as const),
    ...(['gas', 'budget'] as const),
  ],
  nonces: ['kill', 'journal', 'chain', 'node', 'key', 'gas'],
}

/** The facets that an error's area is about: whoever fails for it suffers from none but these. */
const AREAS: Readonly<Record<string, readonly FacetName[]>> = {
  service: ['clock', 'chain', 'service'],
  node: ['clock', 'chain', 'node'],
  kms: ['key'],
  sign: ['key'],
  key: ['key'],
  journal: ['journal'],
}

/** What who was given a wrong secret says. */
const DENIED = /^(service\.unauthorized|kms\.denied|node\.http_status)$/

/** Say of each facet that suffers which one it suffers from in the end: keys to keys. Pure. */
export function causesOf(found: readonly Finding[]): ReadonlyMap<string, string> {
  const notWell = found.filter(({ state }) => state !== 'ok')
  const direct = new Map<string, string>()
  for (const finding of notWell) {
    const cause = causeOf(finding, notWell)
    if (cause !== undefined) direct.set(facetKey(finding), facetKey(cause))
  }
  return new Map([...direct].map(([key, cause]) => [key, lastOf(cause, direct)]))
}

function causeOf(finding: Finding, notWell: readonly Finding[]): Finding | undefined {
  if (finding.state === 'ok') return undefined
  const { facet, about, error } = finding
  const [area = ''] = String(error.facts.reason ?? error.code).split('.')
  const reason = String(error.facts.reason ?? error.facts.lastErrorCode ?? error.code)
  const candidates = (SUFFERS_FROM[facet] ?? []).filter((each) => each !== 'secrets' || DENIED.test(reason))
  // A role that is down for its policy is not down for the service, though that is away too.
  const possible = facet === 'role' && area in AREAS ? AREAS[area] : facet === 'role' ? [] : candidates
  return candidates
    .filter((each) => possible?.includes(each) === true)
    .flatMap((each) =>
      notWell.filter(
        (other) => other.facet === each && isCloser(other, finding) && isOf(other, facet, about),
      ),
    )[0]
}

/** What only warns is no cause of a failure, nor of what a role leaves undone: a slow node holds up no bid. */
const isCloser = (other: Finding, finding: Finding) =>
  other.state === 'failing' || (finding.state === 'warning' && finding.facet !== 'duty')

/** The key of another role, and its gas, are nothing to this one. */
const isOf = (other: Finding, facet: FacetName, about: string) =>
  other.about === '' || other.facet === 'node' || facet === 'chain' || other.about === about

function lastOf(key: string, direct: ReadonlyMap<string, string>): string {
  const next = direct.get(key)
  return next === undefined ? key : lastOf(next, direct)
}

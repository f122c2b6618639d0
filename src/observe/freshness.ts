import type { Moment } from '../../agents/agent.ts'
import type { Head } from '../chain/nodes.ts'
import { printable } from '../errors.ts'
import { plural, span } from '../readable.js'
import type { Freshness } from '../service/contract/resources.ts'
import type { ListedRows } from './collections.ts'

/** How old what is acted on may be: the service's figures, by lag and by blocks either way, and our node's head. */
export type FreshnessLimits = {
  readonly ageMsMax: number
  readonly blockLagMax: bigint
  readonly headAgeMsMax: number
}

const FRESH: readonly string[] = ['current', 'healthy']

/** Whether a read is young enough by the service's own word, whatever our head. Pure. */
export const isFresh = ({ status, lagSeconds }: Freshness, { ageMsMax }: FreshnessLimits): boolean =>
  FRESH.includes(status) && lagSeconds * 1_000 <= ageMsMax

/**
 * Judge how fresh a set of collections is against each other, our head and our clock: the worst of them counts. Pure.
 * A collection that does not say its block is not fresh. Dropped rows are named; they make nothing stale, because what
 * they held is simply not there to act on.
 * @param others further reasons that nothing is fresh.
 */
export function freshnessOf(
  lists: Readonly<Record<string, ListedRows<unknown>>>,
  head: Head,
  nowMs: number,
  limits: FreshnessLimits,
  others: readonly string[] = [],
): Moment['freshness'] {
  const problems = [...others]
  const sinceHeadMs = nowMs - head.timestampS * 1_000
  const headAgeMs = Math.max(0, sinceHeadMs)
  let ageMs = headAgeMs
  if (headAgeMs > limits.headAgeMsMax) {
    problems.push(`our node's head is ${span(headAgeMs)} old; the policy allows ${span(limits.headAgeMsMax)}`)
  }
  // By a clock that is behind, everything is young.
  if (-sinceHeadMs > limits.headAgeMsMax) {
    problems.push(
      `our clock is ${span(-sinceHeadMs)} behind our node's head; the policy allows ${span(limits.headAgeMsMax)}`,
    )
  }
  const ours = problems.length
  const namesOf = new Map<string, string[]>()
  for (const [name, { freshness }] of Object.entries(lists)) {
    const lagMs = freshness.lagSeconds * 1_000
    ageMs = Math.max(ageMs, lagMs)
    const stale = staleness(freshness, head, limits)
    if (stale !== null) namesOf.set(stale, [...(namesOf.get(stale) ?? []), name])
  }
  // The collections of one indexer are late together.
  for (const [stale, names] of namesOf) problems.push(`${names.join(', ')}: ${stale}`)
  const dropped = Object.entries(lists)
    .filter(([, list]) => list.dropped > 0)
    .map(([name, list]) => `${list.dropped} rows of ${name} could not be read`)
  const message = [...problems, ...dropped].join('; ')
  const isOurs = problems.length > 0 && problems.length === ours && others.length === 0
  return {
    ok: problems.length === 0,
    ageMs,
    message: message === '' ? `${span(ageMs)} old` : message,
    ...(isOurs ? { isOurs } : {}),
  }
}

/** Say how a collection is not fresh; null where it is. Pure. */
function staleness({ status, lagSeconds, blockNumber }: Freshness, head: Head, limits: FreshnessLimits) {
  const lagMs = lagSeconds * 1_000
  const told = [
    FRESH.includes(status) ? null : printable(status),
    lagMs > limits.ageMsMax ? `${span(lagMs)} old (the policy allows ${span(limits.ageMsMax)})` : null,
    blockProblem(blockNumber, head, limits),
  ].filter((text) => text !== null)
  return told.length === 0 ? null : told.join(', ')
}

function blockProblem(
  blockNumber: string | null | undefined,
  head: Head,
  limits: FreshnessLimits,
): string | null {
  if (blockNumber === null || blockNumber === undefined) return 'its block is not stated'
  const lag = head.number - BigInt(blockNumber)
  if (lag > limits.blockLagMax)
    return `${plural(lag, 'block')} behind our node (the policy allows ${limits.blockLagMax})`
  if (-lag > limits.blockLagMax)
    return `${plural(-lag, 'block')} ahead of our node (the policy allows ${limits.blockLagMax})`
  return null
}

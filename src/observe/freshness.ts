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
  for (const [name, { freshness }] of Object.entries(lists)) {
    const lagMs = freshness.lagSeconds * 1_000
    ageMs = Math.max(ageMs, lagMs)
    if (!FRESH.includes(freshness.status)) problems.push(`${name} is ${printable(freshness.status)}`)
    if (lagMs > limits.ageMsMax) {
      problems.push(`${name} lags ${span(lagMs)}; the policy allows ${span(limits.ageMsMax)}`)
    }
    const blocks = blockProblem(freshness.blockNumber, head, limits)
    if (blocks !== null) problems.push(`${name} ${blocks}`)
  }
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

function blockProblem(
  blockNumber: string | null | undefined,
  head: Head,
  limits: FreshnessLimits,
): string | null {
  if (blockNumber === null || blockNumber === undefined) return 'does not say its block'
  const lag = head.number - BigInt(blockNumber)
  if (lag > limits.blockLagMax)
    return `is ${plural(lag, 'block')} behind our node; the policy allows ${limits.blockLagMax}`
  if (-lag > limits.blockLagMax)
    return `is ${-lag} blocks ahead of our node; the policy allows ${limits.blockLagMax}`
  return null
}

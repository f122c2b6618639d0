import type { Clock } from '../../clock.ts'
import { type Facet, type Finding, facetKey } from '../../ops/facet.ts'
import type { Log } from '../../ops/log.ts'
import type { Reports } from '../telemetry/reports.ts'
import { causesOf } from './causes.ts'

/** What lasts no longer is not worth a line: a request that was lost, a block that was late. */
const SETTLE_MS = 2_000
/** A start that takes no longer is as all are. */
const BEGIN_MS = 30_000

/** What looking needs. */
type FacetsDeps = {
  readonly find: () => readonly Finding[]
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly reports: Pick<Reports, 'emit' | 'alarm'>
}

/** The facets of one keeper. */
export type Facets = {
  readonly look: () => void
  /** As they were found last. */
  readonly list: () => readonly Facet[]
}

/** A facet as it is, since when it is so by the monotonic clock, and the code that was last made known. */
type KnownFacet = { readonly facet: Facet; readonly foundAtMs: number; readonly announcedCode: string }

/**
 * Create the facets. Each is as it was found last; a change that lasts is made known by a line of the log, an event and, where
 * somebody must act and nothing else is the cause, by an alarm for as long as it is so.
 */
export function createFacets({ find, clock, log, reports }: FacetsDeps): Facets {
  let known = new Map<string, KnownFacet>()
  const announce = (facet: Facet) => {
    const { message, fix, because, sinceMs: _, ...what } = facet
    log[facet.state === 'ok' ? 'info' : 'warn']('a facet changed', { ...what, because, why: message, fix })
    const at = new Date(clock.nowMs()).toISOString()
    reports.emit({
      type: 'facet',
      at,
      ...what,
      message,
      ...(fix === undefined ? {} : { fix }),
      ...(because === undefined ? {} : { because }),
    })
  }
  return {
    look: () => {
      const found = find()
      const because = causesOf(found)
      const next = new Map<string, KnownFacet>()
      for (const finding of found) {
        const key = facetKey(finding)
        const before = known.get(key)
        const facet = facetOf(finding, because.get(key), before?.facet, clock.nowMs())
        const monotonicMs = clock.monotonicMs()
        const foundAtMs = before?.facet.code === facet.code ? before.foundAtMs : monotonicMs
        const isSettled = monotonicMs - foundAtMs >= settleMs(finding)
        const announcedCode = before?.announcedCode ?? 'ok'
        if (isSettled && facet.code !== announcedCode) announce(facet)
        if (isSettled && finding.state !== 'ok' && finding.isSaid !== true && facet.because === undefined)
          reports.alarm(finding.error, key)
        next.set(key, { facet, foundAtMs, announcedCode: isSettled ? facet.code : announcedCode })
      }
      // What was not well is over where it is looked at no more: its pause was taken back, its seat is another's.
      for (const [key, { facet, announcedCode }] of known) {
        if (next.has(key) || announcedCode === 'ok') continue
        const { facet: name, about } = facet
        announce({
          facet: name,
          about,
          state: 'ok',
          code: 'ok',
          message: 'no longer applies',
          sinceMs: clock.nowMs(),
        })
      }
      known = next
    },
    list: () => [...known.values()].map(({ facet }) => facet),
  }
}

function settleMs(finding: Finding): number {
  if (finding.state === 'ok') return SETTLE_MS
  return finding.isSure === true ? 0 : finding.isBeginning === true ? BEGIN_MS : SETTLE_MS
}

function facetOf(
  finding: Finding,
  because: string | undefined,
  before: Facet | undefined,
  nowMs: number,
): Facet {
  const { facet, about, state } = finding
  const { code, message, fix } =
    finding.state === 'ok'
      ? { code: 'ok', message: finding.message, fix: undefined }
      : { ...finding.error, code: finding.error.code, message: finding.error.shortMessage }
  const sinceMs = before?.code === code ? before.sinceMs : nowMs
  return {
    facet,
    about,
    state,
    code,
    message,
    sinceMs,
    ...(fix === undefined ? {} : { fix }),
    ...(because === undefined ? {} : { because }),
  }
}

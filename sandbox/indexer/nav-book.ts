import { type Address, type Hex, hexToString } from 'viem'
import { type IndexedLog, lower } from './logs.ts'

/** A NAV report that an oracle accepted. */
export type NavReportEntry = {
  readonly oracleAddress: Address
  readonly assetAddress: Address
  readonly reportType: string
  readonly value: bigint
  readonly decimals: number
  readonly valuationTimeS: bigint
  readonly revision: number
  readonly revisionLabel: string
  readonly reporter: Address
  readonly submittedAtS: number
  readonly txHash: Hex
  readonly logIndex: number
}

/** The NAV oracles that our factory created, and what was reported to them. */
export type NavBook = {
  /** The asset of each oracle, by the oracle's address. */
  readonly assets: ReadonlyMap<Address, Address>
  /** Oldest first, at most {@link NAV_REPORTS_MAX}. */
  readonly reports: readonly NavReportEntry[]
}

export const EMPTY_NAV_BOOK: NavBook = { assets: new Map(), reports: [] }

/** The newest reports that are kept, of all oracles together. */
export const NAV_REPORTS_MAX = 1_000

/**
 * Return the book with these logs added, in chain order; a report of a contract that no factory among the emitters
 * created changes nothing. Pure: the given book stays as it is.
 */
export function foldNav(book: NavBook, logs: readonly IndexedLog[], emitters: ReadonlySet<Address>): NavBook {
  const assets = new Map(book.assets)
  const reports: NavReportEntry[] = []
  for (const { event, address, timestampS, txHash, logIndex } of logs) {
    if (event.eventName === 'NavOracleCreated' && emitters.has(address)) {
      assets.set(lower(event.args.navOracle), lower(event.args.asset))
    }
    if (event.eventName !== 'NavReported' || !assets.has(address)) continue
    const { reporter, report } = event.args
    reports.push({
      oracleAddress: address,
      assetAddress: lower(report.asset),
      reportType: hexToString(report.reportType, { size: 32 }),
      value: report.value,
      decimals: report.decimals,
      valuationTimeS: report.valuationTime,
      revision: report.revision,
      revisionLabel: report.revisionLabel,
      reporter: lower(reporter),
      submittedAtS: timestampS,
      txHash,
      logIndex,
    })
  }
  if (assets.size === book.assets.size && reports.length === 0) return book
  return { assets, reports: [...book.reports, ...reports].slice(-NAV_REPORTS_MAX) }
}

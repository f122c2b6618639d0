import { decide } from '../../../agents/nav-reporter/decide.ts'
import { termsAt } from '../../../agents/nav-reporter/marks.ts'
import { afterFees } from '../../../agents/nav-reporter/propose.ts'
import type { Accepted, NavReporterSeen } from '../../../agents/nav-reporter/see.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import {
  fund,
  holding,
  iso,
  later,
  NONE,
  NOW_S,
  policy,
  WAD,
  word,
} from '../../agents/nav-reporter/fixtures.ts'
import { look, type World } from '../../agents/nav-reporter/world.ts'
import { createDice, type Dice } from '../../sandbox/dice.ts'
import type { Judge, ScenarioName, Score } from './judgement.ts'

/** Periods of each scenario and seed: 100 seeds are 10,000. */
const PERIODS = 100
const PERIOD_S = 30
/** Seconds from a valuation time at which the keeper looks; a report lands before the next look. */
const LOOKS_S = [-8, 2, 12]
/** So long before its valuation time the value of a period begins. */
const BEGINS_S = 9
const SUPPLY = 500_000n * WAD

/** How each scenario treats the fund and those who value it; chances in thousandths a period. */
type Climate = {
  /** The most that the value moves in a period. */
  readonly moveBps: number
  /** That a source begins to misbehave. */
  readonly fallsPermille: number
  /** That a source that misbehaves comes to its senses. */
  readonly mendsPermille: number
  /** That the service's figures are old for a period. */
  readonly stallsPermille: number
  readonly kinds: readonly Misbehaviour[]
}

const LIES = ['thousand', 'thousandth', 'decimals', 'offset', 'near', 'huge', 'nothing'] as const
const FAILURES = ['html', 'nan', 'negative', 'stale', 'tomorrow', 'silent', 'undated'] as const
type Misbehaviour = (typeof LIES)[number] | (typeof FAILURES)[number]
const ALL: readonly Misbehaviour[] = [...LIES, ...FAILURES]

const CLIMATES: Readonly<Partial<Record<ScenarioName, Climate>>> = {
  calm: { moveBps: 10, fallsPermille: 20, mendsPermille: 300, stallsPermille: 0, kinds: ALL },
  volatile: { moveBps: 300, fallsPermille: 80, mendsPermille: 300, stallsPermille: 0, kinds: ALL },
  'source-off-by-1000': {
    moveBps: 50,
    fallsPermille: 100,
    mendsPermille: 300,
    stallsPermille: 0,
    kinds: ['thousand', 'thousandth', 'decimals'],
  },
  'indexer-stall': { moveBps: 50, fallsPermille: 50, mendsPermille: 300, stallsPermille: 200, kinds: ALL },
}

const SOURCES = ['administrator', 'custodian', 'chain', 'holdings', 'valuer'] as const
type SourceName = (typeof SOURCES)[number]
/** Off by so much, an honest source is. */
const NOISE_BPS = 20

/** What a source says in a period: the value of a share before fees as a wad, and how it fails to. */
type Saying = { readonly valueWad: bigint; readonly misbehaves: Misbehaviour | null }
type Sayings = Readonly<Record<SourceName, Saying>>

function lie(fairWad: bigint, kind: Misbehaviour, dice: Dice): bigint {
  const either = (bps: number) => (fairWad * BigInt(10_000 + (dice.upTo(2) === 0 ? bps : -bps))) / 10_000n
  switch (kind) {
    case 'thousand':
      return fairWad * 1_000n
    case 'thousandth':
      return fairWad / 1_000n
    case 'decimals':
      return dice.upTo(2) === 0
        ? fairWad * 10n ** BigInt(1 + dice.upTo(12))
        : fairWad / 10n ** BigInt(1 + dice.upTo(12))
    case 'offset':
      return either(300 + dice.upTo(5_000))
    case 'near':
      return either(30 + dice.upTo(170))
    case 'huge':
      return 10n ** 59n
    case 'nothing':
      return 0n
    default:
      return fairWad
  }
}

/** Say what each source says; a lie close to the truth is told by one at a time, as a quorum of three bears. */
function sayingsOf(
  fairWad: bigint,
  fallen: Map<SourceName, Misbehaviour>,
  { fallsPermille, mendsPermille, kinds }: Climate,
  dice: Dice,
): Sayings {
  for (const source of SOURCES) {
    if (fallen.has(source) && dice.upTo(1_000) < mendsPermille) fallen.delete(source)
    else if (!fallen.has(source) && dice.upTo(1_000) < fallsPermille) {
      const kind = dice.pick(kinds)
      fallen.set(source, kind === 'near' && [...fallen.values()].includes('near') ? 'offset' : kind)
    }
  }
  const saying = (source: SourceName): Saying => {
    const kind = fallen.get(source) ?? null
    const noise = BigInt(dice.upTo(2 * NOISE_BPS + 1) - NOISE_BPS)
    const valueWad = kind === null ? (fairWad * (10_000n + noise)) / 10_000n : lie(fairWad, kind, dice)
    // All say what six decimals can hold, so that honest sources differ by their noise alone.
    return { valueWad: (valueWad / 10n ** 12n) * 10n ** 12n, misbehaves: kind }
  }
  return {
    administrator: saying('administrator'),
    custodian: saying('custodian'),
    chain: saying('chain'),
    holdings: saying('holdings'),
    valuer: saying('valuer'),
  }
}

const decimalOf = (wad: bigint) => `${wad / WAD}.${String(wad % WAD).padStart(18, '0')}`

/** What a source's text is for what it says, where it speaks and is dated. */
function textOf(
  { valueWad, misbehaves }: Saying,
  number: string,
  atS: number,
  form: (said: string, dated: string, asset: string) => string,
): string | null {
  const time =
    misbehaves === 'stale' ? iso(atS - 86_400) : misbehaves === 'tomorrow' ? iso(atS + 86_400) : iso(atS)
  if (misbehaves === 'silent') return null
  if (misbehaves === 'html') return '<!doctype html><html><body>Service unavailable</body></html>'
  const said = misbehaves === 'nan' ? 'NaN' : misbehaves === 'negative' ? `-${number}` : number
  const dated = misbehaves === 'undated' ? 'today' : time
  return form(said, dated, String(valueWad))
}

const asJson = (value: string, asOf: string, asset: string) =>
  JSON.stringify({ asset, perShare: { value, asOf } })
const asCsv = (said: string, dated: string) => `asOf,microsPerShare\n${dated},${said}\n`
const asHistory = (perShare: string, asOf: string) => JSON.stringify({ valuations: [{ perShare, asOf }] })

/** A uint256 holds no lie that is larger, and a chain tells no number that is none. */
const wordOf = ({ valueWad, misbehaves }: Saying) =>
  misbehaves !== null && !LIES.some((one) => one === misbehaves) ? null : word(valueWad)

function worldOf(sayings: Sayings, nav: Accepted, interim: Accepted, atS: number): World {
  const { administrator, custodian, chain, holdings, valuer } = sayings
  // Base units of six decimals for all shares.
  const totalAssets = (holdings.valueWad * SUPPLY) / 10n ** 30n
  const recoveryValueAssets = wordOf(holdings) === null ? null : String(totalAssets)
  return {
    nav,
    interim,
    administrator: textOf(administrator, decimalOf(administrator.valueWad), atS, asJson),
    custodian: textOf(custodian, String(custodian.valueWad / 10n ** 12n), atS, asCsv),
    valuer: textOf(valuer, decimalOf(valuer.valueWad), atS, asHistory),
    lens: wordOf(chain),
    idle: word(0n),
    fund: fund({ holdings: [{ ...holding('1', 'liquid'), recoveryValueAssets }], totalHoldings: 1 }),
  }
}

/** What one seed counts. */
type Tally = {
  quorums: number
  onTime: number
  reports: number
  wrong: number
  doubled: number
  meanOnTime: number
  meanWrong: number
}

/** A value of the period before is believed for no later one. */
const AGE_S = 15
const aged = Object.entries(policy().reports.recoveryFund?.sources ?? {}).map(
  ([source, one]) => [source, { ...one, ageSMax: AGE_S }] as const,
)
const BY = policy({ sources: Object.fromEntries(aged) })
const REPORT = BY.reports.recoveryFund

/** What is so in a period; `worth` are the net values of those who are honest. */
type Period = { readonly dueS: number; readonly hasQuorum: boolean; readonly worth: readonly bigint[] }

const isWrong = (value: bigint, { worth }: Period) =>
  !worth.some((one) => one <= value) || !worth.some((one) => one >= value)

function net(valueWad: bigint, atS: number): bigint {
  const terms = termsAt(REPORT?.fees, [], atS)
  if (terms === null || 'check' in terms) throw new TypeError('the policy states its fees')
  return afterFees(valueWad, terms, atS).value
}

function play(scenario: ScenarioName, seed: number): Readonly<Record<string, Score>> {
  const climate = CLIMATES[scenario]
  if (climate === undefined || REPORT === undefined) throw new RangeError(`nothing is played in ${scenario}`)
  const dice = createDice(seed)
  const fallen = new Map<SourceName, Misbehaviour>()
  const tally: Tally = {
    quorums: 0,
    onTime: 0,
    reports: 0,
    wrong: 0,
    doubled: 0,
    meanOnTime: 0,
    meanWrong: 0,
  }
  const made = new Set<string>()
  const periods: Period[] = []
  let fairWad = WAD
  let [nav, interim] = [NONE, NONE]
  let previous: NavReporterSeen | null = null

  for (let period = 0; period < PERIODS; period += 1) {
    const dueS = NOW_S + period * PERIOD_S
    const move = dice.upTo(2 * climate.moveBps + 1) - climate.moveBps
    fairWad = (fairWad * BigInt(10_000 + move)) / 10_000n
    if (fairWad < WAD / 2n || fairWad > 2n * WAD) fairWad = WAD
    const sayings = sayingsOf(fairWad, fallen, climate, dice)
    const isStalled = dice.upTo(1_000) < climate.stallsPermille
    const honest = SOURCES.map((source) => sayings[source]).filter(({ misbehaves }) => misbehaves === null)
    const hasQuorum = honestVotes(sayings) >= REPORT.quorum && !isStalled
    const now: Period = { dueS, hasQuorum, worth: honest.map(({ valueWad }) => net(valueWad, dueS)) }
    periods.push(now)
    if (hasQuorum) tally.quorums += 1

    for (const afterS of LOOKS_S) {
      const freshness = { ok: !isStalled, ageMs: isStalled ? 90_000 : 1_000, message: 'funds lags' }
      const at = later(dueS + afterS - NOW_S, { freshness })
      const { seen } = look(worldOf(sayings, nav, interim, dueS + afterS), at, BY, previous)
      previous = seen
      for (const proposal of decide({ ...at, ...seen }, BY).proposals) {
        const accepted = acceptedOf(proposal, dueS + afterS + 1)
        const key = `${proposal.subject} ${proposal.occurrence}`
        if (made.has(key)) tally.doubled += 1
        made.add(key)
        tally.reports += 1
        const of = periods.findLast((one) => one.dueS - BEGINS_S <= accepted.valuationTimeS)
        if (of === undefined || isWrong(accepted.value, of)) tally.wrong += 1
        if (proposal.input.reportType === 'interim') interim = accepted
        else {
          nav = accepted
          if (of?.hasQuorum && accepted.valuationTimeS === of.dueS) tally.onTime += 1
        }
      }
    }
    const mean = meanOf(sayings)
    if (hasQuorum && mean !== null) tally.meanOnTime += 1
    if (mean !== null && !isStalled && isWrong(net(mean, dueS), now)) tally.meanWrong += 1
  }
  return scoresOf(tally)
}

/** Votes without a lie: chain and holdings have one, of what either says. */
function honestVotes({ chain, holdings, ...others }: Sayings): number {
  const lies = ({ misbehaves }: Saying) => LIES.some((one) => one === misbehaves)
  const ours =
    [chain, holdings].some(({ misbehaves }) => misbehaves === null) && !lies(chain) && !lies(holdings)
  return Object.values(others).filter(({ misbehaves }) => misbehaves === null).length + (ours ? 1 : 0)
}

const acceptedOf = ({ input }: Proposal, submittedAtS: number): Accepted => ({
  value: BigInt(String(input.value)),
  valuationTimeS: Number(input.valuationTimestamp),
  revision: Number(input.revision),
  submittedAtS,
})

/** The baseline: the mean of every number that can be read, whenever there is one. */
function meanOf(sayings: Sayings): bigint | null {
  const silent: readonly (Misbehaviour | null)[] = ['silent', 'html', 'nan']
  const values = SOURCES.map((source) => sayings[source]).flatMap(({ valueWad, misbehaves }) =>
    silent.includes(misbehaves) ? [] : [misbehaves === 'negative' ? -valueWad : valueWad],
  )
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0n) / BigInt(values.length)
}

function scoresOf(tally: Tally): Readonly<Record<string, Score>> {
  const percent = (count: number) => (tally.quorums === 0 ? 100 : (100 * count) / tally.quorums)
  return {
    periodsWithHonestQuorum: { ours: tally.quorums, baseline: null },
    onTimePercent: { ours: percent(tally.onTime), baseline: percent(tally.meanOnTime) },
    wrongValues: { ours: tally.wrong, baseline: tally.meanWrong },
    reportsMadeTwice: { ours: tally.doubled, baseline: null },
    reports: { ours: tally.reports, baseline: null },
  }
}

/**
 * 10,000 periods of each scenario. Each source lies, fails or stalls for a while, whatever the others do; a lie within
 * the tolerance is told by one at a time, because against two no quorum of three can tell who is honest. An honest
 * quorum is three honest votes, and a service whose figures are fresh enough to prepare a report at all.
 */
export const navReporterJudge: Judge = {
  role: 'nav-reporter',
  baseline: 'mean of the sources',
  scenarios: ['calm', 'volatile', 'source-off-by-1000', 'indexer-stall'],
  bounds: { wrongValues: { max: 0 }, onTimePercent: { min: 99 }, reportsMadeTwice: { max: 0 } },
  play,
}

import { parseAbiItem } from 'viem'
import { decide as ours } from '../../../agents/nav-reporter/decide.ts'
import type { NavReporterPolicy } from '../../../agents/nav-reporter/policy.ts'
import { afterFees } from '../../../agents/nav-reporter/propose.ts'
import { median } from '../../../agents/nav-reporter/quorum.ts'
import type { Accepted, NavReporterSeen } from '../../../agents/nav-reporter/see.ts'
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
import { createDice, type Dice } from './dice.ts'
import type { Judge, ScenarioName, Score } from './judgement.ts'
import { type Books, createBooks, DAY_S, GRAIN, type Mark, START_S } from './nav-books.ts'

/** Valuation times of each world and seed, a day apart: 100 seeds are 600. */
const DAYS = 6
/** How far before its valuation time a value may be. */
const AGE_S = 300
const WRONG_BPS = 20
/** By the policy a report is to be restated beyond 50 basis points; what honest sources differ by is beside them. */
const MATERIAL_BPS = 55
const QUORUM = 3
/** The noise of an honest source, and what rounding adds. */
const HONEST_BPS = 3
const SUPPLY = 500_000n * WAD
/** Values that a source with a history still says. */
const HISTORY = 100

const SOURCES = ['administrator', 'custodian', 'chain', 'holdings', 'valuer'] as const
type SourceName = (typeof SOURCES)[number]

/** Ranges that each seed of a world draws from. Every source is honest, but for what shares an origin that is wrong. */
type Climate = {
  /** Hours that administrator, custodian and valuer say things late, each its own. */
  readonly lagHours: readonly [number, number]
  /** Administrator and custodian have their values of one vendor: half of the days it is wrong by so many basis points. */
  readonly vendorOffBps?: readonly [number, number]
  /** Our own nodes and service are: chain and holdings, as the policy ships. */
  readonly readingOffBps?: readonly [number, number]
  /** Administrator and custodian state half of the days' values so many basis points wrong, each by itself, and correct them so many hours later. */
  readonly corrects?: {
    readonly offBps: readonly [number, number]
    readonly hours: readonly [number, number]
  }
  /** The chance that fees are paid out in a day; the fund then moves by the hour, so that a fee can be told exactly. */
  readonly crystallises?: number
  /** Of each value, in parts of one. */
  readonly noiseMax: number
  /** Where values move fast: so much a year, in parts of one; outside sources value often, half of them not at the valuation time. */
  readonly fast?: { readonly volatility: number; readonly cadencesS: readonly [number, ...number[]] }
}
const HONEST: Climate = { lagHours: [0, 24], noiseMax: 0.0002 }
const CLIMATES: Readonly<Partial<Record<ScenarioName, Climate>>> = {
  'lagging-sources': HONEST,
  'mixed-days': { ...HONEST, lagHours: [20, 28] },
  'shared-upstream': { ...HONEST, lagHours: [0, 1], vendorOffBps: [30, 900] },
  'wrong-reading': { ...HONEST, lagHours: [0, 1], readingOffBps: [30, 900] },
  'fast-values': {
    lagHours: [0, 0.05],
    noiseMax: 0,
    fast: { volatility: 0.8, cadencesS: [60, 300] },
  },
  'corrected-values': { ...HONEST, lagHours: [0, 1], corrects: { offBps: [20, 190], hours: [2, 10] } },
  'crystallised-fee': { lagHours: [0, 1], crystallises: 0.5, noiseMax: 0 },
}
/** Of every world. */
const VOLATILITY = [0.02, 0.2] as const
/** Seconds between the values of each outside source. */
const CADENCES_S = [300, 900, 3_600, DAY_S] as const
const HISTORY_CHANCE = 0.7
/** That the keeper is down at a valuation time, and then for so many hours. */
const DOWN = { chance: 0.15, hours: [0, 4] } as const
/** That the chain, or the service's row, says nothing around a valuation time. */
const SILENT_CHANCE = 0.1

const within = (dice: Dice, [least, most]: readonly [number, number]) => least + (most - least) * dice.unit()

/** A value that a source states, before fees. */
type Told = { readonly asOfS: number; readonly valueWad: bigint }
/** What each source states when it is looked at, oldest first; nothing where it is silent. */
type Sayings = Readonly<Record<SourceName, readonly Told[]>>

/** The shipped policy with reports by the day and no interim ones, of sources that list what they said. */
function worldPolicy({ vendorOffBps, crystallises }: Climate) {
  const base = policy()
  if (base.reports.recoveryFund === undefined) throw new TypeError('the policy has no report of the fund')
  const { interim: _, fees, ...report } = base.reports.recoveryFund
  const listed = { historyPointer: '/history', valuePointer: '/value', asOfPointer: '/asOf' }
  const vendor = { upstream: vendorOffBps === undefined ? undefined : 'vendor' }
  const sources = Object.entries(report.sources).map(([name, one]) => {
    if (one.kind === 'http') return [name, { ...one, ...listed, ...vendor, ageSMax: AGE_S }]
    return [name, { ...one, ...(one.kind === 'csv-file' ? vendor : {}), ageSMax: AGE_S }]
  })
  const daily = {
    schedule: { everyS: DAY_S },
    lateSMax: DAY_S,
    waitForNewerS: 300,
    pollS: 10,
    sources: Object.fromEntries(sources),
  }
  if (fees?.highWaterValue === undefined || fees.accruesSince === undefined)
    throw new TypeError('the policy states what its fees are counted from')
  const { paidOut: __, highWaterValue, accruesSince, ...rates } = fees
  const kept = crystallises === undefined ? fees : { ...rates, mark: MARK }
  const by: NavReporterPolicy = { ...base, reports: { recoveryFund: { ...report, ...daily, fees: kept } } }
  return { by, stated: { ...rates, highWaterValue, accruesSinceS: accruesSince } }
}
const MARK = {
  contract: '$asset' as const,
  args: [],
  decimals: 18,
  highWaterValue: parseAbiItem('function highWaterMark() view returns (uint256)'),
  accruesSince: parseAbiItem('function feesPaidAt() view returns (uint64)'),
}

/** Draw how the sources speak, and give what they say at a time. */
function createSources(climate: Climate, books: Books, seed: number, dice: Dice): (atS: number) => Sayings {
  const noiseMax = climate.noiseMax * dice.unit()
  const noise = (source: number, asOfS: number) =>
    noiseMax * (2 * createDice(seed * 65_537 + source * 4_099 + asOfS).unit() - 1)
  const days = Array.from({ length: DAYS + 2 }, () => ({
    vendorOff: drawOff(climate.vendorOffBps, dice),
    readingOff: drawOff(climate.readingOffBps, dice),
    mistake: drawMistake(climate, dice),
    silent: SOURCES.map((source) => source === 'chain' || source === 'holdings').map(
      (may) => may && dice.unit() < SILENT_CHANCE,
    ),
  }))
  const indexOf = (atS: number) => Math.max(0, Math.round((atS - START_S) / DAY_S))
  const dayOf = (atS: number) => days[indexOf(atS)]
  const offAt = (markS: number, atS: number) => {
    const { vendorOff = 0, mistake = null } = dayOf(markS) ?? {}
    const correctedS = START_S + indexOf(markS) * DAY_S + 3_600 * (mistake?.hours ?? 0)
    return mistake !== null && atS < correctedS ? mistake.off : vendorOff
  }
  const say = (index: number, asOfS: number, off: number): Told => {
    const parts = BigInt(Math.round((1 + noise(index, asOfS)) * (1 + off) * 1e9))
    return { asOfS, valueWad: ((books.beforeFees(asOfS) * parts) / 10n ** 9n / GRAIN) * GRAIN }
  }
  const outside = [0, 1, 4].map((index) => {
    const cadenceS = dice.pick(climate.fast?.cadencesS ?? CADENCES_S)
    const besidesS = climate.fast === undefined || dice.unit() < 0.5 ? 0 : Math.round(cadenceS * dice.unit())
    const lagS = 3_600 * within(dice, climate.lagHours)
    const values = dice.unit() < HISTORY_CHANCE ? HISTORY : 1
    return (atS: number): readonly Told[] => {
      const newest = Math.floor((atS - lagS - besidesS) / cadenceS)
      const marks = Array.from(
        { length: values },
        (_, back) => besidesS + (newest - values + 1 + back) * cadenceS,
      )
      return marks
        .filter((markS) => markS > START_S - DAY_S)
        .map((markS) => say(index, markS, index === 4 ? 0 : offAt(markS, atS)))
    }
  })
  const read = (index: number, atS: number) =>
    dayOf(atS)?.silent[index] ? [] : [say(index, atS, dayOf(atS)?.readingOff ?? 0)]
  return (atS) => ({
    administrator: outside[0]?.(atS) ?? [],
    custodian: outside[1]?.(atS) ?? [],
    chain: read(2, atS),
    holdings: read(3, atS),
    valuer: outside[2]?.(atS) ?? [],
  })
}

const drawOff = (offBps: Climate['vendorOffBps'], dice: Dice) =>
  offBps === undefined || dice.unit() < 0.5 ? 0 : offBy(offBps, dice)

const drawMistake = ({ corrects }: Climate, dice: Dice) =>
  corrects === undefined || dice.unit() < 0.5
    ? null
    : { off: offBy(corrects.offBps, dice), hours: within(dice, corrects.hours) }

const offBy = (range: readonly [number, number], dice: Dice) =>
  ((dice.unit() < 0.5 ? -1 : 1) * within(dice, range)) / 10_000

const decimalOf = (wad: bigint) => `${wad / WAD}.${String(wad % WAD).padStart(18, '0')}`

/** What the keeper can ask for, as each source writes it. */
function worldOf(
  { administrator, custodian, chain, holdings, valuer }: Sayings,
  nav: Accepted,
  mark: Mark | undefined,
): World {
  const entries = administrator.map(({ valueWad, asOfS }) => ({
    value: decimalOf(valueWad),
    asOf: iso(asOfS),
  }))
  const valuations = valuer.map(({ valueWad, asOfS }) => ({
    perShare: decimalOf(valueWad),
    asOf: iso(asOfS),
  }))
  const lines = custodian.map(({ valueWad, asOfS }) => `${iso(asOfS)},${valueWad / GRAIN}\n`)
  const built = holdings.map(({ valueWad }) => String((valueWad * SUPPLY) / 10n ** 30n))
  return {
    ...(mark === undefined ? {} : { mark }),
    nav,
    interim: NONE,
    administrator: JSON.stringify({ history: entries }),
    custodian: `asOf,microsPerShare\n${lines.join('')}`,
    valuer: JSON.stringify({ valuations }),
    lens: chain[0] === undefined ? null : word(chain[0].valueWad),
    idle: word(0n),
    fund: fund({
      totalHoldings: 1,
      holdings: [{ ...holding('1', 'liquid'), recoveryValueAssets: built[0] ?? null }],
    }),
  }
}

/**
 * When the keeper looks between one valuation time and the next: right before, right after, then every two hours; where values move
 * fast, each minute at first.
 */
function looksOf(dueS: number, { fast }: Climate, dice: Dice): readonly number[] {
  const downS = dice.unit() < DOWN.chance ? 3_600 * within(dice, DOWN.hours) : -20
  const minutes = Array.from({ length: fast === undefined ? 1 : 10 }, (_, index) => dueS + 20 + index * 60)
  const after = Array.from({ length: 11 }, (_, index) => dueS + 40 + (index + 1) * 7_200)
  return [...(downS < 0 ? [dueS - 10] : []), ...[...minutes, ...after].filter((atS) => atS > dueS + downS)]
}

/** Whether enough sources of different upstreams have said what was so at a time. */
function isKnown(known: ReadonlySet<SourceName>, climate: Climate): boolean {
  const voteOf = (source: SourceName) => {
    if (source === 'holdings') return 'chain'
    return climate.vendorOffBps !== undefined && source === 'custodian' ? 'administrator' : source
  }
  return new Set([...known].map(voteOf)).size >= QUORUM
}

export type Decide = typeof ours

function play(decide: Decide, scenario: ScenarioName, seed: number): Readonly<Record<string, Score>> {
  const climate = CLIMATES[scenario]
  if (climate === undefined) throw new RangeError(`no world is ${scenario}`)
  const { by, stated } = worldPolicy(climate)
  const dice = createDice(seed)
  const { highWaterValue: valueWad, accruesSinceS: sinceS } = stated
  const { crystallises } = climate
  const books = createBooks(
    {
      days: DAYS,
      volatility: climate.fast?.volatility ?? within(dice, VOLATILITY),
      byTheHour: crystallises !== undefined,
      crystallises: crystallises ?? 0,
      mark: { valueWad, sinceS },
    },
    dice,
  )
  const saysAt = createSources(climate, books, seed, dice)
  const [made, plain]: [number[], number[]] = [[], []]
  const tally = { known: 0, made: 0, wrong: 0, told: 0, falselyTold: 0 }
  let [nav, previous]: [Accepted, NavReporterSeen | null] = [NONE, null]
  for (let day = 0; day < DAYS; day += 1) {
    const dueS = START_S + day * DAY_S
    const known = new Set<SourceName>()
    let [isMade, isTold, wasMistaken, error] = [false, false, false, 0]
    const looks = looksOf(dueS, climate, dice)
    const firstS = looks.find((atS) => atS > dueS) ?? dueS
    const paidAtS = books.mark(dueS).sinceS
    // What nobody looked at between a valuation time and a payment after it, nobody knows.
    const isMarkKnown = books.mark(firstS).sinceS === paidAtS
    for (const atS of looks) {
      const sayings = saysAt(atS)
      const isOf = ({ asOfS }: Told) => asOfS <= dueS && asOfS >= Math.max(dueS - AGE_S, paidAtS)
      const isRight = ({ asOfS, valueWad: said }: Told) =>
        errorBps(said, books.beforeFees(asOfS)) <= HONEST_BPS
      for (const source of SOURCES) {
        const said = sayings[source].filter(isOf)
        if (said.some(isRight)) known.add(source)
        wasMistaken ||= !said.every(isRight)
      }
      const at = later(atS - NOW_S - 1)
      const { seen } = look(
        worldOf(sayings, nav, crystallises === undefined ? undefined : books.mark(atS)),
        at,
        by,
        previous,
      )
      previous = seen
      const { proposals, passedOver } = decide({ ...at, ...seen }, by)
      isTold ||= passedOver.some(
        ({ check, subject }) => check === 'report_not_confirmed' && subject.endsWith(`:${dueS}`),
      )
      for (const { input } of proposals) {
        const valuationTimeS = Number(input.valuationTimestamp)
        nav = { value: BigInt(String(input.value)), valuationTimeS, revision: 0, submittedAtS: atS }
        error = errorBps(nav.value, books.net(valuationTimeS))
        made.push(error)
        isMade ||= valuationTimeS === dueS
      }
      // A professional's plain way: the median of what all say now, less the fees on the mark that was agreed.
      const middle = median(SOURCES.flatMap((source) => sayings[source].at(-1)?.valueWad ?? []))
      if (atS === firstS && middle !== null)
        plain.push(errorBps(afterFees(middle, stated, dueS).value, books.net(dueS)))
    }
    const isDayKnown = isMarkKnown && isKnown(known, climate)
    if (isDayKnown) tally.known += 1
    if (isMade) tally.made += 1
    if (isMade && isDayKnown && error >= MATERIAL_BPS) {
      tally.wrong += 1
      if (isTold) tally.told += 1
    }
    if (isTold && !wasMistaken) tally.falselyTold += 1
  }
  return scoresOf(tally, made, plain)
}

const errorBps = (value: bigint, really: bigint) =>
  (10_000 * Math.abs(Number(value - really))) / Number(really)

/** Days that could be known, and that were reported; reports that corrections showed to be wrong, and what was expected of them. */
type Tally = Readonly<Record<'known' | 'made' | 'wrong' | 'told' | 'falselyTold', number>>

function scoresOf(
  { known, made, wrong, told, falselyTold }: Tally,
  ours: readonly number[],
  plain: readonly number[],
): Readonly<Record<string, Score>> {
  const mean = (errors: readonly number[]) => errors.reduce((sum, one) => sum + one, 0) / (errors.length || 1)
  const both = (of: (errors: readonly number[]) => number): Score => ({ ours: of(ours), baseline: of(plain) })
  return {
    meanErrorBps: both(mean),
    accuracyBps: both((errors) => -mean(errors)),
    worstErrorBps: both((errors) => Math.max(0, ...errors)),
    wrongReports: both((errors) => errors.filter((one) => one > WRONG_BPS).length),
    daysKnown: { ours: known, baseline: null },
    reportedOfKnownPercent: { ours: known === 0 ? 100 : (100 * made) / known, baseline: null },
    wrongToldPercent: { ours: wrong === 0 ? 100 : (100 * told) / wrong, baseline: wrong === 0 ? 100 : 0 },
    falselyTold: { ours: falselyTold, baseline: 0 },
  }
}

const BOUNDS = {
  meanErrorBps: { max: 2 },
  worstErrorBps: { max: WRONG_BPS },
  wrongReports: { max: 0 },
  accuracyBps: { aboveBaseline: true },
  reportedOfKnownPercent: { min: 99 },
  falselyTold: { max: 0 },
} as const
const judgeOf = (decide: Decide) => ({
  role: 'nav-reporter',
  baseline: 'a plain median of what the sources say now',
  play: (scenario: ScenarioName, seed: number) => play(decide, scenario, seed),
})

/** Honest sources that speak late, or of another day, and sources of one vendor that is wrong at times. */
export const navWorldsOf = (decide: Decide): Judge => ({
  ...judgeOf(decide),
  scenarios: ['lagging-sources', 'mixed-days', 'shared-upstream', 'wrong-reading'],
  bounds: BOUNDS,
})
/** Values that move so fast that each source's age counts: near ones are waited for. */
export const navFastOf = (decide: Decide): Judge => ({
  ...judgeOf(decide),
  scenarios: ['fast-values'],
  bounds: {
    meanErrorBps: { medianMax: 2 },
    worstErrorBps: { medianMax: WRONG_BPS },
    accuracyBps: { aboveBaseline: true },
    reportedOfKnownPercent: { min: 99 },
    falselyTold: { max: 0 },
  },
})
/** A fund that pays out its fees: what is reported is what is left, to the last unit. */
export const navFeesOf = (decide: Decide): Judge => ({
  ...judgeOf(decide),
  scenarios: ['crystallised-fee'],
  bounds: { ...BOUNDS, worstErrorBps: { max: 0 } },
})
/** Sources that correct what they had said: a report that was made of it is told of, and none where all were right. */
export const navCorrectionsOf = (decide: Decide): Judge => ({
  ...judgeOf(decide),
  scenarios: ['corrected-values'],
  bounds: { wrongToldPercent: { min: 99, aboveBaseline: true }, falselyTold: { max: 0 } },
})
export const navWorldsJudge = navWorldsOf(ours)
export const navFastJudge = navFastOf(ours)
export const navFeesJudge = navFeesOf(ours)
export const navCorrectionsJudge = navCorrectionsOf(ours)

import type { Bound } from './judgement.ts'
import type { Finding } from './tally.ts'

/** How ours lies to a baseline, by the median of its lead over all seeds. */
type Beside = 'above' | 'equal' | 'BELOW'

/** One world in a line: what was expected beside what came, and ours beside a professional's way, in the median. */
type Row = {
  readonly role: string
  readonly world: string
  readonly said: string
  readonly ours: string
  readonly baseline: string
  readonly beside: Beside | ''
  readonly seeds: string
  readonly holds: boolean
}

/** Figures of what was expected against what came of it, or of what was reported against what was so. */
const SAID = /^(said.*Came|meanError)/

/** Put what was found in one line for each world and baseline, so that a reader sees in a minute what holds. Pure. */
function rowsOf(findings: readonly Finding[]): readonly Row[] {
  const worlds = Map.groupBy(findings, ({ role, scenario }) => `${role} ${scenario}`)
  return [...worlds.values()].flatMap((world) => {
    const bounded = world.filter(({ bound }) => Object.keys(bound).length > 0)
    const said = bounded
      .filter(({ figure }) => SAID.test(figure))
      .map((one) => moneyOf(one.figure, one.ours.median))
    const money = bounded.filter(({ bound }) => bound.aboveBaseline ?? bound.notBelowBaseline)
    const shown = money.length > 0 ? money : bounded.filter(({ figure }) => !SAID.test(figure)).slice(0, 2)
    const holds = world.every(({ failures }) => failures.length === 0)
    return shown.map(
      (one, index): Row => ({
        role: one.role,
        world: one.scenario,
        holds,
        said: index === 0 ? said.join(', ') : '',
        ours: `${wordsOf(one.figure)} ${moneyOf(one.figure, one.ours.median)}`,
        ...besideOf(one),
      }),
    )
  })
}

function besideOf({
  bound,
  baseline,
  paired,
  beside,
  figure,
}: Finding): Pick<Row, 'baseline' | 'beside' | 'seeds'> {
  const isBeside = bound.aboveBaseline ?? bound.notBelowBaseline ?? false
  if (!isBeside || baseline === null || paired === null)
    return { baseline: limitsOf(bound), beside: '', seeds: '' }
  const { better, worse, medianLead } = paired
  return {
    baseline: `${beside}: ${moneyOf(figure, baseline.median)}`,
    beside: medianLead > 0 ? 'above' : medianLead === 0 ? 'equal' : 'BELOW',
    seeds: `${better} better, ${worse} worse`,
  }
}

/** A bound in words, for example `at least 0`. */
const limitsOf = ({ min, max, medianMin, medianMax }: Bound): string =>
  [
    ...(min === undefined ? [] : [`at least ${min}`]),
    ...(max === undefined ? [] : [`at most ${max}`]),
    ...(medianMin === undefined ? [] : [`median at least ${medianMin}`]),
    ...(medianMax === undefined ? [] : [`median at most ${medianMax}`]),
  ].join(', ')

/** Write the table, with what it comes to. @returns lines, and whether ours is nowhere below and above in most. */
export function tableOf(findings: readonly Finding[]): {
  readonly lines: readonly string[]
  readonly ok: boolean
} {
  const rows = rowsOf(findings)
  const of = (beside: Beside) => rows.filter((row) => row.beside === beside).length
  const [above, equal, below] = [of('above'), of('equal'), of('BELOW')]
  const head = ['world', 'said beside came', 'ours, median', 'beside it', '', 'seeds', '']
  const cells = rows.map(({ role, world, said, ours, baseline, beside, seeds, holds }) => [
    ...[`${role} ${world}`, said, ours, baseline, beside, seeds],
    holds ? 'holds' : 'FAILS',
  ])
  const widths = head.map((_, column) => Math.max(...[head, ...cells].map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  const sum = `Beside a professional's way: above in ${above}, equal in ${equal}, below in ${below}.`
  return { lines: [head, ...cells].map(line).concat('', sum), ok: below === 0 && above > equal }
}

/** Words of a figure's name, without its unit: `cameOfPaidPercent` is `came of paid`. */
const wordsOf = (figure: string) =>
  figure
    .replace(/(Usd|Percent|Pct|Bps|BpsAYear)$/, '')
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

function moneyOf(figure: string, value: number): string {
  if (Number.isNaN(value)) return 'nothing'
  const digits = Math.abs(value) >= 100 ? 0 : 2
  const number = Math.abs(value).toLocaleString('en', { maximumFractionDigits: digits })
  const sign = value < 0 && number !== '0' ? '−' : ''
  if (figure.endsWith('Usd')) return `${sign}$${number}`
  const unit = /(Percent|Pct)$/.test(figure) ? ' %' : /Bps/.test(figure) ? ' bps' : ''
  return `${sign}${number}${unit}`
}

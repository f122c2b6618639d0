import { readJournal } from '../../journal/open.ts'
import { gain } from '../../readable.js'
import { type Role, SHIPPED_ROLES } from '../../service/contract/roles.ts'
import { isUnmarked, type ShadowVerdict, type Workflow } from '../../workflow/workflow.ts'
import { command } from '../parse/command.ts'
import { checkRole } from '../target/keeper-there.ts'
import { PLACE, placeOf } from '../target/place.ts'

/** `rolekeeper shadow`: what the roles in shadow would have done, and what became of it. */
export const shadow = command({
  name: 'shadow',
  usage: '[--role ROLE] [--config FILE | --directory DIR] [--json]',
  help: `Say for each role what it would have done, had it been live: how much of it was still possible one block later, how
much went in that very block or was gone; what it said it would gain, and what came by simulation was worth an hour later,
by the policy's prices and its markets' oracles at a final block, less gas. Of each subject the last counts, and of bids
those whose lot is decided. Nothing was signed.

  rolekeeper shadow`,
  options: {
    ...PLACE,
    role: { help: 'of this role alone', value: 'ROLE' },
    json: { help: 'print JSON, one object a line' },
  },
  argumentsMax: 0,
  run: async ({ json, role: only, ...given }, _args, io) => {
    const rows = await readJournal(await placeOf(given, io), (journal) => journal.shadowed())
    const roles = [...new Set(rows.map(({ role }) => role))]
    checkRole(only, [...new Set([...SHIPPED_ROLES, ...roles])])
    const scores = roles
      .filter((role) => only === undefined || role === only)
      .map((role) => scoreOf(role, rows))
    if (json === true) io.out(scores.map((score) => `${JSON.stringify(score)}\n`).join(''))
    else io.out(scores.length === 0 ? 'Nothing ended in shadow yet.\n' : scores.map(text).join(''))
    return 0
  },
})

type ShadowScore = {
  readonly role: Role
  readonly wouldHaveDone: number
  readonly verdicts: Readonly<Record<ShadowVerdict, number>>
  /** Of bids that were still possible: whether they would have won their lot. */
  readonly bids: { readonly won: number; readonly lost: number; readonly undecided: number }
  /** Of what a person would have been asked first. */
  readonly asked: number
  /** What was said of what was won, of bids with their lot, and of each subject once: millionths of a dollar, signed decimal. */
  readonly saidUsdMicros: string
  /** How many of those state no gain. */
  readonly unpriced: number
  /** Of the same, and of bids that lost, what was marked an hour later: said, and come to by prices, less gas. */
  readonly marked: {
    readonly count: number
    readonly saidUsdMicros: string
    readonly usdMicros: string
    readonly workflows: readonly MarkedShadow[]
  }
  /** How many are marked yet: their lot is open, or their hour is not over. */
  readonly toMark: number
  /** How many never are, as the chain did not say what comes of them. */
  readonly unmeasured: number
}

/** One that was marked: where its prices are of, and what they were. */
type MarkedShadow = {
  readonly id: string
  readonly saidUsdMicros: string
  readonly usdMicros: string
  readonly block: string
  readonly at: string
  readonly prices: readonly { readonly token: string | null; readonly usdMicros: string }[]
}

/** Sum up one role. Pure. */
function scoreOf(role: Role, all: readonly Workflow[]): ShadowScore {
  const rows = all.filter((row) => row.role === role)
  const of = (verdict: ShadowVerdict) => rows.filter(({ shadowed }) => shadowed?.outcome?.verdict === verdict)
  const won = of('won')
  const bids = (lot: string) => won.filter(({ shadowed }) => shadowed?.outcome?.lot === lot).length
  const counted = onceEach(won)
  const earned = counted.filter(({ shadowed }) => (shadowed?.outcome?.lot ?? 'won') === 'won')
  const marked = counted.flatMap(markedOf)
  const toMark = counted.filter(isUnmarked).length
  return {
    role,
    wouldHaveDone: rows.length,
    verdicts: {
      won: won.length,
      contested: of('contested').length,
      missed: of('missed').length,
      unscored: of('unscored').length,
    },
    bids: { won: bids('won'), lost: bids('lost'), undecided: bids('undecided') },
    asked: rows.filter(({ shadowed }) => shadowed !== undefined && shadowed.ask !== null).length,
    saidUsdMicros: String(sumOf(earned.map(expectedUsdMicros))),
    unpriced: earned.filter(({ proposal }) => proposal.gainUsdMicros === undefined).length,
    marked: {
      count: marked.length,
      saidUsdMicros: String(sumOf(marked.map((each) => BigInt(each.saidUsdMicros)))),
      usdMicros: String(sumOf(marked.map((each) => BigInt(each.usdMicros)))),
      workflows: marked,
    },
    toMark,
    unmeasured: counted.length - marked.length - toMark,
  }
}

const sumOf = (all: readonly bigint[]) => all.reduce((sum, each) => sum + each, 0n)

/** What was said to be gained; of a bid that lost its lot nothing. */
const expectedUsdMicros = ({ proposal, shadowed }: Workflow): bigint =>
  shadowed?.outcome?.lot === 'lost' ? 0n : (proposal.gainUsdMicros ?? 0n)

function markedOf(workflow: Workflow): readonly MarkedShadow[] {
  const mark = workflow.shadowed?.outcome?.mark
  if (mark === undefined) return []
  return [
    {
      id: workflow.id,
      saidUsdMicros: String(expectedUsdMicros(workflow)),
      usdMicros: String(mark.usdMicros),
      block: String(mark.blockNumber),
      at: new Date(mark.atMs).toISOString(),
      prices: mark.prices.map(({ token, usdMicros }) => ({ token, usdMicros: String(usdMicros) })),
    },
  ]
}

/** What was not done is there to be proposed again: of each subject the last proposal counts. */
const onceEach = (rows: readonly Workflow[]): readonly Workflow[] => [
  ...new Map(rows.map((row) => [`${row.proposal.kind} ${row.proposal.subject}`, row])).values(),
]

function text(score: ShadowScore): string {
  const { role, wouldHaveDone, verdicts, bids, asked, saidUsdMicros, unpriced, marked, toMark, unmeasured } =
    score
  const { won, contested, missed, unscored } = verdicts
  const parts = [
    `${won} still possible a block later`,
    `${contested} contested`,
    `${missed} missed`,
    ...(unscored > 0 ? [`${unscored} without a rival`] : []),
    ...(bids.won + bids.lost + bids.undecided > 0
      ? [`of bids ${bids.won} would have won their lot, ${bids.lost} not, ${bids.undecided} undecided`]
      : []),
    ...(asked > 0 ? [`${asked} would have waited for a person`] : []),
  ]
  const without = unpriced > 0 ? ` (${unpriced} state none)` : ''
  const rest = [
    ...(toMark > 0 ? [`${toMark} to be marked yet`] : []),
    ...(unmeasured > 0 ? [`${unmeasured} not measured`] : []),
  ].map((each) => `, ${each}`)
  return `${role}: would have done ${wouldHaveDone}: ${parts.join(', ')}\n  expected ${gain(BigInt(saidUsdMicros))}${without}; ${markedText(marked)}${rest.join('')}\n`
}

/** What was marked, beside what was expected of it, and the prices' blocks. */
function markedText({ count, saidUsdMicros, usdMicros, workflows }: ShadowScore['marked']): string {
  if (count === 0) return 'none marked'
  const byTime = workflows.toSorted((one, other) => one.at.localeCompare(other.at))
  const [first, last] = [byTime[0], byTime.at(-1)].map((each) => `block ${each?.block} (${each?.at})`)
  const of = first === last ? first : `${first} to ${last}`
  return `${count} marked an hour later: expected ${gain(BigInt(saidUsdMicros))}, worth ${gain(BigInt(usdMicros))} at the prices of ${of}`
}

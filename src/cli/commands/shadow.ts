import { readJournal } from '../../journal/open.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { ShadowVerdict, Workflow } from '../../workflow/workflow.ts'
import { command } from '../command.ts'
import { usd } from '../format.ts'
import { PLACE, placeOf } from '../place.ts'

/** `rolekeeper shadow`: what the roles in shadow would have done, and what became of it. */
export const shadow = command({
  name: 'shadow',
  usage: '[--config FILE | --directory DIR] [--json]',
  help: `Say for each role what it would have done, had it been live: how much of it was still possible one block later, how
much went in that very block or was gone, and what it expected to gain. Nothing was signed, so the gain is an estimate;
it counts only what was still possible, each subject once, and of bids only those that would have won their lot.

  rolekeeper shadow`,
  options: { ...PLACE, json: { help: 'print JSON, one object a line' } },
  argumentsMax: 0,
  run: async ({ json, ...given }, _args, io) => {
    const rows = await readJournal(await placeOf(given, io), (journal) => journal.shadowed())
    const scores = [...new Set(rows.map(({ role }) => role))].map((role) => scoreOf(role, rows))
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
  /** Millionths of a dollar, signed decimal: of what was won, of bids with their lot, and of each subject once. Always an estimate. */
  readonly estimatedGainUsdMicros: string
  /** How many of those state no gain. */
  readonly unpriced: number
}

/** Sum up one role. Pure. */
function scoreOf(role: Role, all: readonly Workflow[]): ShadowScore {
  const rows = all.filter((row) => row.role === role)
  const of = (verdict: ShadowVerdict) => rows.filter(({ shadowed }) => shadowed?.outcome?.verdict === verdict)
  const won = of('won')
  const bids = (lot: string) => won.filter(({ shadowed }) => shadowed?.outcome?.lot === lot).length
  const earned = onceEach(won.filter(({ shadowed }) => (shadowed?.outcome?.lot ?? 'won') === 'won'))
  const gain = earned.reduce((sum, { proposal }) => sum + (proposal.gainUsdMicros ?? 0n), 0n)
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
    estimatedGainUsdMicros: String(gain),
    unpriced: earned.filter(({ proposal }) => proposal.gainUsdMicros === undefined).length,
  }
}

/** What was not done is there to be proposed again: of each subject the last proposal counts. */
const onceEach = (rows: readonly Workflow[]): readonly Workflow[] => [
  ...new Map(rows.map((row) => [`${row.proposal.kind} ${row.proposal.subject}`, row])).values(),
]

function text(score: ShadowScore): string {
  const { role, wouldHaveDone, verdicts, bids, asked, estimatedGainUsdMicros, unpriced } = score
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
  const without = unpriced > 0 ? `, ${unpriced} state none` : ''
  return `${role}: would have done ${wouldHaveDone}: ${parts.join(', ')}\n  estimated gain ${usd(estimatedGainUsdMicros)} (an estimate: nothing was signed${without})\n`
}

import { inputText } from '../../src/workflow/proposal.ts'
import type { Ended } from '../agent.ts'
import type { LiquidatorPolicy } from './policy.ts'

/** Until when something is left alone, Unix milliseconds, after so many failures in a row. */
export type BackOff = { readonly untilMs: number; readonly losses: number }

/** What is left alone for now: by subject, and by lower-case address of the market. */
export type BackOffs = {
  readonly subjects: ReadonlyMap<string, BackOff>
  readonly markets: ReadonlyMap<string, BackOff>
}

/**
 * Say what is left alone after lost races and failed sales. Pure. Each loss in a row doubles the wait; a success ends the row.
 * What was under way together was one race: only a try that began after the loss before it was lost anew. A refusal because
 * the position is healthy again was a race too, but cost no gas: it holds back its subject, not the market. A sale that is
 * refused, reverts or expires holds back the next one of that collateral alone.
 */
export function backOffsOf(
  recent: readonly Ended[],
  nowMs: number,
  { lostRace }: LiquidatorPolicy,
): BackOffs {
  const subjects = new Map<string, Row>()
  const markets = new Map<string, Row>()
  for (const ended of recent) {
    if (ended.workflowType === 'own.liquidator.sell' && ended.state !== 'shadowed')
      note(subjects, ended.subject, ended, ended.state === 'succeeded')
    if (ended.kind !== 'liquidate') continue
    const cost = ended.state === 'reverted' || ended.state === 'superseded'
    const lost = cost || (ended.state === 'refused' && ended.check === 'position_healthy')
    const won = ended.state === 'succeeded'
    if (!lost && !won) continue
    const market = inputText(ended.input, 'marketAddress')
    note(subjects, ended.subject, ended, won)
    if (market !== undefined && (cost || won)) note(markets, market, ended, won)
  }
  const waiting = (rows: ReadonlyMap<string, Row>, firstS: number) =>
    new Map(
      [...rows].flatMap(([key, { losses, lastMs }]): [string, BackOff][] => {
        const waitS = Math.min(firstS * 2 ** (losses - 1), lostRace.backOffSMax)
        const untilMs = lastMs + waitS * 1_000
        // One that ended a whole wait ahead of now ended by a clock that has gone back since.
        const isOver = untilMs <= nowMs || untilMs - nowMs > 2 * waitS * 1_000
        return losses > 0 && !isOver ? [[key, { untilMs, losses }]] : []
      }),
    )
  return {
    subjects: waiting(subjects, lostRace.subjectBackOffS),
    markets: waiting(markets, lostRace.marketBackOffS),
  }
}

/** Losses in a row up to the newest, which the list names first, and when the oldest of them so far began. */
type Row = { losses: number; readonly lastMs: number; begunMs: number; over: boolean }

function note(rows: Map<string, Row>, key: string, { begunAtMs, endedAtMs }: Ended, won: boolean): void {
  const row = rows.get(key) ?? { losses: 0, lastMs: endedAtMs, begunMs: endedAtMs, over: false }
  row.over ||= won
  if (!row.over) {
    const isBefore = endedAtMs <= row.begunMs
    row.losses += isBefore ? 1 : 0
    // Of one race, the try that began last is the one that could have known of an earlier loss.
    row.begunMs = isBefore ? begunAtMs : Math.max(row.begunMs, begunAtMs)
  }
  rows.set(key, row)
}

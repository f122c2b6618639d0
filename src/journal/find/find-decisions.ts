import type { Deployment } from '../../service/contract/deployment.ts'
import { pinnedUnder } from '../../service/contract/subject-name.ts'
import type { DecisionRow, JournalReads } from '../journal.ts'
import { ambiguous, candidates, isShownAs, shownForm } from './id-forms.ts'

/** Decisions that a part of a subject is looked for among. */
const LOOKED_MAX = 2_000

/** One word of what a person gives of a subject, and what of a subject it may be. */
type Word = {
  /** What the journal is asked for: a subject that it is about contains it. */
  readonly text: string
  readonly isPart: (part: string) => boolean
  /** It stands for one part alone, of which it shows the ends. */
  readonly isShortened: boolean
}

/**
 * Find what was decided about a subject, by all of it or by parts, in any form that is shown: an address, its two ends, what
 * is pinned by its name, a market by its assets (`sBTC/sUSD`). Newest first.
 * @throws RolekeeperError `usage` where the ends that are shown are those of several.
 */
export async function findDecisions(
  journal: Pick<JournalReads, 'decisions'>,
  given: readonly string[],
  known: Deployment,
): Promise<readonly DecisionRow[]> {
  const found = await Promise.all(readings(given, known).map((words) => findBy(words, journal)))
  const rows = new Map(
    found.flat().map((row) => [`${row.role} ${row.subject} ${row.check} ${row.atMs}`, row]),
  )
  return [...rows.values()].toSorted((one, other) => other.atMs - one.atMs)
}

/** How the words may be meant: a pinned name is an address in most subjects, and stands as it is in what a policy names. */
function readings(given: readonly string[], known: Deployment): readonly (readonly Word[])[] {
  const [pinned, plain] = [wordsOf(given, known), wordsOf(given, null)]
  return pinned.every(({ text }, index) => text === plain[index]?.text) ? [pinned] : [pinned, plain]
}

async function findBy(
  words: readonly Word[],
  journal: Pick<JournalReads, 'decisions'>,
): Promise<readonly DecisionRow[]> {
  const [asked] = words.toSorted((one, other) => other.text.length - one.text.length)
  const all = asked === undefined ? [] : await journal.decisions(asked.text, LOOKED_MAX)
  const rows = meant(words, all, ({ subject }) => subject)
  for (const word of words.filter(({ isShortened }) => isShortened)) {
    const parts = [...new Set(rows.flatMap(({ subject }) => partsOf(subject).filter(word.isPart)))]
    if (parts.length > 1)
      throw ambiguous(`Several begin and end so: ${candidates(parts)}.`, 'write the whole of one')
  }
  return rows
}

/** Whether what a person gives can be of a subject, and not only of an id. Pure. */
export const isOfSubject = (given: string): boolean => !/^[0-9a-f]+(…|\.{2,3})?[0-9a-f]*$/i.test(given)

/** Keep what is about a subject that is given so. Pure. */
export const aboutGiven = <Row>(
  given: readonly string[],
  known: Deployment,
  rows: readonly Row[],
  subjectOf: (row: Row) => string,
): readonly Row[] => {
  const found = new Set(readings(given, known).flatMap((words) => meant(words, rows, subjectOf)))
  return rows.filter((row) => found.has(row))
}

/** What the words are all of, part by part; where they are that of nothing, what has all of them in it. */
function meant<Row>(words: readonly Word[], rows: readonly Row[], subjectOf: (row: Row) => string) {
  const whole = rows.filter((row) => areAllOf(words, subjectOf(row)))
  return whole.length > 0 ? whole : rows.filter((row) => areIn(words, subjectOf(row)))
}

/** As a subject is written: in parts, or as words, which is how screens show it. */
const wordsOf = (given: readonly string[], known: Deployment | null): readonly Word[] =>
  given
    .flatMap((each) => each.split(/[\s:()]+/))
    .filter((word) => word !== '')
    .map((word) => wordOf(word, known))

const areIn = (words: readonly Word[], subject: string): boolean => words.every((word) => isIn(word, subject))

function areAllOf(words: readonly Word[], subject: string): boolean {
  const parts = partsOf(subject)
  return parts.length === words.length && words.every(({ isPart }, index) => isPart(parts[index] ?? ''))
}

const partsOf = (subject: string): readonly string[] => subject.toLowerCase().split(':')

const isIn = ({ text, isPart, isShortened }: Word, subject: string): boolean =>
  partsOf(subject).some(isPart) || (!isShortened && subject.toLowerCase().includes(text))

function wordOf(word: string, known: Deployment | null): Word {
  const address = known === null ? null : pinnedUnder(word, known)
  if (address !== null) return { text: address, isPart: (part) => part === address, isShortened: false }
  // Lot 7 is not lot 77.
  if (/^\d+$/.test(word)) return { text: word, isPart: (part) => part === word, isShortened: false }
  const shown = shownForm(word)
  return { text: shown.head, isPart: (part) => isShownAs(part, shown), isShortened: shown.tail !== '' }
}

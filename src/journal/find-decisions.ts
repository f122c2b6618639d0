import type { Deployment } from '../service/contract/deployment.ts'
import type { DecisionRow, JournalReads } from './journal.ts'
import { candidates, isShownAs, notFound, shownForm } from './shown-form.ts'

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
 * Find what was decided about a subject, by parts of it in any form that is shown: an address, its two ends, a market by its
 * assets (`sBTC/sUSD`). Newest first.
 * @throws RolekeeperError `usage` where the ends that are shown are those of several.
 */
export async function findDecisions(
  journal: Pick<JournalReads, 'decisions'>,
  given: readonly string[],
  known: Deployment,
): Promise<readonly DecisionRow[]> {
  const words = wordsOf(given, known)
  const [asked] = words.toSorted((one, other) => other.text.length - one.text.length)
  const all = asked === undefined ? [] : await journal.decisions(asked.text, LOOKED_MAX)
  const rows = all.filter(({ subject }) => areIn(words, subject))
  for (const word of words.filter(({ isShortened }) => isShortened)) {
    const parts = [...new Set(rows.flatMap(({ subject }) => partsOf(subject).filter(word.isPart)))]
    if (parts.length > 1)
      throw notFound(`Several begin and end so: ${candidates(parts)}.`, 'write the whole of one')
  }
  return rows
}

/** Whether what a person gives can be of a subject, and not only of an id. Pure. */
export const isOfSubject = (given: string): boolean => !/^[0-9a-f]+(…|\.{2,3})?[0-9a-f]*$/i.test(given)

/** Whether a subject is one that is given so. Pure. */
export const subjectGivenBy = (given: readonly string[], known: Deployment) => {
  const words = wordsOf(given, known)
  return (subject: string): boolean => words.length > 0 && areIn(words, subject)
}

const wordsOf = (given: readonly string[], known: Deployment): readonly Word[] =>
  given.flatMap((each) => each.trim().split(/\s+/)).map((word) => wordOf(word, known))

const areIn = (words: readonly Word[], subject: string): boolean => words.every((word) => isIn(word, subject))

const partsOf = (subject: string): readonly string[] => subject.toLowerCase().split(':')

const isIn = ({ text, isPart, isShortened }: Word, subject: string): boolean =>
  partsOf(subject).some(isPart) || (!isShortened && subject.toLowerCase().includes(text))

function wordOf(word: string, known: Deployment): Word {
  const pair = marketOf(word, known)
  if (pair !== null) return { text: pair, isPart: (part) => part === pair, isShortened: false }
  const shown = shownForm(word)
  return { text: shown.head, isPart: (part) => isShownAs(part, shown), isShortened: shown.tail !== '' }
}

/** The market that the screen calls by its assets, collateral first; null where there is none. */
function marketOf(word: string, { assets, markets }: Deployment): string | null {
  const symbolOf = (address: string) => assets.find((asset) => asset.address === address)?.symbol ?? '?'
  const found = markets.find(
    ({ collateralAsset, loanAsset }) => `${symbolOf(collateralAsset)}/${symbolOf(loanAsset)}` === word,
  )
  return found?.address ?? null
}

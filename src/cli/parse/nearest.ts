import { closest, distance } from 'fastest-levenshtein'

/** Further off than a third of its letters, and two at the least, it is another word and not a slip. */
const isNear = (word: string, known: string) =>
  distance(word, known) <= Math.max(2, Math.floor(known.length / 3))

/** Say what was probably meant by a word that is none of those known: the start of a fix, empty where nothing is near. Pure. */
export function perhaps(word: string, known: readonly string[], write = (near: string) => near): string {
  const lower = word.toLowerCase()
  const begun = known.filter((each) => lower.length > 2 && each.toLowerCase().startsWith(lower))
  const [near = closest(lower, known)] = begun
  return known.length > 0 && (begun.length > 0 || isNear(lower, near)) ? `perhaps \`${write(near)}\`; ` : ''
}

import { stripVTControlCharacters, styleText } from 'node:util'
import { printable } from '../../errors.ts'
import type { FacetEvent } from '../../ops/events.ts'
import { facetKey } from '../../ops/facet.ts'
import { short } from '../../readable.js'

export type Colour = 'green' | 'red' | 'yellow' | 'cyan' | 'gray' | 'none'

/** A line of the timeline before it is aligned. */
export type Row = {
  readonly mark: string
  readonly word: string
  readonly text: string
  readonly colour: Colour
}

/** Make a row. Pure. */
export const row = (mark: string, word: string, text: string, colour: Colour = 'none'): Row => ({
  mark,
  word,
  text,
  colour,
})

/** Write a row. Pure. */
export function line({ mark, word, text, colour }: Row, clock: string, coloured: boolean): string {
  const head = `${clock.padStart(8)}  ${mark} ${word.padEnd(10)}`
  const plain = `${head} ${text}`.trimEnd()
  if (!coloured || colour === 'none') return plain
  if (colour === 'gray') return styleText('gray', plain, { validateStream: false })
  // The text stays plain, so that numbers read the same everywhere; only mark and word carry the colour.
  return plain.replace(`${mark} ${word}`, styleText(colour, `${mark} ${word}`, { validateStream: false }))
}

/** Safe to show, on one line, with addresses and hashes shortened: `workflows show` has them whole. */
export const clean = (text: string, lengthMax = 400) =>
  short(printable(stripVTControlCharacters(text), lengthMax))
/** Safe to show, with every address as it is typed: an alarm's fix is a command. */
export const whole = (text: string) => printable(stripVTControlCharacters(text), 2_000)

/** How each state of a facet is drawn. */
const STATES: Readonly<Record<FacetEvent['state'], readonly [string, string, Colour]>> = {
  ok: ['●', 'well', 'green'],
  warning: ['!', 'warning', 'yellow'],
  failing: ['✗', 'failing', 'red'],
}

/** Roles and what is held have lines of their own. */
export function drawFacet(event: FacetEvent): readonly Row[] {
  const { facet, state, message, fix, because } = event
  if (facet === 'role' || facet === 'approvals') return []
  const [mark, word, colour] = STATES[state]
  const why = because === undefined ? message : `because of ${because}: ${message}`
  const how = because === undefined && fix !== undefined ? ` Fix: ${fix}` : ''
  return [row(mark, word, whole(`${facetKey(event)}: ${why}${how}`), because === undefined ? colour : 'gray')]
}

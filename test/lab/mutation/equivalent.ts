import { GUARD } from './equivalent-guard.ts'
import type { Mutant } from './mutants.ts'

/**
 * A mutant that no test could notice: what the code does stays the same, or only how fast and in how much memory. It is
 * asked about as any other, and left out of the score where it lives.
 */
type Equivalent = {
  readonly file: string
  /** How the source line begins that it begins in, without the space before it; empty for every line of the file. */
  readonly line: string
  readonly was: string
  readonly is: string
  readonly why: string
}

/** The mutants that are declared so of a file, by its declarations. */
export function equivalentIn(
  file: string,
  source: string,
  mutants: readonly Mutant[],
): ReadonlyMap<Equivalent, readonly Mutant[]> {
  const lines = source.split('\n').map((line) => line.trim())
  const isOf = (declared: Equivalent) => (mutant: Mutant) =>
    lines[mutant.line - 1]?.startsWith(declared.line) &&
    mutant.was === declared.was &&
    mutant.is === declared.is
  const declared = EQUIVALENT.filter((each) => each.file === file)
  return new Map(declared.map((each) => [each, mutants.filter(isOf(each))]))
}

/** Where something is declared. */
export const declaredFiles = (): readonly string[] => [...new Set(EQUIVALENT.map(({ file }) => file))]

const EQUIVALENT: readonly Equivalent[] = [
  ...GUARD,
  {
    file: 'src/journal/sqlite/live-index.ts',
    line: 'if (lot !== undefined) this.#byLot.remove(lot, id)',
    was: 'lot !== undefined',
    is: 'true',
    why: 'the types need it: nothing is kept under no lot',
  },
  {
    file: 'src/journal/sqlite/recent-reservations.ts',
    line: 'if (minute === undefined) return',
    was: 'minute === undefined',
    is: 'false',
    why: 'the types need it: each reservation that is held is in a minute',
  },
  {
    file: 'src/journal/sqlite/recent-reservations.ts',
    line: 'const key = ',
    was: "''",
    is: "'mutated'",
    why: 'a word for what is absent: no signer and no token is written so',
  },
  {
    file: 'src/journal/sqlite/recent-reservations.ts',
    line: 'const key = ',
    was: 'approved === true',
    is: '(approved) !== (true)',
    why: 'two words that tell the same two apart',
  },
  {
    file: 'src/journal/sqlite/records.ts',
    line: 'clearTimeout(this.#lazy)',
    was: 'clearTimeout(this.#lazy)',
    is: 'undefined',
    why: 'the timer is for a barrier that nobody waits for; it finds nothing to write, or is refused',
  },
  {
    file: 'src/journal/sqlite/records.ts',
    line: "this.#guarded(() => this.#db.exec('RELEASE change'))",
    was: "this.#guarded(() => this.#db.exec('RELEASE change'))",
    is: 'undefined',
    why: 'the next change of the name nests in it, is rolled back by itself, and the commit ends them all',
  },
  {
    file: 'src/journal/sqlite/records.ts',
    line: 'if (!this.#closed) this.fail(',
    was: '!this.#closed',
    is: 'true',
    why: 'the thread that could report has ended by the time it is set',
  },
  {
    file: 'src/journal/sqlite/sqlite.ts',
    line: 'return newest.map((one) =>',
    was: 'isTerminal(one.state)',
    is: 'false',
    why: 'saves a second read of what does not change any more',
  },
  {
    file: 'src/journal/watermark/take-back.ts',
    line: 'if (next === null || next < first.nonce)',
    was: 'next < first.nonce',
    is: '(next) <= (first.nonce)',
    why: 'adopts the nonce that is the next one already',
  },
  {
    file: 'src/journal/watermark/take-back.ts',
    line: "const mark = { type: 'attempt' as const,",
    was: "'attempt'",
    is: "''",
    why: 'the types need it: who is given the mark reads no type',
  },
  {
    file: 'src/journal/watermark/take-back.ts',
    line: 'back.push(...(await orderAgain(reservation === null',
    was: 'reservation === null',
    is: 'false',
    why: 'the types need it: a reservation of null is none where it is read',
  },
  {
    file: 'src/journal/watermark/take-back.ts',
    line: "const state = stored.state === 'confirmed'",
    was: "stored.state === 'confirmed'",
    is: 'true',
    why: 'what has a slot and has not ended is in flight or confirmed',
  },
  {
    file: 'src/journal/watermark/watermark-file.ts',
    line: 'if (cut < 0 ||',
    was: 'cut < 0',
    is: '(cut) <= (0)',
    why: 'no line whose checksum fits begins with a space: what has no digest is written with a dash',
  },
  {
    file: 'src/sign/kms.ts',
    line: "retryMode: 'standard',",
    was: "'standard'",
    is: "''",
    why: 'the SDK takes any word but adaptive for the standard mode; without one it would read the environment',
  },
  {
    file: 'src/sign/parity-thread.ts',
    line: 'lastId += 1',
    was: 'lastId += 1',
    is: 'lastId -= 1',
    why: 'a number that no other question has, either way',
  },
  {
    file: 'src/sign/signature.ts',
    line: '[bytesToHex(digest), r, s, yParity, address.toLowerCase()].join()',
    was: 'address.toLowerCase()',
    is: 'address.toUpperCase()',
    why: 'one form of an address for all, either way',
  },
]

/** Words of 32 bits of an address, the highest first. */
export const ADDRESS_WORDS = 5
/** Words of 64 bits of one figure, the lowest first. */
export const UINT256_WORDS = 4
const WORD_BITS = 64n

/** Write a figure into words, from one of them on. */
export function writeUint256(words: BigUint64Array, at: number, value: bigint): void {
  for (let word = 0; word < UINT256_WORDS; word += 1)
    words[at + word] = BigInt.asUintN(64, value >> (WORD_BITS * BigInt(word)))
}

/** Read a figure from words, from one of them on. Pure. */
export function readUint256(words: BigUint64Array, at: number): bigint {
  let value = 0n
  for (let word = UINT256_WORDS - 1; word >= 0; word -= 1)
    value = (value << WORD_BITS) | (words[at + word] as bigint)
  return value
}

/** Read a figure from the halves of words, rounded: no bigint for each of a million. `at` counts whole words. */
function roughUint256(halves: Uint32Array, at: number): number {
  let value = 0
  for (let half = 2 * UINT256_WORDS - 1; half >= 0; half -= 1)
    value = value * 2 ** 32 + (halves[2 * at + half] as number)
  return value
}

/** Mix all words of an address: vanity addresses share some of theirs. Pure. */
export function hash(words: Uint32Array, from: number): number {
  let mixed = 0
  for (let word = from; word < from + ADDRESS_WORDS; word += 1) {
    mixed = Math.imul(mixed ^ (words[word] as number), 0x9e3779b1)
    mixed ^= mixed >>> 15
  }
  return mixed
}

/** Copy an array to the start of a larger one. */
export function widened<T extends { set: (from: T) => void }>(from: T, to: T): T {
  to.set(from)
  return to
}

/**
 * Find where the largest figures are that are not 0, at most `max`, among `count` that lie `stride` words apart, and above
 * what (rounded) another one would have to be to be one of them. Pure.
 */
export function largestUint256(
  words: BigUint64Array<ArrayBuffer>,
  stride: number,
  count: number,
  max: number,
): { readonly places: readonly number[]; readonly least: number } {
  const halves = new Uint32Array(words.buffer)
  const found: { readonly place: number; readonly figure: number }[] = []
  let least = 0
  for (let place = 0; place < count; place += 1) {
    const figure = roughUint256(halves, place * stride)
    if (figure <= least) continue
    const after = found.findIndex((other) => figure > other.figure)
    found.splice(after === -1 ? found.length : after, 0, { place, figure })
    found.splice(max)
    if (found.length === max) least = found.at(-1)?.figure ?? 0
  }
  return { places: found.map(({ place }) => place), least }
}

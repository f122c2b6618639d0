/**
 * What became of things that were said, by one name that tells them apart: `bid`, `asset:sBTC`, `seller:0x…`. An error is
 * what came less what was said, in parts of the mark: −0.02 where 2 % of the mark were missing. Old cases fade: counts
 * and sums are weights.
 */
export type Experience = {
  readonly of: string
  /** Things said that are decided, won or not. */
  readonly decided: number
  /** Those of which something came: the only ones with an error. */
  readonly won: number
  readonly errors: number
  readonly squares: number
}

/** One thing that was said and is decided by now. `error` is null where it was lost, and nothing came. */
export type Case = { readonly of: readonly string[]; readonly error: number | null }

/** What is taken to be so before there are cases, and how far cases may move it. */
export type Prior = {
  /** The mean error, and the standard deviation of one. */
  readonly mean: number
  readonly noise: number
  /** As many cases of one's own count as much as it does; with fewer it is a prior by name. */
  readonly samples: number
  /** The most that the mean may be off nothing, either way. */
  readonly most: number
}

/** What error is to be expected. */
export type Expectation = {
  readonly mean: number
  readonly noise: number
  /** Cases that are behind it, by the narrowest name that has any. */
  readonly won: number
  readonly basis: 'prior' | 'measured'
  /** The mean would be lower than the prior's `most` allows: what is said is not to be relied on. */
  readonly isBelow: boolean
}

/** So many cases stay in mind: each new one takes this part off what the old ones weigh. */
const FADING = 1 / 400

/** Add a case under each of its names. Pure. */
export function withCase(experience: readonly Experience[], { of, error }: Case): readonly Experience[] {
  const names = [...new Set(of)]
  const known = new Map(experience.map((one) => [one.of, one]))
  const added = names.map((name) => {
    const old = known.get(name) ?? { of: name, decided: 0, won: 0, errors: 0, squares: 0 }
    const decided = old.decided * (1 - FADING) + 1
    if (error === null) return { ...old, decided }
    const kept = 1 - FADING
    return {
      ...{ of: name, decided, won: old.won * kept + 1 },
      ...{ errors: old.errors * kept + error, squares: old.squares * kept + error * error },
    }
  })
  return [...experience.filter((one) => !names.includes(one.of)), ...added]
}

/**
 * Expect the error of something that goes by these names, from the broadest to the narrowest: what is known of each is
 * the prior of the next, so that a seller who is new is taken for one of those known. Pure.
 */
export function expectError(
  experience: readonly Experience[],
  of: readonly string[],
  { mean, noise, samples, most }: Prior,
): Expectation {
  let known = { mean, variance: noise * noise, won: 0 }
  for (const name of of) {
    const one = experience.find((each) => each.of === name)
    if (one === undefined || one.won === 0) continue
    const weight = samples + one.won
    const center = (known.mean * samples + one.errors) / weight
    // Around the center, not around each name's own mean: a prior that is off is noise until cases outweigh it.
    const spread = one.squares - 2 * center * one.errors + one.won * center * center
    const shift = known.mean - center
    const variance = ((known.variance + shift * shift) * samples + spread) / weight
    known = { mean: center, variance, won: one.won }
  }
  return {
    mean: Math.min(most, Math.max(-most, known.mean)),
    noise: Math.sqrt(known.variance),
    won: known.won,
    basis: known.won < samples ? 'prior' : 'measured',
    isBelow: known.mean < -most,
  }
}

import { usd } from '../../src/readable.js'
import { decimal, percent } from './text.ts'

/**
 * What became of things that were said, by one name that tells them apart: `bid`, `asset:sBTC`, `seller:0x…`. All are parts
 * of the mark: an error is what came less what was expected, −0.02 where 2 % of the mark were missing; a gain is what came less
 * what was paid. Old cases fade: counts and sums are weights.
 */
export type Experience = {
  readonly of: string
  /** Things said that are decided, won or not. */
  readonly decided: number
  /** Those of which something came: the only ones with an error and a gain. */
  readonly won: number
  readonly errors: number
  readonly squares: number
  readonly gains: number
  /** What all of it brought less what it cost, gas of what was lost too, US dollars. It does not fade. */
  readonly netUsd: number
  /** What was paid for what was lost, or failed, and no win since has paid back, US dollars; at least 0. */
  readonly unpaidUsd: number
}

/** What was bought, by its lot, and became money again: what was paid and what came, all fees taken; null where others won it. */
export type Recovered = {
  readonly lot: string
  readonly paidUsdMicros: bigint
  readonly cameUsdMicros: bigint | null
  readonly atMs: number
}

/** One thing that was said and is decided by now. `came` is null where it was lost, and nothing came. */
export type Case = {
  readonly of: readonly string[]
  readonly came: { readonly error: number; readonly gain: number } | null
  /** What it brought less what it cost, gas too, US dollars; where it was lost, what that cost. */
  readonly netUsd: number
  /** Whether it was taken back, or failed by itself: neither won nor lost, and only what it cost counts. */
  readonly isVoid?: true
}

/** What is taken to be so before there are cases, and how far cases may move it. */
export type Prior = {
  /** The mean error, and the standard deviation of one. */
  readonly mean: number
  readonly noise: number
  /** The most that cases may move the mean, either way. */
  readonly most: number
}

/** What error is to be expected. */
export type Expectation = {
  readonly mean: number
  readonly noise: number
  /** Cases that are behind it, by the name that has most. */
  readonly won: number
  readonly basis: 'prior' | 'measured'
  /** What cases say lies further below than they may move the mean. */
  readonly isBeyond: boolean
}

/** What was lost on average by the narrowest name that is known well enough, a part of the mark. */
export type Losing = { readonly of: string; readonly won: number; readonly gain: number }

/** So many cases stay in mind: each new one takes this part off what the old ones weigh. */
const FADING = 1 / 400
/** A prior weighs as much as so many cases; with fewer of its own, what is expected is a prior by name. */
const SAMPLES = 10
/** So many are enough to see that money is being lost. */
const ENOUGH = 5
/** And so many that were decided, few of which were won. */
const MANY = 30
/** Less than an equal part of what was decided is won seldom, among so many rivals at least. */
const RIVALS_MIN = 2

/** Whether enough came to go by it rather than by what is believed before. Pure. */
export const isEnough = (won: number): boolean => Math.round(won) >= SAMPLES

const NOTHING = { decided: 0, won: 0, errors: 0, squares: 0, gains: 0, netUsd: 0, unpaidUsd: 0 }

/** Add cases, the oldest first, each under all of its names. Pure. */
export function withCases(experience: readonly Experience[], cases: readonly Case[]): readonly Experience[] {
  const known = new Map(experience.map((one) => [one.of, one]))
  const kept = 1 - FADING
  for (const { of, came, netUsd: net, isVoid } of cases) {
    for (const name of new Set(of)) {
      const old = known.get(name) ?? { of: name, ...NOTHING }
      const decided = isVoid ? old.decided : old.decided * kept + 1
      const netUsd = old.netUsd + net
      const unpaidUsd = Math.max(0, old.unpaidUsd - net)
      if (came === null) known.set(name, { ...old, decided, netUsd, unpaidUsd })
      else {
        const { error, gain } = came
        known.set(name, {
          of: name,
          decided,
          won: old.won * kept + 1,
          errors: old.errors * kept + error,
          squares: old.squares * kept + error * error,
          gains: old.gains * kept + gain,
          netUsd,
          // That what was won lost money is judged by itself.
          unpaidUsd: Math.min(old.unpaidUsd, unpaidUsd),
        })
      }
    }
  }
  return [...known.values()]
}

/** What is known of each of these names that something came of, in their order. */
const knownOf = (experience: readonly Experience[], of: readonly string[]): readonly Experience[] =>
  of.flatMap((name) => experience.find((each) => each.of === name && each.won > 0) ?? [])

/**
 * Expect the error of something that goes by these names, from the broadest to the narrowest: what is known of each is
 * the prior of the next, so that a seller who is new is taken for one of those known. Pure.
 */
export function expectError(
  experience: readonly Experience[],
  of: readonly string[],
  { mean, noise, most }: Prior,
): Expectation {
  let known = { mean, variance: noise * noise, won: 0 }
  for (const one of knownOf(experience, of)) {
    const weight = SAMPLES + one.won
    const center = (known.mean * SAMPLES + one.errors) / weight
    // Around the center, not around each name's own mean: a prior that is off is noise until cases outweigh it.
    const spread = one.squares - 2 * center * one.errors + one.won * center * center
    const shift = known.mean - center
    const variance = ((known.variance + shift * shift) * SAMPLES + spread) / weight
    known = { mean: center, variance, won: Math.max(known.won, one.won) }
  }
  return {
    mean: Math.min(mean + most, Math.max(mean - most, known.mean)),
    noise: Math.sqrt(known.variance),
    won: known.won,
    basis: isEnough(known.won) ? 'measured' : 'prior',
    isBeyond: known.mean < mean - most,
  }
}

/**
 * Whether what was won under these names lost money; null where none of them says so, or too few cases do. Pure.
 *
 * Of names that have enough cases the narrowest decides: by more than a standard error of the average, and by one more for
 * all but the narrowest name, which many share. After many that were decided one less is enough. A broader name says so as well
 * where it was won seldom: who wins seldom has rivals who know more, whatever is bid for. Chance counts for it half as long, and
 * after that half a standard error against it: it has to show that winning pays.
 * @param rivals seen at it: among many equals each wins little, and nobody knows more.
 * @param costs of money and care that gains do not count, a part of the mark.
 */
export function losingOn(
  experience: readonly Experience[],
  of: readonly string[],
  rivals: number,
  costs = 0,
): Losing | null {
  const equalPart = 1 / (Math.max(RIVALS_MIN, rivals) + 1)
  const known = knownOf(experience, of).filter(
    ({ won, decided }) => Math.round(won) >= ENOUGH || decided >= MANY,
  )
  for (const one of known) {
    const { won, errors, squares, decided } = one
    const isShared = one.of !== of.at(-1)
    const isSeldom = isShared && Math.round(won) >= ENOUGH && decided >= MANY && won < decided * equalPart
    if (!isSeldom && one !== known.at(-1)) continue
    const gain = one.gains / won - costs
    const noise = Math.sqrt(Math.max(0, squares / won - (errors / won) ** 2) / won)
    const errorsAllowed = isSeldom
      ? Math.max(-0.5, 2 - (2 * decided) / MANY)
      : Math.max(0, (isShared ? 2 : 1) - decided / MANY)
    if (gain + noise * errorsAllowed < 0) return { of: one.of, won: Math.round(won), gain }
  }
  return null
}

/** A person should hear of it: nothing goes on by itself. */
const fixOf = (role: string) =>
  `find out why: who knows more than we, or follows the same; it goes on after \`rolekeeper experience forget ${role}\`.`

/** Why something that goes by such a name is left alone. Pure. */
export const losingStop = ({ of, won, gain }: Losing, role: string) => ({
  check: 'experience_against',
  message: `Of ${of}, the last ${won} that we won lost ${decimal(BigInt(Math.round(-gain * 10_000)), 2, 2)} % of their price on average: by more than chance. Fix: ${fixOf(role)}`,
  alarm: { fix: fixOf(role) },
  reason: { of, won, gainBps: Math.round(gain * 10_000) },
})

/** What a role may lose while it explores, and what one more would cost, with what is under way. */
type Exploration = { readonly lossUsdMicrosMax: bigint; readonly costUsdMicros: bigint }

/**
 * Why a role stops that pays for what it does not win: what it did under its broadest name has lost, gas included, what the
 * policy lets it lose before it knows more, or so much was paid that no win paid back; or one more would cost more than is left.
 * Null otherwise. Pure.
 */
export function explorationStop(
  experience: readonly Experience[],
  [broadest]: readonly string[],
  { lossUsdMicrosMax, costUsdMicros }: Exploration,
  role: string,
) {
  const known = experience.find(({ of }) => of === broadest) ?? NOTHING
  const lostUsd = Math.max(known.unpaidUsd, isEnough(known.won) ? 0 : -known.netUsd)
  const lostUsdMicros = BigInt(Math.round(lostUsd * 1_000_000))
  if (lostUsdMicros + costUsdMicros <= lossUsdMicrosMax) return null
  const reason = {
    lostUsdMicros: String(lostUsdMicros),
    decided: Math.round(known.decided),
    won: Math.round(known.won),
  }
  const budget = `the policy's exploration is ${usd(lossUsdMicrosMax)}`
  if (lostUsdMicros <= 0n) {
    const message = `Gas for one more, and for what is under way, is ${usd(costUsdMicros)}; ${budget}.`
    return { check: 'gas_above_exploration', message, reason }
  }
  const fix = `see \`rolekeeper experience show --role ${role}\`: where little was won, others pay more; where much was, it brought less than was bid. It goes on with more \`exploration\` in the policy, or after \`rolekeeper experience forget ${role}\`.`
  const message = `It has lost ${usd(lostUsdMicros)}, gas included, ${known.won === 0 ? 'and won nothing' : `with ${Math.round(known.won)} won`}; ${budget}, and one more costs ${usd(costUsdMicros)}. Fix: ${fix}`
  return { check: 'exploration_spent', message, alarm: { fix }, reason }
}

/** Why something is left alone of which others brought less than the policy lets us allow for. Pure. */
export const beyondStop = ({ won }: Expectation, mostBps: number, role: string) => ({
  check: 'experience_against',
  message: `The last ${Math.round(won)} like it brought less than was said by more than the ${percent(BigInt(mostBps))} that the policy lets experience move it. Fix: ${fixOf(role)}`,
  alarm: { fix: fixOf(role) },
  reason: { won: Math.round(won), mostBps },
})

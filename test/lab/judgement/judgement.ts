/** The scenarios that every role is judged in; the sandbox plays the same names on its chain. */
export const SCENARIOS = [
  'calm',
  'volatile',
  'crash-with-congestion',
  'rate-spike',
  'redemption-run',
  'source-off-by-1000',
  'rfq-competition',
  'indexer-stall',
] as const
/** Worlds that are played offline alone, of one role each; their ranges stand where they are played. */
const WORLDS = [
  'lagging-sources',
  'mixed-days',
  'shared-upstream',
  'wrong-reading',
  'fast-values',
  'corrected-values',
  'crystallised-fee',
  'equals',
  'shills',
  'informed-rivals',
  'lemons',
  'coherent-oracle',
  'near-reserve',
  'above-worth',
  'lanes-bring-less',
  'spikes-1-gwei',
  'spikes-10-gwei',
  'spikes-30-gwei',
  'shared-markets',
  'crowded-markets',
  'notice-queues',
  'tips-at-auction',
  'small-books',
  'joint-exit',
  'claims',
] as const
export type ScenarioName = (typeof SCENARIOS)[number] | (typeof WORLDS)[number]

/** One figure of one scenario and seed: ours beside the obvious baseline's, in the same unit; null has no baseline. */
export type Score = { readonly ours: number; readonly baseline: number | null }

/**
 * What a figure must be: over all scenarios and seeds the worst of ours within `min` and `max`,
 * their median within `medianMin` and `medianMax`, and for `notBelowBaseline` the median of
 * ours less the baseline's in the same seed at least 0; for `aboveBaseline` ours above it in sum too; for `sumWithin` our sum may be,
 * by how seeds differ (nine in ten redraws), so many times the baseline's. `beside` names the baseline where it is not the judge's.
 */
export type Bound = {
  readonly min?: number
  readonly max?: number
  readonly medianMin?: number
  readonly medianMax?: number
  readonly aboveBaseline?: true
  readonly notBelowBaseline?: true
  readonly beside?: string
  readonly sumWithin?: readonly [low: number, high: number]
}

/** How a role is judged: offline, pure, the same for the same scenario and seed. */
export type Judge = {
  readonly role: string
  /** The baseline in words, for example `first come`. */
  readonly baseline: string
  /** Scenarios in which the role has anything to do. */
  readonly scenarios: readonly ScenarioName[]
  /** So many seeds tell its figures from luck in the suite; absent, three. `npm run judgement` plays a hundred. */
  readonly seedsMin?: number
  /** By figure, with its unit in its name; a figure without an entry is reported only. */
  readonly bounds: Readonly<Record<string, Bound>>
  readonly play: (scenario: ScenarioName, seed: number) => Readonly<Record<string, Score>>
}

/**
 * A role with one deadly mistake in its `decide`, played in the worlds of its judge: the judge must fail it there. Data
 * that is kept: a judgement that passes one of them says nothing.
 */
export type Mutant = {
  /** What is wrong with it, for example `gain doubled`. */
  readonly name: string
  /** The judge of its role, with the mutated `decide` in it. */
  readonly judge: Judge
  /** Where it is found out, and by which figure. */
  readonly scenario: ScenarioName
  readonly figure: string
  /** The one world in which it is found out and the role itself is not; a few, where that takes more than one. */
  readonly seed?: number
}

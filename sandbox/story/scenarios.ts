import { RolekeeperError } from '../../src/errors.ts'

/** How the markets of a story move, beside the seed. */
export type Mood = {
  /** How deep an ordinary fall goes, times what the market's climate says. */
  readonly depthFactor: number
  /** The trembling from tick to tick, as a logarithm. */
  readonly tremble: number
  /** The first rounds, which are ordinary. */
  readonly calmRounds: number
  /** One round in so many is a crash, or has a stale oracle; null for none. */
  readonly crashEvery: number | null
  readonly staleEvery: number | null
  /** What a block costs while a market crashes, in gwei of base fee; null leaves it to the chain. */
  readonly crashBaseFeeGwei: number | null
}

/** How large borrowers and lenders move rates and queues. */
export type Lending = {
  /** What the markets' utilization goes between. */
  readonly utilizationBps: readonly [number, number]
  /** A wave goes down and up again within so many seconds; a spike is up for the first third of them. */
  readonly shape: 'wave' | 'spike'
  readonly periodS: number
  /** So often so much of each vault is queued for redemption. */
  readonly redemptionEveryS: number
  readonly redemptionBps: number
}

/** How offers open and close, and who else bids. */
export type Trade = {
  /** An offer is open for so many seconds, at least and at most. */
  readonly openS: readonly [number, number]
  /** The next of a kind opens when so much of the last is left. */
  readonly overlapS: number
  /** How long anyone else has for closing an offer whose time is over. */
  readonly graceS: number
  /** The chance that a rival comes to an offer, and that it raises a bid on an RFQ later. */
  readonly comes: number
  readonly improves: number
  /** The chance that a rival comes at the last moment, with all it has: nobody can answer. */
  readonly snipes: number
}

/** What of a story is not chance. */
export type Scenario = {
  /** One sentence, for who chooses. */
  readonly summary: string
  readonly markets: Mood
  readonly lending: Lending
  readonly trade: Trade
  /** The share of what can be liquidated that a rival goes for. */
  readonly rivalLiquidatorShare: number
  /** How often so many seconds are bad, for what goes wrong in this scenario. */
  readonly spells: { readonly everyS: number; readonly forS: number }
  /** What one of each pair of sources says in a bad spell, times the truth; null when all are honest. */
  readonly sourceFactor: number | null
  /** Whether the service's indexer stands still in a bad spell. */
  readonly indexerStalls: boolean
  /** Whether the chain is one of the OP stack, which charges for the bytes of a transaction beside its gas. */
  readonly isOpStack: boolean
}

const lively = {
  summary: 'prices fall and recover, rates move, lots come and go: a quiet minute is rare',
  markets: {
    depthFactor: 1,
    tremble: 0.0005,
    calmRounds: 2,
    crashEvery: 10,
    staleEvery: 5,
    crashBaseFeeGwei: null,
  },
  lending: {
    utilizationBps: [4_000, 8_500],
    shape: 'wave',
    periodS: 70,
    redemptionEveryS: 40,
    redemptionBps: 600,
  },
  trade: { openS: [40, 50], overlapS: 30, graceS: 15, comes: 0.75, improves: 0.4, snipes: 0.15 },
  rivalLiquidatorShare: 0.2,
  spells: { everyS: 60, forS: 15 },
  sourceFactor: null,
  indexerStalls: false,
  isOpStack: false,
} satisfies Scenario

/** Every scenario, by its name; the first is the ordinary one. */
export const SCENARIOS = {
  lively,
  calm: {
    ...lively,
    summary: 'small moves, steady rates, few rivals',
    markets: { ...lively.markets, depthFactor: 0.4, crashEvery: null, staleEvery: null },
    lending: { ...lively.lending, utilizationBps: [5_500, 6_500], periodS: 300, redemptionEveryS: 120 },
    trade: { ...lively.trade, comes: 0.4, improves: 0.2 },
    rivalLiquidatorShare: 0.1,
  },
  volatile: {
    ...lively,
    summary: 'deep falls and trembling prices, with oracles that go stale in between',
    markets: { ...lively.markets, depthFactor: 1.2, tremble: 0.004, calmRounds: 1, staleEvery: 3 },
  },
  'crash-with-congestion': {
    ...lively,
    summary: 'every fall is a crash, and blocks are dear while it lasts',
    markets: { ...lively.markets, calmRounds: 0, crashEvery: 1, staleEvery: null, crashBaseFeeGwei: 25 },
    rivalLiquidatorShare: 0.4,
  },
  'rate-spike': {
    ...lively,
    summary: 'borrowers take nearly all there is, all at once, and bring it back',
    lending: { ...lively.lending, utilizationBps: [4_500, 9_600], shape: 'spike', periodS: 45 },
  },
  'redemption-run': {
    ...lively,
    summary: 'lenders queue up to leave, again and again',
    lending: { ...lively.lending, redemptionEveryS: 15, redemptionBps: 1_500 },
  },
  'source-off-by-1000': {
    ...lively,
    summary: 'one price or value source is off by a thousand times, a quarter of the time',
    sourceFactor: 1_000,
  },
  'rfq-competition': {
    ...lively,
    summary: 'both rivals come to every offer and raise their bids',
    trade: { ...lively.trade, openS: [25, 35], overlapS: 20, comes: 1, improves: 0.9, snipes: 0.3 },
  },
  'indexer-stall': {
    ...lively,
    summary: "the service's indexer stands still, a quarter of the time, and says so",
    indexerStalls: true,
  },
  'data-fees': {
    ...lively,
    summary: 'the chain charges for the bytes of a transaction beside its gas, as chains of the OP stack do',
    isOpStack: true,
  },
  busy: {
    ...lively,
    summary:
      'short offers, many stale oracles and redemptions all the time: every duty within a minute or so',
    markets: { ...lively.markets, calmRounds: 0, crashEvery: null, staleEvery: 2 },
    lending: { ...lively.lending, periodS: 40, redemptionEveryS: 20, redemptionBps: 1_000 },
    trade: { openS: [16, 22], overlapS: 12, graceS: 8, comes: 0.75, improves: 0.6, snipes: 0.45 },
  },
} as const satisfies Readonly<Record<string, Scenario>>

type ScenarioName = keyof typeof SCENARIOS

const isName = (text: string): text is ScenarioName => Object.hasOwn(SCENARIOS, text)

/** Read a scenario's name; absent, the ordinary one. Throws RolekeeperError `sandbox.scenario`, which lists them. */
export function scenarioOf(name: string = 'lively'): Scenario {
  if (isName(name)) return SCENARIOS[name]
  throw new RolekeeperError('sandbox.scenario', `There is no scenario "${name}".`, {
    fix: `choose one of ${Object.keys(SCENARIOS).join(', ')}.`,
  })
}

/** How many seconds a bad spell has lasted at a tick, 0 outside of one; each ends its period. Pure. */
export const badSpellS = ({ spells: { everyS, forS } }: Pick<Scenario, 'spells'>, tick: number): number =>
  Math.max(0, (tick % everyS) - (everyS - forS) + 1)

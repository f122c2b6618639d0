/** Of several heads the one that came soonest after its time says most; later ones make good for a clock that slept. */
const HEADS_KEPT = 8

/** How far a clock is from a chain's, by when its heads came. */
export type ChainTime = {
  /** Take note of a head, the moment that it is the newest. @param timestampS of its header. */
  readonly saw: (timestampS: number) => void
  /**
   * How far this clock is ahead of the chain's, ms; negative where it is behind. Null until a second head came: the first may
   * be as old as the chain has stood still. While it stands still the last figure stays, as no head says more.
   */
  readonly offMs: () => number | null
}

/** Compare a clock with a chain's. `monotonicMs` is one that nobody sets: a clock that is set shows at once. */
export function createChainTime(clocks: {
  readonly nowMs: () => number
  readonly monotonicMs: () => number
}): ChainTime {
  const { nowMs, monotonicMs } = clocks
  /** What each head says that is to be added to the monotonic clock: too little by as long as it was on its way. */
  let sums: readonly number[] = []
  return {
    saw: (timestampS) => {
      sums = [...sums, timestampS * 1_000 - monotonicMs()].slice(-HEADS_KEPT)
    },
    offMs: () => (sums.length < 2 ? null : nowMs() - monotonicMs() - Math.max(...sums)),
  }
}

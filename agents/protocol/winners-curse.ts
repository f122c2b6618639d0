/**
 * What the noise of signals costs the best of `bidders` equal bidders for a thing of one common value, in parts of the
 * noise's standard deviation × 10^4. Each sees the value with normal noise, and nothing is known before.
 *
 * `curse` is how much too high the best signal lies when the next best is level with it, which is when a bid decides:
 * `∫ e f² Fⁿ⁻² / ∫ f² Fⁿ⁻²`. `margin` is what an equilibrium bid of a sealed first-price sale stays below that:
 * `1 / (n (n − 1) ∫ f² Fⁿ⁻²)`, with the normal density `f` and distribution `F`. Both follow from the first-order
 * condition of bidding a constant below one's signal. In an open sale prices reveal the margin, and `curse` alone stays.
 */
export type Shade = { readonly curse: bigint; readonly margin: bigint }

/** From two bidders on. */
const SHADES: readonly (readonly [curse: bigint, margin: bigint])[] = [
  [0n, 17_725n],
  [3_257n, 11_816n],
  [5_356n, 9_715n],
  [6_879n, 8_599n],
  [8_063n, 7_891n],
  [9_025n, 7_395n],
  [9_831n, 7_024n],
  [10_523n, 6_734n],
  [11_127n, 6_499n],
  [11_662n, 6_303n],
  [12_141n, 6_138n],
  [12_574n, 5_995n],
  [12_970n, 5_871n],
  [13_333n, 5_761n],
  [13_668n, 5_663n],
  [13_979n, 5_574n],
]

/** The most bidders that are distinguished: more count as these, the shade grows slowly by then. */
const BIDDERS_MAX = SHADES.length + 1

/** The largest of all shades, curse and margin together. */
export const SHADE_MAX = SHADES.reduce((most, [curse, margin]) => {
  const sum = curse + margin
  return sum > most ? sum : most
}, 0n)

/** Return the shade among so many bidders, ourselves counted. Pure. Nobody else, no shade: the reserve is the price. */
export function shadeAmong(bidders: number): Shade {
  const [curse, margin] = SHADES[Math.min(bidders, BIDDERS_MAX) - 2] ?? [0n, 0n]
  return { curse, margin }
}

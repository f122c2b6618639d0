/** Mean and standard deviation of the largest of n standard normals, × 10^4, from two on. */
const LARGEST: readonly (readonly [mean: number, noise: number])[] = [
  [5_642, 8_256],
  [8_463, 7_480],
  [10_294, 7_012],
  [11_630, 6_690],
  [12_672, 6_449],
  [13_522, 6_260],
  [14_236, 6_107],
  [14_850, 5_978],
  [15_388, 5_868],
  [15_864, 5_773],
  [16_292, 5_689],
  [16_680, 5_614],
  [17_034, 5_547],
  [17_359, 5_487],
  [17_660, 5_431],
  [17_939, 5_381],
]

/**
 * How far the best of `bidders` equal guesses lies above the truth, in standard deviations of one guess, and how much that
 * varies: what having won says of one's own. Pure. More than are listed count as the most; alone, nothing was won.
 */
export function bestOf(bidders: number): { readonly mean: number; readonly noise: number } {
  const [mean, noise] = LARGEST[Math.min(bidders, LARGEST.length + 1) - 2] ?? [0, 10_000]
  return { mean: mean / 10_000, noise: noise / 10_000 }
}

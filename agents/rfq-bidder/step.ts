/**
 * How far a bid goes above the best one where others answer. A small step is answered often, and each bid takes gas; a
 * large one overpays by half of itself when it wins. With `most` still to go, `gas·most/step + step/2` is least at
 * `√(2·gas·most)`. Base units of the quote asset. Pure.
 */
export const stepWith = (mostAssets: bigint, gasAssets: bigint): bigint =>
  // A step is no sum that is booked: the float's error in it does not matter, and it grows with what it is taken of.
  mostAssets <= 0n ? 0n : BigInt(Math.floor(Math.sqrt(2 * Number(gasAssets) * Number(mostAssets))))

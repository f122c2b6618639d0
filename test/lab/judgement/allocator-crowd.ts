/** What other lenders have in a market, now and at home, which part of the way to better rates they go in an hour; and what is lent out. */
type Lenders = { strangers: number; readonly home: number; readonly follow: number; readonly debt: number }

/** Between a quarter and four times of what lenders have in a market at home in the usual time. */
const [LEAST, MOST] = [0.25, 4]

/**
 * Let other lenders come for what pays more than elsewhere and leave what pays less, a part of the way in an hour; what is lent
 * out stays. Changes places.
 * @param rates what lenders earn in each place now.
 * @param supplied what all have there.
 */
export function followRates(
  places: readonly Lenders[],
  rates: readonly number[],
  supplied: readonly number[],
): void {
  const whole = supplied.reduce((sum, one) => sum + one, 0)
  const mean = rates.reduce((sum, rate, index) => sum + rate * (supplied[index] ?? 0), 0) / whole
  for (const [index, place] of places.entries()) {
    if (place.follow === 0) continue
    const wanted = place.home * Math.min(MOST, Math.max(LEAST, ((rates[index] ?? 0) / mean) ** 2))
    const cash = (supplied[index] ?? 0) - place.debt
    place.strangers += Math.max(-Math.max(0, cash), place.follow * (wanted - place.strangers))
  }
}

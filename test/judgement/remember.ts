/** Work out what is the same for the same names only once: a baseline beside each of many mutants. */
export function remember<Names extends readonly (string | number)[], T>(
  workOut: (...names: Names) => T,
): (...names: Names) => T {
  const known = new Map<string, T>()
  return (...names) => {
    const key = names.join(' ')
    const found = known.get(key) ?? workOut(...names)
    known.set(key, found)
    return found
  }
}

/** Work out what is the same for the same names only once: a baseline beside each of many mutants. */
export function remember<Names extends readonly unknown[], T>(
  workOut: (...names: Names) => T,
): (...names: Names) => T {
  const known = new Map<string, T>()
  return (...names) => {
    const key = JSON.stringify(names)
    const found = known.get(key) ?? workOut(...names)
    known.set(key, found)
    return found
  }
}

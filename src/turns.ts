/** Runs works of one name one after another, and those of different names side by side. */
export type Turns = <T>(name: string, work: () => Promise<T>) => Promise<T>

/** Create turns: a work that failed holds up none after it. */
export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>()
  return (name, work) => {
    const turn = (last.get(name) ?? Promise.resolve()).then(work)
    last.set(
      name,
      turn.catch(() => undefined),
    )
    return turn
  }
}

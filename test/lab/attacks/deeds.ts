import type { Played } from './live.ts'

/** One attack that is no answer to a prepare request: what somebody does, and the check that must refuse it. */
export type Deed = {
  /** A fact: "a record says approved, and keeps no answer". */
  readonly name: string
  /** The real incident that it repeats. */
  readonly incident?: string
  /** What must refuse it; of honest work that it must not stop, how that ends. */
  readonly check: string
  /**
   * Do it to all that it fits.
   * @returns what refused it each time, or how the work ended; null where nothing did, and a key would be asked next.
   */
  readonly play: () => Promise<readonly (string | null)[]>
}

/** Play deeds one after another; `ask` is asked for a signature wherever nothing refused one. */
export async function playDeeds(
  deeds: readonly Deed[],
  ask: (name: string) => Promise<void>,
): Promise<readonly Played[]> {
  const played: Played[] = []
  for (const { name, check: expected, play } of deeds) {
    for (const check of await play()) {
      if (check === null) await ask(name)
      const state = check === null ? 'signed' : 'refused'
      played.push({ attack: name, workflowType: 'a deed', expected, state, check: check ?? '' })
    }
  }
  return played
}

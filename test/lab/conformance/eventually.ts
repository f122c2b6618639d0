import { setTimeout as sleep } from 'node:timers/promises'

/** The limit of every wait, as of the other tests: only a system that hangs meets it. */
export const WAIT_MS_MAX = 60_000

const POLL_MS = 250

/**
 * Look until something is found, which is returned; undefined when it is not there within the limit of every wait, or so many
 * of them. A look that throws ends it: only absence is waited out.
 */
export async function within<T>(look: () => Promise<T | undefined>, waits = 1): Promise<T | undefined> {
  const deadline = Date.now() + waits * WAIT_MS_MAX
  for (;;) {
    const found = await look()
    if (found !== undefined || Date.now() > deadline) return found
    await sleep(POLL_MS)
  }
}

/** As `within`; throws what is missing when it is not found. */
export async function eventually<T>(
  look: () => Promise<T | undefined>,
  missing: string,
  waits?: number,
): Promise<T> {
  const found = await within(look, waits)
  if (found === undefined) throw new Error(missing)
  return found
}

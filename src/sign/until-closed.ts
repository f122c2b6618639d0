import { RolekeeperError } from '../errors.ts'

/** A kill must stop the last KMS call within a second. */
const POLL_MS = 100

/**
 * Run work that asks a key, with a signal that aborts when the gate closes meanwhile: a key's client tries again by
 * itself, and a kill must stop that too. The signal's reason is RolekeeperError `sign.stopped`.
 */
export async function untilClosed<T>(
  isClosed: () => boolean,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  const timer = setInterval(() => {
    if (isClosed()) stop.abort(signStopped())
  }, POLL_MS)
  try {
    return await work(stop.signal)
  } finally {
    clearInterval(timer)
  }
}

/** Make the error of a signature that the kill switch stopped. */
export const signStopped = (): RolekeeperError =>
  new RolekeeperError('sign.stopped', 'The kill switch is on, so nothing is signed.', {
    fix: 'withdraw it with `rolekeeper unkill` when it is safe.',
    retry: 'later',
  })

import type { RunConfig } from '../config/config.ts'
import type { Reports } from './reports.ts'

/** Alarms of somebody who does not know what he was given: it may have been replaced. */
const DENIED: ReadonlySet<string> = new Set(['journal.refused', 'queue.refused'])

/**
 * Read the secrets of a configuration anew from time to time, and where one was refused; what cannot be read is an alarm,
 * and the last known value goes on. @returns what ends it.
 */
export function watchSecrets(
  { store, secrets }: Pick<RunConfig, 'store' | 'secrets'>,
  reports: Pick<Reports, 'of' | 'alarm' | 'onEvent'>,
): () => void {
  if (store === undefined) return () => {}
  const { clock, log } = reports.of
  let failed = false
  const ends = [
    reports.onEvent((event) => {
      if (event.type === 'alarm' && DENIED.has(event.code)) store.stale()
    }),
    store.watch({
      ...{ clock, everyMs: secrets.everyMs },
      onReplaced: (references) => {
        for (const reference of references) log.info('a secret was replaced', { reference })
      },
      onRead: (problem) => {
        if (problem !== null) reports.alarm(problem)
        else if (failed) log.info('every secret can be read again')
        failed = problem !== null
      },
    }),
    store.close,
  ]
  return () => {
    for (const end of ends) end()
  }
}

import type { RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Reports } from './reports.ts'

/** Alarms of somebody who does not know what he was given: it may have been replaced. */
const DENIED: ReadonlySet<string> = new Set(['journal.refused', 'queue.refused'])
/** Who is asked every few seconds, and has refused nothing for so long, takes it. */
const REFUSED_MS = 60_000

/** What is wrong with the secrets that are read from files and managers. */
export type SecretsState = {
  /** Why one could not be read when it was tried last; its last known value goes on. */
  readonly unread: RolekeeperError | null
  /** One that was replaced, and whose new value is refused. */
  readonly refused: RolekeeperError | null
}

/** Secrets that are read anew. */
export type WatchedSecrets = { readonly state: () => SecretsState; readonly close: () => void }

/** Read the secrets of a configuration anew from time to time, and where one was refused; what cannot be read stays as it was. */
export function watchSecrets(
  { store, secrets }: Pick<RunConfig, 'store' | 'secrets'>,
  reports: Pick<Reports, 'of' | 'onEvent'>,
): WatchedSecrets {
  if (store === undefined) return { state: () => ({ unread: null, refused: null }), close: () => {} }
  const { clock, log } = reports.of
  const replacedAtMs = new Map<string, number>()
  const refusedAtMs = new Map<string, number>()
  let unread: RolekeeperError | null = null
  const ends = [
    reports.onEvent((event) => {
      if (event.type === 'alarm' && DENIED.has(event.code)) store.stale()
    }),
    store.watch({
      clock,
      everyMs: secrets.everyMs,
      onReplaced: (references) => {
        for (const reference of references) {
          log.info('a secret was replaced', { reference })
          replacedAtMs.set(reference, clock.nowMs())
          refusedAtMs.delete(reference)
        }
      },
      onRefused: (reference) => {
        if (replacedAtMs.has(reference)) refusedAtMs.set(reference, clock.monotonicMs())
      },
      onRead: (problem) => {
        unread = problem
      },
    }),
    store.close,
  ]
  return {
    state: () => {
      const monotonicMs = clock.monotonicMs()
      const [reference] = [...refusedAtMs].find(([, atMs]) => monotonicMs - atMs < REFUSED_MS) ?? []
      const refused = reference === undefined ? null : notTaken(reference, replacedAtMs.get(reference) ?? 0)
      return { unread, refused }
    },
    close: () => {
      for (const end of ends) end()
    },
  }
}

const notTaken = (reference: string, sinceMs: number) =>
  new RolekeeperError(
    'secrets.not_taken',
    `What ${reference} holds since ${new Date(sinceMs).toISOString()} is refused by who is given it.`,
    {
      fix: 'put a value there that the other side knows, or the one before: it is read again within seconds.',
      retry: 'later',
    },
  )

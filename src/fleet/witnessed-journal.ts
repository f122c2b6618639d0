import { RolekeeperError } from '../errors.ts'
import type { Journal, LedgerEntry } from '../journal/journal.ts'

/** What is done beside a fleet's journal. */
type WitnessDeps = {
  /** Keep on this machine's disk what is acknowledged by now, and the highest nonce that a key is asked to sign next. */
  readonly acknowledged: (top: number | undefined) => Promise<void>
  /** Called with what any use of the journal throws, before its caller hears of it. */
  readonly onError: (error: RolekeeperError) => void
}

/** Have a fleet's journal witnessed: no effect follows a barrier before this machine's disk knows how far it went. */
export function withWitness<T extends Journal>(journal: T, { acknowledged, onError }: WitnessDeps): T {
  const seen = async (answer: Promise<unknown>) => {
    try {
      return await answer
    } catch (error) {
      if (error instanceof RolekeeperError) onError(error)
      throw error
    }
  }
  return new Proxy(journal, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return async (...args: readonly unknown[]) => {
        const answer = await seen(Reflect.apply(value, target, args))
        if (name === 'barrier') await acknowledged(undefined)
        if (name === 'ordered') await acknowledged(topOf(args[0]))
        return answer
      }
    },
  })
}

/** The highest nonce of some entries of the ledger. Pure. */
function topOf(entries: unknown): number | undefined {
  const nonces = (entries as readonly LedgerEntry[]).flatMap(({ nonce }) => nonce ?? [])
  return nonces.length === 0 ? undefined : Math.max(...nonces)
}

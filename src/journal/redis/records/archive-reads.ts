import type { JournalReads } from '../../journal.ts'
import type { Archive } from '../../sqlite/archive.ts'
import type { RedisReads } from './reads.ts'

/** What an archive completes. */
type ArchivedReads = Pick<JournalReads, 'get' | 'transitions' | 'byNonce' | 'list' | 'newestOf' | 'shadowed'>

/**
 * Complete what a fleet's records say by what ended long ago and is in the archive of this machine.
 * @param get reads one workflow, of the records or of the archive.
 */
export function withArchive(reads: RedisReads, archive: Archive, get: JournalReads['get']): ArchivedReads {
  const byNonce = reads.byNonceWith(get)
  return {
    get,
    transitions: async (id) => {
      const inRedis = await reads.transitions(id)
      return inRedis.length > 0 ? inRedis : archive.transitions(id)
    },
    byNonce: async (chainId, signer, nonce) => {
      const found = await byNonce(chainId, signer, nonce)
      if (typeof found === 'object' && found !== null) return found
      return archive.byNonce(chainId, signer, nonce) ?? found
    },
    list: async (limit) => archive.complete(null, await reads.list(limit), limit),
    newestOf: async (role, limit) => archive.complete(role, await reads.newestOf(role, limit), limit),
    shadowed: async () => {
      const inRedis = await reads.shadowed()
      const ids = new Set(inRedis.map(({ id }) => id))
      return [...archive.shadowed().filter(({ id }) => !ids.has(id)), ...inRedis]
    },
  }
}

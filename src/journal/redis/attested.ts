import type { RedisStore } from './store.ts'

/** Say that an instance holds the server of now against what it witnessed. @returns the names of all that did. */
export async function attest(instance: string, store: RedisStore): Promise<ReadonlySet<string>> {
  const { values } = await store.run('attest', [store.keys.attested(store.runId())], [instance])
  return new Set(Array.isArray(values[1]) ? values[1].map(String) : [])
}

/** Read which server a fleet was begun on, as a seat's record names one. */
export async function foundedOn(store: Pick<RedisStore, 'keys' | 'read'>): Promise<string> {
  return String((await store.read('HGET', store.keys.meta, 'server')) ?? '')
}

import type { RedisStore } from './store.ts'

/** Who has held a server against its witness, and whether this instance had one that is gone. */
export type Attestations = { readonly names: ReadonlySet<string>; readonly isWitnessLost: boolean }

/** Say that an instance holds the server of now against what it witnessed; one without a witness only asks. */
export async function attest(
  instance: string,
  hasWitness: boolean,
  store: RedisStore,
): Promise<Attestations> {
  const { keys } = store
  const runId = store.runId()
  const names = [keys.attested(runId), keys.witnesses]
  const args = [instance, hasWitness ? 'kept' : 'none']
  const { code, values } = await store.run('attest', names, args, runId)
  const found = Array.isArray(values[1]) ? values[1].map(String) : []
  return { names: new Set(found), isWitnessLost: code === 'LOST' }
}

/** Read which server a fleet was begun on, as a seat's record names one. */
export async function foundedOn(store: Pick<RedisStore, 'keys' | 'read'>): Promise<string> {
  return String((await store.read('HGET', store.keys.meta, 'server')) ?? '')
}

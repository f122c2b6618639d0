import type { Role } from '../../../service/contract/roles.ts'
import type { Brief } from '../../../workflow/brief.ts'
import { decodeRecord } from '../../sqlite/records.ts'
import type { RedisStore } from '../link/store.ts'

/** A brief and when its workflow was opened, Unix milliseconds. */
type StoredBrief = { readonly brief: Brief; readonly createdAtMs: number }

/** Write a brief as the fleet keeps it. Pure. */
export const encodeBrief = (createdAtMs: number, brief: string): string => `${createdAtMs} ${brief}`

/** Read a brief that {@link encodeBrief} wrote. Pure. */
export function decodeBrief(text: string): StoredBrief {
  const cut = text.indexOf(' ')
  return { brief: decodeRecord<Brief>(text.slice(cut + 1)), createdAtMs: Number(text.slice(0, cut)) }
}

/** What is live in the whole fleet, as it was when it was last asked for: only what changed since is read. */
export class Briefs {
  readonly #store: RedisStore
  readonly #byId = new Map<string, StoredBrief>()
  readonly #byRole = new Map<Role, Map<string, StoredBrief>>()
  readonly #onLots = new Map<string, StoredBrief>()
  /** The sequence up to which it is known, of which server; -1: nothing is. */
  #known = -1
  #runId = ''

  constructor(store: RedisStore) {
    this.#store = store
  }

  async ofRole(role: Role): Promise<readonly Brief[]> {
    await this.#read()
    return inOrder(this.#byRole.get(role))
  }

  async onLots(): Promise<readonly Brief[]> {
    await this.#read()
    return inOrder(this.#onLots)
  }

  async #read(): Promise<void> {
    const { keys } = this.#store
    const asked = this.#known === -1 ? '' : this.#known
    const { values } = await this.#store.run('briefs', [keys.brief, keys.briefs], [asked])
    // A replica that was promoted may have had other changes by the same numbers.
    if (this.#runId !== this.#store.runId()) {
      this.#runId = this.#store.runId()
      this.#known = -1
      if (asked !== '') return this.#read()
    }
    const [seq, part, ...flat] = values.map(String)
    // An answer that came later than one that was asked for after it.
    if (Number(seq) < this.#known) return
    if (part === 'all') for (const id of [...this.#byId.keys()]) this.#remove(id)
    this.#known = Number(seq)
    for (let index = 0; index < flat.length; index += 2) {
      const [id = '', text = ''] = flat.slice(index, index + 2)
      this.#remove(id)
      if (text !== '') this.#put(id, decodeBrief(text))
    }
  }

  #put(id: string, kept: StoredBrief): void {
    const { role, proposal } = kept.brief
    const ofRole = this.#byRole.get(role) ?? new Map<string, StoredBrief>()
    this.#byRole.set(role, ofRole.set(id, kept))
    this.#byId.set(id, kept)
    if (proposal.lot !== undefined) this.#onLots.set(id, kept)
  }

  #remove(id: string): void {
    const role = this.#byId.get(id)?.brief.role
    if (role !== undefined) this.#byRole.get(role)?.delete(id)
    this.#byId.delete(id)
    this.#onLots.delete(id)
  }
}

/** Oldest first. Pure. */
const inOrder = (kept: ReadonlyMap<string, StoredBrief> | undefined): readonly Brief[] =>
  [...(kept?.values() ?? [])]
    .toSorted((one, other) => one.createdAtMs - other.createdAtMs)
    .map(({ brief }) => brief)

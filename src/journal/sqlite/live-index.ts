import type { Address } from 'viem'
import type { Role } from '../../service/contract/roles.ts'
import type { Brief } from '../../workflow/brief.ts'
import { isTerminal, type Workflow } from '../../workflow/workflow.ts'

/** Workflows by id, in the order in which they came, under some key. */
class Groups<Key> {
  readonly #groups = new Map<Key, Map<string, Workflow>>()

  put(key: Key, workflow: Workflow): void {
    const group = this.#groups.get(key) ?? new Map<string, Workflow>()
    this.#groups.set(key, group.set(workflow.id, workflow))
  }

  remove(key: Key, id: string): void {
    const group = this.#groups.get(key)
    if (group?.delete(id) && group.size === 0) this.#groups.delete(key)
  }

  of(key: Key): readonly Workflow[] {
    return [...(this.#groups.get(key)?.values() ?? [])]
  }

  all(): readonly Workflow[] {
    return [...this.#groups.values()].flatMap((group) => [...group.values()])
  }
}

/** What is live, decoded, and found by what is asked for again and again: nobody looks through all of it. */
export class LiveIndex {
  /** Oldest first. */
  readonly #byId = new Map<string, Workflow>()
  readonly #byRole = new Groups<Role>()
  readonly #bySigner = new Groups<string>()
  readonly #byLot = new Groups<string>()

  constructor(live: readonly Workflow[]) {
    for (const workflow of live) this.note(workflow)
  }

  /** Take note of a workflow as it was written last. */
  note(workflow: Workflow): void {
    const { id, role, signer, state } = workflow
    const { lot } = workflow.proposal
    if (isTerminal(state)) {
      this.#byId.delete(id)
      this.#byRole.remove(role, id)
      this.#bySigner.remove(signer.toLowerCase(), id)
      if (lot !== undefined) this.#byLot.remove(lot, id)
    } else {
      this.#byId.set(id, workflow)
      this.#byRole.put(role, workflow)
      this.#bySigner.put(signer.toLowerCase(), workflow)
      if (lot !== undefined) this.#byLot.put(lot, workflow)
    }
  }

  get(id: string): Workflow | undefined {
    return this.#byId.get(id)
  }

  all(): readonly Workflow[] {
    return [...this.#byId.values()]
  }

  ofRole(role: Role): readonly Workflow[] {
    return this.#byRole.of(role)
  }

  ofSigner(signer: Address): readonly Workflow[] {
    return this.#bySigner.of(signer.toLowerCase())
  }

  /** Those about a lot. */
  onLots(): readonly Workflow[] {
    return this.#byLot.all()
  }

  onLot(lot: string): readonly Workflow[] {
    return this.#byLot.of(lot)
  }
}

/** Whether a workflow may not be opened beside another about its lot: what is in shadow holds none against what is live. Pure. */
export const isTakenBy = (
  { role, shadow }: Pick<Brief, 'role' | 'shadow'>,
  other: Pick<Brief, 'role' | 'shadow'>,
): boolean => other.role !== role && (shadow === true || other.shadow !== true)

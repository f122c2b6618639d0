import type { Hex } from 'viem'
import type { OutboxRow } from '../../journal.ts'

/** A service that is down for long leaves more: then they are asked for each time. */
const ROWS_MAX = 1_000
/** Hashes that are remembered as written; when they are more, each is written once again. */
const WRITTEN_MAX = 10_000

/** A row that is to be put in the outbox. */
type NewRow = Omit<OutboxRow, 'tries'>

/**
 * What the one writer of a seat knows of its outbox: what is due costs no command, and what was written once is not written
 * again.
 */
export class Outbox {
  /** All that is in it, while that is known. */
  #rows: Map<Hex, OutboxRow> | null = null
  readonly #written = new Set<Hex>()
  /** One more as a change begins, and as it ends. */
  #changes = 0

  /** What is due, the first first. @param read reads so many of all that is in the outbox, the first first. */
  async due(
    nowMs: number,
    limit: number,
    read: (limit: number) => Promise<readonly OutboxRow[]>,
  ): Promise<readonly OutboxRow[]> {
    const rows = this.#rows?.values() ?? (await this.#load(limit, read))
    return [...rows]
      .filter(({ dueAtMs }) => dueAtMs <= nowMs)
      .toSorted((one, other) => one.dueAtMs - other.dueAtMs)
      .slice(0, limit)
  }

  async #load(
    limit: number,
    read: (limit: number) => Promise<readonly OutboxRow[]>,
  ): Promise<readonly OutboxRow[]> {
    const changes = this.#changes
    const rows = await read(limit)
    // Where something changed meanwhile, this may be from before or after it.
    const isAll = rows.length < limit && this.#changes === changes
    if (isAll) this.#rows = new Map(rows.map((row) => [row.hash, row]))
    return rows
  }

  /** Put in what was not written yet. */
  async post(rows: readonly NewRow[], write: (fresh: readonly NewRow[]) => Promise<unknown>): Promise<void> {
    const fresh = rows.filter(({ hash }) => !this.#written.has(hash))
    if (fresh.length === 0) return
    await this.#change(
      () => write(fresh),
      (known) => {
        for (const row of fresh) if (!known.has(row.hash)) known.set(row.hash, { ...row, tries: 0 })
      },
    )
    if (this.#written.size >= WRITTEN_MAX) this.#written.clear()
    for (const { hash } of fresh) this.#written.add(hash)
  }

  async posted(hash: Hex, write: () => Promise<unknown>): Promise<void> {
    await this.#change(write, (known) => known.delete(hash))
  }

  async postpone(hash: Hex, dueAtMs: number, write: () => Promise<unknown>): Promise<void> {
    await this.#change(write, (known) => {
      const row = known.get(hash)
      if (row !== undefined) known.set(hash, { ...row, dueAtMs, tries: row.tries + 1 })
    })
  }

  async #change(write: () => Promise<unknown>, note: (known: Map<Hex, OutboxRow>) => unknown): Promise<void> {
    this.#changes += 1
    try {
      await write()
      if (this.#rows !== null) note(this.#rows)
      if ((this.#rows?.size ?? 0) > ROWS_MAX) this.#rows = null
    } catch (error) {
      // Nobody knows whether it was made.
      this.#rows = null
      throw error
    } finally {
      this.#changes += 1
    }
  }
}

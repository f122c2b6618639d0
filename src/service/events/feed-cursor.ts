import type { Clock } from '../../clock.ts'

/** A write reaches the disk. The last second of hints given twice costs a read; a write for each costs every reaction. */
const SAVE_EVERY_MS = 1_000

/** What keeps the cursor between two runs. `saveCursor` is called at most once a second. */
export type CursorStore = {
  readonly loadCursor: () => string | null
  readonly saveCursor: (cursor: string) => void
}

/** How far the feed has come in the service's events; null when it is nowhere. */
export type FeedCursor = {
  readonly value: () => string | null
  readonly move: (cursor: string) => void
  /** Be nowhere again. What was saved stays: the service refuses it once more after a restart, harmlessly. */
  readonly forget: () => void
  /** Resolve when nothing waits to be saved; after the stop, that is at once. */
  readonly saved: () => Promise<void>
}

/** Create the cursor, loaded. Once stopped it moves no more: what comes while the feed closes is given to nobody. */
export function createFeedCursor(store: CursorStore, clock: Clock, stop: AbortSignal): FeedCursor {
  let cursor = store.loadCursor()
  let onDisk = cursor
  let saving: Promise<void> | undefined

  const save = () => {
    saving = undefined
    if (cursor === null || cursor === onDisk) return
    store.saveCursor(cursor)
    onDisk = cursor
  }

  return {
    value: () => cursor,
    move: (next) => {
      if (stop.aborted) return
      cursor = next
      saving ??= clock.sleep(SAVE_EVERY_MS, stop).then(save, save)
    },
    forget: () => {
      cursor = null
    },
    saved: async () => saving,
  }
}

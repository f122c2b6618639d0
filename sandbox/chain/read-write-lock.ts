/** Reads go side by side, a write alone; each waits for the other to end. */
export type ReadWriteLock = {
  /** Read, once nothing is written. Settles as the work does. */
  readonly read: <T>(work: () => Promise<T>) => Promise<T>
  /** Write, once nothing is read; who comes to read meanwhile waits. Settles as the work does. */
  readonly write: (work: () => Promise<unknown>) => Promise<void>
}

/** Create the lock of one thing. */
export function createReadWriteLock(): ReadWriteLock {
  const reading = new Set<Promise<unknown>>()
  let written: Promise<unknown> = Promise.resolve()
  return {
    read: async (work) => {
      // Another write may have begun in the meantime.
      for (let seen: unknown; seen !== written; ) {
        seen = written
        await written
      }
      const read = work()
      reading.add(read)
      return read.finally(() => reading.delete(read))
    },
    write: (work) => {
      const write = written.then(() => Promise.allSettled(reading)).then(async () => void (await work()))
      written = write.catch(() => undefined)
      return write
    },
  }
}

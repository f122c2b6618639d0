import { Worker } from 'node:worker_threads'
import { type Key, parityBy } from './parity.ts'
import type { ParityAnswer, ParityQuestion } from './parity-worker.ts'

type PendingQuestion = Omit<ParityQuestion, 'id' | 'key'> & {
  readonly key: Key
  readonly answer: (yParity: 0 | 1 | undefined) => void
}

/** Asks whether a key signed a digest, as {@link parityBy} does, beside the event loop. */
export type ParityThread = (digest: Uint8Array, r: bigint, s: bigint, key: Key) => Promise<0 | 1 | undefined>

/** Create the thread that checks signatures, started by the first. Once it fails, they are checked on this one. */
export function createParityThread(file = new URL('./parity-worker.ts', import.meta.url)): ParityThread {
  const asked = new Map<number, PendingQuestion>()
  let worker: Worker | undefined
  let failed = false
  let lastId = 0

  const fail = () => {
    failed = true
    for (const { digest, r, s, key, answer } of asked.values()) answer(parityBy(digest, r, s, key.point))
  }
  const start = () => {
    const started = new Worker(file)
    started.on('message', ({ id, yParity }: ParityAnswer) => {
      asked.get(id)?.answer(yParity)
      asked.delete(id)
      // Only while somebody waits for it does it keep the process.
      if (asked.size === 0) started.unref()
    })
    // Its end follows.
    started.on('error', () => {})
    started.on('exit', fail)
    return started
  }
  return (digest, r, s, key) => {
    if (failed) return Promise.resolve(parityBy(digest, r, s, key.point))
    worker ??= start()
    worker.ref()
    lastId += 1
    const id = lastId
    const { promise, resolve } = Promise.withResolvers<0 | 1 | undefined>()
    asked.set(id, { digest, r, s, key, answer: resolve })
    worker.postMessage({ id, digest, r, s, key: key.hex } satisfies ParityQuestion)
    return promise
  }
}

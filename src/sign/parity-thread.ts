import { Worker } from 'node:worker_threads'
import { type Point, parityBy } from './parity.ts'
import type { ParityAnswer, ParityQuestion } from './parity-worker.ts'

type Asked = Omit<ParityQuestion, 'id'> & {
  readonly point: Point
  readonly answer: (yParity: 0 | 1 | undefined) => void
}

/** Asks whether a key signed a digest, as {@link parityBy} does, beside the event loop. */
export type ParityThread = (
  digest: Uint8Array,
  r: bigint,
  s: bigint,
  point: Point,
) => Promise<0 | 1 | undefined>

/** Create the thread that checks signatures, started by the first. Once it fails, they are checked on this one. */
export function createParityThread(file = new URL('./parity-worker.ts', import.meta.url)): ParityThread {
  const asked = new Map<number, Asked>()
  const hexes = new WeakMap<Point, string>()
  let worker: Worker | undefined
  let failed = false
  let lastId = 0

  const fail = () => {
    failed = true
    for (const { digest, r, s, point, answer } of asked.values()) answer(parityBy(digest, r, s, point))
    asked.clear()
  }
  const start = () => {
    const started = new Worker(file)
    started.on('message', ({ id, yParity }: ParityAnswer) => {
      asked.get(id)?.answer(yParity)
      asked.delete(id)
      // Only while somebody waits for it does it keep the process.
      if (asked.size === 0) started.unref()
    })
    started.on('error', fail)
    started.on('exit', fail)
    return started
  }
  const keyOf = (point: Point) => {
    const key = hexes.get(point) ?? point.toHex(false)
    hexes.set(point, key)
    return key
  }
  return (digest, r, s, point) => {
    if (failed) return Promise.resolve(parityBy(digest, r, s, point))
    worker ??= start()
    if (asked.size === 0) worker.ref()
    lastId += 1
    const id = lastId
    const { promise, resolve } = Promise.withResolvers<0 | 1 | undefined>()
    const key = keyOf(point)
    asked.set(id, { digest, r, s, key, point, answer: resolve })
    worker.postMessage({ id, digest, r, s, key } satisfies ParityQuestion)
    return promise
  }
}

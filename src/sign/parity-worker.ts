import { parentPort } from 'node:worker_threads'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { type Point, parityBy } from './parity.ts'

/** What the thread is asked: whether a key, in hex as in {@link Key}, signed a digest. */
export type ParityQuestion = {
  readonly id: number
  readonly digest: Uint8Array
  readonly r: bigint
  readonly s: bigint
  readonly key: string
}

/** What it found. */
export type ParityAnswer = { readonly id: number; readonly yParity: 0 | 1 | undefined }

/** Each key that is asked about here signs often: its tables take 50 ms once. */
const TABLE_BITS = 8
const keys = new Map<string, Point>()

function pointOf(key: string): Point {
  const known = keys.get(key)
  if (known !== undefined) return known
  const point = secp256k1.Point.fromHex(key)
  point.precompute(TABLE_BITS, false)
  keys.set(key, point)
  return point
}

/** The thread that {@link createParityThread} starts: one answer for each question. */
parentPort?.on('message', ({ id, digest, r, s, key }: ParityQuestion) =>
  parentPort?.postMessage({ id, yParity: parityBy(digest, r, s, pointOf(key)) } satisfies ParityAnswer),
)

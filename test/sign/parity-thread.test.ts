import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { hexToBytes, keccak256, numberToHex } from 'viem'
import { expect, it, onTestFinished, vi } from 'vitest'
import { parityBy } from '../../src/sign/parity.ts'
import { createParityThread } from '../../src/sign/parity-thread.ts'

const secret = hexToBytes(`0x${'19'.repeat(32)}`)
const point = secp256k1.Point.fromBytes(secp256k1.getPublicKey(secret))
const key = { point, hex: point.toHex(false) }
const signed = Array.from({ length: 6 }, (_, index) => {
  const digest = hexToBytes(keccak256(numberToHex(index)))
  const bytes = secp256k1.sign(digest, secret, { prehash: false, format: 'compact' })
  return { digest, ...secp256k1.Signature.fromBytes(bytes, 'compact') }
})
/** Each signature, and each with another's s, which nobody signed. */
const asked = signed.flatMap(({ digest, r, s }, index) => [
  { digest, r, s },
  { digest, r, s: signed[(index + 1) % signed.length]?.s ?? 0n },
])
const expected = asked.map(({ digest, r, s }) => parityBy(digest, r, s, point))
const threadOf = (text: string) => new URL(`data:text/javascript,${encodeURIComponent(text)}`)

it.each([
  ['a thread', undefined],
  ['this one, where the thread fails to start', threadOf('throw new Error("broken")')],
  ['this one, where the thread ends without an answer', threadOf('process.exit(0)')],
])('signatures are checked alike on %s', async (_where, file) => {
  const uncaught = vi.fn()
  process.on('uncaughtException', uncaught)
  onTestFinished(() => void process.off('uncaughtException', uncaught))
  const thread = createParityThread(file)
  const ask = () => Promise.all(asked.map(({ digest, r, s }) => thread(digest, r, s, key)))
  expect(await ask()).toEqual(expected)
  expect(await ask()).toEqual(expected)
  expect(expected.filter((yParity) => yParity === undefined)).toHaveLength(6)
  expect(uncaught).not.toHaveBeenCalled()
})

/** A thread that answers each question once the next one has come, with 1 for a key as it is to be written. */
const LATE = `
  import { parentPort } from 'node:worker_threads'
  let last
  parentPort.on('message', (question) => {
    if (last) parentPort.postMessage({ id: last.id, yParity: last.key === '${key.hex}' ? 1 : 0 })
    last = question
  })`

it('a thread is asked, one for all, and keeps the process only while somebody waits for it', async () => {
  const [posted, ref, unref] = (['postMessage', 'ref', 'unref'] as const).map((name) =>
    vi.spyOn(Worker.prototype, name),
  )
  onTestFinished(() => void vi.restoreAllMocks())
  const order = (spy: typeof ref) => spy?.mock.invocationCallOrder.at(-1) ?? 0
  const isHeld = () => order(ref) > order(unref)
  const thread = createParityThread(threadOf(LATE))
  const ask = () => thread(signed[0]?.digest ?? secret, 1n, 1n, key)
  const [first, second] = [ask(), ask()]
  expect(await first).toBe(1)
  expect(isHeld()).toBe(true)
  const third = ask()
  const worker = posted?.mock.contexts.at(-1)
  if (!(worker instanceof Worker)) throw new TypeError('a thread')
  expect(await second).toBe(1)
  expect(isHeld()).toBe(true)
  // The last question is nobody's.
  worker.postMessage({})
  expect(await third).toBe(1)
  expect(isHeld()).toBe(false)
  const fourth = ask()
  expect(isHeld()).toBe(true)
  expect(new Set(posted?.mock.contexts).size).toBe(1)
  const ended = once(worker, 'exit')
  await worker.terminate()
  await ended
  expect(await fourth).toBeUndefined()
})

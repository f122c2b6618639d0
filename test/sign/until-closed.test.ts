import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { untilClosed } from '../../src/sign/until-closed.ts'

describe('work that asks a key', () => {
  it('is stopped once the gate closes, and left alone where it stays open', async () => {
    const [begun, ended] = [vi.spyOn(globalThis, 'setInterval'), vi.spyOn(globalThis, 'clearInterval')]
    onTestFinished(() => void vi.restoreAllMocks())
    let closed = false
    const stopped = untilClosed(
      () => closed,
      (signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
    closed = true
    await expect(stopped).rejects.toThrow(expect.objectContaining({ code: 'sign.stopped', retry: 'later' }))
    const { promise, resolve } = Promise.withResolvers<AbortSignal>()
    const left = untilClosed(
      () => false,
      async (signal) => {
        setTimeout(() => resolve(signal), 250)
        return promise
      },
    )
    expect((await left).aborted).toBe(false)
    expect(begun.mock.results).toHaveLength(2)
    for (const { value } of begun.mock.results) expect(ended).toHaveBeenCalledWith(value)
  })
})

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const word = (value: number) => value.toString(16).padStart(64, '0')

/** So many offsets to one and the same text, as arguments of `multicall(bytes[])`: 800 MB of it, in less than one. */
const [offsets, bytes] = [8_000, 100_000]
const bomb = [
  word(32),
  word(offsets),
  word(offsets * 32).repeat(offsets),
  word(bytes),
  'ab'.repeat(Math.ceil(bytes / 32) * 32),
].join('')

it('does not unfold calldata whose offsets all lead to one text', async () => {
  const script = `
    import { parseAbi } from 'viem'
    import { decodeCall } from '${new URL('../../../src/guard/calls/decode.ts', import.meta.url)}'
    const [abi] = parseAbi(['function multicall(bytes[] data)'])
    let text = ''
    for await (const chunk of process.stdin) text += chunk
    const decoded = decodeCall({ order: 0, calldata: '0xac9650d8' + text }, { abi, selector: '0xac9650d8' })
    console.log(decoded.check)`
  const running = promisify(execFile)(
    process.execPath,
    ['--max-old-space-size=128', '--input-type=module', '-e', script],
    { cwd: new URL('../../..', import.meta.url) },
  )
  running.child.stdin?.end(bomb)
  const { stdout } = await running
  expect(stdout.trim()).toBe('calldata_not_canonical')
})

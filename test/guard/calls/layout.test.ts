import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { encodeAbiParameters, parseAbiParameters } from 'viem'
import { expect, it } from 'vitest'
import { isLaidOut } from '../../../src/guard/calls/layout.ts'

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

it('takes what is dynamic in order behind the heads, once and without a gap, and no more than there is', () => {
  const laid = (types: string, ...words: readonly number[]) =>
    isLaidOut(parseAbiParameters(types), words.map(word).join(''))
  expect(laid('bytes a, uint256 b', 64, 7, 1, 0)).toBe(true)
  expect(laid('bytes a, uint256 b', 96, 7, 1, 0)).toBe(false)
  expect(laid('bytes a, uint256 b', 64, 7, 1, 0, 0)).toBe(false)
  expect(laid('bytes a, bytes b', 32, 0)).toBe(false)
  expect(laid('bytes[] a', 32, 1, 32, 1, 0)).toBe(true)
  expect(laid('bytes[] a', 32, 1, 64, 1, 0)).toBe(false)
  expect(laid('bytes[] a', 32, 2 ** 40)).toBe(false)
  expect(laid('uint256[] a', 32, 2, 8, 9)).toBe(true)
  expect(laid('uint256[] a', 32, 3, 8, 9)).toBe(false)
  const nested = parseAbiParameters('(string name, uint8[2][] pairs)[] a, bool b')
  const value = [
    { name: 'x', pairs: [[1, 2]] },
    { name: '', pairs: [] },
  ] as const
  expect(isLaidOut(nested, encodeAbiParameters(nested, [value as never, true]).slice(2))).toBe(true)
})

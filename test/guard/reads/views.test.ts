import { encodeAbiParameters, encodeFunctionData, parseAbi, parseAbiItem } from 'viem'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { address, createView, TOKEN_VIEWS, uint, viewShape } from '../../../src/guard/reads/views.ts'
import { SELF, VAULT } from '../fixtures.ts'

const ABI = parseAbi([
  'function shares(address owner, uint256) view returns (uint256)',
  'function open(uint8 kind) view returns (bool)',
])
const view = createView(ABI)

describe('a view', () => {
  it('is asked by its own selector, and says of each argument what it is called', () => {
    const shares = view('shares', VAULT, [SELF, 7n], uint)
    const data = encodeFunctionData({ abi: ABI, functionName: 'shares', args: [SELF, 7n] })
    expect(shares.call).toEqual({ to: VAULT, data })
    expect(shares.asked).toMatchObject({ name: 'shares', to: VAULT, args: { owner: SELF, '': 7n } })
    expect(view('open', VAULT, [1], z.boolean()).call.data).toBe(
      encodeFunctionData({ abi: ABI, functionName: 'open', args: [1] }),
    )
  })

  it('answers nothing where it failed, or says something else', () => {
    const seven = encodeAbiParameters([{ type: 'uint256' }], [7n])
    const shares = view('shares', VAULT, [SELF, 7n], uint)
    expect([seven, null, undefined, '0x12', '0x'].map((data) => shares.decode(data as typeof seven))).toEqual(
      [7n, ...[null, null, null, null]],
    )
    // What is decoded, and is not what is wanted.
    expect(view('shares', VAULT, [SELF, 7n], z.boolean()).decode(seven)).toBeNull()
    expect([7n, 7, 'seven', 0.5].map((answer) => shares.asked.parse(answer))).toEqual([7n, 7n, null, null])
  })

  it('answers with addresses in lower case, and with nothing else for one', () => {
    expect(address.parse(`0x${'Ab'.repeat(20)}`)).toBe(`0x${'ab'.repeat(20)}`)
    const others = [
      `0x${'ab'.repeat(19)}`,
      `0x${'ab'.repeat(21)}`,
      `${'ab'.repeat(20)}`,
      `0x${'zz'.repeat(20)}`,
    ]
    expect(others.filter((text) => address.safeParse(text).success)).toEqual([])
  })

  it('is told by its name and types alone, those of a struct among them', () => {
    expect(TOKEN_VIEWS.map(viewShape)).toEqual([
      'balanceOf(address) view returns (uint256)',
      'allowance(address,address) view returns (uint256)',
    ])
    const bids = parseAbiItem(
      'function bids(uint256 id) view returns ((address who, uint256 assets)[] found)',
    )
    expect(viewShape(bids)).toBe('bids(uint256) view returns ((address,uint256)[])')
  })
})

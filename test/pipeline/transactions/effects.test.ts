import { encodeAbiParameters, encodeEventTopics, erc20Abi, parseAbi } from 'viem'
import { describe, expect, it } from 'vitest'
import { differences, openedClaim } from '../../../src/pipeline/transactions/effects.ts'
import type { TokenChange } from '../../../src/workflow/slot.ts'
import { MARKET, SIGNER, TOKEN } from '../../support/workflows.ts'

const OTHER = `0x${'99'.repeat(20)}` as const
const transfer = (from: `0x${string}`, to: `0x${string}`, assets: bigint) => ({
  address: TOKEN,
  topics: encodeEventTopics({ abi: erc20Abi, eventName: 'Transfer', args: { from, to } }) as `0x${string}`[],
  data: encodeAbiParameters([{ type: 'uint256' }], [assets]),
})

describe('the claim that a liquidation opened', () => {
  const abi = parseAbi([
    'event Liquidated(uint256 indexed claimId, address indexed vault, address indexed borrower, address liquidator, address recipient, uint256 repayAssets, uint256 collateralSeized, uint256 badDebtAssets)',
  ])
  it('is found by its number, and null without one', () => {
    const topics = encodeEventTopics({
      abi,
      eventName: 'Liquidated',
      args: { claimId: 7n, vault: OTHER, borrower: OTHER },
    }) as `0x${string}`[]
    expect(openedClaim({ logs: [{ address: MARKET, topics, data: '0x' }] })).toBe(7n)
    expect(openedClaim({ logs: [transfer(SIGNER, OTHER, 7n)] })).toBeNull()
  })
})

const deployment = { assets: [] }
const differencesOf = (predicted: readonly TokenChange[], real: readonly TokenChange[]) =>
  differences(predicted, real, deployment)

describe('differences', () => {
  const change = (assets: bigint) => [{ token: TOKEN, assets }]
  it('are none where it went as predicted or better', () => {
    expect(differencesOf(change(-5n), change(-5n))).toEqual([])
    expect(differencesOf(change(-5n), change(-4n))).toEqual([])
    expect(differencesOf(change(5n), change(6n))).toEqual([])
    expect(differencesOf([], change(1n))).toEqual([])
  })

  it('name one base unit more that left, what of a part did not come, and what nobody predicted', () => {
    expect(differencesOf(change(-5n), change(-6n))).toHaveLength(1)
    expect(differencesOf(change(100n), change(98n))).toHaveLength(1)
    expect(differencesOf(change(500n), [])).toHaveLength(1)
    expect(differencesOf([], change(-1n))[0]).toMatch(
      /changed by -1 base unit of 0x\w+; the simulation predicted 0 base units/,
    )
  })

  it('are none where a hundredth less came in than predicted, and not more out', () => {
    expect(differencesOf(change(500n), change(495n))).toEqual([])
    expect(differencesOf(change(500n), change(494n))).toHaveLength(1)
    expect(differencesOf(change(-500n), change(-501n))).toHaveLength(1)
  })

  it('know a token whatever the case of its address', () => {
    const upper = `0x${TOKEN.slice(2).toUpperCase()}` as const
    expect(differencesOf([{ token: upper, assets: -5n }], change(-5n))).toEqual([])
  })
})

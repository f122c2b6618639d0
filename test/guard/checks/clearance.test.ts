import { encodeEventTopics, erc20Abi, pad, toHex } from 'viem'
import { expect, it } from 'vitest'
import type { Log } from '../../../src/chain/nodes.ts'
import { checkPrepared } from '../../../src/guard/checks/check-prepared.ts'
import { clearanceOf } from '../../../src/guard/checks/clearance.ts'
import {
  bound,
  COLLATERAL,
  freeze,
  LOAN,
  MARKET,
  NOW_MS,
  ruleset,
  SELF,
  settlement,
  settlementAnswer,
  VAULT,
} from '../fixtures.ts'

const HEAD = {
  number: 10n,
  hash: `0x${'bb'.repeat(32)}`,
  parentHash: `0x${'aa'.repeat(32)}`,
  timestampS: NOW_MS / 1_000,
  baseFeePerGasWei: 1n,
} as const

const transfer = (token: typeof LOAN, from: typeof LOAN, to: typeof LOAN, assets: bigint): Log => ({
  address: token,
  topics: encodeEventTopics({ abi: erc20Abi, eventName: 'Transfer', args: { from, to } }) as Log['topics'],
  data: pad(toHex(assets)),
})

it('does not miss a token that comes in and that no effect asks for; what is asked for, and what leaves, it does', () => {
  const workflow = bound(settlement)
  const checked = checkPrepared({ workflow, frozen: freeze(settlementAnswer()), ruleset, nowMs: NOW_MS })
  if (!checked.ok) throw new TypeError(checked.message)
  const logs = [
    transfer(LOAN, SELF, MARKET, 5n),
    transfer(COLLATERAL, MARKET, SELF, 7n),
    transfer(VAULT, MARKET, SELF, 3n),
  ]
  const bundle = [{ outcome: 'success', gasUsed: 100_000n, logs }]
  const cleared = clearanceOf(
    {
      block: HEAD,
      timestampS: HEAD.timestampS,
      bundle,
      before: [],
      after: [],
      pending: [],
      following: [],
    } as never,
    [],
    [3n],
    {
      ...checked,
      workflow,
      ruleset,
      nowMs: NOW_MS,
      judgement: { checkState: () => null, checkOutcome: () => null },
    },
  )
  expect(cleared.payloads.map(({ predicted }) => predicted.dataFeeWei)).toEqual([3n])
  expect(cleared.payloads.map(({ predicted }) => predicted.tokens)).toEqual([
    [
      { token: LOAN, assets: -5n },
      { token: COLLATERAL, assets: 7n },
    ],
  ])
})

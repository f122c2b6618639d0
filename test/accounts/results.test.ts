import { expect, it } from 'vitest'
import { balancesOf } from '../../src/accounts/balances.ts'
import { periodOf } from '../../src/accounts/period.ts'
import { type Group, resultsOf } from '../../src/accounts/results.ts'
import type { Balance, Line, Page } from '../../src/journal/sqlite/accounts.ts'
import { proposalOf, SIGNER, TOKEN, workflowOf } from '../support/workflows.ts'

const DESK = `0x${'de'.repeat(20)}` as const
const RIVAL = `0x${'71'.repeat(20)}` as const
const HOUR_MS = 3_600_000
const hashOf = (number: number) => `0x${String(number).padStart(64, '0')}` as const
const point = (number: number) => ({ number: BigInt(number), hash: hashOf(number), atMs: number * HOUR_MS })

const line = (changes: Partial<Line>): Line => ({
  kind: 'moved',
  token: TOKEN,
  assets: 0n,
  blockNumber: 2n,
  hash: hashOf(700),
  counterparty: DESK,
  workflowId: null,
  ...changes,
})

/** A page of a token of 6 decimals at two dollars, and of the native coin at 3,000. */
const page = (number: number, held: bigint, lines: readonly Line[], changes: Partial<Page> = {}): Page => ({
  chainId: 1,
  signer: SIGNER,
  role: 'rfq-bidder',
  count: 0,
  lines,
  positions: [],
  from: number === 1 ? null : point(number - 1),
  to: point(number),
  tokens: [
    { token: TOKEN, symbol: 'sUSD', decimals: 6 },
    { token: null, symbol: 'ETH', decimals: 18 },
  ],
  closing: [
    { token: TOKEN, assets: held },
    { token: null, assets: 10n ** 18n },
  ] satisfies Balance[],
  prices: [
    { token: TOKEN, usdMicros: 2_000_000n },
    { token: null, usdMicros: 3_000_000_000n },
  ],
  ...changes,
})

const bid = (id: string, gain: bigint, lot: string, createdAtMs = 0) =>
  workflowOf('succeeded', {
    id,
    role: 'rfq-bidder',
    createdAtMs,
    proposal: proposalOf({ kind: 'bid', subject: lot, gainUsdMicros: gain, input: { rfqAddress: DESK } }),
  })
const known = (...all: readonly ReturnType<typeof bid>[]) => new Map(all.map((one) => [one.id, one]))
const by = (group: Group, pages: readonly Page[], workflows = known()) =>
  resultsOf(periodOf(pages, 0), group, workflows)

it('joins what came back by another’s transaction to what gave it, once, and takes back what was expected of it', () => {
  const given = line({ assets: -5_000_000n, workflowId: 'a' })
  const again = line({ assets: -5_000_000n, workflowId: 'b' })
  const back = line({ assets: 5_000_000n, hash: hashOf(701) })
  const pages = [page(1, 9_000_000n, []), page(2, 4_000_000n, [given, again, back])]
  const workflows = known(bid('a', 40n, 'lot 1'), bid('b', 60n, 'lot 2'))
  expect(by('workflow', pages, workflows)).toMatchObject([
    { key: 'a', said: 0n, moved: 0n, hashes: [hashOf(700), hashOf(701)] },
    { key: 'b', said: 60n, moved: -10_000_000n },
  ])
  const other = [page(1, 0n, []), page(2, 0n, [given, { ...back, counterparty: RIVAL }])]
  expect(by('workflow', other, workflows).map(({ key }) => key)).toEqual(['-', 'a'])
})

it('joins what came back of all bids of a lot together, and what was won by another’s transaction', () => {
  const lines = [
    line({ assets: -5_000_000n, workflowId: 'a' }),
    line({ assets: -1_000_000n, workflowId: 'b' }),
    line({ assets: 6_000_000n, hash: hashOf(701) }),
  ]
  const pages = [page(1, 9_000_000n, []), page(2, 9_000_000n, lines)]
  const workflows = known(bid('a', 40n, 'lot 1'), bid('b', 60n, 'lot 1', 5))
  expect(by('role', pages, workflows)).toMatchObject([{ said: 0n, moved: 0n }])
  const keys = by('workflow', pages, workflows).map(({ key, moved }) => [key, moved])
  expect(keys).toEqual([
    ['a', -10_000_000n],
    ['b', 10_000_000n],
  ])
})

it('takes back what was expected of a lot whose price came back to the fund that paid it', () => {
  const gas = ['a', 'b'].map((workflowId, at) =>
    line({
      kind: 'gas',
      token: null,
      counterparty: null,
      assets: -1n,
      hash: hashOf(800 + at),
      workflowId,
    }),
  )
  const paid = [0, 1].map((at) => line({ assets: BigInt(-5 - at), hash: hashOf(800 + at) }))
  const fund = { signer: RIVAL, owner: 'fund' } as const
  const own = [page(1, 0n, []), page(2, 0n, gas)]
  const funds = [page(1, 20n, [], fund), page(2, 14n, [...paid, line({ assets: 5n })], fund)]
  const workflows = known(bid('a', 40n, 'lot 1'), bid('b', 60n, 'lot 2'))
  const [result] = resultsOf(periodOf(own, 0), 'role', workflows, periodOf(funds, 0))
  expect(result?.said).toBe(60n)
})

it('gives what came back to the lot that brought nothing, though one that was won had given as much', () => {
  const lot = `0x${'c0'.repeat(20)}` as const
  const of = (id: string, gain: bigint, amount: string) => {
    const { proposal, ...rest } = bid(id, gain, `lot ${id}`)
    return { ...rest, proposal: { ...proposal, reason: { assetAmount: amount } } }
  }
  const paid = ['a', 'b'].map((workflowId) => line({ assets: -5_000_000n, workflowId }))
  const won = line({ token: lot, assets: 7n })
  const pages = [page(1, 9_000_000n, []), page(2, 4_000_000n, [...paid, won, line({ assets: 5_000_000n })])]
  expect(by('workflow', pages, known(of('a', 40n, '7'), of('b', 60n, '9')))).toMatchObject([
    { key: 'a', said: 40n, moved: -10_000_000n },
    { key: 'b', said: 0n, moved: 0n },
  ])
})

it('counts once what was expected of a lot whose last bid the pages of its fund do not have yet', () => {
  const gas = ['a', 'b'].map((workflowId, at) =>
    line({
      kind: 'gas',
      token: null,
      counterparty: null,
      assets: -1n,
      hash: hashOf(800 + at),
      workflowId,
    }),
  )
  const fund = { signer: RIVAL, owner: 'fund' } as const
  const funds = [page(1, 20n, [], fund), page(2, 15n, [line({ assets: -5n, hash: hashOf(800) })], fund)]
  const workflows = known(bid('a', 40n, 'lot 1'), bid('b', 60n, 'lot 1', 5))
  const own = periodOf([page(1, 0n, []), page(2, 0n, gas)], 0)
  expect(resultsOf(own, 'role', workflows, periodOf(funds, 0))).toMatchObject([{ said: 60n }])
})

it('counts what was expected of an opportunity once: by the last that succeeded', () => {
  const lines = ['a', 'b'].map((workflowId) => line({ assets: -1n, workflowId }))
  const workflows = known(bid('a', 40n, 'lot 1'), bid('b', 60n, 'lot 1', 5))
  const [result] = by('role', [page(1, 2n, []), page(2, 0n, lines)], workflows)
  expect(result).toMatchObject({ key: 'rfq-bidder', said: 60n, workflows: ['a', 'b'] })
})

it('says it under one counterparty, market and asset, though gas is under another', () => {
  const lines = [
    line({ kind: 'gas', token: null, assets: -(10n ** 15n), counterparty: null, workflowId: 'a' }),
    line({ assets: -1_000_000n, workflowId: 'a' }),
  ]
  const pages = [page(1, 2_000_000n, []), page(2, 1_000_000n, lines)]
  const keys = { market: [DESK], counterparty: ['-', DESK], asset: ['ETH', 'sUSD'], day: ['1970-01-01'] }
  for (const [group, expected] of Object.entries(keys)) {
    const results = by(group as Group, pages, known(bid('a', 7n, 'lot 1')))
    expect(results.map(({ key }) => key)).toEqual(expected)
    expect(results.reduce((sum, { said }) => sum + said, 0n)).toBe(7n)
    expect(results.reduce((sum, { moved, gas }) => sum + moved + gas, 0n)).toBe(-5_000_000n)
  }
})

it('splits what a time brought into what moved, what is at contracts, and what prices did', () => {
  const dearer = { prices: [{ token: TOKEN, usdMicros: 3_000_000n }] }
  const pages = [
    page(1, 10_000_000n, [], { positions: [{ token: TOKEN, assets: 1_000_000n }] }),
    page(2, 6_000_000n, [line({ assets: -4_000_000n, workflowId: 'a' })], {
      ...dearer,
      positions: [{ token: TOKEN, assets: 5_000_000n }],
    }),
  ]
  // 11 tokens at 2 dollars were 22, and 11 at 3 are 33; the coin has no price any more.
  const [result] = by('role', pages)
  expect(result).toMatchObject({
    moved: -12_000_000n,
    positions: 12_000_000n,
    marked: 11_000_000n - 3_000_000_000n,
  })
})

it('opens an account with the first page, and leaves out what closed before the time', () => {
  const lines = [line({ assets: -1_000_000n })]
  const pages = [page(1, 3_000_000n, lines), page(2, 2_000_000n, lines), page(3, 1_000_000n, lines)]
  expect(balancesOf(periodOf(pages, 0))[0]).toMatchObject({
    opening: 3_000_000n,
    paid: -2_000_000n,
    closing: 1_000_000n,
  })
  expect(balancesOf(periodOf(pages, 3 * HOUR_MS))[0]).toMatchObject({
    opening: 2_000_000n,
    paid: -1_000_000n,
  })
  expect(periodOf(pages, 4 * HOUR_MS)).toEqual([])
})

it('opens the account of a token that was listed later when it was', () => {
  const old = page(1, 0n, [])
  const [coin] = old.closing.slice(1)
  const pages = [
    { ...old, closing: coin === undefined ? [] : [coin] },
    page(2, 5n, []),
    page(3, 4n, [line({ assets: -1n })]),
  ]
  expect(balancesOf(periodOf(pages, 0))[0]).toMatchObject({
    symbol: 'sUSD',
    opening: 5n,
    paid: -1n,
    closing: 4n,
  })
})

it('is not slowed by strangers who send dust: each line is held against what it would give back alone', () => {
  let reads = 0
  const given = Array.from({ length: 600 }, (_, index) =>
    Object.defineProperty(line({ workflowId: `bid ${index}` }), 'assets', {
      enumerable: true,
      get: () => {
        reads += 1
        return -5_000_000n - BigInt(index)
      },
    }),
  )
  const dust = Array.from({ length: 6_000 }, () => line({ assets: 1n, counterparty: RIVAL }))
  const [result] = by('role', [page(1, 0n, []), page(2, 0n, [...given, ...dust])])
  expect(result?.workflows).toHaveLength(600)
  expect(reads / given.length).toBeLessThan(20)
})

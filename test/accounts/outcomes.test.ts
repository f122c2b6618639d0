import type { Address } from 'viem'
import { expect, it } from 'vitest'
import { type LinkedWorkflow, linkedOf } from '../../src/accounts/link-workflows.ts'
import { outcomesOf, recoveriesOf } from '../../src/accounts/outcomes.ts'
import type { Line, Page } from '../../src/journal/sqlite/accounts.ts'
import { proposalOf, SIGNER, workflowOf } from '../support/workflows.ts'

const [USD, BTC, DESK]: readonly Address[] = ['11', '22', 'de'].map((part): Address => `0x${part.repeat(20)}`)
const MINUTE_MS = 60_000

const line = (changes: Partial<Line>): Line => ({
  kind: 'moved',
  token: USD ?? null,
  assets: 0n,
  blockNumber: 2n,
  hash: null,
  counterparty: DESK ?? null,
  workflowId: null,
  ...changes,
})

/** Pages that end at these minutes, with what moved in each; a bitcoin is at this many dollars. */
const pagesOf = (
  ...rows: readonly (readonly [minute: number, price: number, lines: readonly Line[]])[]
): Page[] =>
  rows.map(([minute, price, lines], index) => {
    const at = (row: number) => ({
      number: BigInt(row),
      hash: `0x${String(row)}` as const,
      atMs: (rows[row]?.[0] ?? minute) * MINUTE_MS,
    })
    return {
      chainId: 1,
      signer: SIGNER,
      role: 'rfq-bidder',
      count: 0,
      lines,
      positions: [],
      closing: [],
      from: index === 0 ? null : at(index - 1),
      to: at(index),
      tokens: [
        { token: USD ?? null, symbol: 'sUSD', decimals: 6 },
        { token: BTC ?? null, symbol: 'sBTC', decimals: 8 },
        { token: null, symbol: 'ETH', decimals: 18 },
      ],
      prices: [
        { token: USD ?? null, usdMicros: 1_000_000n },
        { token: BTC ?? null, usdMicros: BigInt(price) * 1_000_000n },
        { token: null, usdMicros: 1_000_000_000n },
      ],
    }
  })

/** A bid of $900 for 0.01 BTC, which was said to be worth $950 at a mark of $1,000. */
const bid = (id: string, lot = 'lot 1', assets = 1_000_000n): LinkedWorkflow => ({
  ...unsaid(id, lot),
  brings: { token: BTC ?? SIGNER, assets },
  said: {
    of: ['bid', 'asset:sBTC'],
    worthUsdMicros: 950_000_000n,
    markUsdMicros: 1_000_000_000n,
    brings: { token: BTC ?? SIGNER, assets },
  },
})
const unsaid = (id: string, opportunity: string): LinkedWorkflow => ({
  id,
  createdAtMs: 0,
  opportunity,
  isOver: true,
  isRaceLost: false,
  isTakenBack: false,
  hasFailed: false,
  isKnown: true,
})
const known = (...all: readonly LinkedWorkflow[]) => new Map(all.map((one) => [one.id, one]))
const decided = (...of: Parameters<typeof outcomesOf>) => outcomesOf(...of).decided
const pays = line({ assets: -900_000_000n, workflowId: 'a' })
const gas = line({ kind: 'gas', token: null, assets: -(10n ** 15n), counterparty: null, workflowId: 'a' })
const brings = line({ token: BTC ?? null, assets: 1_000_000n })

it('marks what was won an hour after it came, against what was expected and what was paid', () => {
  const pages = pagesOf([0, 100_000, []], [1, 100_000, [pays, gas]], [5, 100_000, [brings]], [64, 90_000, []])
  expect(decided(pages, known(bid('a')))).toEqual([])
  // Worth $920 by then: $30 less than said, $20 more than paid, less $1 of gas.
  const later = [...pages, ...pagesOf([65, 92_000, []])]
  expect(decided(later, known(bid('a')))).toEqual([
    { of: ['bid', 'asset:sBTC'], came: { error: -0.03, gain: 0.019 }, netUsd: 19, atMs: 65 * MINUTE_MS },
  ])
})

it('knows what was lost an hour after it came back, whoever sent it, and nothing before', () => {
  const back = line({ assets: 900_000_000n })
  const pages = pagesOf([0, 100_000, []], [1, 100_000, [pays, gas]], [9, 100_000, [back]])
  expect(decided(pages, known(bid('a')))).toEqual([])
  const later = [...pages, ...pagesOf([69, 100_000, []])]
  expect(decided(later, known(bid('a')))).toEqual([
    { of: ['bid', 'asset:sBTC'], came: null, netUsd: -1, atMs: 9 * MINUTE_MS },
  ])
})

it('takes what came for an opportunity that was to bring just that, from whom it paid, once', () => {
  const other = line({ assets: -800_000_000n, workflowId: 'b' })
  const opened = [0, 100_000, []] as const
  const hour = [100, 100_000, []] as const
  const of = (...lines: readonly Line[]) =>
    decided(pagesOf(opened, [1, 100_000, [pays, other, ...lines]], hour), known(bid('a'), bid('b', 'lot 2')))
  expect(of(brings)).toHaveLength(1)
  expect(of(brings, brings)).toHaveLength(2)
  expect(of(brings, brings, brings)).toHaveLength(2)
  expect(of({ ...brings, assets: 1_000_001n })).toEqual([])
  expect(of({ ...brings, assets: 899_999n })).toEqual([])
  expect(of({ ...brings, counterparty: SIGNER })).toEqual([])
  expect(of({ ...brings, blockNumber: 1n })).toEqual([])
})

it('counts what a token kept of itself on its way as missing, and takes the nearest of several', () => {
  const other = line({ assets: -800_000_000n, workflowId: 'b' })
  const came = { ...brings, assets: 990_000n }
  const pages = pagesOf([0, 100_000, []], [1, 100_000, [pays, other, came]], [70, 100_000, []])
  // Worth $990: $190 more than was paid for the second.
  expect(decided(pages, known(bid('a'), bid('b', 'lot 2', 999_999n)))).toMatchObject([
    { came: { error: 0.04, gain: 0.19 } },
  ])
})

const WEEK = 10_080
/** What is left a week after the bid, by the newest page. */
const weekLater = (...positions: Page['positions']) => {
  const pages = pagesOf(
    [0, 100_000, []],
    [1, 100_000, [pays, gas]],
    [WEEK, 100_000, []],
    [WEEK + 1, 100_000, []],
  )
  return pages.map((page) => ({ ...page, positions }))
}

it('counts as worth nothing what was paid for and is not there a week later', () => {
  const pages = weekLater()
  expect(decided(pages.slice(0, -1), known(bid('a')))).toEqual([])
  // $950 were said to come; $900 and $1 of gas are gone.
  expect(decided(pages, known(bid('a')))).toEqual([
    {
      of: ['bid', 'asset:sBTC'],
      came: { error: -0.95, gain: -0.901 },
      netUsd: -901,
      atMs: (WEEK + 1) * MINUTE_MS,
    },
  ])
  expect(outcomesOf(pages, known(bid('a'))).undecided).toEqual([])
})

it('waits for what is still where it was paid: in escrow, or as a claim; of several, for those that paid last', () => {
  const escrow = { at: DESK ?? SIGNER, token: USD ?? null, assets: 900_000_000n }
  const claim = { at: DESK ?? SIGNER, token: BTC ?? null, assets: 900_000n }
  for (const held of [escrow, claim]) {
    expect(decided(weekLater(held), known(bid('a')))).toEqual([])
    expect(decided(weekLater({ ...held, at: SIGNER }), known(bid('a')))).toHaveLength(1)
    expect(decided(weekLater({ ...held, assets: held.assets - 1n }), known(bid('a')))).toHaveLength(1)
  }
  const other = { ...pays, workflowId: 'b' }
  const two = weekLater(escrow).map((page, at) => (at === 2 ? { ...page, lines: [other] } : page))
  const late = pagesOf([2 * WEEK, 100_000, []]).map((page) => ({ ...page, positions: [escrow] }))
  const told = known(bid('a'), bid('b', 'lot 2'))
  const { undecided, decided: lost } = outcomesOf([...two, ...late], told)
  expect(lost).toHaveLength(1)
  expect(undecided).toMatchObject([{ lines: [other] }])
})

it('knows as lost what came back of all bids of a lot together', () => {
  const raise = line({ assets: -20_000_000n, workflowId: 'b' })
  const back = line({ assets: 920_000_000n })
  const pages = pagesOf([0, 100_000, []], [1, 100_000, [pays, raise, back]], [61, 100_000, []])
  expect(decided(pages, known(bid('a'), bid('b')))).toMatchObject([{ came: null }])
  expect(decided(pages, known(bid('a'), bid('b', 'lot 2')))).toEqual([])
})

it('keeps what the journal does not have until it does, and joins it then', () => {
  const pages = pagesOf([0, 100_000, []], [1, 100_000, [pays]], [2, 100_000, [brings]], [70, 100_000, []])
  const { undecided, decided: nothing } = outcomesOf(pages, new Map())
  expect(nothing).toEqual([])
  expect(decided([...undecided, ...pages.slice(-1)], known(bid('a')))).toMatchObject([
    { came: { error: 0.05, gain: 0.1 } },
  ])
})

it('adds up all bids of one lot, and leaves out what is not learned from', () => {
  const raise = line({ assets: -20_000_000n, workflowId: 'b' })
  const pages = pagesOf([0, 100_000, []], [1, 100_000, [pays, raise, brings]], [70, 100_000, []])
  expect(decided(pages, known(bid('a'), bid('b')))).toMatchObject([{ came: { error: 0.05, gain: 0.08 } }])
  expect(decided(pages, known(unsaid('a', 'lot 1')))).toEqual([])
})

it('takes what came for what still stands, not for an earlier one like it that was lost', () => {
  const back = line({ assets: 900_000_000n, workflowId: 'refund' })
  const refund = unsaid('refund', 'lot 1')
  const again = { ...pays, workflowId: 'b' }
  const told = known(bid('a'), refund, bid('b', 'lot 2'))
  const [opened, hour] = [
    [0, 100_000, []],
    [100, 90_000, []],
  ] as const
  const lost = { came: null }
  // Worth $900 by then: nothing gained.
  const won = { came: { error: -0.05, gain: 0 } }
  const oneByOne = pagesOf(
    opened,
    [1, 100_000, [pays]],
    [2, 100_000, [back]],
    [3, 100_000, [again, brings]],
    hour,
  )
  expect(decided(oneByOne, told)).toMatchObject([lost, won])
  const together = pagesOf(
    opened,
    [1, 100_000, [pays, again]],
    [2, 100_000, [brings]],
    [3, 100_000, [back]],
    hour,
  )
  expect(decided(together, told)).toMatchObject([lost, won])
})

it('takes what came back for what brought nothing, where what won before had given as much', () => {
  const again = { ...pays, workflowId: 'b' }
  const back = line({ assets: 900_000_000n })
  const lost = { came: null }
  const won = { came: { error: 0.05, gain: 0.1 } }
  const opened = [0, 100_000, []] as const
  const hour = [100, 100_000, []] as const
  const told = known(bid('a'), bid('b', 'lot 2', 2_000_000n))
  // Won, and then another is outbid: not the first one, long paid for, which came back.
  const later = pagesOf(
    opened,
    [1, 100_000, [pays]],
    [2, 100_000, [brings]],
    [3, 100_000, [again]],
    [4, 100_000, [back]],
    hour,
  )
  expect(decided(later, told)).toMatchObject([lost, won])
  const before = pagesOf(
    opened,
    [1, 100_000, [again, pays]],
    [2, 100_000, [back]],
    [3, 100_000, [brings]],
    hour,
  )
  expect(decided(before, told)).toMatchObject([lost, won])
  const raised = line({ assets: -50_000_000n, workflowId: 'b' })
  const [both, all] = [
    [again, raised, pays],
    [back, { ...back }, brings],
  ]
  const third = { ...pays, workflowId: 'c' }
  const three = known(bid('a'), bid('b', 'lot 2', 2_000_000n), bid('c', 'lot 3', 3_000_000n))
  const { undecided } = outcomesOf(
    pagesOf(opened, [1, 100_000, [...both, third]], [2, 100_000, all], hour),
    three,
  )
  // The first half of what was bid for the second lot came back, and all for the third.
  expect(undecided.flatMap(({ lines }) => lines)).toEqual([again, raised, back])
})

it('counts a race as lost that cost gas alone, and keeps of what is not decided what belongs to it', () => {
  const raced = { ...bid('a', 'position'), isRaceLost: true }
  const pages = pagesOf([0, 100_000, []], [1, 100_000, [gas, line({ assets: 7n })]])
  expect(outcomesOf(pages, known(raced))).toEqual({
    decided: [{ of: ['bid', 'asset:sBTC'], came: null, netUsd: -1, atMs: MINUTE_MS }],
    undecided: [],
  })
  // What failed by itself was no race.
  expect(outcomesOf(pages, known({ ...bid('a'), hasFailed: true }))).toEqual({
    decided: [{ of: ['bid', 'asset:sBTC'], came: null, netUsd: -1, isVoid: true, atMs: MINUTE_MS }],
    undecided: [],
  })
  // Where it had an effect, what it moved may be on the next page.
  expect(outcomesOf(pages, known(bid('a'))).decided).toEqual([])
  const open = pagesOf([0, 100_000, []], [1, 100_000, [gas, line({ assets: 7n }), pays]])
  expect(outcomesOf(open, known(bid('a'))).undecided).toMatchObject([{ lines: [gas, pays] }])
})

it('counts of a bid that was taken back what it cost, and neither as won nor as lost', () => {
  const back = line({ assets: 900_000_000n, workflowId: 'b' })
  const pages = pagesOf([0, 100_000, []], [1, 100_000, [pays, gas]], [9, 100_000, [back]], [69, 100_000, []])
  const takenBack = { ...unsaid('b', 'lot 1'), isTakenBack: true }
  const of = (...all: readonly LinkedWorkflow[]) => decided(pages, known(bid('a'), ...all))
  expect(of(takenBack)).toMatchObject([{ came: null, netUsd: -1, isVoid: true }])
  expect(of(unsaid('b', 'lot 1'))[0]).not.toHaveProperty('isVoid')
  // That another bid for it failed then makes it no loss to others.
  const failed = { ...bid('c'), createdAtMs: 1, hasFailed: true }
  const tried = pagesOf([20, 100_000, [{ ...gas, workflowId: 'c' }]], [90, 100_000, []])
  expect(decided([...pages, ...tried], known(bid('a'), takenBack, failed))).toMatchObject([
    { netUsd: -2, isVoid: true },
  ])
  // It bid again, and lost.
  const [opened, first, second] = pages
  const again = { ...bid('c'), createdAtMs: 1 }
  const later = pagesOf(
    [20, 100_000, [{ ...pays, workflowId: 'c' }]],
    [30, 100_000, [line({ assets: 900_000_000n })]],
    [95, 100_000, []],
  )
  const all = [opened, first, second, ...later].filter((page) => page !== undefined)
  const [lost] = decided(all, known(bid('a'), takenBack, again))
  expect([lost?.came, lost?.isVoid]).toEqual([null, undefined])
})

it('counts what a claim pays as what its liquidation brought', () => {
  const market = `0x${'aa'.repeat(20)}`
  const liquidation = workflowOf('succeeded', {
    id: 'a',
    realized: { tokens: [], gasWei: 0n, atMs: 0, claimId: 7n },
    proposal: proposalOf({
      kind: 'liquidate',
      input: { marketAddress: market },
      ...(bid('a').said === undefined ? {} : { said: bid('a').said }),
    }),
  })
  const settlement = workflowOf('succeeded', {
    id: 'b',
    proposal: proposalOf({ kind: 'settle', input: { marketAddress: market, claimId: '7' } }),
  })
  // A little less than was expected.
  const settled = { ...brings, assets: 990_000n, workflowId: 'b' }
  const pages = pagesOf([0, 100_000, []], [1, 100_000, [pays]], [9, 100_000, [settled]], [70, 100_000, []])
  expect(decided(pages, known(linkedOf(liquidation), linkedOf(settlement)))).toMatchObject([
    { came: { error: 0.04, gain: 0.09 } },
  ])
})

it('decides what others won of what was bid for, as lost', () => {
  const said = { of: ['bid'], worthUsdMicros: 100n, markUsdMicros: 100n }
  const lost = (lot: string) => ({ lot, paidUsdMicros: 0n, cameUsdMicros: null, atMs: 7 })
  expect(recoveriesOf([lost('lot'), lost('another')], [{ lot: 'lot', said }])).toEqual([
    { lot: 'lot', of: ['bid'], came: null, netUsd: 0, atMs: 7 },
  ])
})

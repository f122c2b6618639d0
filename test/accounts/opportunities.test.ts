import { expect, it } from 'vitest'
import { reportsOf } from '../../src/accounts/nav-reports.ts'
import { opportunitiesOf } from '../../src/accounts/opportunities.ts'
import type { Line, Page } from '../../src/journal/sqlite/accounts.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { MARKET, proposalOf, SIGNER, slotOf, TOKEN, workflowOf } from '../support/workflows.ts'

const COIN = `0x${'c0'.repeat(20)}` as const
const HOUSE = `0x${'de'.repeat(20)}` as const
const AUCTION = `0x${'a0'.repeat(20)}` as const
const FUND = `0x${'f0'.repeat(20)}` as const
const VAULT = `0x${'7a'.repeat(20)}` as const
const TARGET = `0x${'a2'.repeat(20)}` as const
const HALF_HOUR_MS = 1_800_000
const hashOf = (number: number) => `0x${String(number).padStart(64, '0')}` as const
const point = (number: number) => ({
  number: BigInt(number),
  hash: hashOf(number),
  atMs: number * HALF_HOUR_MS,
})

const money = (assets: bigint, hash: number, changes: Partial<Line> = {}): Line => ({
  kind: 'moved',
  token: TOKEN,
  assets: assets * 1_000_000n,
  blockNumber: 2n,
  hash: hashOf(hash),
  counterparty: MARKET,
  workflowId: null,
  ...changes,
})
const coin = (assets: bigint, hash: number, changes: Partial<Line> = {}): Line =>
  money(0n, hash, { token: COIN, assets, ...changes })
const gas = (hash: number, workflowId: string): Line =>
  money(0n, hash, { kind: 'gas', token: null, assets: -(10n ** 15n), counterparty: null, workflowId })

/** A page each half hour of a dollar of 6 decimals, of a collateral without decimals that is worth so many dollars, and of native coin at 3,000. */
const page = (number: number, lines: readonly Line[], worth = 100n, changes: Partial<Page> = {}): Page => ({
  chainId: 1,
  signer: SIGNER,
  role: 'liquidator',
  count: 0,
  lines,
  positions: [],
  closing: [],
  from: number === 1 ? null : point(number - 1),
  to: point(number),
  tokens: [
    { token: TOKEN, symbol: 'sUSD', decimals: 6 },
    { token: COIN, symbol: 'sBTC', decimals: 0, isCollateral: true },
    { token: null, symbol: 'ETH', decimals: 18 },
  ],
  prices: [
    { token: TOKEN, usdMicros: 1_000_000n },
    { token: COIN, usdMicros: worth * 1_000_000n },
    { token: null, usdMicros: 3_000_000_000n },
  ],
  ...changes,
})
const usd = (whole: bigint) => whole * 1_000_000n
const done = (id: string, proposal: Partial<Proposal>, changes: Partial<Workflow> = {}) =>
  workflowOf('succeeded', { id, proposal: proposalOf(proposal), ...changes })
const known = (...all: readonly Workflow[]) => new Map(all.map((one) => [one.id, one]))

const liquidation = done(
  'a',
  { gainUsdMicros: usd(100n) },
  { realized: { tokens: [], gasWei: 0n, atMs: 0, claimId: 7n } },
)
const settlement = done(
  'b',
  { kind: 'settle', input: { marketAddress: MARKET, claimId: '7' } },
  { createdAtMs: 9_000 },
)

it('marks a liquidation by what its claim paid: when it came, an hour later, and as it was sold', () => {
  const paid = [money(-1_000n, 70, { workflowId: 'a' }), gas(70, 'a')]
  const came = [coin(11n, 71, { workflowId: 'b' }), gas(71, 'b')]
  const first = [page(1, []), page(2, paid), page(3, came)]
  const workflows = known(liquidation, settlement)
  // Paid for, and not there yet: no loss.
  expect(opportunitiesOf([page(1, []), page(2, paid), page(3, []), page(4, [])], workflows)).toMatchObject([
    { workflows: ['a'], came: 'waiting', atEnd: null, hourLater: null, sold: null },
  ])
  const all = [...first, page(4, [], 50n), page(5, [], 80n)]
  const work = {
    owner: undefined,
    workflows: ['a', 'b'],
    said: usd(100n),
    gas: -usd(6n),
    atEnd: { usdMicros: usd(100n), block: 3n },
    hourLater: { usdMicros: usd(-120n), block: 5n, atMs: 5 * HALF_HOUR_MS },
  }
  expect(opportunitiesOf(all, workflows)).toMatchObject([
    { ...work, sold: null, hashes: [hashOf(70), hashOf(71)] },
  ])
  const half = (hash: number, assets: bigint, got: bigint) => [
    coin(-assets, hash, { counterparty: AUCTION }),
    money(got, hash, { counterparty: AUCTION }),
  ]
  const [partly, whole] = [page(6, half(72, 6n, 500n)), page(7, half(73, 5n, 450n))]
  expect(opportunitiesOf([...all, partly], workflows)[0]?.sold).toBeNull()
  expect(opportunitiesOf([...all, partly, whole], workflows)).toMatchObject([
    { ...work, sold: { usdMicros: usd(-50n), block: 7n }, hashes: [70, 71, 72, 73].map(hashOf) },
  ])
})

it('says of what was paid for and not delivered for a week that it never came, as a loss; of what is in escrow, nothing yet', () => {
  const paid = [money(-300n, 80, { counterparty: HOUSE, workflowId: 'two' })]
  const workflows = known(bidOf('two', 'lot 2', '4'))
  const pages = (changes: Partial<Page>) => [page(1, []), page(2, paid), page(400, [], 100n, changes)]
  expect(opportunitiesOf(pages({}), workflows)).toMatchObject([
    {
      came: 'never',
      said: usd(20n),
      atEnd: { usdMicros: -usd(300n), block: 2n },
      hourLater: { block: 400n },
    },
  ])
  const escrow = [{ at: HOUSE, token: TOKEN, assets: usd(300n) }]
  expect(opportunitiesOf(pages({ positions: escrow }), workflows)).toMatchObject([
    { came: 'waiting', atEnd: null, hourLater: null },
  ])
})

it('joins what came to what the journal does not have where nothing else waits there, and says that it does not have it', () => {
  const lines = [
    ...[money(-300n, 80, { counterparty: HOUSE, workflowId: 'gone' }), gas(80, 'gone')],
    coin(4n, 81, { counterparty: HOUSE }),
  ]
  expect(opportunitiesOf([page(1, []), page(2, lines)], known())).toMatchObject([
    { workflows: ['gone'], unknown: ['gone'], said: null, came: 'yes', atEnd: { usdMicros: usd(100n) } },
  ])
})

it('sells first what came first, and what was there before anything', () => {
  const opening = page(1, [], 100n, { closing: [{ token: COIN, assets: 11n }] })
  const lines = [money(-1_000n, 70, { workflowId: 'a' }), coin(11n, 71, { workflowId: 'b' })]
  const sale = (hash: number) => [coin(-11n, hash), money(900n, hash)]
  const workflows = known(liquidation, settlement)
  const pages = [opening, page(2, lines), page(3, sale(72))]
  expect(opportunitiesOf(pages, workflows)[0]?.sold).toBeNull()
  expect(opportunitiesOf([...pages, page(4, sale(73))], workflows)[0]?.sold).toMatchObject({
    usdMicros: usd(-100n),
    block: 4n,
  })
})

const bought = (id: string, paid: bigint, hash: number) => [
  money(-paid, hash, { workflowId: id }),
  coin(10n, hash, { workflowId: id }),
]
const two = known(done('a', { subject: 'a' }), done('b', { subject: 'b' }))
const soldOf = (pages: readonly Page[]) => opportunitiesOf(pages, two).map(({ sold }) => sold?.usdMicros)

it('sells what came on the pages of an earlier release first as well: they do not say what is collateral', () => {
  const { tokens } = page(1, [])
  const earlier = { tokens: tokens.map(({ token, symbol, decimals }) => ({ token, symbol, decimals })) }
  const sale = (number: number, got: bigint) => page(number, [coin(-10n, number), money(got, number)])
  const of = (changes: Partial<Page>) => [
    ...[page(1, [], 100n, changes), page(2, bought('a', 1_000n, 70), 100n, changes)],
    ...[page(3, bought('b', 900n, 71)), sale(4, 700n), sale(5, 1_200n)],
  ]
  expect(soldOf(of({}))).toEqual([usd(-300n), usd(300n)])
  expect(soldOf(of(earlier))).toEqual([usd(-300n), usd(300n)])
})

it('shares all that one transaction was paid among all that it gave, and counts it once', () => {
  const opened = [page(1, []), page(2, bought('a', 1_000n, 70))]
  const pool = { counterparty: AUCTION }
  const routed = [coin(-6n, 72), coin(-4n, 72, pool), money(660n, 72), money(445n, 72, pool)]
  expect(soldOf([...opened, page(3, routed)])).toEqual([usd(105n)])
  // What was listed there before is not paid by it.
  const listed = page(3, [coin(-10n, 72, pool)])
  const later = [coin(-10n, 73, pool), money(1_100n, 73, pool)]
  const more = page(4, [...bought('b', 900n, 71), ...later])
  expect(soldOf([...opened, listed, more])).toEqual([undefined, usd(200n)])
})

const bidOf = (id: string, lot: string, assetAmount: string) =>
  done(id, { kind: 'bid', subject: lot, lot, gainUsdMicros: usd(20n), reason: { assetAmount } })

it('joins what a fund bought, listed and sold by others’ transactions, and says what its bid cost', () => {
  const fund = { signer: FUND, owner: 'fund', role: 'asset-manager' } as const
  const own = [page(1, []), page(2, [gas(80, 'one'), gas(81, 'two')])]
  const bids = [
    money(-300n, 80, { counterparty: HOUSE }),
    money(-300n, 81, { counterparty: HOUSE }),
    // Lost, and paid back by a rival's bid.
    money(300n, 90, { counterparty: HOUSE }),
  ]
  const workflows = known(bidOf('one', 'lot 1', '9'), bidOf('two', 'lot 2', '4'))
  const pages = [
    ...own,
    page(1, [], 100n, fund),
    page(2, bids, 100n, fund),
    page(3, [coin(4n, 91, { counterparty: HOUSE })], 90n, fund),
  ]
  const lost = { owner: 'fund', workflows: ['one'], atEnd: { usdMicros: 0n } }
  const won = {
    owner: 'fund',
    signer: FUND,
    workflows: ['two'],
    said: usd(20n),
    gas: -usd(3n),
    atEnd: { usdMicros: usd(60n), block: 3n },
  }
  expect(opportunitiesOf(pages, workflows)).toMatchObject([lost, won])
  const listed = page(4, [coin(-4n, 92, { counterparty: AUCTION })], 90n, fund)
  const back = page(5, [coin(4n, 93, { counterparty: AUCTION })], 70n, fund)
  const again = page(6, [coin(-4n, 94, { counterparty: AUCTION })], 90n, fund)
  const paid = page(7, [money(290n, 95, { counterparty: AUCTION })], 90n, fund)
  const all = [...pages, listed, back, again]
  expect(opportunitiesOf(all, workflows)[1]).toMatchObject({
    ...won,
    sold: null,
    hourLater: { usdMicros: usd(-20n), block: 5n },
  })
  expect(opportunitiesOf([...all, paid], workflows)[1]).toMatchObject({
    ...won,
    sold: { usdMicros: usd(-10n), block: 7n },
    hashes: [81, 91, 94, 95].map(hashOf),
  })
})

it('says what a vault earned by a move in the hour since, less what it would have earned where it was', () => {
  const vault = { signer: VAULT, owner: 'vault', role: 'allocator' } as const
  const lent = (source: bigint, target: bigint) => ({
    lent: [
      { market: MARKET, assets: usd(source), ratePerSecondWad: 0n },
      // 0.36 % an hour, where the vault has nothing there yet.
      { market: TARGET, assets: usd(target), ratePerSecondWad: 10n ** 12n },
    ],
  })
  const moves = [money(500n, 70), money(-500n, 70, { counterparty: TARGET })]
  const pages = [
    ...[page(1, []), page(2, [gas(70, 'm')])],
    page(1, [], 100n, { ...vault, ...lent(1_000n, 0n) }),
    page(2, moves, 100n, { ...vault, ...lent(500n, 500n) }),
    // 1 % and 3 %, and 100 more that somebody else's order lent there.
    page(3, [money(-100n, 90, { counterparty: TARGET })], 100n, { ...vault, ...lent(505n, 615n) }),
    page(4, [], 100n, { ...vault, ...lent(505n, 615n) }),
  ]
  const workflows = known(done('m', { kind: 'yield', gainUsdMicros: usd(40n) }))
  expect(opportunitiesOf(pages, workflows)).toMatchObject([
    {
      owner: 'vault',
      signer: VAULT,
      said: usd(40n),
      gas: -usd(3n),
      atEnd: null,
      sold: null,
      hourLater: { usdMicros: usd(10n), block: 4n },
    },
  ])
  expect(opportunitiesOf(pages.slice(0, -1), workflows)).toMatchObject([{ hourLater: null }])
  // Where all was taken from a market, what it pays says what was left there.
  const left = [
    ...[page(1, []), page(2, [gas(70, 'm')])],
    page(1, [], 100n, { ...vault, ...lent(0n, 500n) }),
    page(2, [money(500n, 70, { counterparty: TARGET })], 100n, { ...vault, ...lent(0n, 0n) }),
    page(3, [], 100n, { ...vault, ...lent(0n, 0n) }),
    page(4, [], 100n, { ...vault, ...lent(0n, 0n) }),
  ]
  expect(opportunitiesOf(left, workflows)).toMatchObject([{ hourLater: { usdMicros: -1_800_000n } }])
})

it('goes by what a market pays where a vault lent more there meanwhile than it had', () => {
  const vault = { signer: VAULT, owner: 'vault', role: 'allocator' } as const
  const lent = (source: bigint) => ({
    lent: [
      { market: MARKET, assets: usd(source), ratePerSecondWad: 10n ** 12n },
      { market: TARGET, assets: usd(500n), ratePerSecondWad: 0n },
    ],
  })
  const moves = [money(500n, 70), money(-500n, 70, { counterparty: TARGET })]
  const pages = [
    ...[page(1, []), page(2, [gas(70, 'm')])],
    page(1, [], 100n, { ...vault, ...lent(700n) }),
    page(2, moves, 100n, { ...vault, ...lent(200n) }),
    // A million more, which earned $5 there: no part of that is earned by the $200.
    page(3, [money(-1_000_000n, 90)], 100n, { ...vault, ...lent(1_000_205n) }),
    page(4, [], 100n, { ...vault, ...lent(1_000_205n) }),
  ]
  // Half an hour at 0.36 % an hour.
  expect(opportunitiesOf(pages, known(done('m', { kind: 'yield' })))).toMatchObject([
    { hourLater: { usdMicros: -900_000n, block: 4n } },
  ])
})

it('sets each report beside the value of the next one', () => {
  const report = (id: string, value: string, valuationTimestamp: string, changes: Partial<Workflow> = {}) =>
    done(id, { kind: 'due', subject: 'fund:nav', input: { value, valuationTimestamp } }, changes)
  const inclusion = { hash: hashOf(77), purpose: 'payload', blockNumber: 1n, blockHash: hashOf(1) } as const
  const landed = slotOf({
    state: 'final',
    inclusion: { ...inclusion, status: 'success', gasUsed: 1n, effectiveGasPriceWei: 1n },
  })
  const reports = [
    report('third', '10100', '300'),
    report('first', '10000', '100', { slots: [landed] }),
    report('second', '10050', '200'),
    report('lost', '1', '150', { state: 'reverted' }),
    liquidation,
  ]
  expect(reportsOf(reports)).toMatchObject([
    { id: 'first', value: 10_000n, nextValue: 10_050n, nextBps: 50n, hashes: [hashOf(77)] },
    { id: 'second', nextValue: 10_100n, nextBps: 49n },
    { id: 'third', nextValue: null, nextBps: null },
  ])
})

it('gives dust that strangers send to nothing', () => {
  const bids = Array.from({ length: 1_000 }, (_, index) =>
    money(-300n, index, { counterparty: HOUSE, workflowId: `bid ${index}` }),
  )
  const dust = Array.from({ length: 20_000 }, () => coin(1n, 9_000, { counterparty: AUCTION }))
  const workflows = known(...bids.map((_, index) => bidOf(`bid ${index}`, `lot ${index}`, '4')))
  const works = opportunitiesOf([page(1, []), page(2, [...bids, ...dust])], workflows)
  expect(works).toHaveLength(1_000)
  expect(works.every(({ atEnd }) => atEnd === null)).toBe(true)
})

import { isDeepStrictEqual } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Address } from 'viem'
import { apply, type Book, emptyBook, endangered } from '../../agents/liquidator/book.ts'
import { BPS, type HealthTerms, RAY, tokenUnit, WAD } from '../../agents/protocol/health.ts'

/** What one size of book costs; times in microseconds, of one price move or one change of a position. */
type SizeFigures = {
  readonly positions: number
  readonly underWater: number
  readonly moveUs: number
  readonly rescanUs: number
  /** A linear rescan's time for the book's. */
  readonly rescanRatio: number
  readonly updateUs: number
  readonly bytesAPosition: number
}

/** What `npm run bench book --json` prints. */
export type BookFigures = {
  readonly sizes: readonly SizeFigures[]
  /** A price move's cost at the largest size for that at the smallest. */
  readonly moveRatio: number
  readonly moveRatioMax: number
  readonly bytesMax: number
  readonly ok: boolean
}

const SIZES = [1_000, 100_000, 1_000_000] as const
const MOVE_RATIO_MAX = 4
const BYTES_MAX = 150
/** Positions under water at the price that moves play around. */
const FEW = 20
const NEAREST_MAX = 50
/** At least so many positions are weighed together. */
const POSITIONS_WEIGHED = 500_000
const ROUNDS = 61
/** Measurements of the smallest size before any counts: compiled code is compared with compiled code. */
const WARM_UPS = 5
/** A rescan of a million positions takes most of a second. */
const RESCAN_ROUNDS = 3
const MARKET: Address = `0x${'3'.repeat(40)}`

type Row = { readonly borrower: Address; debtShares: bigint; readonly collateralAssets: bigint }

/** A small generator of our own: the same figures each time. */
function createDraw(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Measure the book over sizes, beside a linear rescan whose answers must be the same. `tell` says how it goes. */
export function measureBook(tell: (text: string) => void): BookFigures {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  for (let time = 0; time < WARM_UPS; time += 1) measureSize(SIZES[0], collectGarbage)
  const sizes = SIZES.map((positions) => {
    tell(`${positions.toLocaleString('en')} positions`)
    return measureSize(positions, collectGarbage)
  })
  const moveRatio = round((sizes.at(-1)?.moveUs ?? 0) / (sizes[0]?.moveUs ?? 1))
  const ok = moveRatio <= MOVE_RATIO_MAX && sizes.every(({ bytesAPosition }) => bytesAPosition <= BYTES_MAX)
  return { sizes, moveRatio, moveRatioMax: MOVE_RATIO_MAX, bytesMax: BYTES_MAX, ok }
}

function measureSize(positions: number, collectGarbage: () => void): SizeFigures {
  const draw = createDraw(positions)
  const drawShares = () => BigInt(Math.floor(1e10 + draw() * 4e10))
  const rows: Row[] = Array.from({ length: positions }, () => ({
    borrower: `0x${Array.from({ length: 5 }, () => hex(draw())).join('')}` as Address,
    debtShares: drawShares(),
    collateralAssets: 100_000_000n,
  }))
  const debts = rows.map(({ debtShares }) => debtShares).toSorted((one, other) => (one < other ? 1 : -1))

  const book = bookOf(rows)
  const bytesAPosition = bytesOf(rows, collectGarbage)

  const moves: number[] = []
  const rescans: number[] = []
  const updates: number[] = []
  let underWater = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    updates.push(updateSome(rows, book, draw, drawShares))
    const terms = termsAt(debts[FEW + (round % 3)] ?? 0n)
    const startedAtMs = performance.now()
    const found = endangered(book, MARKET, terms, NEAREST_MAX)
    moves.push(performance.now() - startedAtMs)
    underWater = found.underWater.length
    if (round >= RESCAN_ROUNDS) continue
    const rescannedAtMs = performance.now()
    const rescanned = rescan(rows, terms)
    rescans.push(performance.now() - rescannedAtMs)
    if (!isDeepStrictEqual(found.underWater.toSorted(), rescanned.toSorted()))
      throw new Error('The book and the rescan disagree.')
  }
  const moveUs = round(median(moves) * 1_000)
  const rescanUs = round(median(rescans) * 1_000)
  return {
    ...{ positions, underWater, moveUs, rescanUs, rescanRatio: round(rescanUs / moveUs) },
    updateUs: round(median(updates) * 1_000),
    bytesAPosition: round(bytesAPosition),
  }
}

const bookOf = (rows: readonly Row[]) =>
  rows.reduce<Book>((book, row) => apply(book, { marketAddress: MARKET, ...row }), emptyBook())

/** What a position takes of the process's array buffers, by enough books that nothing else of the process shows. */
function bytesOf(rows: readonly Row[], collectGarbage: () => void): number {
  const count = Math.ceil(POSITIONS_WEIGHED / rows.length)
  const settled = () => {
    collectGarbage()
    collectGarbage()
    return process.memoryUsage().arrayBuffers
  }
  const before = settled()
  const books = Array.from({ length: count }, () => bookOf(rows))
  const after = settled()
  return (after - before) / rows.length / books.length
}

/** Let 1 % of the positions borrow or repay. @returns milliseconds for each. */
function updateSome(rows: readonly Row[], book: Book, draw: () => number, drawShares: () => bigint): number {
  const changed = Array.from(
    { length: rows.length / 100 },
    () => rows[Math.floor(draw() * rows.length)] as Row,
  )
  for (const row of changed) row.debtShares = drawShares()
  const startedAtMs = performance.now()
  for (const row of changed) apply(book, { marketAddress: MARKET, ...row })
  return (performance.now() - startedAtMs) / changed.length
}

/** Terms at which one whole collateral token carries this debt. */
const termsAt = (debtShares: bigint): HealthTerms => ({
  price: { priceWad: (debtShares * WAD * BPS) / 8_000n / 1_000_000n, loanDecimals: 6, collateralDecimals: 8 },
  liquidationThresholdBps: 8_000,
  indexRay: RAY,
})

/** What a keeper without a book does: every position's health, after every price move. */
function rescan(
  rows: readonly Row[],
  { price, liquidationThresholdBps, indexRay }: HealthTerms,
): readonly Address[] {
  const limit = price.priceWad * tokenUnit(price.loanDecimals) * BigInt(liquidationThresholdBps) * RAY
  const scale = indexRay * BPS * tokenUnit(price.collateralDecimals) * WAD
  return rows
    .filter(({ debtShares, collateralAssets }) => debtShares * scale > collateralAssets * limit)
    .map(({ borrower }) => borrower)
}

const hex = (share: number) =>
  Math.floor(share * 2 ** 32)
    .toString(16)
    .padStart(8, '0')
const median = (values: readonly number[]) =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0
const round = (value: number) => Math.round(value * 100) / 100

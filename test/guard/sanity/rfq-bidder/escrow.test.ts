import { type Address, decodeFunctionData, encodeFunctionResult, type Hex } from 'viem'
import { expect, it } from 'vitest'
import type { Call } from '../../../../src/chain/nodes.ts'
import type { Subject } from '../../../../src/guard/policy/references.ts'
import { createReads, TOKEN_VIEWS } from '../../../../src/guard/reads/views.ts'
import { askEscrow } from '../../../../src/guard/sanity/rfq-bidder/escrow.ts'
import { ESCROW_VIEWS } from '../../../../src/guard/sanity/rfq-bidder/views.ts'
import { COLLATERAL, deployment, LOAN, liquidation, SELF } from '../../fixtures.ts'

const token = (byte: string): Address => `0x${byte.repeat(20)}`
const [EUR, ETH, DESK, AUCTION] = [token('e0'), token('e7'), token('de'), token('ac')]
const ABI = [...ESCROW_VIEWS, ...TOKEN_VIEWS]

const limits = {
  venues: ['desk', 'auction'],
  escrowAssetsMax: { sUSD: 100n, sEUR: 50n },
  assets: {
    sBTC: {
      escrowAssetsMax: { sUSD: 60n, sEUR: 40n },
      referenceContract: 'reference',
      inventoryAssetsMax: 1_000n,
    },
    sETH: { escrowAssetsMax: { sUSD: 100n }, referenceContract: 'reference', inventoryAssetsMax: 1_000n },
  },
}
const pinned = { codeHash: `0x${'11'.repeat(32)}` as Hex }
const subject: Subject = {
  input: {},
  self: SELF,
  deadlineS: 0n,
  market: null,
  vault: null,
  fund: null,
  deployment: {
    ...deployment,
    assets: [
      ...deployment.assets,
      { ...pinned, address: EUR, symbol: 'sEUR', decimals: 6 },
      { ...pinned, address: ETH, symbol: 'sETH', decimals: 18 },
    ],
    contracts: [
      { ...pinned, name: 'desk', address: DESK },
      { ...pinned, name: 'auction', address: AUCTION },
      { ...pinned, name: 'other', address: token('07') },
    ],
  },
}

type Commitment = readonly [
  venue: Address,
  asset: Address,
  quote: Address,
  escrow: bigint,
  winnable: bigint,
  bidder?: Address,
]

/** The check that refuses a bid for sBTC paid in sUSD, where these are our bids, and each key holds so much sBTC. */
function refused(
  commitments: readonly Commitment[],
  held = 0n,
  venue = DESK,
  sharing: readonly Address[] = [],
): string | null {
  const after = createReads()
  const about = {
    subject: { ...subject, sharing },
    proposal: liquidation,
    calls: [],
    before: createReads(),
    after,
  }
  const escrow = askEscrow(limits, about, venue, () => ({ asset: COLLATERAL, quoteAsset: LOAN }))
  after.fill(
    after.calls.map(({ to, data }: Call): Hex => {
      const { functionName, args } = decodeFunctionData({ abi: ABI, data })
      if (functionName !== 'commitments') {
        return encodeFunctionResult({ abi: ABI, functionName, result: to === COLLATERAL ? held : 10n ** 30n })
      }
      const [bidder, ...named] = args.map((address) => String(address).toLowerCase())
      const found = commitments.find(
        ([at, asset, quote, , , by = SELF]) =>
          at === to && asset === named[0] && quote === named[1] && by === bidder,
      )
      return encodeFunctionResult({ abi: ABI, functionName, result: [found?.[3] ?? 0n, found?.[4] ?? 0n] })
    }),
  )
  return escrow.check()?.check ?? null
}

it('adds up both venues, what is for one asset apart from the rest, and each quote asset by itself', () => {
  const both: readonly Commitment[] = [
    [DESK, COLLATERAL, LOAN, 30n, 0n],
    [AUCTION, COLLATERAL, LOAN, 30n, 0n],
    [DESK, ETH, LOAN, 40n, 0n],
    [DESK, COLLATERAL, EUR, 1_000n, 0n],
    [DESK, EUR, LOAN, 0n, 5_000n],
  ]
  expect(refused(both)).toBeNull()
  expect(refused([...both, [AUCTION, ETH, LOAN, 1n, 0n]])).toBe('escrow_above_limit')
  expect(refused([[AUCTION, COLLATERAL, LOAN, 61n, 0n]])).toBe('asset_escrow_above_limit')
})

it('counts what is held and what bids in any quote asset may win of the asset, and of no other', () => {
  const both: readonly Commitment[] = [
    [DESK, COLLATERAL, LOAN, 0n, 300n],
    [AUCTION, COLLATERAL, EUR, 0n, 300n],
    [AUCTION, ETH, LOAN, 0n, 5_000n],
  ]
  expect(refused(both, 400n)).toBeNull()
  expect(refused(both, 401n)).toBe('inventory_above_limit')
})

it('refuses a bid at a venue that is pinned and not counted', () => {
  expect(refused([], 0n, AUCTION)).toBeNull()
  expect(refused([], 0n, token('07'))).toBe('venue_not_counted')
})

it('counts the bids of every key that shares the policy, and what each holds', () => {
  const [COLLEAGUE, APART] = [token('c7'), token('a9')]
  const bids: readonly Commitment[] = [
    [DESK, COLLATERAL, LOAN, 30n, 300n],
    [DESK, COLLATERAL, LOAN, 31n, 300n, COLLEAGUE],
    [DESK, COLLATERAL, LOAN, 100n, 900n, APART],
  ]
  expect(refused(bids)).toBeNull()
  expect(refused(bids, 0n, DESK, [COLLEAGUE, SELF])).toBe('asset_escrow_above_limit')
  expect(refused(bids.slice(0, 1), 350n, DESK, [COLLEAGUE, SELF])).toBeNull()
  expect(refused(bids.slice(0, 1), 351n, DESK, [COLLEAGUE, SELF])).toBe('inventory_above_limit')
})

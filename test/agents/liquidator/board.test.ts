import { expect, it } from 'vitest'
import type { Observation } from '../../../agents/agent.ts'
import { board } from '../../../agents/liquidator/board.ts'
import { decide } from '../../../agents/liquidator/decide.ts'
import type { LiquidatorSeen } from '../../../agents/liquidator/seen.ts'
import { BORROWER, facility, MARKET, market, observation, policy, VAULT } from './fixtures.ts'

const shown = (changes: Partial<Observation<LiquidatorSeen>> = {}) => {
  const seen = observation(changes)
  return board(seen, decide(seen, policy())).positions ?? []
}

it('shows a borrower with its health, debt, collateral and prices, and what is proposed of it', () => {
  const [position] = shown()
  expect(position).toMatchObject({
    subject: `${MARKET}:${BORROWER}`,
    market: 'sBTC/sUSD',
    borrower: BORROWER,
    check: 'proposed',
    debt: '41,000 sUSD',
    debtUsd: 41_000,
    collateral: '1 sBTC',
    debts: [],
    // 80 % of 51,250 is what is owed.
    price: '50,000 sUSD',
    liquidatedBelow: '51,250.00 sUSD',
  })
  expect(position?.health).toBeCloseTo(0.9756, 4)
})

it('shows a borrower once, however many vaults it owes, with all of its debt and each part', () => {
  const half = { debtAssets: 20_500_000_000n, positionDebtAssets: 41_000_000_000n }
  const other = `0x${'c'.repeat(40)}` as const
  const rows = shown({ facilities: [facility(half), facility({ ...half, vaultAddress: other })] })
  expect(rows).toMatchObject([
    {
      debt: '41,000 sUSD',
      debtUsd: 41_000,
      collateral: '1 sBTC',
      debts: [
        { vault: VAULT, debt: '20,500 sUSD' },
        { vault: other, debt: '20,500 sUSD' },
      ],
    },
  ])
})

it('shows the nearest to liquidation first, what is not known last, and no more than a hundred', () => {
  const of = (digit: string, changes: Partial<ReturnType<typeof facility>>) =>
    facility({ borrower: `0x${digit.repeat(40)}`, ...changes })
  const rows = shown({
    facilities: [
      of('6', { debtAssets: 20_000_000_000n, positionDebtAssets: 20_000_000_000n }),
      of('7', { debtAssets: null, serviceHealthFactorWad: null }),
      of('8', { debtAssets: 32_000_000_000n, positionDebtAssets: 32_000_000_000n }),
    ],
  })
  expect(rows.map(({ borrower, health }) => [borrower[2], health])).toEqual([
    ['8', 1.25],
    ['6', 2],
    ['7', null],
  ])
  const many = Array.from({ length: 120 }, (_, index) =>
    facility({ borrower: `0x${String(index).padStart(40, '0')}` }),
  )
  expect(shown({ facilities: many })).toHaveLength(100)
})

it('claims no figure that it does not have', () => {
  const unknown = { loanDecimals: null, loanPriceUsdMicros: null }
  expect(shown({ markets: [market(unknown)] })[0]).toMatchObject({ debt: '?', debtUsd: null })
  expect(shown({ markets: [] })[0]).toMatchObject({
    market: '?/?',
    debt: '?',
    debtUsd: null,
    collateral: '?',
    price: '?',
    liquidatedBelow: '?',
  })
})

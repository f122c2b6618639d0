import type { Address } from 'viem'
import { newcomer, placeOf } from '../people.ts'
import type { Story } from '../workflow-run.ts'
import { itemsOf, type World } from '../world.ts'

/** The same four steps under their two names, each by a borrower of its own in a market of its own. */
export const BORROWER = borrowing(['depositCollateral', 'borrow', 'repay', 'withdrawCollateral'], {
  market: 'btcMarket',
  collateral: 'sBTC',
})
export const ROLE_BORROWER = borrowing(
  [
    'role.borrower.borrowerDepositCollateral',
    'role.borrower.borrowerBorrow',
    'role.borrower.borrowerRepay',
    'role.borrower.borrowerWithdrawCollateral',
  ],
  { market: 'ethMarket', collateral: 'sETH' },
)

function borrowing(
  types: readonly [string, string, string, string],
  at: { readonly market: string; readonly collateral: string },
): Story {
  return {
    types,
    play: async (stage) => {
      const { world, carry } = stage
      const { chain } = world
      const [deposit, borrow, repay, withdraw] = types
      const marketAddress = placeOf(world, at.market)
      const collateral = placeOf(world, at.collateral)
      const wallet = await newcomer(world, collateral)
      const { address: borrowerAddress } = wallet
      const vaultAddress = await richestVault(world, marketAddress)
      const owned = () => chain.number(collateral, 'balanceOf(address)', wallet.address)
      const pledged = () => chain.number(marketAddress, 'collateralOf(address)', wallet.address)
      const owed = () => chain.number(marketAddress, 'debtOf(address,address)', vaultAddress, wallet.address)
      const pledge = (await owned()) / 2n
      await carry(deposit, {
        wallet,
        input: { marketAddress, assets: String(pledge) },
        read: pledged,
        moved: (before, after) => after === before + pledge,
      })
      const loan = (await chain.number(marketAddress, 'maxBorrowable(address)', wallet.address)) / 8n
      await carry(borrow, {
        wallet,
        input: { marketAddress, vaultAddress, assets: String(loan) },
        read: owed,
        moved: (before, after) => after >= before + loan,
      })
      await carry(repay, {
        wallet,
        input: { marketAddress, vaultAddress, borrowerAddress, assets: String(loan / 2n) },
        read: owed,
        moved: (before, after) => after < before && after > 0n,
      })
      const part = pledge / 4n
      await carry(withdraw, {
        wallet,
        input: { marketAddress, assets: String(part) },
        read: owned,
        moved: (before, after) => after === before + part,
      })
    },
  }
}

/** The vault that has most left to lend in a market. */
async function richestVault(world: World, market: Address): Promise<Address> {
  const rows = itemsOf(await world.ask(`GET /v1/markets/${market.toLowerCase()}/allocators`, {}))
  const liquid = (row: (typeof rows)[number]) => BigInt(String(row.availableLiquidity ?? 0))
  const [richest] = rows.toSorted((a, b) => (liquid(a) < liquid(b) ? 1 : -1))
  return `0x${String(richest?.vaultAddress).slice(2)}`
}

import type { Address } from 'viem'
import { placeOf } from '../people.ts'
import { createKmsWallet } from '../wallet.ts'
import type { Story } from '../workflow-run.ts'

/** The vault's allocator lends a little more to a market, takes it back, and moves it to another one. */
export const ALLOCATOR: Story = {
  types: [
    'role.allocator.vaultAllocate',
    'role.allocator.vaultDeallocate',
    'role.allocator.vaultReallocationBatch',
  ],
  play: async ({ world, carry }) => {
    const { chain } = world
    const wallet = createKmsWallet(world.info, 'allocator')
    const vaultAddress = placeOf(world, 'primeVault')
    const from = placeOf(world, 'btcMarket')
    const to = placeOf(world, 'ethMarket')
    const allocated = (market: Address) => () =>
      chain.number(market, 'allocatedAssets(address)', vaultAddress)
    // A year's interest on what is lent is not half of it within an hour.
    const amount = 1_000_000_000n
    const assets = String(amount)
    // Interest accrues beside the move.
    const nearly = (expected: bigint, after: bigint) => after >= expected && after < expected + amount / 2n
    await carry('role.allocator.vaultAllocate', {
      wallet,
      input: { vaultAddress, marketAddress: from, assets },
      read: allocated(from),
      moved: (before, after) => after >= before + amount,
    })
    await carry('role.allocator.vaultDeallocate', {
      wallet,
      input: { vaultAddress, marketAddress: from, assets },
      read: allocated(from),
      moved: (before, after) => nearly(before - amount, after),
    })
    await carry('role.allocator.vaultReallocationBatch', {
      wallet,
      input: {
        vaultAddress,
        withdrawals: [{ marketAddress: from, assets }],
        supplies: [{ marketAddress: to, assets }],
      },
      read: allocated(to),
      moved: (before, after) => after >= before + amount,
    })
  },
}

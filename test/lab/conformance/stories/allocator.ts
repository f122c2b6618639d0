import type { Address } from 'viem'
import { byTransfer } from '../chain.ts'
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
    const wallet = createKmsWallet(world.info, 'allocator')
    const vaultAddress = placeOf(world, 'primeVault')
    const from = placeOf(world, 'btcMarket')
    const to = placeOf(world, 'ethMarket')
    const asset = placeOf(world, 'sUSD')
    const amount = 1_000_000_000n
    const assets = String(amount)
    const moves = (origin: Address, target: Address) => byTransfer(asset, origin, target, amount)
    await carry('role.allocator.vaultAllocate', {
      wallet,
      input: { vaultAddress, marketAddress: from, assets },
      ...moves(vaultAddress, from),
    })
    await carry('role.allocator.vaultDeallocate', {
      wallet,
      input: { vaultAddress, marketAddress: from, assets },
      ...moves(from, vaultAddress),
    })
    await carry('role.allocator.vaultReallocationBatch', {
      wallet,
      input: {
        vaultAddress,
        withdrawals: [{ marketAddress: from, assets }],
        supplies: [{ marketAddress: to, assets }],
      },
      ...moves(vaultAddress, to),
    })
  },
}

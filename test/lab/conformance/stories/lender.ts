import { type Address, parseAbi, parseEventLogs } from 'viem'
import { newcomer, placeOf } from '../people.ts'
import type { Story } from '../workflow-run.ts'

const QUEUE = parseAbi([
  'event WithdrawalRequested(uint256 indexed requestId, address indexed owner, address receiver, uint256 shares, uint64 dueAt)',
])

/** A lender puts assets into a vault, takes some back at once, and the rest by the queue. */
export const LENDER: Story = {
  types: ['deposit', 'withdrawNow', 'requestWithdrawal', 'claimWithdrawal'],
  play: async (stage) => {
    const { world, carry } = stage
    const { chain } = world
    const asset = placeOf(world, 'sUSD')
    // A claim pays all that is before it: the investor, who is about at the same time, is at another vault.
    const vaultAddress = placeOf(world, 'rivalVault')
    const wallet = await newcomer(world, asset)
    const balance = (of: Address) => () => chain.number(of, 'balanceOf(address)', wallet.address)
    const assets = (await balance(asset)()) / 4n
    const input = { vaultAddress, receiverAddress: wallet.address }
    await carry('deposit', {
      wallet,
      input: { ...input, assets: String(assets), minShares: '1' },
      read: balance(vaultAddress),
      moved: (before, after) => after > before,
    })
    const part = assets / 4n
    await carry('withdrawNow', {
      wallet,
      input: { ...input, assets: String(part), maxShares: String(await balance(vaultAddress)()) },
      read: balance(asset),
      moved: (before, after) => after === before + part,
    })
    const shares = (await balance(vaultAddress)()) / 2n
    const receipts = await carry('requestWithdrawal', {
      wallet,
      input: { ...input, shares: String(shares) },
      read: balance(vaultAddress),
      moved: (before, after) => after === before - shares,
    })
    const [requested] = parseEventLogs({ abi: QUEUE, logs: receipts.flatMap(({ logs }) => logs) })
    await carry('claimWithdrawal', {
      wallet,
      input: { vaultAddress, requestId: String(requested?.args.requestId) },
      read: balance(asset),
      moved: (before, after) => after > before,
    })
  },
}

import { type Address, parseAbi, parseEventLogs } from 'viem'
import { newcomer, placeOf } from '../people.ts'
import { createWallet, type Wallet } from '../wallet.ts'
import type { Stage, Story } from '../workflow-run.ts'

const DEPOSIT = 'role.investor.partnerWrapperDeposit'
const REDEEM = 'role.investor.partnerWrapperRedeem'
const REQUEST = 'role.lender.investorRequestRedeem'
const FULFILL = 'role.lender.investorFulfillRedeem'
const MOBILITY = 'role.lender.vaultShareMobilityInvestorAction'

const QUEUE = parseAbi([
  'event WithdrawalRequested(uint256 indexed requestId, address indexed owner, address receiver, uint256 shares, uint64 dueAt)',
])

/** An investor comes and leaves by a partner's wrapper. */
export const INVESTOR: Story = {
  types: [DEPOSIT, REDEEM],
  play: async (stage) => {
    const { world } = stage
    const wallet = await newcomer(world, placeOf(world, 'sUSD'))
    await useWrapper(stage, wallet, placeOf(world, 'partnerChannel'), {
      deposit: DEPOSIT,
      redeem: REDEEM,
      assets: 50_000_000n,
      between: async () => {},
    })
  },
}

/** An investor gives some shares of a vault away, and is paid for the others by the queue. */
export const LENDING_INVESTOR: Story = {
  types: [MOBILITY, REQUEST, FULFILL],
  play: async (stage) => {
    const { world, carry } = stage
    const { chain } = world
    const asset = placeOf(world, 'sUSD')
    const vaultAddress = placeOf(world, 'primeVault')
    const wallet = await newcomer(world, asset)
    const balance = (of: Address, who: Address) => () => chain.number(of, 'balanceOf(address)', who)
    const receiverAddress = wallet.address
    await carry('deposit', {
      wallet,
      input: { vaultAddress, receiverAddress, assets: '60000000', minShares: '1' },
      read: balance(vaultAddress, receiverAddress),
      moved: (before, after) => after > before,
    })
    const shares = (await balance(vaultAddress, receiverAddress)()) / 3n
    const recipientAddress = createWallet().address
    await carry(MOBILITY, {
      wallet,
      input: { vaultAddress, action: 'transfer', recipientAddress, shares: String(shares) },
      read: balance(vaultAddress, recipientAddress),
      moved: (before, after) => before === 0n && after === shares,
    })
    const receipts = await carry(REQUEST, {
      wallet,
      input: { vaultAddress, receiverAddress, shares: String(shares) },
      read: balance(vaultAddress, receiverAddress),
      moved: (before, after) => after === before - shares,
    })
    const [requested] = parseEventLogs({ abi: QUEUE, logs: receipts.flatMap(({ logs }) => logs) })
    await carry(FULFILL, {
      wallet,
      input: { vaultAddress, requestId: String(requested?.args.requestId) },
      read: balance(asset, receiverAddress),
      moved: (before, after) => after > before,
    })
  },
}

/** Deposit through a wrapper, do what is done meanwhile, and redeem a little. */
export async function useWrapper(
  { world, carry }: Stage,
  wallet: Wallet,
  wrapperAddress: Address,
  { deposit, redeem, assets, between }: UseOfWrapper,
): Promise<void> {
  const { chain } = world
  const receiverAddress = wallet.address
  const shares = () => chain.number(wrapperAddress, 'balanceOf(address)', receiverAddress)
  await carry(deposit, {
    wallet,
    input: { wrapperAddress, receiverAddress, assets: String(assets), minShares: '1' },
    read: shares,
    moved: (before, after) => after > before,
  })
  await between()
  // The vault lends out most of what comes in.
  const part = (await shares()) / 100n
  await carry(redeem, {
    wallet,
    input: { wrapperAddress, receiverAddress, shares: String(part), minAssets: '1' },
    read: () => chain.number(placeOf(world, 'sUSD'), 'balanceOf(address)', receiverAddress),
    moved: (before, after) => after > before,
  })
}

type UseOfWrapper = {
  /** The types, by the role that the wallet has. */
  readonly deposit: string
  readonly redeem: string
  readonly assets: bigint
  readonly between: () => Promise<void>
}

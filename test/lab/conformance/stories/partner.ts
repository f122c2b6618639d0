import { type Address, encodeFunctionData, parseAbi } from 'viem'
import type { Intent } from '../chain.ts'
import { placeOf } from '../people.ts'
import { createKmsWallet, createWallet, type Wallet } from '../wallet.ts'
import type { Stage, Story } from '../workflow-run.ts'
import { itemsOf, type World } from '../world.ts'
import { deployChannel } from './channel.ts'
import { useWrapper } from './investor.ts'

const ROLE = 'role.partner'
const APPLY = `${ROLE}.partnerSubmitApplication`
const DEPLOY = `${ROLE}.partnerChannelDeploy`
const DEPOSIT = `${ROLE}.partnerWrapperDeposit`
const REDEEM = `${ROLE}.partnerWrapperRedeem`
const CLAIM_SHARES = `${ROLE}.partnerFeeSharesClaim`
const CLAIM_FEE = `${ROLE}.partnerBorrowerFeeClaim`

/** A partner applies for another vault, opens a channel of one that took it, uses it, and claims what it earned by it. */
export const PARTNER: Story = {
  types: [APPLY, DEPLOY, DEPOSIT, CLAIM_SHARES, CLAIM_FEE, REDEEM],
  play: async (stage) => {
    const wallet = createKmsWallet(stage.world.info, 'partner')
    await apply(stage, wallet)
    const channel = await deployChannel(stage, DEPLOY, wallet, 'Partner')
    await useWrapper(stage, wallet, channel, {
      deposit: DEPOSIT,
      redeem: REDEEM,
      assets: 900_000_000_000n,
      between: () => claim(stage, wallet, channel),
    })
  },
}

async function apply({ world, carry }: Stage, wallet: Wallet): Promise<void> {
  const applied = async () =>
    BigInt(itemsOf(await world.ask('GET /v1/partner-programs', world.secret)).length)
  await carry(APPLY, {
    wallet,
    input: {
      vaultAddress: placeOf(world, 'primeVault'),
      partnerName: 'Witnessed Partner',
      website: 'https://witness.example',
      useCase: 'Offering the vault to those who read what is witnessed of it.',
    },
    read: applied,
    moved: (before, after) => after === before + 1n,
  })
}

/** Both go to who had nothing before. */
async function claim({ world, carry }: Stage, wallet: Wallet, channel: Address): Promise<void> {
  const { chain } = world
  const recipientAddress = createWallet().address
  const balance = (of: Address) => () => chain.number(of, 'balanceOf(address)', recipientAddress)
  await chain.send(wallet, [gain(world)])
  const shares = await chain.number(channel, 'feeShares()')
  await carry(CLAIM_SHARES, {
    wallet,
    input: { channelAddress: channel, recipientAddress, shares: String(shares) },
    read: balance(channel),
    moved: (before, after) => before === 0n && after === shares,
  })
  await carry(CLAIM_FEE, {
    wallet,
    input: { channelAddress: channel, recipientAddress, minAssets: '1' },
    read: balance(placeOf(world, 'sUSD')),
    // The other fee may take a base unit of it meanwhile.
    moved: (before, after) => before === 0n && after > 0n,
  })
}

const TRANSFER = parseAbi(['function transfer(address to, uint256 amount) returns (bool)'])
/** What the vault gains, of which the channel has a part, and its reseller a fifth of that. */
const GAIN = 10_000_000_000n

/** Give the vault something: both fees are owed from the next block on, whatever borrowers paid by then. */
function gain(world: World): Intent {
  const args = [placeOf(world, 'ownedVault'), GAIN] as const
  const calldata = encodeFunctionData({ abi: TRANSFER, functionName: 'transfer', args })
  return { target: placeOf(world, 'sUSD'), calldata, value: 0n }
}

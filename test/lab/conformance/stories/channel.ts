import { type Address, getContractAddress, size } from 'viem'
import { placeOf } from '../people.ts'
import type { Wallet } from '../wallet.ts'
import type { Stage } from '../workflow-run.ts'

/** Deploy a channel of the vault that has an owner of its own; the role that does it is in the type. Returns where it is. */
export async function deployChannel(
  { world, carry }: Stage,
  type: string,
  wallet: Wallet,
  shareClass: string,
): Promise<Address> {
  const { client } = world.chain
  const nonce = BigInt(await client.getTransactionCount({ address: wallet.address }))
  const channel = getContractAddress({ from: wallet.address, nonce })
  const [reseller, curator] = [world.info.signers.partner, world.info.signers.curator]
  await carry(type, {
    wallet,
    input: {
      vaultAddress: placeOf(world, 'ownedVault'),
      assetAddress: placeOf(world, 'sUSD'),
      resellerAddress: String(reseller?.address),
      curatorAddress: String(curator?.address),
      name: `Witnessed ${shareClass}`,
      symbol: `W${shareClass}`,
      shareClass,
      resellerFeeBps: 500,
      borrowerFeeBps: 2_000,
      capAssets: '10000000000000',
    },
    read: async () => BigInt(size((await client.getCode({ address: channel })) ?? '0x')),
    moved: (before, after) => before === 0n && after > 0n,
  })
  return channel
}

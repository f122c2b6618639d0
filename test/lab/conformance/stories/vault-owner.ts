import { type Address, parseAbi } from 'viem'
import { byTransfer } from '../chain.ts'
import { newcomer, placeOf } from '../people.ts'
import type { Json } from '../shape-check.ts'
import { createKmsWallet, createWallet, type Wallet } from '../wallet.ts'
import type { Stage, Story } from '../workflow-run.ts'
import { itemsOf } from '../world.ts'

const ROLE = 'role.vault_owner'

const VAULT = parseAbi([
  'struct Listing { bool approved; bool allocationEnabled; uint16 relativeCapBps; uint256 absoluteCapAssets; }',
  'function listing(address market) view returns (Listing)',
  'struct FeeConfig { uint16 managementFeeBps; uint16 performanceFeeBps; uint16 borrowerManagerFeeBps; address recipient; address curatorRecipient; }',
  'function feeConfig() view returns (FeeConfig)',
  'function routing() view returns (address[])',
  'function hasRole(bytes32 role, address account) view returns (bool)',
  'function ALLOCATOR_ROLE() view returns (bytes32)',
  'function CURATOR_ROLE() view returns (bytes32)',
  'function owner() view returns (address)',
  'function pendingDefaultAdmin() view returns (address newAdmin, uint48 schedule)',
])

/** One unit of the vault's asset, which has six decimals. */
const UNIT = 1_000_000n

/** What every act of the owner is about: its vault, and how to read it. */
type Owned = Stage & {
  readonly wallet: Wallet
  readonly vaultAddress: Address
  readonly market: Address
  readonly other: Address
}

/** An owner attaches a market, sets caps, fees, roles and terms, moves assets itself, and hands the vault on. */
export const VAULT_OWNER: Story = {
  types: [
    'attachMarketToVault',
    'vaultAllocate',
    'vaultDeallocate',
    'vaultReallocationBatch',
    'vaultAllocatorUpdate',
    'vaultCuratorCapsSettingsSave',
    'vaultCuratorFeeSettingsSave',
    'vaultFeeConfigUpdate',
    'vaultManagementSettingsSave',
    'vaultOwnerSettingsSave',
    'vaultRoleSettingsSave',
    'vaultRoutingUpdate',
    'vaultSettingsUpdate',
    'vaultOwnerTransferUpdate',
  ].map((name) => `${ROLE}.${name}`),
  play: async (stage) => {
    const { world } = stage
    const owned: Owned = {
      ...stage,
      wallet: createKmsWallet(world.info, 'vault-owner'),
      vaultAddress: placeOf(world, 'ownedVault'),
      market: placeOf(world, 'btcMarket'),
      other: placeOf(world, 'ethMarket'),
    }
    await listMarkets(owned)
    // None of these looks at what another one changes, and each has its turn whatever became of another.
    const parts = [moveAssets, chargeFees, giveRoles, setTerms, describe].map((part) => part(owned))
    await Promise.allSettled(parts)
    await Promise.all(parts)
    await handOn(owned)
  },
}

const reader = ({ world, vaultAddress }: Owned) => ({
  client: world.chain.client,
  address: vaultAddress,
  abi: VAULT,
})

async function listMarkets(owned: Owned): Promise<void> {
  const { carry, wallet, vaultAddress, market, other } = owned
  const { client, ...vault } = reader(owned)
  const capOf = (of: Address) => async () =>
    (await client.readContract({ ...vault, functionName: 'listing', args: [of] })).absoluteCapAssets
  const cap = 1_234_567n * UNIT
  const listing = { vaultAddress, relativeCapBps: 9_000, allocationEnabled: true }
  await carry(`${ROLE}.attachMarketToVault`, {
    wallet,
    input: { ...listing, marketAddress: other, absoluteCapAssets: String(cap) },
    read: capOf(other),
    moved: (before, after) => before === 0n && after === cap,
  })
  const wider = (await capOf(market)()) + UNIT
  await carry(`${ROLE}.vaultCuratorCapsSettingsSave`, {
    wallet,
    input: { ...listing, marketAddress: market, absoluteCapAssets: String(wider) },
    read: capOf(market),
    moved: (_, after) => after === wider,
  })
}

async function moveAssets({ world, carry, wallet, vaultAddress, market, other }: Owned): Promise<void> {
  const amount = 1_000n * UNIT
  const assets = String(amount)
  const moves = (from: Address, to: Address) => byTransfer(placeOf(world, 'sUSD'), from, to, amount)
  await carry(`${ROLE}.vaultAllocate`, {
    wallet,
    input: { vaultAddress, marketAddress: market, assets },
    ...moves(vaultAddress, market),
  })
  await carry(`${ROLE}.vaultDeallocate`, {
    wallet,
    input: { vaultAddress, marketAddress: market, assets },
    ...moves(market, vaultAddress),
  })
  await carry(`${ROLE}.vaultReallocationBatch`, {
    wallet,
    input: {
      vaultAddress,
      withdrawals: [{ marketAddress: market, assets }],
      supplies: [{ marketAddress: other, assets }],
    },
    ...moves(vaultAddress, other),
  })
}

async function chargeFees(owned: Owned): Promise<void> {
  const { carry, wallet, vaultAddress } = owned
  const { client, ...vault } = reader(owned)
  const fees = () => client.readContract({ ...vault, functionName: 'feeConfig' })
  const { managementFeeBps, performanceFeeBps, borrowerManagerFeeBps } = await fees()
  // Both are in one figure, so that neither can stand in for the other.
  const both = async () => {
    const now = await fees()
    return BigInt(now.managementFeeBps) * 100_000n + BigInt(now.performanceFeeBps)
  }
  const wanted = { managementFeeBps: managementFeeBps + 7, performanceFeeBps: performanceFeeBps + 13 }
  await carry(`${ROLE}.vaultFeeConfigUpdate`, {
    wallet,
    input: { vaultAddress, ...wanted, recipientAddress: wallet.address },
    read: both,
    moved: (_, after) =>
      after === BigInt(wanted.managementFeeBps) * 100_000n + BigInt(wanted.performanceFeeBps),
  })
  const curatorFee = borrowerManagerFeeBps + 11
  await carry(`${ROLE}.vaultCuratorFeeSettingsSave`, {
    wallet,
    input: { vaultAddress, borrowerManagerFeeBps: curatorFee, recipientAddress: wallet.address },
    read: async () => BigInt((await fees()).borrowerManagerFeeBps),
    moved: (_, after) => after === BigInt(curatorFee),
  })
}

async function giveRoles(owned: Owned): Promise<void> {
  const { carry, wallet, vaultAddress } = owned
  const { client, ...vault } = reader(owned)
  const someone = createWallet().address
  const has = (role: 'ALLOCATOR_ROLE' | 'CURATOR_ROLE') => async () => {
    const id = await client.readContract({ ...vault, functionName: role })
    return BigInt(await client.readContract({ ...vault, functionName: 'hasRole', args: [id, someone] }))
  }
  await carry(`${ROLE}.vaultAllocatorUpdate`, {
    wallet,
    input: { vaultAddress, allocatorAddress: someone, granted: true },
    read: has('ALLOCATOR_ROLE'),
    moved: (before, after) => before === 0n && after === 1n,
  })
  await carry(`${ROLE}.vaultRoleSettingsSave`, {
    wallet,
    input: { vaultAddress, role: 'curator', accountAddress: someone, granted: true },
    read: has('CURATOR_ROLE'),
    moved: (before, after) => before === 0n && after === 1n,
  })
}

async function setTerms(owned: Owned): Promise<void> {
  const { world, carry, wallet, vaultAddress, market, other } = owned
  const { client, ...vault } = reader(owned)
  const markets = [other, market]
  const second = async () => {
    const route = await client.readContract({ ...vault, functionName: 'routing' })
    return BigInt(route.join('') === markets.join('') ? route.length : 0)
  }
  await carry(`${ROLE}.vaultRoutingUpdate`, {
    wallet,
    input: { vaultAddress, marketAddresses: markets },
    read: second,
    moved: (before, after) => before === 0n && after === 2n,
  })
  const least = (await world.chain.number(vaultAddress, 'minDepositAssets()')) + UNIT
  await carry(`${ROLE}.vaultSettingsUpdate`, {
    wallet,
    input: {
      vaultAddress,
      liquidityBufferBps: 300,
      exitTermKind: 'instant',
      noticeSeconds: '0',
      intervalSeconds: '0',
      maturityTimestamp: '0',
      minDepositAssets: String(least),
      maxDepositAssets: String(5_000_000n * UNIT),
    },
    read: () => world.chain.number(vaultAddress, 'minDepositAssets()'),
    moved: (_, after) => after === least,
  })
}

/** What the vault's resource says in a field of a record. */
const fieldOf =
  ({ world, vaultAddress }: Owned, of: (vault: Json) => unknown, wanted: unknown) =>
  async (): Promise<bigint> => {
    const rows = itemsOf(await world.ask('GET /v1/vaults', {}))
    const row = rows.find(({ address }) => String(address).toLowerCase() === vaultAddress.toLowerCase())
    return BigInt(row !== undefined && JSON.stringify(of(row)) === JSON.stringify(wanted))
  }

async function describe(owned: Owned): Promise<void> {
  const { carry, wallet, vaultAddress } = owned
  const becomes = { moved: (before: bigint, after: bigint) => before === 0n && after === 1n }
  const managerName = 'Witnessed Management'
  await carry(`${ROLE}.vaultManagementSettingsSave`, {
    wallet,
    input: {
      vaultAddress,
      managerName,
      website: 'https://witness.example',
      logoUrl: 'https://witness.example/logo.svg',
    },
    read: fieldOf(owned, ({ assetManager }) => (assetManager as Json | null)?.name, managerName),
    ...becomes,
  })
  await carry(`${ROLE}.vaultOwnerSettingsSave`, {
    wallet,
    input: { vaultAddress, shareClass: 'Witnessed', riskScore: 41 },
    read: fieldOf(owned, ({ shareClass, riskScore }) => [shareClass, riskScore], ['Witnessed', 41]),
    ...becomes,
  })
}

/** Only once it is accepted is the vault another's. */
async function handOn(owned: Owned): Promise<void> {
  const { world, carry, wallet, vaultAddress } = owned
  const { client, ...vault } = reader(owned)
  const heir = await newcomer(world, placeOf(world, 'sUSD'))
  const ownerIs = async () => {
    const [owner, [pending]] = await Promise.all([
      client.readContract({ ...vault, functionName: 'owner' }),
      client.readContract({ ...vault, functionName: 'pendingDefaultAdmin' }),
    ])
    return (owner === heir.address ? 2n : 0n) + (pending === heir.address ? 1n : 0n)
  }
  await carry(`${ROLE}.vaultOwnerTransferUpdate`, {
    wallet,
    input: { vaultAddress, action: 'offer', newOwnerAddress: heir.address },
    read: ownerIs,
    moved: (before, after) => before === 0n && after === 1n,
  })
  await carry(`${ROLE}.vaultOwnerTransferUpdate`, {
    wallet: heir,
    input: { vaultAddress, action: 'accept' },
    read: ownerIs,
    moved: (before, after) => before === 1n && after === 2n,
  })
}

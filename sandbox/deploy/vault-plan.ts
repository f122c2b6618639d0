import { type Address, encodeDeployData, encodeFunctionData, parseUnits } from 'viem'
import { assetAbi, lendingMarketAbi, lendingVaultAbi } from '../contracts/abis.ts'
import { type DeployedContract, grantRole, type Planner } from './planner.ts'

/** How holders leave a vault; the numbers are those of the contract's enumeration. */
export const EXIT_TERM_KIND = { instant: 0, notice: 1, interval: 2, maturity: 3 } as const

type VaultTerms = {
  readonly name: string
  readonly depositAssets: bigint
  readonly liquidityBufferBps: number
  readonly noticeSeconds: bigint
  readonly fundings: readonly Funding[]
}

type Funding = {
  readonly market: DeployedContract
  readonly capAssets: bigint
  readonly relativeCapBps: number
  readonly assets: bigint
}

type Roles = { readonly admin: Address; readonly allocator: Address; readonly assetManager: Address }
type VaultParts = Readonly<Record<'sUSD' | 'registry' | 'btcMarket' | 'ethMarket', DeployedContract>>

const usd = (whole: string) => parseUnits(whole, 6)

/** Lay out our two vaults: Prime pays leavers at once, Growth after ten seconds' notice. */
export function planVaults(planner: Planner, roles: Roles, parts: VaultParts) {
  const { btcMarket, ethMarket } = parts
  return {
    primeVault: planVault(planner, roles, parts, {
      name: 'Prime',
      depositAssets: usd('5000000'),
      liquidityBufferBps: 500,
      noticeSeconds: 0n,
      fundings: [
        { market: btcMarket, capAssets: usd('4000000'), relativeCapBps: 8_000, assets: usd('3000000') },
        { market: ethMarket, capAssets: usd('2000000'), relativeCapBps: 5_000, assets: usd('1000000') },
      ],
    }),
    growthVault: planVault(planner, roles, parts, {
      name: 'Growth',
      depositAssets: usd('2000000'),
      liquidityBufferBps: 0,
      noticeSeconds: 10n,
      fundings: [
        { market: ethMarket, capAssets: usd('2000000'), relativeCapBps: 10_000, assets: usd('1500000') },
      ],
    }),
  }
}

/** Lay out the vault of another keeper: most of what both markets are lent, so that what ours lend moves rates a little. */
export const planRivalVault = (planner: Planner, roles: Omit<Roles, 'allocator'>, parts: VaultParts) =>
  planVault(planner, { ...roles, allocator: roles.admin }, parts, {
    name: 'Rival',
    depositAssets: usd('200000000'),
    liquidityBufferBps: 0,
    noticeSeconds: 0n,
    fundings: [parts.btcMarket, parts.ethMarket].map((market) => ({
      market,
      capAssets: usd('200000000'),
      relativeCapBps: 10_000,
      assets: usd('100000000'),
    })),
  })

/** Create a vault, deposit into it as the admin, and fund its markets under their caps. */
function planVault(
  planner: Planner,
  { admin, allocator, assetManager }: Roles,
  { sUSD, registry }: VaultParts,
  { name, depositAssets, liquidityBufferBps, noticeSeconds, fundings }: VaultTerms,
): DeployedContract {
  const abi = lendingVaultAbi
  const kind = noticeSeconds > 0n ? EXIT_TERM_KIND.notice : EXIT_TERM_KIND.instant
  const setup = {
    asset: sUSD.address,
    name: `Sandbox ${name} Vault`,
    symbol: `sv${name}`,
    directory: registry.address,
    owner: admin,
    allocator: admin,
    manager: assetManager,
    liquidityBufferBps,
    exitTerms: { kind, noticeSeconds, intervalSeconds: 0n, maturityTimestamp: 0n },
  }
  const vault = planner.create('LendingVault', (bytecode) =>
    encodeDeployData({ abi, bytecode, args: [setup] }),
  )
  planner.call('let the allocator allocate', vault, grantRole('ALLOCATOR_ROLE', allocator))
  const mint = { abi: assetAbi, functionName: 'mint', args: [admin, depositAssets] } as const
  const approve = { abi: assetAbi, functionName: 'approve', args: [vault.address, depositAssets] } as const
  const depositAll = { abi, functionName: 'deposit', args: [depositAssets, admin] } as const
  planner.call('mint a deposit', sUSD, encodeFunctionData(mint))
  planner.call('approve it', sUSD, encodeFunctionData(approve))
  planner.call('deposit it', vault, encodeFunctionData(depositAll))
  for (const { market, capAssets, relativeCapBps, assets } of fundings) {
    const list = { abi: lendingMarketAbi, functionName: 'addVault', args: [vault.address] } as const
    const listing = { approved: true, allocationEnabled: true, relativeCapBps, absoluteCapAssets: capAssets }
    const approveMarket = { abi, functionName: 'setListing', args: [market.address, listing] } as const
    const fund = { abi, functionName: 'allocate', args: [market.address, assets] } as const
    planner.call('list the vault', market, encodeFunctionData(list))
    planner.call('list the market', vault, encodeFunctionData(approveMarket))
    planner.call('fund the market', vault, encodeFunctionData(fund))
  }
  return vault
}

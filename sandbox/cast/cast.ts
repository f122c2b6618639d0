import {
  createTestClient,
  encodeFunctionData,
  type Hex,
  http,
  maxUint256,
  parseEther,
  parseUnits,
  stringToHex,
} from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { EntityResource } from '../../src/service/contract/directory-resources.ts'
import { TRANSFER_PROFILES } from '../../src/service/contract/workflow-inputs.ts'
import type { Call, Transactions } from '../chain/transactions.ts'
import { assetAbi, eligibilityRegistryAbi, lendingVaultAbi } from '../contracts/abis.ts'
import type { Deployment } from '../deploy/deploy.ts'
import { lower } from '../indexer/logs.ts'
import { BORROWERS, MARKET_NAMES, type MarketName } from '../story/story.ts'
import type { SandboxKeys } from './keys.ts'

/** The market that a borrower stays in. Pure. */
export const marketOfBorrower = (borrower: number): MarketName =>
  MARKET_NAMES[Math.floor((borrower * MARKET_NAMES.length) / BORROWERS)] ?? 'btc'

/** Find a market's contracts and how its collateral counts. Pure. */
export function marketContracts({ contracts }: Deployment, market: MarketName) {
  return market === 'btc'
    ? {
        market: contracts.btcMarket.address,
        oracle: contracts.btcOracle.address,
        reference: contracts.btcReferenceOracle.address,
        collateral: contracts.sBTC.address,
        collateralDecimals: 8,
        lltvBps: 7_500n,
      }
    : {
        market: contracts.ethMarket.address,
        oracle: contracts.ethOracle.address,
        reference: contracts.ethReferenceOracle.address,
        collateral: contracts.sETH.address,
        collateralDecimals: 18,
        lltvBps: 7_000n,
      }
}

/** Tell who takes part in the sandbox beside its borrowers; a role's id is its name. Pure. */
export function castEntities({ deployer, feeder, roles }: SandboxKeys): readonly EntityResource[] {
  const entity = (id: string, kind: string, name: string, key: Hex): EntityResource => ({
    ...{ id, kind, name, status: 'active' },
    walletAddress: lower(privateKeyToAddress(key)),
  })
  return [
    entity('operator', 'operator', 'Sandbox operator', deployer),
    entity('price-feeder', 'price_feeder', 'Sandbox price feeder', feeder),
    entity('liquidator', 'liquidator', 'Sandbox liquidator', roles.liquidator.privateKey),
    entity('allocator', 'allocator', 'Sandbox allocator', roles.allocator.privateKey),
    entity('nav-reporter', 'nav_reporter', 'Sandbox NAV reporter', roles['nav-reporter'].privateKey),
    entity('asset-manager', 'asset_manager', 'Sandbox asset manager', roles['asset-manager'].privateKey),
    entity('rfq-bidder', 'rfq_bidder', 'Sandbox RFQ bidder', roles['rfq-bidder'].privateKey),
  ]
}

/**
 * Fund who acts in the sandbox, in one block: everyone gets native coins, liquidators, RFQ bidder and guest get 5,000,000 sUSD,
 * the liquidators their place in the registry; the whale gets enough of everything; each borrower gets collateral and
 * interest for years of weather, and lets its market take both; the asset manager lets the Growth vault's shares go to trusted recipients only; the deployer gets
 * stock to sell and the rivals sUSD to bid, and both let the venues take it.
 */
export async function fundCast(
  rpcUrl: string,
  deployment: Deployment,
  keys: SandboxKeys,
  transactions: Transactions,
): Promise<void> {
  const { sUSD, registry, ethMarket } = deployment.contracts
  const liquidator = privateKeyToAddress(keys.roles.liquidator.privateKey)
  const bidder = privateKeyToAddress(keys.roles['rfq-bidder'].privateKey)
  const guest = privateKeyToAddress(keys.roles.guest.privateKey)
  const roles = Object.values(keys.roles).map(({ privateKey }) => privateKeyToAddress(privateKey))
  const borrowers = keys.borrowers.map((key) => ({ key, address: privateKeyToAddress(key) }))
  const rivals = keys.rivals.map((key) => ({ key, address: privateKeyToAddress(key) }))
  const rivalLiquidator = privateKeyToAddress(keys.rivalLiquidator)
  const whale = privateKeyToAddress(keys.whale)
  const others = [rivalLiquidator, whale, privateKeyToAddress(keys.rivalManager)]
  const tester = createTestClient({ mode: 'anvil', transport: http(rpcUrl, { batch: true, retryCount: 0 }) })
  // What the faucet gives away is the deployer's: enough for a million claims.
  await tester.setBalance({ address: privateKeyToAddress(keys.deployer), value: parseEther('1000000') })
  await Promise.all(
    [...roles, ...others, ...[...borrowers, ...rivals].map(({ address }) => address)].map((address) =>
      tester.setBalance({ address, value: parseEther('1000') }),
    ),
  )
  const mint = (token: typeof sUSD.address, to: typeof liquidator, assets: bigint): Call => ({
    from: keys.deployer,
    to: token,
    data: encodeFunctionData({ abi: assetAbi, functionName: 'mint', args: [to, assets] }),
  })
  const authorise = (who: typeof liquidator): Call => ({
    from: keys.deployer,
    to: registry.address,
    data: encodeFunctionData({
      abi: eligibilityRegistryAbi,
      functionName: 'setAuthorization',
      args: [who, stringToHex('liquidate', { size: 32 }), ethMarket.address, true],
    }),
  })
  const approve = (from: Hex, token: typeof sUSD.address, spender: typeof liquidator): Call => ({
    from,
    to: token,
    data: encodeFunctionData({ abi: assetAbi, functionName: 'approve', args: [spender, maxUint256] }),
  })
  const { sBTC, sETH, acquisitionHouse, recoveryAuction, rfqDesk } = deployment.contracts
  const sales = [rfqDesk.address, recoveryAuction.address]
  const stockCalls = [sBTC, sETH].flatMap(({ address }) => [
    mint(address, privateKeyToAddress(keys.deployer), parseUnits('1000000000', 18)),
    ...[...sales, acquisitionHouse.address].map((venue) => approve(keys.deployer, address, venue)),
  ])
  const rivalCalls = rivals.flatMap(({ key, address }) => [
    mint(sUSD.address, address, parseUnits('1000000000000', 6)),
    ...sales.map((venue) => approve(key, sUSD.address, venue)),
  ])
  const borrowerCalls = borrowers.flatMap(({ key, address }, index): Call[] => {
    const { market, collateral, collateralDecimals } = marketContracts(deployment, marketOfBorrower(index))
    return [
      mint(collateral, address, parseUnits('1000000', collateralDecimals)),
      mint(sUSD.address, address, parseUnits('10000000', 6)),
      approve(key, collateral, market),
      approve(key, sUSD.address, market),
    ]
  })
  const { btcMarket, primeVault, growthVault } = deployment.contracts
  const whaleCalls = [
    mint(sUSD.address, whale, parseUnits('1000000000', 6)),
    mint(sBTC.address, whale, parseUnits('1000000', 8)),
    mint(sETH.address, whale, parseUnits('1000000', 18)),
    ...[btcMarket, ethMarket, primeVault, growthVault].map((spender) =>
      approve(keys.whale, sUSD.address, spender.address),
    ),
    approve(keys.whale, sBTC.address, btcMarket.address),
    approve(keys.whale, sETH.address, ethMarket.address),
  ]
  const rivalLiquidatorCalls = [
    mint(sUSD.address, rivalLiquidator, parseUnits('5000000', 6)),
    authorise(rivalLiquidator),
    ...[btcMarket, ethMarket].map((market) => approve(keys.rivalLiquidator, sUSD.address, market.address)),
  ]
  const trustedOnly: Call = {
    from: keys.roles['asset-manager'].privateKey,
    to: deployment.contracts.growthVault.address,
    data: encodeFunctionData({
      abi: lendingVaultAbi,
      functionName: 'setTransferProfile',
      args: [TRANSFER_PROFILES.indexOf('trusted_recipients')],
    }),
  }
  await transactions.mine([
    mint(sUSD.address, liquidator, parseUnits('5000000', 6)),
    mint(sUSD.address, bidder, parseUnits('5000000', 6)),
    mint(sUSD.address, guest, parseUnits('5000000', 6)),
    authorise(liquidator),
    trustedOnly,
    ...whaleCalls,
    ...rivalLiquidatorCalls,
    ...borrowerCalls,
    ...stockCalls,
    ...rivalCalls,
  ])
}

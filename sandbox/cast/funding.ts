import {
  createTestClient,
  encodeFunctionData,
  type Hex,
  http,
  parseEther,
  parseUnits,
  stringToHex,
} from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { TRANSFER_PROFILES } from '../../src/service/contract/workflow-inputs.ts'
import { TO_CHAIN } from '../chain/to-chain.ts'
import type { Call, Transactions } from '../chain/transactions.ts'
import { eligibilityRegistryAbi, lendingVaultAbi } from '../contracts/abis.ts'
import type { Deployment } from '../deploy/deploy.ts'
import { MARKET_NAMES, marketContracts } from '../deploy/markets.ts'
import { marketOfBorrower } from './borrowers.ts'
import type { SandboxKeys } from './keys.ts'
import { firstDeposits, partnerCalls } from './partners.ts'
import { approve, mint, mintTo } from './token-calls.ts'

/** What a role that pays in sUSD starts with, in base units. */
const PURSE_ASSETS = parseUnits('5000000', 6)

/** What the exit pools start with: the same worth on either side at the first prices. */
const EXIT_COLLATERAL = { btc: '200', eth: '4000' } as const
const EXIT_ASSETS = parseUnits('12000000', 6)

/**
 * Fund who acts in the sandbox: native coins for everyone, sUSD for the roles and rivals that pay with
 * it, collateral for who borrows, stock for the deployer to sell, and the approvals that let markets, vaults and
 * venues take them; then, in a block of its own, let investors deposit.
 * Throws `sandbox.setup_reverted` when a call fails.
 */
export async function fundCast(
  rpcUrl: string,
  deployment: Deployment,
  keys: SandboxKeys,
  transactions: Transactions,
): Promise<void> {
  await giveCoins(rpcUrl, keys)
  await transactions.mine([
    ...roleCalls(deployment, keys),
    ...whaleCalls(deployment, keys),
    ...rivalLiquidatorCalls(deployment, keys),
    ...borrowerCalls(deployment, keys),
    ...stockCalls(deployment, keys),
    ...rivalBidderCalls(deployment, keys),
    ...exitCalls(deployment, keys),
    ...partnerCalls(deployment, keys, PURSE_ASSETS),
  ])
  // Calls of several accounts have no order within a block, and a deposit needs what was minted.
  await transactions.mine(firstDeposits(deployment, keys))
}

/** What the faucet gives away is the deployer's: enough for a million claims. */
async function giveCoins(rpcUrl: string, keys: SandboxKeys): Promise<void> {
  const tester = createTestClient({ mode: 'anvil', transport: http(rpcUrl, { ...TO_CHAIN, batch: true }) })
  await tester.setBalance({ address: privateKeyToAddress(keys.deployer), value: parseEther('1000000') })
  const others = [
    ...Object.values(keys.roles).map(({ privateKey }) => privateKey),
    ...[keys.rivalLiquidator, keys.whale, keys.rivalManager, ...keys.borrowers, ...keys.rivals],
    ...[keys.weatherOwner, keys.weatherPartner, ...keys.channelInvestors],
  ]
  await Promise.all(
    others.map((key) => tester.setBalance({ address: privateKeyToAddress(key), value: parseEther('1000') })),
  )
}

/**
 * Liquidator, RFQ bidder and guest get sUSD, the liquidator its place in the registry; the asset manager lets the
 * Growth vault's shares go to trusted recipients only.
 */
function roleCalls(deployment: Deployment, keys: SandboxKeys): readonly Call[] {
  const { sUSD, growthVault } = deployment.contracts
  const { liquidator, guest, 'rfq-bidder': bidder, 'asset-manager': manager } = keys.roles
  return [
    ...[liquidator, bidder, guest].map(({ privateKey }) =>
      mint(keys, sUSD.address, privateKey, PURSE_ASSETS),
    ),
    authoriseLiquidator(deployment, keys, liquidator.privateKey),
    {
      from: manager.privateKey,
      to: growthVault.address,
      data: encodeFunctionData({
        abi: lendingVaultAbi,
        functionName: 'setTransferProfile',
        args: [TRANSFER_PROFILES.indexOf('trusted_recipients')],
      }),
    },
  ]
}

/** The whale gets enough of everything, and pledges, borrows and lends everywhere. */
function whaleCalls({ contracts }: Deployment, keys: SandboxKeys): readonly Call[] {
  const { sUSD, sBTC, sETH, btcMarket, ethMarket, primeVault, growthVault } = contracts
  const { whale } = keys
  return [
    mint(keys, sUSD.address, whale, parseUnits('1000000000', 6)),
    mint(keys, sBTC.address, whale, parseUnits('1000000', 8)),
    mint(keys, sETH.address, whale, parseUnits('1000000', 18)),
    ...[btcMarket, ethMarket, primeVault, growthVault].map(({ address }) =>
      approve(whale, sUSD.address, address),
    ),
    approve(whale, sBTC.address, btcMarket.address),
    approve(whale, sETH.address, ethMarket.address),
  ]
}

function rivalLiquidatorCalls(deployment: Deployment, keys: SandboxKeys): readonly Call[] {
  const { sUSD, btcMarket, ethMarket } = deployment.contracts
  const { rivalLiquidator } = keys
  return [
    mint(keys, sUSD.address, rivalLiquidator, PURSE_ASSETS),
    authoriseLiquidator(deployment, keys, rivalLiquidator),
    ...[btcMarket, ethMarket].map(({ address }) => approve(rivalLiquidator, sUSD.address, address)),
  ]
}

/** Each borrower gets collateral and interest for years of weather, and lets its market take both. */
function borrowerCalls(deployment: Deployment, keys: SandboxKeys): readonly Call[] {
  const { sUSD } = deployment.contracts
  return keys.borrowers.flatMap((key, index) => {
    const { market, collateral, collateralDecimals } = marketContracts(deployment, marketOfBorrower(index))
    return [
      mint(keys, collateral, key, parseUnits('1000000', collateralDecimals)),
      mint(keys, sUSD.address, key, parseUnits('10000000', 6)),
      approve(key, collateral, market),
      approve(key, sUSD.address, market),
    ]
  })
}

/** The deployer gets what it offers at the venues, and lets them take it. */
function stockCalls({ contracts }: Deployment, keys: SandboxKeys): readonly Call[] {
  const { sBTC, sETH, acquisitionHouse, recoveryAuction, rfqDesk } = contracts
  return [sBTC, sETH].flatMap(({ address }) => [
    mint(keys, address, keys.deployer, parseUnits('1000000000', 18)),
    ...[rfqDesk, recoveryAuction, acquisitionHouse].map((venue) =>
      approve(keys.deployer, address, venue.address),
    ),
  ])
}

/** A small pool a collateral at the first price, some millions on either side, and who keeps it at the oracle's price. */
function exitCalls(deployment: Deployment, keys: SandboxKeys): readonly Call[] {
  const { sUSD } = deployment.contracts
  return MARKET_NAMES.flatMap((name) => {
    const { exit, collateral, collateralDecimals } = marketContracts(deployment, name)
    return [
      mintTo(keys, collateral, exit, parseUnits(EXIT_COLLATERAL[name], collateralDecimals)),
      mintTo(keys, sUSD.address, exit, EXIT_ASSETS),
      approve(keys.whale, collateral, exit),
      approve(keys.whale, sUSD.address, exit),
    ]
  })
}

function rivalBidderCalls({ contracts }: Deployment, keys: SandboxKeys): readonly Call[] {
  const { sUSD, recoveryAuction, rfqDesk } = contracts
  return keys.rivals.flatMap((key) => [
    mint(keys, sUSD.address, key, parseUnits('1000000000000', 6)),
    ...[rfqDesk, recoveryAuction].map(({ address }) => approve(key, sUSD.address, address)),
  ])
}

/** Only who is in the registry may liquidate in the ETH market. */
const authoriseLiquidator = ({ contracts }: Deployment, keys: SandboxKeys, key: Hex): Call => ({
  from: keys.deployer,
  to: contracts.registry.address,
  data: encodeFunctionData({
    abi: eligibilityRegistryAbi,
    functionName: 'setAuthorization',
    args: [
      privateKeyToAddress(key),
      stringToHex('liquidate', { size: 32 }),
      contracts.ethMarket.address,
      true,
    ],
  }),
})

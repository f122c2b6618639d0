import { readFileSync } from 'node:fs'
import solc from 'solc'
import {
  type Abi,
  type Address,
  createTestClient,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  parseAbi,
  publicActions,
  walletActions,
} from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { startNodeFront } from '../../../sandbox/chain/node-front.ts'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import { createNodes } from '../../../src/chain/http-nodes.ts'
import { systemClock } from '../../../src/clock.ts'
import { loadYaml } from '../../../src/config/yaml.ts'
import type { FinalOptions } from '../../../src/guard/checks/check-final.ts'
import { compileRuleset, type Ruleset } from '../../../src/guard/ruleset.ts'
import { facilityEntityId } from '../../../src/service/contract/assumptions.ts'
import type { Deployment } from '../../../src/service/contract/deployment.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { startAnvil } from '../../support/anvil.ts'
import { receiptActions } from '../../support/receipts.ts'
import { freeze, intent, liquidationAnswer, policyOf, shippedPolicy } from '../fixtures.ts'
import { FEES } from '../scene.ts'

type Contract = { readonly abi: Abi; readonly evm: { readonly bytecode: { readonly object: string } } }

/** The contracts of Markets.sol. */
function compileMarkets(): Readonly<Record<string, Contract>> {
  const path = `${import.meta.dirname}/shapes/Markets.sol`
  const output: { errors?: readonly unknown[]; contracts: { 'Markets.sol': Record<string, Contract> } } =
    JSON.parse(
      solc.compile(
        JSON.stringify({
          language: 'Solidity',
          sources: { 'Markets.sol': { content: readFileSync(path, 'utf8') } },
          settings: {
            evmVersion: 'cancun',
            outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
          },
        }),
      ),
    )
  if (output.errors !== undefined) throw new TypeError(JSON.stringify(output.errors))
  return output.contracts['Markets.sol']
}

const lower = (address: string): Address => `0x${address.slice(2).toLowerCase()}`
/** 86 % of what collateral is worth may be owed. */
const LLTV = 860_000_000_000_000_000n
const ZERO: Address = `0x${'00'.repeat(20)}`
/** 2,500 loan tokens a collateral token, in both ways of saying it. */
const PRICE = { dollars: 2_500n * 10n ** 8n, scaled: 2_500n * 10n ** 24n, wad: 2_500n * 10n ** 18n }
export const OWED = 22_000_000_000n
export const HELD = 10n ** 19n

export type Shapes = Awaited<ReturnType<typeof createShapes>>

/** A chain with a pool and a singleton, a borrower under water in both, and a liquidator with funds of a kind of token. */
export async function createShapes(token = 'Token') {
  const chain = await startAnvil()
  const front = await startNodeFront(chain.rpcUrl)
  const nodes = await createNodes({
    chainId: chain.chainId,
    read: [front.url],
    send: [front.url],
    agree: 1,
    finality: 'finalized' as const,
    timeoutMs: 5_000,
    pollMs: 50,
    clock: { ...systemClock, nowMs: () => 0 },
  })
  const client = createTestClient({ mode: 'anvil', transport: http(chain.rpcUrl, TO_CHAIN), cacheTime: 0 })
    .extend(publicActions)
    .extend(receiptActions)
    .extend(walletActions)
  const person = async () => {
    const address = lower(privateKeyToAddress(generatePrivateKey()))
    await client.impersonateAccount({ address })
    await client.setBalance({ address, value: 10n ** 21n })
    return address
  }
  const [liquidator, borrower] = [await person(), await person()]
  const by = { account: liquidator, chain: null, gas: 8_000_000n } as const
  const compiled = compileMarkets()
  const abiOf = (name: string): Abi => compiled[name]?.abi ?? []
  // The chain answers before it has mined, where the machine is busy.
  const mined = (hash: Hex) => client.waitForTransactionReceipt({ hash })
  const deploy = async (name: string, args: readonly unknown[]): Promise<Address> => {
    const bytecode: Hex = `0x${compiled[name]?.evm.bytecode.object}`
    const hash = await client.deployContract({ ...by, abi: abiOf(name), bytecode, args: [...args] })
    const { contractAddress } = await mined(hash)
    return lower(contractAddress ?? ZERO)
  }
  const write = async (name: string, address: Address, functionName: string, args: readonly unknown[]) =>
    mined(await client.writeContract({ ...by, address, abi: abiOf(name), functionName, args: [...args] }))

  const [loan, collateral] = [await deploy(token, [6]), await deploy(token, [18])]
  const [debt, deposits] = [await deploy('Token', [6]), await deploy('Token', [18])]
  const [dollars, scaled] = [await deploy('DollarPrices', []), await deploy('ScaledPrice', [])]
  const pool = await deploy('PooledMarket', [loan, collateral, debt, deposits, dollars])
  const singleton = await deploy('SingletonMarket', [])
  const params = { loanToken: loan, collateralToken: collateral, oracle: scaled, irm: ZERO, lltv: LLTV }
  await write('DollarPrices', dollars, 'set', [loan, 10n ** 8n])
  await write('DollarPrices', dollars, 'set', [collateral, PRICE.dollars])
  await write('ScaledPrice', scaled, 'set', [PRICE.scaled])
  await write('PooledMarket', pool, 'open', [borrower, HELD, OWED])
  // Shares are worth 1.1 of what was lent.
  await write('SingletonMarket', singleton, 'open', [params, borrower, HELD, OWED, 20_000_000_000n])
  await write('Token', loan, 'mint', [liquidator, 10n ** 11n])
  const addresses = { loan, collateral, debt, deposits, dollars, scaled, pool, singleton }
  const names = Object.values(addresses)
  const hashes = await nodes.codeHashes(names)
  const pin = (address: Address) => ({ address, codeHash: hashes[names.indexOf(address)] ?? keccak256('0x') })
  const stop = async () => {
    await nodes.close()
    await front.stop()
    await chain.stop()
  }
  return { chain, client, nodes, liquidator, borrower, addresses, params, pin, write, stop }
}

const idOf = ({ params }: Shapes): Hex =>
  keccak256(
    encodeAbiParameters(
      [
        { type: 'address' },
        { type: 'address' },
        { type: 'address' },
        { type: 'address' },
        { type: 'uint256' },
      ],
      [params.loanToken, params.collateralToken, params.oracle, params.irm, params.lltv],
    ),
  )

type Policy = { facts: unknown; allow: readonly Readonly<Record<string, unknown>>[]; effects: unknown }

/** The liquidator's own policy with the rules of a file of this folder in the place of its own: nothing else is changed. */
export function rulesetFor(shapes: Shapes, shape: 'pooled' | 'singleton'): Ruleset {
  const { pin, addresses } = shapes
  const { loan, collateral, debt, deposits, dollars, scaled, pool, singleton } = addresses
  const isPool = shape === 'pooled'
  const { value } = loadYaml(`test/guard/policy/shapes/${shape}.yaml`)
  const own: Policy = JSON.parse(JSON.stringify(value).replaceAll('MARKET_ID', idOf(shapes)))
  const shipped = shippedPolicy()
  const allow = own.allow.map((rule) => ({
    ...shipped.guard.allow.find(({ id }) => id === rule.id),
    ...rule,
  }))
  const views = shipped.guard.views.slice(0, 2)
  const oracle = pin(isPool ? dollars : scaled)
  const deployment: Deployment = {
    namespace: 'test',
    assets: [
      { ...pin(loan), symbol: 'sUSD', decimals: 6 },
      { ...pin(collateral), symbol: 'sETH', decimals: 18 },
    ],
    markets: [
      {
        ...pin(isPool ? pool : singleton),
        loanAsset: loan,
        collateralAsset: collateral,
        oracle: oracle.address,
        oracleCodeHash: oracle.codeHash,
      },
    ],
    vaults: [pin(isPool ? debt : singleton)],
    funds: [],
    contracts: [{ ...pin(deposits), name: 'deposits' }],
  }
  const guard = { ...shipped.guard, ...own, allow, views }
  return compileRuleset(policyOf({ ...shipped, guard }), deployment)
}

const CALLS = parseAbi([
  'function approve(address spender, uint256 amount) returns (bool)',
  'function liquidationCall(address collateralAsset, address debtAsset, address user, uint256 debtToCover, bool receiveAToken)',
  'function liquidate((address loanToken, address collateralToken, address oracle, address irm, uint256 lltv) marketParams, address borrower, uint256 seizedAssets, uint256 repaidShares, bytes data) returns (uint256 seized, uint256 repaid)',
])
export const encodeCall = (
  functionName: 'approve' | 'liquidationCall' | 'liquidate',
  args: readonly unknown[],
): Hex => {
  const abi: Abi = CALLS
  return encodeFunctionData({ abi, functionName, args })
}

/** A liquidation of ours in a market, answered with these calls. */
export async function asked(
  shapes: Shapes,
  ruleset: Ruleset,
  calls: readonly (readonly [to: Address, data: Hex, value?: string])[],
  request: { readonly repay: bigint; readonly minCollateral: bigint },
): Promise<FinalOptions> {
  const { client, chain, liquidator, borrower } = shapes
  const { chainId } = chain
  const [market] = ruleset.deployment.markets
  const block = await client.getBlock()
  const nowMs = Number(block.timestamp) * 1_000
  const proposal: Proposal = {
    workflowType: 'role.liquidator.liquidate',
    kind: 'liquidate',
    subject: 'it',
    occurrence: '1',
    summary: 'repay',
    input: {
      marketAddress: market?.address ?? ZERO,
      vaultAddress: ruleset.deployment.vaults[0]?.address ?? ZERO,
      borrowerAddress: borrower,
      repayAssets: String(request.repay),
      minCollateralAssets: String(request.minCollateral),
      recipientAddress: liquidator,
    },
    exposure: { token: market?.loanAsset ?? ZERO, assets: request.repay, usdMicros: request.repay },
    reason: { priceWad: String(PRICE.wad) },
  }
  const answer = liquidationAnswer()
  const transactions = calls.map(([to, data, value = '0'], order) => ({
    ...intent(order, to, data),
    chainId,
    value,
  }))
  const freshness = { status: 'current', lagSeconds: 0, blockNumber: String(block.number) } as const
  const expiresAt = new Date(nowMs + 30_000).toISOString()
  const preflight = { ...answer.preflight, freshness }
  const entityId = facilityEntityId(
    market?.address ?? ZERO,
    ruleset.deployment.vaults[0]?.address ?? ZERO,
    borrower,
  )
  const canonicalPostconditions = answer.canonicalPostconditions.map((each) => ({ ...each, entityId }))
  const frozen = {
    ...freeze({ ...answer, expiresAt, transactions, preflight, canonicalPostconditions }),
    receivedAtMs: nowMs,
  }
  const nextNonce = await client.getTransactionCount({ address: liquidator })
  return {
    workflow: { role: 'liquidator', chainId, signer: liquidator, proposal, prepared: frozen },
    ruleset,
    signer: { ...FEES, nextNonce, pending: [], standing: [] },
    nowMs,
  }
}

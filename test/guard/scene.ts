import { type Address, encodeDeployData, encodeFunctionData, type Hex, keccak256, parseAbi } from 'viem'
import { startNodeFront } from '../../sandbox/chain/node-front.ts'
import { lendingVaultAbi } from '../../sandbox/contracts/abis.ts'
import { loadArtifacts } from '../../sandbox/contracts/artifacts.ts'
import { createNodes } from '../../src/chain/http-nodes.ts'
import type { Nodes, SimulatedTransaction } from '../../src/chain/nodes.ts'
import { systemClock } from '../../src/clock.ts'
import type { FinalOptions } from '../../src/guard/checks/check-final.ts'
import { compileRuleset, type Ruleset } from '../../src/guard/ruleset.ts'
import type { Deployment } from '../../src/service/contract/deployment.ts'
import type { PreparedWorkflow } from '../../src/service/contract/prepared-workflow.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Clearance } from '../../src/workflow/workflow.ts'
import { by, createWorld, eth, usd, type World } from '../sandbox/contracts/world.ts'
import { freeze, intent, liquidationAnswer, sections, settlementAnswer } from './fixtures.ts'
import { answerOf, kindOf, VAULT_SETUP } from './kinds.ts'
import { DEPLOY_RULE, ROLE, rulesetOf } from './rules.ts'

const ABI = parseAbi([
  'function approve(address spender, uint256 amount) returns (bool)',
  'function liquidate(address vault, address borrower, uint256 repayAssets, uint256 minCollateralOut, address recipient, uint256 deadline)',
  'function settleLiquidationClaim(uint256 claimId)',
])

const lower = (address: Address): Address => `0x${address.slice(2).toLowerCase()}`

/** Fees that every test here offers. */
export const FEES = { maxFeePerGasWei: 3_000_000_000n, maxPriorityFeePerGasWei: 1n }

/** Nodes of ours before the chain of a world. */
export async function nodesOf({ chain }: Pick<World, 'chain'>) {
  // As the sandbox serves its chain: strict, and able to simulate creations.
  const front = await startNodeFront(chain.rpcUrl)
  const nodes = await createNodes({
    chainId: chain.chainId,
    read: [front.url],
    send: [front.url],
    agree: 1,
    finality: 'finalized',
    timeoutMs: 5_000,
    pollMs: 50,
    // The chain's own time decides: a snapshot taken back leaves it behind the machine's.
    clock: { ...systemClock, nowMs: () => 0 },
  })
  const stop = async () => {
    await nodes.close()
    await front.stop()
  }
  return { nodes, stop }
}

export type Scene = Awaited<ReturnType<typeof createScene>>

/** Real contracts on a real chain, the guard's own nodes, a liquidator with funds, and borrowers that are under water. */
export async function createScene() {
  const world = await createWorld()
  const { nodes, stop: stopNodes } = await nodesOf(world)
  const liquidator = lower(await world.person(usd('100000'), 0n))
  await world.sUSD.write.approve([world.market.address, 0n], by(liquidator))
  const deployment = await pin(world, nodes)
  const ruleset = compileRuleset(sections, deployment)
  const borrow = async (): Promise<Address> => {
    const borrower = await world.person(0n, eth('10'))
    await world.market.write.depositCollateral([eth('10')], by(borrower))
    await world.market.write.borrow([world.prime.address, usd('20000')], by(borrower))
    return lower(borrower)
  }
  const stop = async () => {
    await stopNodes()
    await world.stop()
  }
  return { world, nodes, liquidator, deployment, ruleset, borrow, stop }
}

async function pin({ contracts }: World, nodes: Nodes): Promise<Deployment> {
  const at = (name: keyof typeof contracts) => lower(contracts[name].address)
  const names = [
    'sUSD',
    'sBTC',
    'sETH',
    'ethMarket',
    'ethOracle',
    'primeVault',
    'growthVault',
    'registry',
  ] as const
  const hashes = await nodes.codeHashes(names.map(at))
  const codeHash = (name: (typeof names)[number]): Hex => hashes[names.indexOf(name)] ?? keccak256('0x')
  const asset = (name: 'sUSD' | 'sBTC' | 'sETH', decimals: number) => ({
    address: at(name),
    codeHash: codeHash(name),
    symbol: name,
    decimals,
  })
  return {
    namespace: 'test',
    assets: [asset('sUSD', 6), asset('sBTC', 8), asset('sETH', 18)],
    markets: [
      {
        address: at('ethMarket'),
        codeHash: codeHash('ethMarket'),
        loanAsset: at('sUSD'),
        collateralAsset: at('sETH'),
        oracle: at('ethOracle'),
        oracleCodeHash: codeHash('ethOracle'),
      },
    ],
    vaults: [
      { address: at('primeVault'), codeHash: codeHash('primeVault') },
      { address: at('growthVault'), codeHash: codeHash('growthVault') },
    ],
    funds: [],
    contracts: [{ name: 'registry', address: at('registry'), codeHash: codeHash('registry') }],
  }
}

/** An answer whose postconditions are about an entity. */
const about = (answer: PreparedWorkflow, entityId: string): PreparedWorkflow => ({
  ...answer,
  canonicalPostconditions: answer.canonicalPostconditions.map((each) => ({
    ...each,
    entityId: entityId.toLowerCase(),
  })),
})

/** What is asked of a liquidation; the rest is honest. */
export type Ask = { readonly borrower: Address; readonly repay: bigint; readonly minCollateral?: bigint }

/** A liquidation of ours, with an honest answer of the service as of the chain's newest block. */
export async function liquidationOf(scene: Scene, ask: Ask): Promise<FinalOptions> {
  const { world, liquidator } = scene
  const market = lower(world.market.address)
  const vault = lower(world.prime.address)
  const [priceWad] = await world.oracle.read.read()
  const block = await world.client.getBlock()
  const nowMs = Number(block.timestamp) * 1_000
  // Loan base units have 6 decimals, collateral base units 18; the bonus is 7 %.
  const due = (ask.repay * 10_700n * 10n ** 30n) / (priceWad * 10_000n)
  const minCollateral = ask.minCollateral ?? (due * 9_900n) / 10_000n
  const proposal: Proposal = {
    workflowType: 'role.liquidator.liquidate',
    kind: 'liquidate',
    subject: `${market}:${vault}:${ask.borrower}`,
    occurrence: 'shares:1,collateral:1',
    input: {
      marketAddress: market,
      vaultAddress: vault,
      borrowerAddress: ask.borrower,
      repayAssets: String(ask.repay),
      minCollateralAssets: String(minCollateral),
      recipientAddress: liquidator,
    },
    exposure: { token: lower(world.sUSD.address), assets: ask.repay, usdMicros: ask.repay },
    summary: 'repay',
    reason: { priceWad: String(priceWad) },
  }
  const deadline = BigInt(nowMs / 1_000 + 30)
  const approve = encodeFunctionData({ abi: ABI, functionName: 'approve', args: [market, ask.repay] })
  const liquidate = encodeFunctionData({
    abi: ABI,
    functionName: 'liquidate',
    args: [vault, ask.borrower, ask.repay, minCollateral, liquidator, deadline],
  })
  const transactions = [intent(0, lower(world.sUSD.address), approve), intent(1, market, liquidate)]
  const answer = { ...about(liquidationAnswer(), `${market}:${vault}:${ask.borrower}`), transactions }
  return optionsOf(scene, proposal, answer, block.number, nowMs)
}

/** The settlement of a claim, with an honest answer. */
export async function settlementOf(scene: Scene, claimId: bigint): Promise<FinalOptions> {
  const { world } = scene
  const market = lower(world.market.address)
  const block = await world.client.getBlock()
  const proposal: Proposal = {
    workflowType: 'role.liquidator.settleLiquidationClaim',
    kind: 'settle',
    subject: `${market}:${claimId}`,
    occurrence: String(claimId),
    input: { marketAddress: market, claimId: String(claimId) },
    exposure: { token: null, assets: 0n, usdMicros: 0n },
    summary: 'settle',
    reason: {},
  }
  const calldata = encodeFunctionData({ abi: ABI, functionName: 'settleLiquidationClaim', args: [claimId] })
  const answer = {
    ...about(settlementAnswer(), `${market}:${claimId}`),
    transactions: [intent(0, market, calldata)],
  }
  return optionsOf(scene, proposal, answer, block.number, Number(block.timestamp) * 1_000)
}

/** The deployment of a vault, with the answer of a service that may not be honest. */
export async function deploymentOf(scene: Scene, change: (calldata: Hex) => Hex): Promise<FinalOptions> {
  const { world, liquidator, deployment } = scene
  const [asset, directory] = [lower(world.sUSD.address), lower(world.registry.address)]
  const { proposal } = kindOf('deploy')
  const people = { owner: liquidator, allocator: liquidator, manager: liquidator }
  const input = {
    ...proposal.input,
    baseAssetAddress: asset,
    ownerAddress: liquidator,
    allocatorAddress: liquidator,
    managerAddress: liquidator,
  }
  const calldata = encodeDeployData({
    abi: lendingVaultAbi,
    bytecode: loadArtifacts().LendingVault.bytecode,
    args: [{ ...VAULT_SETUP, asset, directory, ...people }],
  })
  const ruleset = rulesetOf([DEPLOY_RULE], [{ workflowType: DEPLOY_RULE.workflowType }], deployment)
  const block = await world.client.getBlock()
  const kind = {
    ...kindOf('deploy'),
    drafts: [{ target: null, calldata: change(calldata), label: 'deploy' }],
  }
  const options = await optionsOf(
    { ...scene, ruleset },
    { ...proposal, input },
    about(answerOf(kind, kind.drafts), `${liquidator}:v2`),
    block.number,
    Number(block.timestamp) * 1_000,
  )
  return { ...options, workflow: { ...options.workflow, role: ROLE } }
}

async function optionsOf(
  { world, liquidator, ruleset }: { world: World; liquidator: Address; ruleset: Ruleset },
  proposal: Proposal,
  answer: ReturnType<typeof liquidationAnswer>,
  blockNumber: bigint,
  nowMs: number,
): Promise<FinalOptions> {
  const { chainId } = world.chain
  const nextNonce = await world.client.getTransactionCount({ address: liquidator })
  return {
    workflow: {
      role: 'liquidator',
      chainId,
      signer: liquidator,
      proposal,
      prepared: {
        ...freeze({
          ...answer,
          expiresAt: new Date(nowMs + 30_000).toISOString(),
          transactions: answer.transactions.map((item) => ({ ...item, chainId })),
          preflight: {
            ...answer.preflight,
            freshness: { status: 'current', lagSeconds: 0, blockNumber: String(blockNumber) },
          },
        }),
        receivedAtMs: nowMs,
      },
    },
    ruleset,
    signer: { ...FEES, nextNonce, pending: [], standing: [] },
    nowMs,
  }
}

/** A clearance's payloads as they would be in flight. */
export const inFlight = (
  { payloads }: Clearance,
  signer: Address,
  firstNonce: number,
): readonly SimulatedTransaction[] =>
  payloads.map(({ payload }, index) => ({ ...payload, ...FEES, from: signer, nonce: firstNonce + index }))

/** Carry out a clearance's payloads on the chain, as the signer, with the gas limits it gave them; their hashes. */
export async function carryOut(
  { payloads }: Clearance,
  { world, liquidator }: Scene,
): Promise<readonly Hex[]> {
  const hashes: Hex[] = []
  for (const { payload } of payloads) {
    const hash = await world.client.sendTransaction({
      ...by(liquidator),
      to: payload.to,
      data: payload.data,
      gas: payload.gasLimit,
    })
    hashes.push(hash)
  }
  return hashes
}

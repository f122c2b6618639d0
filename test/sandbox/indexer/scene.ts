import { join } from 'node:path'
import {
  type Address,
  createTestClient,
  defineChain,
  http,
  parseEther,
  parseUnits,
  publicActions,
  stringToHex,
  walletActions,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts'
import { z } from 'zod'
import { BLOCKS_KEPT } from '../../../sandbox/chain/chain.ts'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import {
  assetAbi,
  eligibilityRegistryAbi,
  lendingMarketAbi,
  priceOracleAbi,
} from '../../../sandbox/contracts/abis.ts'
import { deploySandbox } from '../../../sandbox/deploy/deploy.ts'
import type { Canonical, CanonicalChange, Snapshot } from '../../../sandbox/indexer/canonical.ts'
import { createIndexer } from '../../../sandbox/indexer/indexer.ts'
import { type Clock, systemClock } from '../../../src/clock.ts'
import { startAnvil } from '../../support/anvil.ts'
import { newDirectory } from '../../support/directory.ts'
import { receiptActions } from '../../support/receipts.ts'
import { WAIT_MS_MAX } from '../../support/until.ts'

export type Scene = Awaited<ReturnType<typeof createScene>>

/** Whole sUSD in base units. */
export const usd = (whole: string) => parseUnits(whole, 6)

/** A market, its oracle and its collateral, by the deployment's names; whole collateral tokens have these decimals. */
export const BTC = { market: 'btcMarket', oracle: 'btcOracle', collateral: 'sBTC', decimals: 8 } as const
export const ETH = { market: 'ethMarket', oracle: 'ethOracle', collateral: 'sETH', decimals: 18 } as const
type Side = typeof BTC | typeof ETH
/** How a test writes. Estimating is not enough: a later second can make a write dearer. */
export const SENT = { gas: 1_000_000n, throwOnReceiptRevert: true } as const
type Vault = 'primeVault' | 'growthVault' | 'rivalVault'

/** Deploy the sandbox on a chain of its own, where nobody needs a signature and each transaction is mined at once. */
export async function createScene() {
  const chain = await startAnvil()
  let stopped: Promise<void> | undefined
  const client = createTestClient({
    mode: 'anvil',
    chain: defineChain({
      id: chain.chainId,
      name: 'test',
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [chain.rpcUrl] } },
    }),
    transport: http(chain.rpcUrl, TO_CHAIN),
    cacheTime: 0,
    pollingInterval: 5,
  })
    .extend(publicActions)
    .extend(receiptActions)
    .extend(walletActions)
  const navReporter = privateKeyToAccount(generatePrivateKey())
  const people = {
    feeder: randomAddress(),
    allocator: randomAddress(),
    assetManager: randomAddress(),
    navReporter: navReporter.address,
    rivalManager: randomAddress(),
    vaultOwner: randomAddress(),
    curator: randomAddress(),
    partner: randomAddress(),
    weatherOwner: randomAddress(),
    weatherPartner: randomAddress(),
  }
  const deployerKey = generatePrivateKey()
  const deployment = await deploySandbox({
    rpcUrl: chain.rpcUrl,
    deployerKey,
    ...people,
  })
  const { admin } = deployment
  const at = (name: keyof typeof deployment.contracts) => deployment.contracts[name].address
  const actor = async (): Promise<Address> => {
    const address = randomAddress()
    await client.impersonateAccount({ address })
    await client.setBalance({ address, value: parseEther('1000') })
    return address
  }
  for (const address of [admin, people.feeder, people.assetManager, navReporter.address])
    await client.impersonateAccount({ address })

  const give = async (asset: Address, to: Address, spender: Address, amount: bigint) => {
    const token = { ...SENT, address: asset, abi: assetAbi } as const
    await client.writeContractSync({ ...token, account: admin, functionName: 'mint', args: [to, amount] })
    await client.writeContractSync({
      ...token,
      account: to,
      functionName: 'approve',
      args: [spender, amount],
    })
  }
  const market = (side: Side) => ({ ...SENT, address: at(side.market), abi: lendingMarketAbi }) as const
  const oracle = (side: Side) => ({ ...SENT, address: at(side.oracle), abi: priceOracleAbi }) as const

  return {
    chain,
    client,
    deployment,
    deployerKey,
    at,
    actor,
    navReporter,
    market,
    /** End the chain; once is enough. */
    stop: () => {
      stopped ??= chain.stop()
      return stopped
    },
    /** Where no `checkpointFile` is said, everything is read again. */
    index: (clock: Clock = systemClock, checkpointFile = join(newDirectory(), 'index')): Promise<Canonical> =>
      createIndexer({
        rpcUrl: chain.rpcUrl,
        chainUrl: chain.rpcUrl,
        deployment,
        clock,
        checkpointFile,
        blocksKept: BLOCKS_KEPT,
      }),
    /** Give a borrower whole collateral tokens and deposit them. */
    deposit: async (side: Side, borrower: Address, whole: string): Promise<void> => {
      const assets = parseUnits(whole, side.decimals)
      await give(at(side.collateral), borrower, at(side.market), assets)
      await client.writeContractSync({
        ...market(side),
        account: borrower,
        functionName: 'depositCollateral',
        args: [assets],
      })
    },
    borrow: (side: Side, vault: Vault, borrower: Address, assets: bigint) =>
      client.writeContractSync({
        ...market(side),
        account: borrower,
        functionName: 'borrow',
        args: [at(vault), assets],
      }),
    /** Publish a price in whole dollars. */
    price: async (side: Side, whole: string) => {
      const { timestamp } = await client.getBlock()
      const args = [parseUnits(whole, 18), timestamp] as const
      return client.writeContractSync({ ...oracle(side), account: admin, functionName: 'setPrice', args })
    },
    oracleState: (side: Side, state: number) =>
      client.writeContractSync({ ...oracle(side), account: admin, functionName: 'setState', args: [state] }),
    pause: (side: Side, paused: boolean) =>
      client.writeContractSync({
        ...market(side),
        account: admin,
        functionName: 'setPaused',
        args: [paused],
      }),
    authorize: (wallet: Address, side: Side, authorized: boolean) =>
      client.writeContractSync({
        ...SENT,
        address: at('registry'),
        abi: eligibilityRegistryAbi,
        account: admin,
        functionName: 'setAuthorization',
        args: [wallet, stringToHex('liquidate', { size: 32 }), at(side.market), authorized],
      }),
    /** Give a liquidator the loan asset, and say what it would call. */
    liquidation: async (side: Side, vault: Vault, borrower: Address, repayAssets: bigint) => {
      const liquidator = await actor()
      await give(at('sUSD'), liquidator, at(side.market), repayAssets)
      const args = [at(vault), borrower, repayAssets, 0n, liquidator, 2n ** 63n] as const
      return { ...market(side), account: liquidator, functionName: 'liquidate', args } as const
    },
    /** Ask anvil for what viem has no name for. */
    rpc: async (method: string, ...params: readonly unknown[]): Promise<void> => {
      const response = await fetch(chain.rpcUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
      const answer = z
        .looseObject({ error: z.object({ message: z.string() }).optional() })
        .parse(await response.json())
      if (answer.error !== undefined) throw new TypeError(answer.error.message)
    },
    /** Wait until the indexer holds the chain's head, or a later one where blocks go on coming. */
    caughtUp: async (canonical: Canonical): Promise<Snapshot> => {
      const { hash, number } = await client.getBlock()
      const now = canonical.snapshot()
      if (now.block.hash === hash) return now
      return new Promise((resolve, reject) => {
        const deadline = AbortSignal.timeout(WAIT_MS_MAX)
        deadline.addEventListener('abort', () =>
          reject(new TypeError(`The indexer did not reach the head: ${canonical.freshness().reason}`)),
        )
        const end = canonical.onSnapshot((snapshot) => {
          const { block } = snapshot
          if (block.hash !== hash && block.number <= number) return
          end()
          resolve(snapshot)
        })
      })
    },
  }
}

/** Collect what the indexer announces while something is done, up to the block that it ends in. */
export async function changesDuring(
  scene: Scene,
  canonical: Canonical,
  act: () => Promise<unknown>,
): Promise<readonly CanonicalChange[]> {
  await scene.caughtUp(canonical)
  const seen: CanonicalChange[] = []
  const end = canonical.onSnapshot((_, changes) => seen.push(...changes))
  await act()
  await scene.caughtUp(canonical)
  end()
  return seen
}

/** Return the one row that is asked for. */
export function found<T>(rows: readonly T[], is: (row: T) => boolean): T {
  const row = rows.find(is)
  if (row === undefined) throw new TypeError('No such row.')
  return row
}

/** Return an address as rows spell it. */
export const lower = (address: Address) => address.toLowerCase()

function randomAddress(): Address {
  return privateKeyToAddress(generatePrivateKey())
}

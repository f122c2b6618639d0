import { type Address, parseEther, parseUnits } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { assetAbi, lendingMarketAbi, priceOracleAbi } from '../../../sandbox/contracts/abis.ts'
import { startKms } from '../../../sandbox/kms/server.ts'
import { systemClock } from '../../../src/clock.ts'
import { BTC, usd } from '../../sandbox/indexer/scene.ts'
import { createKeeperScene, ENVIRONMENT } from '../../support/keeper-scene.ts'
import { type DelayProxy, type Passing, startDelayProxy } from './delay-proxy.ts'
import type { ScriptSettings } from './reaction-script.ts'
import { counted } from './waves.ts'

/** What each server's answer waits, milliseconds. */
export const DELAYS_MS = { service: 20, node: 5, kms: 60 } as const

/** One side's own three proxies. */
export type Proxies = Readonly<Record<keyof typeof DELAYS_MS, DelayProxy>>

/** A sandbox without weather behind two sets of slow servers, and borrowers that fall one after the other. */
export type ReactionWorld = {
  readonly keeper: { readonly proxies: Proxies; readonly configFile: string; readonly signer: Address }
  readonly script: { readonly proxies: Proxies; readonly settings: ScriptSettings }
  /** Let the next borrower owe as much as a fall of the price makes too much, at a recovered price. */
  readonly openNext: () => Promise<void>
  /** Let the price fall, in the next block. */
  readonly crash: () => Promise<void>
  readonly openClaims: (liquidator: Address) => Promise<number>
  readonly stop: () => Promise<void>
}

/** Owed against one whole BTC: too much at $47,000 for a threshold of 80 %, and the half that is left is not. */
const DEBT = usd('40000')
const HIGH = '60000'
const LOW = '47000'
const SCRIPT_KMS = { accessKeyId: 'AKIDSCRIPT', secretAccessKey: 'script-secret-0123456789' }

/** Start everything that both sides act upon, with so many borrowers. */
export async function createReactionWorld(borrowers: number): Promise<ReactionWorld> {
  const world = await createKeeperScene()
  const { scene, service } = world
  const { client } = scene
  const scriptKms = await startKms({
    clock: systemClock,
    region: 'us-east-1',
    credentials: SCRIPT_KMS,
    keys: [{ id: '99999999-2222-4333-8444-555555555555', privateKey: generatePrivateKey() }],
  })
  const [scriptKey] = scriptKms.keys
  const { kms } = world.config()
  if (scriptKey === undefined || kms?.endpoint === undefined)
    throw new TypeError('the scene signs with a KMS')

  // Everything is mined at once until the people are there.
  await world.mineEvery(0)
  await scene.rpc('evm_setAutomine', true)
  await client.setBalance({ address: scriptKey.address, value: parseEther('100') })
  await client.writeContractSync({
    address: scene.at('sUSD'),
    abi: assetAbi,
    account: scene.deployment.admin,
    gas: 1_000_000n,
    functionName: 'mint',
    args: [scriptKey.address, usd('1000000')],
  })
  const people: Address[] = []
  for (let count = 0; count < borrowers; count += 1) {
    const borrower = await scene.actor()
    await scene.deposit(BTC, borrower, '1')
    people.push(borrower)
  }
  await scene.rpc('evm_setAutomine', false)
  await world.mineEvery(1)

  const behind = async (kmsUrl: string): Promise<Proxies> => ({
    service: await startDelayProxy({
      target: service.url,
      delayMs: DELAYS_MS.service,
      nameOf: serviceCall,
      hear: '"oracles.updated"',
    }),
    node: await startDelayProxy({
      target: scene.chain.rpcUrl,
      delayMs: DELAYS_MS.node,
      nameOf: nodeCall,
    }),
    kms: await startDelayProxy({ target: kmsUrl, delayMs: DELAYS_MS.kms, nameOf: kmsCall }),
  })
  const keeper = await behind(kms.endpoint)
  const script = await behind(scriptKms.url)

  /** Anvil orders a block by what is offered at most: less than either side offers, and more by `extraWei`. */
  const offer = (baseFeePerGas: bigint | null, extraWei: bigint) => ({
    maxFeePerGas: ((baseFeePerGas ?? 0n) * 5n) / 4n + extraWei,
    maxPriorityFeePerGas: 1n,
  })
  const setPrice = async (whole: string) => {
    const { timestamp, baseFeePerGas } = await client.getBlock()
    return client.writeContract({
      address: scene.at(BTC.oracle),
      abi: priceOracleAbi,
      account: scene.deployment.admin,
      gas: 1_000_000n,
      functionName: 'setPrice',
      args: [parseUnits(whole, 18), timestamp],
      ...offer(baseFeePerGas, 3n),
    })
  }

  return {
    keeper: {
      proxies: keeper,
      signer: world.signer,
      configFile: world.configFile({
        chain: {
          id: String(scene.chain.chainId),
          finality: { confirmations: '1' },
          nodes: { read: [keeper.node.url], send: [keeper.node.url] },
        },
        service: { url: keeper.service.url, secretKey: 'env:TEST_SECRET_KEY' },
        kms: {
          region: kms.region,
          endpoint: keeper.kms.url,
          accessKeyId: kms.accessKeyId?.reveal(),
          secretAccessKey: 'env:TEST_KMS_SECRET',
        },
      }),
    },
    script: {
      proxies: script,
      settings: {
        serviceUrl: script.service.url,
        rpcUrl: script.node.url,
        chainId: scene.chain.chainId,
        namespace: scene.deployment.namespace,
        secretKey: ENVIRONMENT.TEST_SECRET_KEY,
        kms: { region: 'us-east-1', endpoint: script.kms.url, credentials: SCRIPT_KMS },
        signer: { keyId: scriptKey.arn, address: scriptKey.address },
        market: scene.at(BTC.market),
        oracle: scene.at(BTC.oracle),
        loanAsset: scene.at('sUSD'),
      },
    },
    openNext: async () => {
      const borrower = people.shift()
      if (borrower === undefined) throw new TypeError('no borrower is left')
      // In one block: behind the liquidation that waits for it, first the price, then what it allows.
      await setPrice(HIGH)
      const { baseFeePerGas } = await client.getBlock()
      const hash = await client.writeContract({
        ...scene.market(BTC),
        account: borrower,
        functionName: 'borrow',
        args: [scene.at('primeVault'), DEBT],
        ...offer(baseFeePerGas, 2n),
      })
      const { status } = await client.waitForTransactionReceipt({ hash })
      if (status !== 'success') throw new TypeError('the next borrower could not borrow')
      await scene.caughtUp(world.canonical)
    },
    crash: async () => {
      await setPrice(LOW)
    },
    openClaims: async (liquidator) =>
      (
        await client.readContract({
          address: scene.at(BTC.market),
          abi: lendingMarketAbi,
          functionName: 'openClaims',
          args: [liquidator],
        })
      ).length,
    stop: async () => {
      for (const proxy of [...Object.values(keeper), ...Object.values(script)]) await proxy.stop()
      await scriptKms.stop()
      await world.stop()
    },
  }
}

const serviceCall = ({ method, path }: Passing) =>
  `${method} ${path.replace(/\?.*$/, '').replace(/\/wf_[^/]+/, '/{requestId}')}`

function nodeCall({ body }: Passing): string {
  const sent: { method: string } | { method: string }[] = JSON.parse(body)
  return counted([sent].flat().map(({ method }) => method)).join(' + ')
}

const kmsCall = ({ headers }: Passing) => `kms:${String(headers['x-amz-target']).split('.').at(-1)}`

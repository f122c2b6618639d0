import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import solc from 'solc'
import { type Abi, type Address, keccak256, parseGwei, parseUnits } from 'viem'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { assetAbi, priceOracleAbi } from '../../sandbox/contracts/abis.ts'
import { BTC, SENT } from '../sandbox/indexer/scene.ts'
import { inOrder } from '../support/in-order.ts'
import { createKeeperScene, type KeeperScene, reached } from '../support/keeper-scene.ts'
import { policyOfOneOracle } from '../support/policies.ts'

const SALE = 'own.liquidator.sell'
const PAIR = 'sBTC/sUSD'
const EXIT = { venue: 'btcExit', saleMax: '1 sBTC' }
const HELD = parseUnits('3', 8)

type Contract = { readonly abi: Abi; readonly evm: { readonly bytecode: { readonly object: string } } }

function compileVenue(): Contract {
  const content = readFileSync(`${import.meta.dirname}/LyingVenue.sol`, 'utf8')
  const output: { contracts: { 'LyingVenue.sol': { LyingVenue: Contract } } } = JSON.parse(
    solc.compile(
      JSON.stringify({
        language: 'Solidity',
        sources: { 'LyingVenue.sol': { content } },
        settings: { evmVersion: 'cancun', outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } },
      }),
    ),
  )
  return output.contracts['LyingVenue.sol'].LyingVenue
}

let world: KeeperScene
beforeAll(async () => {
  world = await createKeeperScene()
})
afterEach(() => world.rest())
afterAll(() => world.stop())

/** Deploy the venue, pay it in and price what is sold: what it is told to do, and what a configuration pins. */
async function openVenue() {
  const { scene, signer } = world
  const { client, at, deployment } = scene
  const { abi, evm } = compileVenue()
  const by = { ...SENT, account: deployment.admin } as const
  const { contractAddress } = await client.waitForTransactionReceipt({
    hash: await client.deployContract({
      abi,
      bytecode: `0x${evm.bytecode.object}`,
      account: by.account,
      gas: 3_000_000n,
      // A payload has about 100,000 gas, the rule allows 300,000.
      args: [at('sUSD'), 150_000n],
    }),
  })
  const venue: Address = contractAddress ?? '0x'
  const asset = { ...by, abi: assetAbi, functionName: 'mint' } as const
  await client.writeContractSync({ ...asset, address: at('sUSD'), args: [venue, parseUnits('1000000', 6)] })
  await client.writeContractSync({ ...asset, address: at('sBTC'), args: [signer, HELD] })
  await scene.price(BTC, '60000')
  const { timestamp } = await client.getBlock()
  const reference = at('btcReferenceOracle')
  await client.writeContractSync({
    ...by,
    address: reference,
    abi: priceOracleAbi,
    functionName: 'setPrice',
    args: [parseUnits('60000', 18), timestamp],
  })
  const pin = async (name: string, address: Address) => ({
    name,
    address,
    codeHash: keccak256((await client.getCode({ address })) ?? '0x'),
  })
  return {
    venue,
    pins: [await pin(EXIT.venue, venue), await pin('btcReferenceOracle', reference)],
    set: (paidBps: bigint, takenBps: bigint) =>
      client.writeContractSync({
        ...by,
        address: venue,
        abi,
        functionName: 'set',
        args: [paidBps, takenBps],
      }),
    /** Before all that waits. */
    tell: () =>
      client.writeContract({
        ...by,
        address: venue,
        abi,
        functionName: 'tell',
        maxFeePerGas: parseGwei('100'),
        maxPriorityFeePerGas: parseGwei('90'),
      }),
  }
}

/** The policy of the scene, and that one exit. */
function sellingPolicy(): string {
  const { strategy, guard, ...policy } = policyOfOneOracle()
  const sanity = { exits: { [PAIR]: { ...EXIT, referenceContract: 'btcReferenceOracle' } } }
  const selling = {
    ...policy,
    strategy: { ...strategy, exits: { [PAIR]: EXIT } },
    guard: { ...guard, sanity: Object.assign({}, guard.sanity, sanity) },
  }
  const file = join(world.directory, 'selling.yaml')
  writeFileSync(file, stringify(selling, { defaultStringType: 'QUOTE_DOUBLE' }))
  return file
}

/** Start the keeper beside a venue that pays all but two ten-thousandths of what is insisted on, and takes half of what it may. */
async function openKeeper() {
  const opened = await world.quickly(async () => {
    const venue = await openVenue()
    await venue.set(9_998n, 5_000n)
    return venue
  })
  const { deployment } = z
    .object({ deployment: z.looseObject({}) })
    .parse(parse(readFileSync(world.configFile(), 'utf8')))
  const start = () =>
    world.start({
      directory: join(world.directory, opened.venue),
      deployment: { ...deployment, contracts: opened.pins },
      agents: [world.liquidator({ policy: sellingPolicy() })],
    })
  return { ...opened, start }
}

const ownsBtc = () => {
  const { client, at } = world.scene
  const read = { abi: assetAbi, address: at('sBTC') } as const
  return client.readContract({ ...read, functionName: 'balanceOf', args: [world.signer] })
}

inOrder('a venue that lies', () => {
  it('gives a venue in a block the gas of its trial, so that it cannot tell one from the other', async () => {
    const { start } = await openKeeper()
    const keeper = await start()
    await keeper.until(reached('confirmed', SALE))
    expect(await ownsBtc()).toBe(HELD - parseUnits('1', 8))
  })

  it('loses what one sale sends to a venue that lies in blocks alone, is SAFE, and leaves it nothing to take', async () => {
    const { client, at } = world.scene
    const { venue, start, tell } = await openKeeper()
    const owned = await ownsBtc()
    await world.mineEvery(0)
    const keeper = await start()
    await keeper.untilSlot(reached('in_flight', SALE), 'sent')
    await tell()
    await world.mineEvery(1)
    const alarm = await keeper.until((event) => event.type === 'alarm' && event.code === 'signer.safe')
    expect(alarm).toMatchObject({
      message: expect.stringContaining('(effects_differ)'),
      fix: expect.stringContaining('a contract may know a simulation from the chain'),
    })
    expect(owned - (await ownsBtc())).toBe(parseUnits('0.5', 8))
    const allowance = { abi: assetAbi, address: at('sBTC'), functionName: 'allowance' } as const
    expect(await client.readContract({ ...allowance, args: [world.signer, venue] })).toBe(0n)
    expect(keeper.events.filter(reached('in_flight', SALE))).toHaveLength(1)
  })
})

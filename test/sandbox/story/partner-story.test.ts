import fc from 'fast-check'
import { type Address, createTestClient, http, keccak256, publicActions, toHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { expect, onTestFinished, test } from 'vitest'
import { fundCast } from '../../../sandbox/cast/funding.ts'
import { loadKeys, peopleOf } from '../../../sandbox/cast/keys.ts'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import { createTransactions } from '../../../sandbox/chain/transactions.ts'
import { lendingVaultAbi, partnerChannelAbi } from '../../../sandbox/contracts/abis.ts'
import { deploySandbox } from '../../../sandbox/deploy/deploy.ts'
import type { ServiceRecord } from '../../../sandbox/service/records.ts'
import { createLendingStory } from '../../../sandbox/story/lending-story.ts'
import { partnerActs, WORKFLOW_OF_ACT } from '../../../sandbox/story/partner-acts.ts'
import { createPartnerStory } from '../../../sandbox/story/partner-story.ts'
import { SCENARIOS } from '../../../sandbox/story/scenarios.ts'
import { startAnvil } from '../../support/anvil.ts'
import { removeDirectory, sandboxDirectory } from '../../support/sandbox.ts'

test('nobody is blocked or let in by the block that it acts in, and who is kept out is let in again', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000 }), fc.nat(1_000), (seed, round) => {
      const acts = Array.from({ length: 60 }, (_, i) => partnerActs(seed, round * 60 + i))
      const blocks = acts.flat().filter((one) => one.act === 'block')
      expect(blocks).toMatchObject([{ blocked: true }, { ...blocks[0], blocked: false }])
      for (const ofTick of acts.filter((some) => some.some(({ act }) => act === 'block'))) {
        expect(ofTick).toHaveLength(1)
      }
    }),
    { numRuns: 50 },
  )
})

/** The workflow types of owners, partners, curators, investors and lenders; a deposit into a vault is older. */
const isNewer = (type: string) => /^role\.(vault_owner|partner|curator|investor|lender)\./.test(type)

test('in its first two minutes there are at least twelve of the newer workflow types, whatever the seed', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000 }), (seed) => {
      const acts = Array.from({ length: 120 }, (_, tick) => partnerActs(seed, tick)).flat()
      const types = new Set(acts.map(({ act }) => WORKFLOW_OF_ACT[act]).filter(isNewer))
      expect(types.size).toBeGreaterThanOrEqual(12)
    }),
    { numRuns: 50 },
  )
})

test('who stands in is appointed and let go in each of the owner’s rounds', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000 }), fc.nat(1_000), (seed, round) => {
      const acts = Array.from({ length: 60 }, (_, i) => partnerActs(seed, round * 60 + i)).flat()
      const appointed = acts.flatMap((one) => (one.act === 'appoint' ? [one.appointed] : []))
      expect(appointed).toEqual([true, false])
    }),
    { numRuns: 50 },
  )
})

/** Every act of the owner's round, and so of an investor's. */
const TICKS = 64

test('is the same for the same seed, in any order of ticks, and has something of everything in its first minute', () => {
  const seeds = fc.integer({ min: 0, max: 1_000_000 })
  fc.assert(
    fc.property(seeds, fc.array(fc.nat(1_000_000), { maxLength: 5 }), (seed, ticks) => {
      const forwards = ticks.map((tick) => partnerActs(seed, tick))
      expect([...ticks].reverse().map((tick) => partnerActs(seed, tick))).toEqual(forwards.reverse())
      const first = Array.from({ length: 60 }, (_, tick) => partnerActs(seed, tick)).flat()
      const kinds = [
        'deposit',
        'redeem',
        'lend',
        'queue',
        'pay',
        'charge',
        'charge borrowers',
        'block',
        'list',
        ...['send', 'cap', 'appoint'],
      ]
      expect(new Set(first.map(({ act }) => act))).toEqual(
        new Set([...kinds, 'claim shares', 'claim assets']),
      )
    }),
    { numRuns: 50 },
  )
  const minute = (seed: number) => Array.from({ length: 60 }, (_, tick) => partnerActs(seed, tick))
  expect(minute(1)).not.toEqual(minute(2))
})

test('owners, partners and investors act on the chain, and none of their calls fails; a restart goes on', async () => {
  const directory = sandboxDirectory()
  const chain = await startAnvil()
  onTestFinished(async () => {
    await chain.stop()
    removeDirectory(directory)
  })
  const { rpcUrl, chainId } = chain
  const keys = loadKeys(directory)
  const deployment = await deploySandbox({ rpcUrl, deployerKey: keys.deployer, ...peopleOf(keys) })
  const transactions = createTransactions(rpcUrl, chainId)
  await fundCast(rpcUrl, deployment, keys, transactions)
  const client = createTestClient({ mode: 'anvil', transport: http(rpcUrl, TO_CHAIN), cacheTime: 0 }).extend(
    publicActions,
  )
  const { ownedVault, partnerChannel, weatherVault, weatherChannel } = deployment.contracts
  const roles = Object.values(keys.roles).map(({ privateKey }) => privateKeyToAddress(privateKey))
  const nonces = () =>
    Promise.all(roles.map((address) => client.getTransactionCount({ address, blockTag: 'pending' })))
  const { vaultOwner, curator, partner, allocator, assetManager } = peopleOf(keys)
  const owned = { address: ownedVault.address, abi: lendingVaultAbi } as const
  const channel = { address: partnerChannel.address, abi: partnerChannelAbi } as const
  const granted = (role: string, account: Address) =>
    client.readContract({ ...owned, functionName: 'hasRole', args: [keccak256(toHex(role)), account] })
  expect(
    await Promise.all([
      client.readContract({ ...owned, functionName: 'owner' }),
      client.readContract({ ...owned, functionName: 'feeConfig' }),
      client.readContract({ ...owned, functionName: 'routing' }),
      client.readContract({ ...channel, functionName: 'reseller' }),
      client.readContract({ ...channel, functionName: 'curator' }),
      granted('CURATOR_ROLE', curator),
      granted('ALLOCATOR_ROLE', allocator),
      granted('MANAGER_ROLE', assetManager),
      granted('ALLOCATOR_ROLE', deployment.admin),
    ]),
  ).toEqual([
    vaultOwner,
    {
      managementFeeBps: 100,
      performanceFeeBps: 1_000,
      borrowerManagerFeeBps: 500,
      recipient: vaultOwner,
      curatorRecipient: curator,
    },
    [deployment.contracts.btcMarket.address],
    ...[partner, curator, true, true, true, false],
  ])
  const [before, startBlock] = await Promise.all([nonces(), client.getBlockNumber()])

  const lending = createLendingStory(rpcUrl, deployment, keys, SCENARIOS.lively.lending)
  const saved: ServiceRecord[] = []
  const save = (record: ServiceRecord) => saved.push(record)
  let partners = createPartnerStory(rpcUrl, deployment, keys, 7, save)
  for (let tick = 0; tick < TICKS; tick++) {
    if (tick === TICKS / 2) partners = createPartnerStory(rpcUrl, deployment, keys, 7, save)
    const { timestamp } = await client.getBlock()
    const calls = (await Promise.all([lending, partners].map((story) => story(timestamp, tick)))).flat()
    await client.setNextBlockTimestamp({ timestamp: timestamp + 1n })
    // Throws when one of them fails.
    await transactions.mine(calls)
  }

  const eventsOf = async (abi: typeof lendingVaultAbi | typeof partnerChannelAbi, address: Address) => {
    const found = await client.getContractEvents({ abi, address, fromBlock: startBlock + 1n, strict: true })
    return [...new Set(found.map(({ eventName }) => eventName))]
  }
  const told = await Promise.all([
    eventsOf(lendingVaultAbi, weatherVault.address),
    eventsOf(partnerChannelAbi, weatherChannel.address),
    eventsOf(partnerChannelAbi, partnerChannel.address),
  ])
  const moves = ['Deposit', 'Withdraw', 'FeesAccrued']
  expect(told).toEqual([
    expect.arrayContaining([
      ...moves,
      'FeeConfigSet',
      'CuratorFeeSet',
      'WithdrawalRequested',
      'WithdrawalPaid',
      ...['ListingSet', 'RoleGranted', 'RoleRevoked', 'Transfer'],
    ]),
    expect.arrayContaining([...moves, 'FeeSharesClaimed', 'BorrowerFeeClaimed', 'BlockedSet']),
    expect.arrayContaining(moves),
  ])
  const [one, other] = keys.channelInvestors.map((investor) => privateKeyToAddress(investor))
  for (const [from, to] of [
    [one, other],
    [other, one],
  ]) {
    const sent = await client.getContractEvents({
      abi: lendingVaultAbi,
      address: weatherVault.address,
      eventName: 'Transfer',
      args: { from, to },
      fromBlock: startBlock + 1n,
    })
    expect(sent.length).toBeGreaterThan(0)
  }
  // Who stood in is gone again.
  const standIn = privateKeyToAddress(keys.weatherPartner)
  expect(
    await client.readContract({
      address: weatherVault.address,
      abi: lendingVaultAbi,
      functionName: 'hasRole',
      args: [keccak256(toHex('ALLOCATOR_ROLE')), standIn],
    }),
  ).toBe(false)
  const key = `${weatherVault.address}:${deployment.contracts.btcMarket.address}`.toLowerCase()
  expect(saved).toMatchObject([false, true].map((listed) => ({ key, body: { listed }, status: 'saved' })))
  // A keeper counts its own nonces.
  expect(await nonces()).toEqual(before)
})

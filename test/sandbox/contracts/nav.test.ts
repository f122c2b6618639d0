import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createFundWorld, type FundWorld, type NavReport, word } from '../fund-world.ts'
import { by, from, refusal, wad } from './world.ts'

let world: FundWorld
let snapshot: `0x${string}`

beforeAll(async () => {
  world = await createFundWorld()
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
})
afterEach(() => world.client.revert({ id: snapshot }))

/** Submit a report that the reporter signed; fail as the contract does. */
const submit = async (differs: Partial<NavReport>) => {
  const one = await world.report(differs)
  return world.navOracle.simulate.submitReport([one, await world.sign(one)], {
    ...from(world.admin),
    blockNumber: await world.client.getBlockNumber(),
  })
}
const accept = async (differs: Partial<NavReport>) => {
  const one = await world.report(differs)
  await world.navOracle.write.submitReport([one, await world.sign(one)], by(world.admin))
  return one
}

test('a signed report is kept with who signed it, whoever sends it', async () => {
  const { navOracle, signer } = world
  const one = await accept({ value: 2n * wad, revisionLabel: 'first' })
  const stored = {
    value: 2n * wad,
    valuationTime: one.valuationTime,
    revision: 0,
    submittedAt: await world.now(),
    reporter: signer.address,
  }
  expect(await navOracle.read.latest([one.reportType])).toEqual(stored)
  expect(await navOracle.read.reportAt([one.reportType, one.valuationTime, 0])).toEqual(stored)
  const [event] = await navOracle.getEvents.NavReported()
  expect(event?.args).toEqual({ reporter: signer.address, report: one })
})

test('a signature of another key, of other words, of another oracle or of zeros is refused', async () => {
  const { navOracle, admin, sign, report } = world
  const one = await report()
  const send = (signature: `0x${string}`, sent = one) =>
    navOracle.simulate.submitReport([sent, signature], from(admin))
  const stranger = privateKeyToAccount(generatePrivateKey())
  expect(await refusal(send(await sign(one, { account: stranger })))).toEqual([
    'NotReporter',
    stranger.address,
  ])
  const [altered] = await refusal(send(await sign(one), { ...one, value: one.value + 1n }))
  expect(altered).toBe('NotReporter')
  const elsewhere = await sign(one, { chainId: 1 })
  expect((await refusal(send(elsewhere)))[0]).toBe('NotReporter')
  expect((await refusal(send(`0x${'00'.repeat(65)}`)))[0]).toBe('ECDSAInvalidSignature')
})

test('a report for another asset, of other decimals, of no known type or past its deadline is refused', async () => {
  const { admin, now } = world
  const deadline = await now()
  await submit({ deadline })
  expect(await refusal(submit({ deadline: deadline - 1n }))).toEqual([
    'DeadlinePassed',
    deadline - 1n,
    deadline,
  ])
  expect(await refusal(submit({ asset: admin }))).toEqual(['WrongAsset', admin, world.fund.address])
  expect(await refusal(submit({ decimals: 6 }))).toEqual(['WrongDecimals', 6, 18])
  expect(await refusal(submit({ reportType: word('weekly') }))).toEqual(['UnknownReportType', word('weekly')])
  await submit({ revisionLabel: 'x'.repeat(64) })
  expect(await refusal(submit({ revisionLabel: 'x'.repeat(65) }))).toEqual(['LabelTooLong', 65n])
})

test('a value is accepted at its bounds and refused one past them', async () => {
  const bounds = [10n ** 12n, 10n ** 24n] as const
  const [least, most] = bounds
  await submit({ value: least })
  await submit({ value: most })
  expect(await refusal(submit({ value: least - 1n }))).toEqual(['ValueOutOfBounds', least - 1n, ...bounds])
  expect(await refusal(submit({ value: most + 1n }))).toEqual(['ValueOutOfBounds', most + 1n, ...bounds])
})

test('a value moves by half at most, up and down, each type by itself', async () => {
  const { valuationTime } = await accept({ value: wad })
  const [low, high] = [wad / 2n, (wad * 3n) / 2n]
  const next = { valuationTime, revision: 1 }
  await submit({ ...next, value: low })
  await submit({ ...next, value: high })
  expect(await refusal(submit({ ...next, value: low - 1n }))).toEqual([
    'ValueMovedTooFar',
    low - 1n,
    wad,
    5_000,
  ])
  expect(await refusal(submit({ ...next, value: high + 1n }))).toEqual([
    'ValueMovedTooFar',
    high + 1n,
    wad,
    5_000,
  ])
  await submit({ value: 100n * wad, reportType: word('interim') })
})

test('valuation times only grow, and a reported one is corrected by its next revision alone', async () => {
  const { client, now } = world
  const { valuationTime } = await accept({})
  expect(await refusal(submit({ valuationTime }))).toEqual(['RevisionNotNext', 0, 1])
  expect(await refusal(submit({ valuationTime, revision: 2 }))).toEqual(['RevisionNotNext', 2, 1])
  await accept({ valuationTime, revision: 1 })
  const before = valuationTime - 1n
  expect(await refusal(submit({ valuationTime: before }))).toEqual([
    'ValuationWentBackwards',
    before,
    valuationTime,
  ])
  await client.increaseTime({ seconds: 10 })
  await client.mine({ blocks: 1 })
  const time = await now()
  expect(await refusal(submit({ valuationTime: time + 1n }))).toEqual(['ValuationInFuture', time + 1n, time])
  expect(await refusal(submit({ revision: 1 }))).toEqual(['RevisionNotNext', 1, 0])
  await submit({})
})

test('only the admin sets bounds, and the factory keeps no say', async () => {
  const { navOracle, factory, admin, manager } = world
  const set = (least: bigint, most: bigint, account = admin) =>
    navOracle.simulate.setBounds([word('nav'), least, most, 100], from(account))
  await set(1n, 1n)
  await set(0n, 0n)
  expect(await refusal(set(2n, 1n))).toEqual(['BoundsOutOfOrder', 2n, 1n])
  expect(await refusal(set(0n, 1n))).toEqual(['BoundsOutOfOrder', 0n, 1n])
  expect((await refusal(set(1n, 1n, manager)))[0]).toBe('AccessControlUnauthorizedAccount')
  const role = await navOracle.read.DEFAULT_ADMIN_ROLE()
  expect(await navOracle.read.hasRole([role, factory.address])).toBe(false)
  const again = navOracle.simulate.initialize([admin, admin, admin, 18], from(admin))
  expect((await refusal(again))[0]).toBe('InvalidInitialization')
})

import { rmSync } from 'node:fs'
import { type Address, keccak256 } from 'viem'
import { expect, it, onTestFinished } from 'vitest'
import { addNextPage } from '../../src/accounts/next-page.ts'
import { opportunitiesOf } from '../../src/accounts/opportunities.ts'
import { periodOf } from '../../src/accounts/period.ts'
import { workedForOf } from '../../src/accounts/worked-for.ts'
import { openAccounts, type Page } from '../../src/journal/sqlite/accounts.ts'
import type { Deployment } from '../../src/service/contract/deployment.ts'
import { nodesOf } from '../guard/scene.ts'
import { by, eth, usd } from '../sandbox/contracts/world.ts'
import { createFundWorld } from '../sandbox/fund-world.ts'
import { newDirectory } from '../support/directory.ts'
import { proposalOf, workflowOf } from '../support/workflows.ts'

const lower = (address: Address): Address => `0x${address.slice(2).toLowerCase()}`
const codeHash = keccak256('0x')

/** A fund with half a million, another that bids against it, and the pages of the first. */
async function createFunds() {
  const world = await createFundWorld()
  const { fund, house, manager, admin, sUSD, sETH, client } = world
  const watched = await nodesOf(world)
  const directory = newDirectory()
  const accounts = openAccounts(directory)
  onTestFinished(async () => {
    await accounts.close()
    rmSync(directory, { recursive: true })
    await watched.stop()
    await world.stop()
  })
  const rival = await world.launch()
  const investor = await world.investor(usd('1000000'))
  await sUSD.write.approve([rival.address, usd('500000')], by(investor))
  for (const each of [fund, rival]) {
    await each.write.openEpoch([60n], by(admin))
    await each.write.subscribe([usd('500000')], by(investor))
  }
  await world.pass(60)
  for (const each of [fund, rival]) await each.write.closeEpoch(by(admin))
  await world.price('2000')
  const market = {
    address: lower(world.market.address),
    codeHash,
    loanAsset: lower(sUSD.address),
    collateralAsset: lower(sETH.address),
    oracle: lower(world.oracle.address),
    oracleCodeHash: codeHash,
  }
  const deployment: Deployment = {
    namespace: 'test',
    assets: [
      { address: lower(sUSD.address), codeHash, symbol: 'sUSD', decimals: 6 },
      { address: lower(sETH.address), codeHash, symbol: 'sETH', decimals: 18 },
    ],
    markets: [market],
    vaults: [],
    funds: [{ address: lower(fund.address), codeHash, quoteAsset: lower(sUSD.address) }],
    contracts: [{ name: 'house', address: lower(house.address), codeHash }],
  }
  return {
    world,
    fund,
    rival,
    bid: (lotId: bigint, dollars: string, by_ = fund) =>
      by_.write.bidAcquisition([house.address, lotId, usd(dollars)], by(manager)),
    /** All pages of the fund, to the block that is final now. */
    look: async (): Promise<readonly Page[]> => {
      await client.mine({ blocks: 70 })
      const of = { role: 'asset-manager', signer: lower(fund.address), owner: 'fund', deployment } as const
      const priced = { pricesUsdMicros: { sUSD: 1_000_000n }, nativePriceUsdMicros: 3_000_000_000n }
      await addNextPage(
        { ...of, ...priced },
        { nodes: watched.nodes, journal: { byNonce: async () => null }, accounts },
      )
      return accounts.pages()
    },
  }
}

it('counts what a fund leads with as a position at the house, until it is outbid or wins', async () => {
  const { world, fund, rival, bid, look } = await createFunds()
  const house = lower(world.house.address)
  const [one, two] = [await world.offer(eth('10'), usd('1000')), await world.offer(eth('1'), usd('1000'))]
  await look()
  /** What the newest page has at the house, and what all of them earned, whole dollars. */
  const seen = async () => {
    const pages = await look()
    const [worked] = workedForOf(periodOf(pages, 0))
    const at = pages.at(-1)?.positions.map((each) => [each.at, each.assets / usd('1')])
    return { at, earned: (worked?.earned ?? 0n) / usd('1'), flows: worked?.flows }
  }
  await bid(one.lotId, '1000')
  await bid(two.lotId, '1200')
  expect(await seen()).toEqual({ at: [[house, 2_200n]], earned: 0n, flows: 0n })
  // A raise, and what is outbid: it is back, and still reserved.
  await bid(one.lotId, '3000')
  await bid(two.lotId, '1300', rival)
  expect(await fund.read.reservedAssets()).toBe(usd('4200'))
  expect(await seen()).toEqual({ at: [[house, 3_000n]], earned: 0n, flows: 0n })
  // Its time is over, and nobody awarded it yet.
  await world.pass(60)
  await world.sUSD.write.mint([fund.address, 1n], by(world.admin))
  expect(await seen()).toEqual({ at: [[house, 3_000n]], earned: 0n, flows: 1n })
  await world.price('2000')
  await world.house.write.award([one.lotId], by(world.admin))
  // 10 sETH at $2,000, for $3,000.
  expect(await seen()).toEqual({ at: [], earned: 17_000n, flows: 1n })
})

it('never calls a lot lost that the fund still leads', async () => {
  const { world, bid, look } = await createFunds()
  const lot = await world.offer(eth('10'), usd('1000'), { openS: 30n * 86_400n })
  await look()
  const hash = await bid(lot.lotId, '1000')
  await look()
  await world.pass(8 * 86_400)
  await world.price('2000')
  const pages = await look()
  expect(pages).toHaveLength(3)
  const said = {
    of: [],
    worthUsdMicros: usd('20000'),
    markUsdMicros: usd('20000'),
    brings: { token: lower(world.sETH.address), assets: eth('10') },
  }
  const workflow = workflowOf('succeeded', { id: 'one', proposal: proposalOf({ said }) })
  const gas = { kind: 'gas', token: null, assets: -1n, hash, counterparty: null, workflowId: 'one' } as const
  const signed = pages.slice(1, 2).map(({ owner: _, ...page }) => ({
    ...page,
    signer: lower(world.manager),
    lines: [{ ...gas, blockNumber: page.to.number }],
  }))
  const came = (all: readonly Page[]) =>
    opportunitiesOf(all, new Map([['one', workflow]])).find(({ owner }) => owner === 'fund')?.came
  expect(came([...signed, ...pages])).toBe('waiting')
  const unread = pages.map((page) => ({ ...page, positions: [] }))
  expect(came([...signed, ...unread])).toBe('never')
})

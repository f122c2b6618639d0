import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Address, Hex } from 'viem'
import { zeroAddress, zeroHash } from 'viem'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { balancesOf } from '../../src/accounts/balances.ts'
import { type AccountsOf, addNextPage } from '../../src/accounts/next-page.ts'
import { periodOf } from '../../src/accounts/period.ts'
import { resultsOf } from '../../src/accounts/results.ts'
import { workedForOf } from '../../src/accounts/worked-for.ts'
import { checkFinal } from '../../src/guard/checks/check-final.ts'
import { type Accounts, openAccounts, type Page, readAccounts } from '../../src/journal/sqlite/accounts.ts'
import type { Slot } from '../../src/workflow/slot.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { carryOut, createScene, liquidationOf, type Scene } from '../guard/scene.ts'
import { by, eth, usd } from '../sandbox/contracts/world.ts'
import { newDirectory } from '../support/directory.ts'
import { inOrder } from '../support/in-order.ts'
import { slotOf, workflowOf } from '../support/workflows.ts'

let scene: Scene
beforeAll(async () => {
  scene = await createScene()
})
afterAll(() => scene?.stop())

let [directory, accounts, done] = ['', {} as Accounts, [] as Workflow[]]
beforeEach(() => {
  directory = newDirectory()
  accounts = openAccounts(directory)
  done = []
  return async () => {
    await accounts.close()
    rmSync(directory, { recursive: true })
  }
})

const look = async (
  whose: Pick<AccountsOf, 'signer' | 'owner' | 'mover'> & { readonly deployment?: Scene['deployment'] } = {
    signer: scene.liquidator,
  },
  nodes: Scene['nodes'] = scene.nodes,
): Promise<readonly Page[]> => {
  // What was just mined is final once the chain has gone on.
  await scene.world.client.mine({ blocks: 70 })
  const of = {
    ...({ role: 'liquidator', deployment: scene.deployment, ...whose } as const),
    pricesUsdMicros: { sUSD: 1_000_000n },
    nativePriceUsdMicros: 3_000_000_000n,
  }
  const byNonce = async (_chain: number, _signer: Address, nonce: number) =>
    done.find(({ slots }) => slots.some((slot) => slot.nonce === nonce)) ?? null
  await addNextPage(of, { nodes, journal: { byNonce }, accounts })
  return accounts.pages()
}

/** A workflow of ours with these transactions, as its receipts have them. */
async function recorded(id: string, hashes: readonly Hex[], state: Slot['state'] = 'final'): Promise<void> {
  const { client } = scene.world
  const slots = await Promise.all(
    hashes.map(async (hash, index) => {
      const [receipt, { nonce, to, input: data, value: valueWei, gas: gasLimit }] = await Promise.all([
        client.getTransactionReceipt({ hash }),
        client.getTransaction({ hash }),
      ])
      const inclusion = { hash, purpose: 'payload', ...receipt } as const
      const effectiveGasPriceWei = receipt.effectiveGasPrice
      const payload = { to, data, valueWei, gasLimit }
      return slotOf({
        index,
        nonce,
        signer: scene.liquidator,
        state,
        payload,
        inclusion: { ...inclusion, effectiveGasPriceWei },
      })
    }),
  )
  done.push(workflowOf('succeeded', { id, slots }))
}

const sent = (to: Address, value: bigint) =>
  scene.world.client.sendTransaction({ ...by(scene.liquidator), to, value })

inOrder('the pages of one account on one chain', () => {
  it('sums to the balances on chain, to the base unit: tokens, gas, coin that was sent, and what others gave', async () => {
    const { world, liquidator } = scene
    const borrower = await scene.borrow()
    await world.price('2500')
    expect(await look()).toMatchObject([{ from: null, lines: [] }])
    const cleared = await checkFinal(await liquidationOf(scene, { borrower, repay: usd('5000') }), scene)
    if (!cleared.ok) throw new TypeError(cleared.message)
    await recorded('one', await carryOut(cleared.clearance, scene))
    await recorded('two', [await sent(borrower, eth('0.5'))])
    await world.sUSD.write.mint([liquidator, usd('70')], by(world.admin))
    const pages = await look()
    const period = periodOf(pages, 0)
    expect(period[0]?.page.lines).toMatchObject([
      {
        kind: 'moved',
        assets: -usd('5000'),
        workflowId: 'one',
        counterparty: scene.deployment.markets[0]?.address,
      },
      { kind: 'moved', assets: usd('70'), workflowId: null, counterparty: zeroAddress },
      { kind: 'gas', token: null, workflowId: 'one' },
      { kind: 'gas', token: null, workflowId: 'one' },
      { kind: 'gas', token: null, workflowId: 'two' },
      { kind: 'sent', token: null, assets: -eth('0.5'), workflowId: 'two', counterparty: borrower },
    ])
    for (const { opening, received, paid, gas, unexplained, closing } of balancesOf(period)) {
      expect(unexplained).toBe(0n)
      expect(opening + received + paid + gas).toBe(closing)
    }
    const { blockNumber, ...at } = { blockNumber: period[0]?.page.to.number, address: liquidator }
    const closing = Object.fromEntries(balancesOf(period).map((row) => [row.symbol, row.closing]))
    expect(closing.sUSD).toBe(
      await world.sUSD.read.balanceOf([liquidator], { blockNumber: blockNumber ?? 0n }),
    )
    expect(closing.ETH).toBe(await world.client.getBalance({ ...at, blockNumber: blockNumber ?? 0n }))
    // 5,000 was repaid and 70 given; the claim holds 5,350 of sETH.
    const [result] = resultsOf(period, 'role', new Map())
    expect(result).toMatchObject({ moved: -usd('4930') - 1_500_000_000n, positions: usd('5350'), marked: 0n })
  })

  it('marks what was held at the price of each page', async () => {
    const { world } = scene
    const held = await world.sETH.read.balanceOf([scene.liquidator])
    await world.price('2000')
    await look()
    await world.sETH.write.mint([scene.liquidator, eth('2') - held], by(world.admin))
    await look()
    await world.price('2100')
    await world.sUSD.write.mint([scene.liquidator, 1n], by(world.admin))
    const period = periodOf(await look(), 0).slice(-1)
    const last = period[0]?.page
    const [result] = resultsOf(period, 'role', new Map())
    const claimed =
      last?.positions.find(({ token }) => token === scene.deployment.assets[2]?.address)?.assets ?? 0n
    expect(result).toMatchObject({ moved: 1n, positions: 0n, marked: usd('200') + claimed / 10n ** 10n })
  })

  it('goes on with a token and a price that were taken off, as they were read last, and never as a loss', async () => {
    const { world, liquidator, deployment } = scene
    await world.sETH.write.mint([liquidator, eth('1')], by(world.admin))
    await world.sUSD.write.mint([liquidator, usd('9')], by(world.admin))
    const [first] = await look()
    const { sETH, sUSD } = world
    // Its market is gone too, and with it the oracle; of the dollar, all that says what it is worth.
    const without = {
      ...deployment,
      markets: [],
      assets: deployment.assets
        .filter(({ address }) => address !== sETH.address.toLowerCase())
        .map((each) => ({ ...each, ...(each.symbol === 'sUSD' ? { symbol: 'other' } : {}) })),
    }
    const reading = { signer: liquidator, deployment: without }
    await sUSD.write.mint([liquidator, usd('1')], by(world.admin))
    await look(reading)
    await sUSD.write.mint([liquidator, usd('1')], by(world.admin))
    const pages = await look(reading)
    const period = periodOf(pages, 0)
    expect(resultsOf(period, 'role', new Map())).toMatchObject([
      { moved: usd('2'), positions: 0n, marked: 0n },
    ])
    const gone = balancesOf(period).find(({ token }) => token === sETH.address.toLowerCase())
    const held = first?.closing.find(({ token }) => token === gone?.token)?.assets
    expect(gone).toMatchObject({ symbol: 'sETH', isUnread: true, opening: held, closing: held })
    expect(gone).toMatchObject({ block: first?.to.number, hash: first?.to.hash, unexplained: 0n })
    expect(pages.at(-1)?.prices).toMatchObject([
      { token: null, by: 'fees.nativePrice' },
      { token: sUSD.address.toLowerCase(), by: 'limits.prices', readUntil: first?.to },
      { token: gone?.token, by: deployment.markets[0]?.oracle, readUntil: first?.to },
    ])
    // Listed again, it is read again: what it changed by meanwhile says that nothing explains it.
    await sETH.write.mint([liquidator, eth('1')], by(world.admin))
    const [back] = balancesOf(periodOf(await look(), 0)).filter(({ token }) => token === gone?.token)
    expect(back).toMatchObject({ isUnread: false, closing: (held ?? 0n) + eth('1') })
  })

  it('begins no page for what strangers give: it is on the next one', async () => {
    const { world, liquidator } = scene
    await look()
    await world.sUSD.write.mint([world.admin, 2n], by(world.admin))
    for (const dust of [1n, 1n]) {
      await world.sUSD.write.transfer([liquidator, dust], by(world.admin))
      expect(await look()).toHaveLength(1)
    }
    // Nobody allowed the admin anything, and of nothing it may take as much.
    await world.sUSD.write.transferFrom([liquidator, world.admin, 0n], by(world.admin))
    expect(await look()).toHaveLength(1)
    await world.sUSD.write.mint([liquidator, 5n], by(world.admin))
    expect((await look())[1]?.lines).toMatchObject([{ assets: 1n }, { assets: 1n }, { assets: 5n }])
  })

  it('says so where nothing explains a balance, and never enters it twice', async () => {
    await look()
    await sent(scene.world.admin, eth('1'))
    const pages = await look()
    const [line, ...more] = pages[1]?.lines ?? []
    expect([line?.kind, line?.token, more]).toEqual(['unexplained', null, []])
    expect(line?.assets).toBeLessThan(-eth('1'))
    expect(await look()).toHaveLength(2)
  })

  it('waits for what our own record has not closed', async () => {
    await look()
    await recorded('one', [await sent(scene.world.admin, eth('1'))], 'mined')
    expect(await look()).toHaveLength(1)
    done = done.map((workflow) => ({
      ...workflow,
      slots: workflow.slots.map((slot) => ({ ...slot, state: 'final' })),
    }))
    expect(await look()).toHaveLength(2)
  })

  it('refuses to go on from a block that the chain has left, and takes a page only after the last', async () => {
    const [first] = await look()
    if (first === undefined) throw new TypeError('no page')
    const other = { number: first.to.number + 1n, hash: `0x${'99'.repeat(32)}` as const, atMs: first.to.atMs }
    expect(await accounts.add({ ...first, from: null, to: other })).toBe(false)
    expect(await accounts.add({ ...first, from: first.to, to: other })).toBe(true)
    await expect(look()).rejects.toMatchObject({ code: 'accounts.forked' })
    // Nodes that do not have the block say nothing of the chain.
    const without = { ...scene.nodes, block: async () => null }
    await expect(look(undefined, without)).rejects.toMatchObject({ code: 'accounts.not_read' })
  })

  it('is read beside the keeper that keeps it', async () => {
    expect(() => readAccounts(join(directory, 'none'))).toThrow('There are no accounts')
    const pages = await look()
    const reader = readAccounts(directory)
    expect(await reader.pages()).toEqual(pages)
    await reader.close()
  })

  it('begins none of a vault that another allocator moves, until its own key may', async () => {
    const { world, deployment } = scene
    const vault = deployment.vaults[0]?.address ?? '0x'
    const mover = await world.person(0n, 0n)
    const owned = { signer: vault, owner: 'vault', mover } as const
    expect(await look(owned)).toEqual([])
    await world.prime.write.grantRole([await world.prime.read.ALLOCATOR_ROLE(), mover], by(world.admin))
    expect(await look(owned)).toMatchObject([{ signer: vault, owner: 'vault', from: null }])
    // And goes on for no longer than it may.
    await world.prime.write.revokeRole([await world.prime.read.ALLOCATOR_ROLE(), mover], by(world.admin))
    await world.prime.write.allocate([world.market.address, usd('1')], by(world.allocator))
    expect(await look(owned)).toHaveLength(1)
  })

  it('counts as a flow of a vault what comes from a channel, though that is pinned', async () => {
    const { world, deployment } = scene
    const vault = deployment.vaults[0]?.address ?? '0x'
    const channel = await world.person(usd('300'), 0n)
    const address: Address = `0x${channel.slice(2).toLowerCase()}`
    const contracts = [{ name: 'partnerChannel', address, codeHash: zeroHash }]
    const owned = { signer: vault, owner: 'vault', mover: world.allocator } as const
    const of = { ...owned, deployment: { ...deployment, contracts } }
    await look(of)
    await world.sUSD.write.approve([vault, usd('300')], by(channel))
    await world.prime.write.deposit([usd('300'), channel], by(channel))
    const [one] = periodOf(await look(of), 0)
    expect(one?.page.lines).toMatchObject([{ kind: 'flow', assets: usd('300'), counterparty: address }])
  })

  it('keeps what a vault has, lends and earns, apart from what those who own it give and take', async () => {
    const { world, deployment } = scene
    const [asset] = deployment.assets
    const vault = deployment.vaults[0]?.address ?? '0x'
    await world.price('3000')
    const borrower = await world.person(0n, eth('100'))
    await world.market.write.depositCollateral([eth('100')], by(borrower))
    await world.market.write.borrow([vault, usd('100000')], by(borrower))
    const owned = { signer: vault, owner: 'vault', mover: world.allocator } as const
    const [first] = await look(owned)
    const { market } = first?.lent?.[0] ?? {}
    expect(market).toBe(deployment.markets[0]?.address)
    const blockNumber = first?.to.number ?? 0n
    const allocated = await world.market.read.allocatedAssets([vault], { blockNumber })
    expect(first?.lent?.[0]?.assets).toBe(allocated)
    const depositor = await world.person(usd('1000'), 0n)
    await world.sUSD.write.approve([vault, usd('1000')], by(depositor))
    await world.prime.write.deposit([usd('1000'), depositor], by(depositor))
    await world.prime.write.allocate([world.market.address, usd('400')], by(world.allocator))
    await world.client.increaseTime({ seconds: 3_600 })
    const pages = await look(owned)
    const [{ page } = { page: undefined }] = periodOf(pages, 0)
    expect(page?.lines).toMatchObject([
      { kind: 'flow', assets: usd('1000'), token: asset?.address },
      { kind: 'moved', assets: -usd('400'), counterparty: market },
    ])
    const [before, after] = [first, page].map((each) => each?.lent?.[0]?.assets ?? 0n)
    const interest = (after ?? 0n) - (before ?? 0n) - usd('400')
    expect(interest).toBeGreaterThan(0n)
    expect(workedForOf(periodOf(pages, 0))).toMatchObject([
      { account: vault, owner: 'vault', flows: usd('1000'), earned: interest, marked: 0n },
    ])
  })
})

import { encodeFunctionData } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { lendingVaultAbi } from '../../sandbox/contracts/abis.ts'
import { createShadowMarks, type MarkedBy, readTokenFlows } from '../../src/accounts/shadow-marks.ts'
import { approvalPolicy, compileApproval } from '../../src/guard/approval/approval.ts'
import { checkFinal } from '../../src/guard/checks/check-final.ts'
import { createShadowStages } from '../../src/keeper/stages/shadow.ts'
import { type Clearance, isUnmarked, type Workflow } from '../../src/workflow/workflow.ts'
import { createScene, FEES, inFlight, liquidationOf, type Scene } from '../guard/scene.ts'
import { by, eth, usd } from '../sandbox/contracts/world.ts'
import { FEE_POLICY, workflowOf } from '../support/workflows.ts'

const HOUR_S = 3_600

let scene: Scene
beforeAll(async () => {
  scene = await createScene()
})
afterAll(() => scene?.stop())

const prices = (vaults: MarkedBy['vaults'] = []): MarkedBy => ({
  vaults,
  deployment: scene.deployment,
  pricesUsdMicros: { sUSD: 1_000_000n },
  nativePriceUsdMicros: 3_000_000_000n,
})
const tokenOf = (symbol: string) =>
  scene.deployment.assets.find((each) => each.symbol === symbol)?.address ?? null

/** A liquidation that was cleared, and what its agent says of it. */
async function cleared(gainUsdMicros: bigint, clearance: Clearance, id: string): Promise<Workflow> {
  const { workflow } = await liquidationOf(scene, { borrower: scene.liquidator, repay: usd('5000') })
  const { role, chainId, signer } = workflow
  const proposal = { ...workflow.proposal, gainUsdMicros }
  return workflowOf('cleared', {
    id,
    role,
    chainId,
    signer,
    proposal,
    clearance,
    shadow: true,
    shadowed: { calls: [], ask: null },
  })
}

async function clearanceOf(): Promise<Clearance> {
  await scene.world.price('3000')
  const borrower = await scene.borrow()
  await scene.world.price('2500')
  const checked = await checkFinal(await liquidationOf(scene, { borrower, repay: usd('5000') }), scene)
  if (!checked.ok) throw new TypeError(checked.message)
  return checked.clearance
}

/** Carry it to its end in shadow, by the role's own stages. */
async function shadowed(workflow: Workflow): Promise<Workflow> {
  const stages = createShadowStages({
    nowMs: () => 5_000,
    apart: [],
    nodes: scene.nodes,
    gas: { dataFees: () => undefined },
    ruleset: scene.ruleset,
    marked: prices(),
    journal: { barrier: async () => {}, reservations: async () => [], settle: async () => {} },
    client: { prepareWorkflow: () => Promise.reject(new TypeError('a shadow prepared')) },
    approval: compileApproval(
      approvalPolicy([]).parse({ always: [], aboveAssets: {}, expiresAfter: '15 min' }),
      scene.deployment,
    ),
    fees: FEE_POLICY,
    gate: () => ({ closed: false, paused: false }),
    onScored: () => {},
  })
  const step = await stages.claim(workflow)
  if (step.type === 'wait') throw new TypeError('it waits')
  return step.workflow
}

it('marks what would have come by the chain an hour later, whatever the agent says of it', async () => {
  const { world, nodes } = scene
  const clearance = await clearanceOf()
  await world.client.mine({ blocks: 1 })
  const said = [100_000_000n, 200_000_000n]
  const ended = await Promise.all(
    said.map(async (gain) => shadowed(await cleared(gain, clearance, `says ${gain}`))),
  )
  // 5,000 repaid at 2,500 with a bonus of 7 % are 2.14 sETH, in a claim.
  const came = [
    { token: tokenOf('sUSD'), assets: -usd('5000') },
    { token: tokenOf('sETH'), assets: eth('2.14') },
  ]
  expect(ended.map(({ shadowed }) => shadowed?.outcome)).toMatchObject([
    { verdict: 'won', came: { assets: came } },
    { verdict: 'won', came: { assets: came } },
  ])
  const [first] = ended
  if (first === undefined) throw new TypeError('none ended')
  const cameAtMs = first.shadowed?.outcome?.came?.atMs ?? 0
  let nowMs = cameAtMs + HOUR_S * 1_000 - 1
  const written: Workflow[] = []
  const marks = createShadowMarks(prices(), {
    nodes,
    nowMs: () => nowMs,
    journal: {
      write: async (workflow) => {
        written.push(workflow)
        return workflow
      },
    },
  })
  for (const each of ended) marks.add(each)
  await marks.look()
  nowMs += 1
  // The keeper's hour is over, and the final block's is not.
  await marks.look()
  expect(written).toEqual([])
  await world.client.increaseTime({ seconds: HOUR_S })
  await world.price('2000')
  await world.client.mine({ blocks: 70 })
  await marks.look()
  await marks.look()
  const final = await nodes.finalized()
  const gasUsdMicros = ((first.shadowed?.outcome?.gasWei ?? 0n) * 3_000n) / 10n ** 12n
  expect(written.map(({ shadowed }) => shadowed?.outcome?.mark)).toEqual(
    said.map(() => ({
      usdMicros: usd('4280') - usd('5000') - gasUsdMicros,
      blockNumber: final.number,
      atMs: final.timestampS * 1_000,
      prices: [
        { token: null, usdMicros: 3_000_000_000n },
        { token: tokenOf('sUSD'), usdMicros: 1_000_000n },
        { token: tokenOf('sETH'), usdMicros: 2_000_000_000n },
      ],
    })),
  )
  expect(written.some(isUnmarked)).toBe(false)
})

it('measures what really comes when the same is done', async () => {
  const { world, nodes, liquidator } = scene
  const clearance = await clearanceOf()
  const nonce = await world.client.getTransactionCount({ address: liquidator })
  const bundle = inFlight(clearance, liquidator, nonce)
  const held = () => world.sUSD.read.balanceOf([liquidator])
  const before = await held()
  const came = await readTokenFlows(liquidator, bundle, await nodes.head(), { by: prices(), nodes })
  for (const { payload } of clearance.payloads) {
    const { to, data, gasLimit: gas } = payload
    await world.client.sendTransaction({ ...by(liquidator), to, data, gas })
  }
  const claims = await world.market.read.openClaims([liquidator])
  const claim = await world.market.read.claim([claims.at(-1) ?? 0n])
  expect(came).toEqual({
    assets: [
      { token: tokenOf('sUSD'), assets: (await held()) - before },
      { token: tokenOf('sETH'), assets: claim[4] },
    ],
    lent: [],
  })
})

it('measures nothing where the chain does not say what a token is worth', async () => {
  const { nodes, liquidator, deployment } = scene
  const markets = deployment.markets.map((market) => ({ ...market, oracle: market.loanAsset }))
  const unpriced = { ...prices(), deployment: { ...deployment, markets } }
  expect(await readTokenFlows(liquidator, [], await nodes.head(), { by: unpriced, nodes })).toBeNull()
})

it('marks what a vault would have lent by what the market pays over the hour, at both its ends', async () => {
  const { world, nodes, deployment } = scene
  const [vault = '0x'] = deployment.vaults.map(({ address }) => address)
  const prime = prices([vault])
  const market = deployment.markets[0]?.address ?? '0x'
  // So much is borrowed that an hour of a thousand earns more than a millionth of a dollar.
  await world.price('3000')
  const borrower = await world.person(0n, eth('100'))
  await world.market.write.depositCollateral([eth('100')], by(borrower))
  await world.market.write.borrow([vault, usd('100000')], by(borrower))
  const [from, head] = [world.allocator, await nodes.head()]
  const assets = usd('100000')
  const data = encodeFunctionData({
    abi: lendingVaultAbi,
    functionName: 'deallocate',
    args: [market, assets],
  })
  const call = { from, to: vault, data, valueWei: 0n, gasLimit: 1_000_000n, ...FEES }
  const nonce = await world.client.getTransactionCount({ address: from })
  const came = await readTokenFlows(from, [{ ...call, nonce }], head, { by: prime, nodes })
  const [moved] = came?.lent ?? []
  expect(came).toMatchObject({ assets: [], lent: [{ market, token: tokenOf('sUSD'), assets: -assets }] })
  // With less cash there, the market pays those who stay more.
  expect(moved?.ratePerSecondWad).toBeGreaterThan(await world.market.read.supplyRatePerSecond())
  const outcome = { verdict: 'won', blockNumber: head.number, gasWei: 0n } as const
  const atMs = head.timestampS * 1_000
  const ended = workflowOf('shadowed', {
    shadowed: { calls: [], ask: null, outcome: { ...outcome, came: { ...came, assets: [], atMs } } },
  })
  await world.client.increaseTime({ seconds: HOUR_S })
  await world.client.mine({ blocks: 70 })
  let mark: bigint | undefined
  const marks = createShadowMarks(prime, {
    nodes,
    nowMs: () => Number.MAX_SAFE_INTEGER,
    journal: {
      write: async (workflow) => {
        mark = workflow.shadowed?.outcome?.mark?.usdMicros
        return workflow
      },
    },
  })
  marks.add(ended)
  await marks.look()
  const { number: blockNumber } = await nodes.finalized()
  const then = await world.market.read.supplyRatePerSecond({ blockNumber })
  const rateWad = ((moved?.ratePerSecondWad ?? 0n) + then) / 2n
  expect(mark).toBe((-assets * rateWad * BigInt(HOUR_S)) / 10n ** 18n)
  expect(mark).toBeLessThan(0n)
})

import type { Address } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Armed, Observation } from '../../../agents/agent.ts'
import { decide } from '../../../agents/liquidator/decide.ts'
import type { LiquidatorSeen } from '../../../agents/liquidator/seen.ts'
import type { Canonical, Snapshot } from '../../../sandbox/indexer/canonical.ts'
import { createNodes } from '../../../src/chain/http-nodes.ts'
import type { Nodes } from '../../../src/chain/nodes.ts'
import { systemClock } from '../../../src/clock.ts'
import type { PinnedDeployment } from '../../../src/service/contract/deployment.ts'
import { BTC, createScene, ETH, type Scene, usd } from '../../sandbox/indexer/scene.ts'
import { NOTHING_AROUND } from '../../support/around.ts'
import { inOrder } from '../../support/in-order.ts'
import { policy } from './fixtures.ts'
import { armMarkets, observeLiquidator } from './service-fixtures.ts'

let scene: Scene
let canonical: Canonical
let nodes: Nodes
let pins: PinnedDeployment
let borrower: Address
let signer: Address

beforeAll(async () => {
  scene = await createScene()
  canonical = await scene.index()
  const { rpcUrl, chainId } = scene.chain
  nodes = await createNodes({
    chainId,
    read: [rpcUrl],
    send: [rpcUrl],
    agree: 1,
    finality: 'finalized',
    timeoutMs: 5_000,
    pollMs: 50,
    clock: systemClock,
  })
  const at = (name: Parameters<Scene['at']>[0]) => lower(scene.at(name))
  const sides = [BTC, ETH]
  pins = {
    funds: [],
    contracts: [],
    assets: [
      { address: at('sUSD'), symbol: 'sUSD', decimals: 6 },
      ...sides.map(({ collateral, decimals }) => ({ address: at(collateral), symbol: collateral, decimals })),
    ],
    markets: sides.map((side) => ({
      address: at(side.market),
      loanAsset: at('sUSD'),
      collateralAsset: at(side.collateral),
      oracle: at(side.oracle),
    })),
    vaults: [{ address: at('primeVault') }, { address: at('growthVault') }],
  }
  borrower = lower(await scene.actor())
  await scene.price(BTC, '60000')
  await scene.price(ETH, '3000')
  await scene.deposit(BTC, borrower, '1')
  await scene.borrow(BTC, 'primeVault', borrower, usd('40000'))
  signer = lower((await scene.liquidation(BTC, 'primeVault', borrower, usd('50000'))).account)
})
afterAll(async () => {
  await canonical.stop()
  await nodes.close()
  await scene.stop()
})

const lower = (address: Address): Address => `0x${address.slice(2).toLowerCase()}`

/** The service's lists, straight from the indexer. */
function service(pick: (snapshot: Snapshot) => Snapshot = (snapshot) => snapshot) {
  const list =
    <T>(rows: (snapshot: Snapshot) => readonly T[]) =>
    async () => ({ items: rows(pick(canonical.snapshot())), freshness: canonical.freshness(), dropped: 0 })
  return {
    listMarkets: list(({ markets }) => markets),
    listCreditFacilities: list(({ facilities }) => facilities.map(({ resource }) => resource)),
    listPositions: list(({ positions }) => positions),
    listLiquidationRecovery: list(({ recoveries }) => recoveries),
    listEligibility: list(({ eligibility }) => eligibility.filter((row) => row.walletAddress === signer)),
  }
}

async function look(
  ports = service(),
  armed: ReadonlyMap<Address, Armed> = new Map(),
): Promise<Observation<LiquidatorSeen>> {
  await scene.caughtUp(canonical)
  return observeLiquidator(
    { service: ports, nodes, pins, clock: systemClock },
    {
      signer,
      chainId: scene.chain.chainId,
      ours: [],
      ...NOTHING_AROUND,
      armed,
      priorityFeePerGasWei: 0n,
      limits: { ageMsMax: 20_000, blockLagMax: 3n, headAgeMsMax: 30_000 },
      previous: null,
    },
  )
}

const arm = () => armMarkets({ service: service(), nodes, pins }, scene.chain.chainId)

inOrder('a liquidator on one chain', () => {
  it('arms both markets, with and without a position, and passes over one that is healthy', async () => {
    await scene.caughtUp(canonical)
    const armed = await arm()
    expect([...armed.values()]).toEqual([{ ok: true }, { ok: true }])
    const { proposals, passedOver } = decide(await look(service(), armed), policy())
    expect(proposals).toEqual([])
    expect(passedOver).toMatchObject([{ check: 'health_above_one' }])
    expect(passedOver[0]?.near).toBeCloseTo(40_000 / 48_000, 3)
  })

  it('asks the chain for what the service holds back, and sees the same', async () => {
    const [told] = (await look()).facilities
    const silent = { debtAssets: null, debtShares: null, collateralAssets: null }
    const withheld = service((snapshot) => ({
      ...snapshot,
      positions: snapshot.positions.map((row) => ({ ...row, ...silent })),
    }))
    const [asked] = (await look(withheld)).facilities
    expect(asked?.debtAssets).toBeGreaterThanOrEqual(told?.debtAssets ?? 0n)
    expect({ ...asked, debtAssets: 0n, positionDebtAssets: 0n }).toEqual({
      ...told,
      debtAssets: 0n,
      positionDebtAssets: 0n,
      serviceHealthFactorWad: asked?.serviceHealthFactorWad,
    })
  })

  it('sees a price fall, proposes what the market then takes, and settles the claim', async () => {
    await scene.price(BTC, '48000')
    await scene.caughtUp(canonical)
    const armed = await arm()
    const [proposal] = decide(await look(service(), armed), policy()).proposals
    expect(proposal).toMatchObject({
      kind: 'liquidate',
      subject: `${lower(scene.at('btcMarket'))}:${lower(scene.at('primeVault'))}:${borrower}`,
      reason: { limitedBy: 'close_factor', liquidationBonusBps: 500 },
    })

    const { repayAssets, minCollateralAssets } = proposal?.input ?? {}
    await scene.client.writeContractSync({
      ...scene.market(BTC),
      account: signer,
      functionName: 'liquidate',
      args: [
        lower(scene.at('primeVault')),
        borrower,
        BigInt(String(repayAssets ?? 0)),
        BigInt(String(minCollateralAssets ?? 0)),
        signer,
        2n ** 63n,
      ],
    })
    const after = await look(service(), armed)
    expect(after.claims).toMatchObject([
      { claimId: 1n, collateralAssets: BigInt(String(proposal?.reason.seizeAssets)) },
    ])
    expect(decide(after, policy()).passedOver.map(({ check }) => check)).toContain('claim_not_settleable')

    await scene.client.increaseTime({ seconds: 2 })
    await scene.client.mine({ blocks: 1 })
    expect(decide(await look(service(), armed), policy()).proposals.map(({ kind }) => kind)).toContain(
      'settle',
    )
  })
})

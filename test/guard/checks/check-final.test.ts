import type { Address, Hex } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Nodes } from '../../../src/chain/nodes.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { checkFinal, type FinalOptions, type SignerView } from '../../../src/guard/checks/check-final.ts'
import { recheck } from '../../../src/guard/checks/recheck.ts'
import { asAddress } from '../../../src/guard/policy/values.ts'
import { balanceView } from '../../../src/guard/reads/views.ts'
import { compileRuleset, type Ruleset } from '../../../src/guard/ruleset.ts'
import type { SanityCheck } from '../../../src/guard/sanity/judgement.ts'
import type { Clearance } from '../../../src/workflow/workflow.ts'
import { by, usd } from '../../sandbox/contracts/world.ts'
import { COLLATERAL, judgedWith, sections } from '../fixtures.ts'
import {
  carryOut,
  createScene,
  deploymentOf,
  FEES,
  inFlight,
  liquidationOf,
  type Scene,
  settlementOf,
} from '../scene.ts'

let scene: Scene
let borrower: Address
let other: Address
let snapshot: Hex

beforeAll(async () => {
  scene = await createScene()
  borrower = await scene.borrow()
  other = await scene.borrow()
  snapshot = await scene.world.client.snapshot()
})
afterAll(async () => {
  await scene?.stop()
})
beforeEach(async () => {
  await scene.world.client.revert({ id: snapshot })
  snapshot = await scene.world.client.snapshot()
  // 10 sETH against 20,000 sUSD at a threshold of 78 %: under water below 2,564.
  await scene.world.price('2500')
})

const REPAY = usd('5000')
const ask = () => ({ borrower, repay: REPAY })
const check = (options: FinalOptions) => checkFinal(options, { nodes: scene.nodes })
const reasonOf = async (options: FinalOptions) => {
  const checked = await check(options)
  return checked.ok ? 'cleared' : checked.check
}
const cleared = async (options: FinalOptions): Promise<Clearance> => {
  const checked = await check(options)
  if (!checked.ok) throw new TypeError(`refused: ${checked.check}: ${checked.message}`)
  return checked.clearance
}
const withSigner = (options: FinalOptions, changes: Partial<SignerView>): FinalOptions => ({
  ...options,
  signer: { ...options.signer, ...changes },
})
const withRules = (options: FinalOptions, changes: Partial<Ruleset>): FinalOptions => ({
  ...options,
  ruleset: { ...options.ruleset, ...changes },
})
const withSanity = (options: FinalOptions, changes: Readonly<Record<string, string>>) =>
  withRules(options, { sanity: judgedWith(changes) })

describe('clearing a liquidation', () => {
  it('predicts what then happens: tokens, gas within its limit, no allowance left', async () => {
    const { sUSD, market } = scene.world
    const options = await liquidationOf(scene, ask())
    const clearance = await cleared(options)
    const loan = sUSD.address.toLowerCase()
    expect(clearance.predictedTokens).toEqual([{ token: loan, assets: -REPAY }])
    expect(clearance.payloads.map(({ predicted }) => predicted.tokens)).toEqual([
      [],
      [{ token: loan, assets: -REPAY }],
    ])
    expect(clearance.allowances).toEqual([
      { token: loan, spender: market.address.toLowerCase(), assets: REPAY },
    ])
    expect(clearance.rulesetHash).toBe(scene.ruleset.hash)
    const at = market.address.toLowerCase()
    expect(clearance.uses).toEqual(expect.arrayContaining([`market ${at}`, `counterparty ${at}`]))

    await carryOut(clearance, scene)
    expect(await sUSD.read.balanceOf([scene.liquidator])).toBe(usd('95000'))
    expect(await sUSD.read.allowance([scene.liquidator, market.address])).toBe(0n)
    expect(await market.read.openClaims([scene.liquidator])).toHaveLength(1)
  })

  it('refuses when somebody was first', async () => {
    const options = await liquidationOf(scene, ask())
    const rival = await scene.world.person(usd('50000'), 0n)
    const { market, prime } = scene.world
    const deadline = 2n ** 40n
    await market.write.liquidate([prime.address, borrower, usd('9000'), 1n, rival, deadline], by(rival))
    expect(await reasonOf(options)).toBe('position_healthy')
  })

  it('refuses when our own pending transactions already do it', async () => {
    const options = await liquidationOf(scene, { borrower, repay: usd('9000') })
    const first = await cleared(options)
    const pending = inFlight(first, scene.liquidator, options.signer.nextNonce)
    const again = withSigner(options, { pending, nextNonce: options.signer.nextNonce + 2 })
    expect(await reasonOf(again)).toBe('position_healthy')
  })

  it('clears the next borrower on top of three nonces in flight', async () => {
    const options = await liquidationOf(scene, ask())
    const { nextNonce } = options.signer
    const first = await cleared(options)
    const noop = {
      from: scene.liquidator,
      to: scene.liquidator,
      data: '0x',
      valueWei: 0n,
      gasLimit: 21_000n,
    } as const
    const pending = [
      ...inFlight(first, scene.liquidator, nextNonce),
      // Stuck below the base fee: it counts for what it does, not for what it pays.
      { ...noop, nonce: nextNonce + 2, maxFeePerGasWei: 1n, maxPriorityFeePerGasWei: 1n },
    ]
    const next = await liquidationOf(scene, { borrower: other, repay: usd('9000') })
    const second = await cleared(withSigner(next, { pending, nextNonce: nextNonce + 3 }))
    expect(second.predictedTokens).toEqual([
      { token: scene.world.sUSD.address.toLowerCase(), assets: -usd('9000') },
    ])
  })

  it('refuses when what is in flight leaves too little', async () => {
    const { sUSD } = scene.world
    await sUSD.write.transfer([scene.world.admin, usd('91000')], by(scene.liquidator))
    const options = await liquidationOf(scene, ask())
    const pending = inFlight(await cleared(options), scene.liquidator, options.signer.nextNonce)
    const next = await liquidationOf(scene, { borrower: other, repay: usd('5000') })
    const second = withSigner(next, { pending, nextNonce: options.signer.nextNonce + 2 })
    expect(await reasonOf(second)).toBe('insufficient_balance')
  })

  it('refuses a price that moved further than the policy allows', async () => {
    const options = await liquidationOf(scene, ask())
    await scene.world.price('2475')
    expect(await reasonOf(options)).toBe('cleared')
    await scene.world.price('2474.99')
    expect(await reasonOf(options)).toBe('price_moved')
  })

  it('refuses when the price recovered within the band', async () => {
    await scene.world.price('2560')
    const options = await liquidationOf(scene, ask())
    await scene.world.price('2570')
    expect(await reasonOf(options)).toBe('position_healthy')
  })

  it('refuses an oracle that is not healthy, and a price that is too old', async () => {
    const options = await liquidationOf(scene, ask())
    const old = withSanity(options, { priceAgeMax: '1 s' })
    await scene.world.oracle.write.setState([2], by(scene.world.admin))
    expect(await reasonOf(options)).toBe('oracle_not_healthy')
    await scene.world.oracle.write.setState([1], by(scene.world.admin))
    await scene.world.pass(5)
    expect(await reasonOf(old)).toBe('price_stale')
  })

  it('refuses a paused market', async () => {
    const options = await liquidationOf(scene, ask())
    await scene.world.market.write.setPaused([true], by(scene.world.admin))
    expect(await reasonOf(options)).toBe('market_paused')
  })

  it('refuses to repay more than the close factor', async () => {
    const debt = await scene.world.market.read.debtOf([scene.world.prime.address, borrower])
    // Interest of a few seconds lies between reading and simulating.
    const within = await liquidationOf(scene, { borrower, repay: debt / 2n })
    const above = await liquidationOf(scene, { borrower, repay: debt / 2n + usd('1') })
    expect(await reasonOf(within)).toBe('cleared')
    expect(await reasonOf(above)).toBe('repay_above_close_factor')
  })

  it('refuses to insist on less than the policy’s part of what is due', async () => {
    const due = (REPAY * 10_700n * 10n ** 30n) / (2_500n * 10n ** 18n * 10_000n)
    const least = (due * 9_500n) / 10_000n
    expect(await reasonOf(await liquidationOf(scene, { ...ask(), minCollateral: least }))).toBe('cleared')
    expect(await reasonOf(await liquidationOf(scene, { ...ask(), minCollateral: least - 1n }))).toBe(
      'min_collateral_too_low',
    )
  })

  it('refuses a profit below the floor', async () => {
    // It insists on 99 % of 5,350, which leaves $296.50, less a dollar or two of gas at $3,000 a coin.
    const options = await liquidationOf(scene, ask())
    const nativePrice = '3,000 USD'
    expect(await reasonOf(withSanity(options, { nativePrice, profitMin: '290 USD' }))).toBe('cleared')
    expect(await reasonOf(withSanity(options, { nativePrice, profitMin: '296.5 USD' }))).toBe(
      'profit_below_floor',
    )
  })

  it('refuses what reverts, naming the error’s selector', async () => {
    const options = await liquidationOf(scene, ask())
    await scene.world.market.write.setLiquidatorGate([true], by(scene.world.admin))
    const checked = await check(options)
    expect(checked).toMatchObject({ ok: false, check: 'simulation_reverted' })
    expect(checked.ok ? '' : checked.message).toMatch(/rule liquidate reverts .* 0x[0-9a-f]{8}\.$/)
  })

  it('refuses a signer without coin for gas', async () => {
    const options = await liquidationOf(scene, ask())
    await scene.world.client.setBalance({ address: scene.liquidator, value: 1n })
    expect(await reasonOf(options)).toBe('insufficient_native')
  })

  it('refuses code that is not what was pinned', async () => {
    const options = await liquidationOf(scene, ask())
    const markets = scene.deployment.markets.map((market) => ({ ...market, oracleCodeHash: market.codeHash }))
    const ruleset = compileRuleset(sections, { ...scene.deployment, markets })
    expect(await reasonOf({ ...options, ruleset })).toBe('code_changed')
  })

  it('refuses tokens that leave beyond the policy’s effects', async () => {
    const options = await liquidationOf(scene, ask())
    const assetsMax = { text: 'one less', each: null, resolve: () => REPAY - 1n }
    const token = { text: 'the loan', each: null, resolve: () => scene.world.sUSD.address.toLowerCase() }
    const type = 'role.liquidator.liquidate'
    const effects = new Map([[type, { out: [{ token, assetsMax }], in: [], moves: [] }]] as const)
    const { workflow } = options
    const exposure = { ...workflow.proposal.exposure, assets: REPAY - 1n }
    const counted = { ...options, workflow: { ...workflow, proposal: { ...workflow.proposal, exposure } } }
    expect(await reasonOf(withRules(counted, { effects }))).toBe('token_left')
  })

  it('keeps to the blocks that the service may be behind or ahead', async () => {
    const options = await liquidationOf(scene, ask())
    const { blockLagMax } = options.ruleset.freshness
    const at = (blocks: bigint): FinalOptions => {
      const { prepared } = options.workflow
      if (prepared === undefined) throw new TypeError('it is prepared')
      const { preflight } = prepared.answer
      const blockNumber = String(BigInt(preflight.freshness.blockNumber ?? '0') + blocks)
      const answer = {
        ...prepared.answer,
        preflight: { ...preflight, freshness: { ...preflight.freshness, blockNumber } },
      }
      return { ...options, workflow: { ...options.workflow, prepared: { ...prepared, answer } } }
    }
    expect(await reasonOf(at(-blockLagMax))).toBe('cleared')
    expect(await reasonOf(at(-blockLagMax - 1n))).toBe('snapshot_behind')
    expect(await reasonOf(at(blockLagMax))).toBe('cleared')
    expect(await reasonOf(at(blockLagMax + 1n))).toBe('node_behind')
  })

  it('refuses when our node’s head is too old', async () => {
    const options = await liquidationOf(scene, ask())
    const freshness = { ...options.ruleset.freshness, headAgeMsMax: 1_000 }
    expect(await reasonOf({ ...withRules(options, { freshness }), nowMs: options.nowMs + 1_000 })).toBe(
      'cleared',
    )
    expect(await reasonOf({ ...withRules(options, { freshness }), nowMs: options.nowMs + 1_001 })).toBe(
      'head_stale',
    )
  })

  it('refuses by a clock that is behind our node’s head: by it, everything is young', async () => {
    const options = await liquidationOf(scene, ask())
    const freshness = { ...options.ruleset.freshness, headAgeMsMax: 1_000 }
    const at = (nowMs: number) => reasonOf({ ...withRules(options, { freshness }), nowMs })
    expect(await at(options.nowMs - 1_000)).toBe('cleared')
    expect(await at(options.nowMs - 1_001)).toBe('clock_behind')
  })

  it('counts allowances that stand elsewhere as exposure, but not the one it replaces', async () => {
    const options = await liquidationOf(scene, ask())
    const token = scene.deployment.markets[0]?.loanAsset ?? COLLATERAL
    const market = scene.deployment.markets[0]?.address ?? COLLATERAL
    const room = options.ruleset.limits.perHour.usdMicrosMax - REPAY
    const standing = (assets: bigint, spender: Address) =>
      withSigner(options, { standing: [{ token, spender, assets }] })
    expect(await reasonOf(standing(room, COLLATERAL))).toBe('cleared')
    expect(await reasonOf(standing(room + 1n, COLLATERAL))).toBe('limit_standing')
    expect(await reasonOf(standing(room + 1n, market))).toBe('cleared')
    const unpriced = withSigner(options, { standing: [{ token: market, spender: COLLATERAL, assets: 1n }] })
    expect(await reasonOf(unpriced)).toBe('standing_unpriced')
    // Another token of the deployment counts at the policy's price.
    const eth = scene.deployment.assets.find(({ symbol }) => symbol === 'sETH')?.address ?? COLLATERAL
    const { pricesUsdMicros } = options.ruleset.limits
    const priced = (assets: bigint) =>
      withSigner(
        withRules(options, {
          limits: { ...options.ruleset.limits, pricesUsdMicros: { ...pricesUsdMicros, sETH: room } },
        }),
        {
          standing: [{ token: eth, spender: COLLATERAL, assets }],
        },
      )
    expect(await reasonOf(priced(10n ** 18n))).toBe('cleared')
    expect(await reasonOf(priced(10n ** 18n + 10n ** 12n))).toBe('limit_standing')
  })

  it('keeps the gas of one workflow within its limit', async () => {
    const options = await liquidationOf(scene, ask())
    const { payloads } = await cleared(options)
    const gasWeiMax = payloads.reduce((sum, { payload }) => sum + payload.gasLimit, 0n) * FEES.maxFeePerGasWei
    const limits = (max: bigint): Partial<Ruleset> => ({
      limits: {
        ...options.ruleset.limits,
        perWorkflow: { ...options.ruleset.limits.perWorkflow, gasWeiMax: max },
      },
    })
    expect(await reasonOf(withRules(options, limits(gasWeiMax)))).toBe('cleared')
    expect(await reasonOf(withRules(options, limits(gasWeiMax - 1n)))).toBe('limit_workflow_gas')
  })

  it('is one call of the nodes, and so is the last look', async () => {
    const options = await liquidationOf(scene, ask())
    const asked: string[] = []
    const nodes: Pick<Nodes, 'chainId' | 'simulate'> = {
      chainId: scene.nodes.chainId,
      simulate: (request) => {
        asked.push('simulate')
        return scene.nodes.simulate(request)
      },
    }
    const checked = await checkFinal(options, { nodes })
    if (!checked.ok) throw new TypeError('not cleared')
    expect(asked).toEqual(['simulate'])
    const workflow = { ...options.workflow, clearance: checked.clearance }
    const { ruleset, nowMs } = options
    expect(await recheck({ workflow, ruleset, nowMs }, { nodes })).toEqual({ ok: true })
    expect(asked).toEqual(['simulate', 'simulate'])
  })

  it('refuses by name what the nodes do not agree on', async () => {
    const options = await liquidationOf(scene, ask())
    const nodes: Pick<Nodes, 'chainId' | 'simulate'> = {
      chainId: scene.nodes.chainId,
      simulate: async () => {
        throw new RolekeeperError('node.disagreement', 'read-1 stands alone.', { retry: 'later' })
      },
    }
    const refusal = { ok: false, check: 'nodes_disagree' }
    expect(await checkFinal(options, { nodes })).toMatchObject(refusal)
    const checked = await checkFinal(options, { nodes: scene.nodes })
    if (!checked.ok) throw new TypeError('not cleared')
    const workflow = { ...options.workflow, clearance: checked.clearance }
    const { ruleset, nowMs } = options
    expect(await recheck({ workflow, ruleset, nowMs }, { nodes })).toMatchObject(refusal)
  })
})

describe('clearing a settlement', () => {
  const claim = async () => {
    await carryOut(await cleared(await liquidationOf(scene, ask())), scene)
    const [claimId] = await scene.world.market.read.openClaims([scene.liquidator])
    if (claimId === undefined) throw new TypeError('a claim is open')
    return claimId
  }

  it('waits for the claim’s delay, then predicts the collateral to the base unit', async () => {
    const claimId = await claim()
    // The delay is two seconds, and the next block is one second away.
    const early = await settlementOf(scene, claimId)
    expect(await reasonOf(early)).toBe('claim_not_settleable')
    await scene.world.pass(3)
    const { sETH, market } = scene.world
    const [, , , , collateral] = await market.read.claim([claimId])
    const clearance = await cleared(await settlementOf(scene, claimId))
    expect(clearance.predictedTokens).toEqual([{ token: sETH.address.toLowerCase(), assets: collateral }])
    await carryOut(clearance, scene)
    expect(await sETH.read.balanceOf([scene.liquidator])).toBe(collateral)
    expect(await reasonOf(await settlementOf(scene, claimId))).toBe('claim_settled')
  })

  it('refuses a claim of somebody else', async () => {
    const rival = await scene.world.person(usd('50000'), 0n)
    const { market, prime } = scene.world
    await market.write.liquidate([prime.address, borrower, REPAY, 1n, rival, 2n ** 40n], by(rival))
    const [claimId = 0n] = await market.read.openClaims([rival])
    await scene.world.pass(3)
    expect(await reasonOf(await settlementOf(scene, claimId))).toBe('claim_not_ours')
  })
})

describe('the last look before the first send', () => {
  const look = async (options: FinalOptions, clearance: Clearance, nowMs = options.nowMs) => {
    const workflow = { ...options.workflow, clearance }
    const checked = await recheck({ workflow, ruleset: options.ruleset, nowMs }, { nodes: scene.nodes })
    return checked.ok ? 'go' : checked.check
  }

  it('passes when nothing changed', async () => {
    const options = await liquidationOf(scene, ask())
    expect(await look(options, await cleared(options))).toBe('go')
  })

  it('sees that the position was taken, the market paused, the price moved, the money spent', async () => {
    const options = await liquidationOf(scene, ask())
    const clearance = await cleared(options)
    const { market, oracle, sUSD, admin, client } = scene.world
    const after = async (change: () => Promise<unknown>) => {
      const id = await client.snapshot()
      await change()
      const result = await look(options, clearance)
      await client.revert({ id })
      return result
    }
    const spend = () => sUSD.write.transfer([admin, usd('95001')], by(scene.liquidator))
    expect(await after(() => market.write.setPaused([true], by(admin)))).toBe('market_paused')
    expect(await after(() => oracle.write.setState([3], by(admin)))).toBe('oracle_not_healthy')
    expect(await after(() => scene.world.price('2400'))).toBe('price_moved')
    expect(await after(spend)).toBe('insufficient_balance')
    expect(await after(() => market.write.setLiquidatorGate([false], by(admin)))).toBe('go')
  })

  it('refuses other rules, an end of life, and a workflow that was never cleared', async () => {
    const options = await liquidationOf(scene, ask())
    const clearance = await cleared(options)
    expect(await look(options, { ...clearance, rulesetHash: 'ab'.repeat(32) })).toBe('ruleset_changed')
    expect(await look(options, clearance, options.nowMs + 20_001)).toBe('stale_snapshot')
    const freshness = { ...options.ruleset.freshness, headAgeMsMax: 1_000 }
    const strict = withRules(options, { freshness })
    expect(await look(strict, clearance, options.nowMs + 1_000)).toBe('go')
    expect(await look(strict, clearance, options.nowMs + 1_001)).toBe('head_stale')
    expect(await look(strict, clearance, options.nowMs - 1_001)).toBe('clock_behind')
    expect(await look(strict, clearance, options.nowMs - 1_000)).toBe('go')
    const never = await recheck(
      { workflow: options.workflow, ruleset: options.ruleset, nowMs: options.nowMs },
      { nodes: scene.nodes },
    )
    expect(never).toMatchObject({ ok: false, check: 'not_cleared' })
  })
})

describe('clearing a deployment', () => {
  it('deploys the pinned code with our arguments, with the gas it was given', async () => {
    const clearance = await cleared(await deploymentOf(scene, (calldata) => calldata))
    expect(clearance.payloads).toMatchObject([{ payload: { to: null } }])
    const [hash] = await carryOut(clearance, scene)
    if (hash === undefined) throw new TypeError('one transaction')
    const { contractAddress } = await scene.world.client.getTransactionReceipt({ hash })
    const vault = scene.world.vaultAt(contractAddress ?? '0x')
    expect(await vault.read.symbol()).toBe('V2')
    expect((await vault.read.asset()).toLowerCase()).toBe(scene.world.sUSD.address.toLowerCase())
  })

  it('refuses other code before it is simulated', async () => {
    const other = await deploymentOf(scene, (calldata) => `0x6001${calldata.slice(6)}`)
    expect(await reasonOf(other)).toBe('creation_code_changed')
  })
})

describe('what the guard judges by', () => {
  it('is pinned, down to every contract that it reads', async () => {
    const options = await liquidationOf(scene, ask())
    const [market] = options.ruleset.deployment.markets
    if (market === undefined) throw new TypeError('a market')
    const stranger: Address = '0x9999999999999999999999999999999999999999'
    const judged = options.ruleset.sanity.get('role.liquidator.liquidate')
    if (judged === undefined) throw new TypeError('a judgement')
    const judge: SanityCheck['judge'] = (about) => {
      const [approval, call] = about.calls
      expect([approval?.approval?.spender, asAddress(call?.args.recipient)]).toEqual([
        market.address,
        options.workflow.signer,
      ])
      about.before.ask(balanceView(stranger, market.address))
      return judged.judge(about)
    }
    const sanity = new Map([['role.liquidator.liquidate', { ...judged, judge }]] as const)
    const strange = withRules(options, { sanity })
    expect(await reasonOf(strange)).toBe('read_not_pinned')
    const clearance = await cleared(options)
    const workflow = { ...options.workflow, clearance }
    expect(await recheck({ ...strange, workflow }, { nodes: scene.nodes })).toMatchObject({
      ok: false,
      check: 'read_not_pinned',
    })
  })
})

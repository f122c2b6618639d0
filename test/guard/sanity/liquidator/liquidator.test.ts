import {
  type AbiFunction,
  type Address,
  encodeAbiParameters,
  type Hex,
  pad,
  parseAbiParameters,
  toEventSelector,
  toFunctionSelector,
} from 'viem'
import { describe, expect, it } from 'vitest'
import type { Call, Log, SimulationRequest, SimulationResult } from '../../../../src/chain/nodes.ts'
import { checkFinal, type FinalOptions } from '../../../../src/guard/checks/check-final.ts'
import { recheck } from '../../../../src/guard/checks/recheck.ts'
import { TOKEN_VIEWS } from '../../../../src/guard/reads/views.ts'
import { compileRuleset } from '../../../../src/guard/ruleset.ts'
import { CLAIM_VIEWS, LIQUIDATION_VIEWS } from '../../../../src/guard/sanity/liquidator/views.ts'
import { PRICE_VIEWS } from '../../../../src/guard/sanity/price.ts'
import {
  bound,
  CHAIN_ID,
  COLLATERAL,
  deployment,
  freeze,
  judgedWith,
  LOAN,
  liquidation,
  liquidationAnswer,
  MARKET,
  MIN_COLLATERAL,
  NOW_MS,
  REPAY,
  ruleset,
  SELF,
  STRANGER,
  sections,
  settlement,
  settlementAnswer,
} from '../../fixtures.ts'

const WAD = 10n ** 18n
const PRICE = 60_000n * WAD
const NOW_S = NOW_MS / 1_000
/** Of an oracle that only some deployments pin. */
const ORACLE_CODE = `0x${'ec'.repeat(32)}` as const

/** What a scripted chain says; each view's answer can be replaced, and null is no answer. */
const HONEST: Readonly<Record<string, unknown>> = {
  healthFactorWad: WAD - 1n,
  debtOf: 2n * REPAY,
  collateralOf: 10n ** 8n,
  closeFactorBps: 5_000,
  liquidationBonusBps: 500,
  paused: false,
  read: [PRICE, BigInt(NOW_S), BigInt(NOW_S), 1],
  openClaimAssets: 0n,
  claim: [SELF, SELF, STRANGER, STRANGER, 5n, BigInt(NOW_S), false],
}
/** What only some contracts answer: balances and allowances by token. */
type Tokens = {
  readonly balances: Readonly<Record<Address, bigint>>
  readonly allowances: Readonly<Record<Address, bigint>>
}

type Script = {
  readonly says?: Readonly<Record<string, unknown>>
  readonly before?: Partial<Tokens>
  readonly after?: Partial<Tokens>
  readonly logs?: readonly Log[]
  readonly status?: 'success' | 'reverted'
  readonly chainId?: number
}

const views: readonly AbiFunction[] = [...TOKEN_VIEWS, ...LIQUIDATION_VIEWS, ...PRICE_VIEWS, ...CLAIM_VIEWS]
const itemOf = (data: Hex): AbiFunction => {
  const item = views.find((view) => toFunctionSelector(view) === data.slice(0, 10))
  if (item === undefined) throw new TypeError(`no view of the policy has the selector of ${data}`)
  return item
}

/** A plain object in the place of our nodes, which says what the script says. */
function scripted({ says = {}, before, after, logs = [], status = 'success', chainId = CHAIN_ID }: Script) {
  const answer =
    (tokens: Partial<Tokens>) =>
    (call: Call): Hex | null => {
      const item = itemOf(call.data)
      const kind = { balanceOf: 'balances', allowance: 'allowances' } as const
      const byToken =
        item.name === 'balanceOf' || item.name === 'allowance' ? tokens[kind[item.name]] : undefined
      const found: unknown = {
        ...HONEST,
        balanceOf: byToken?.[call.to] ?? 0n,
        allowance: byToken?.[call.to] ?? 0n,
        ...says,
      }[item.name]
      const said: unknown = typeof found === 'function' ? found(call) : found
      const values: readonly unknown[] = Array.isArray(said) ? said : [said]
      return said === null ? null : encodeAbiParameters(item.outputs, values)
    }
  const simulate = async (request: SimulationRequest): Promise<SimulationResult> => ({
    block: {
      number: 100n,
      hash: `0x${'bb'.repeat(32)}`,
      parentHash: '0x',
      timestampS: NOW_S - 1,
      baseFeePerGasWei: 1n,
    },
    timestampS: NOW_S,
    pending: [],
    before: request.before.map(answer({ balances: { [LOAN]: REPAY, [COLLATERAL]: 7n }, ...before })),
    bundle: request.bundle.map(() => ({ status, gasUsed: 100_000n, returnData: '0x' as const, logs })),
    after: request.after.map(answer({ balances: { [LOAN]: 0n, [COLLATERAL]: 7n }, ...after })),
    codeHashes: (request.codeAt ?? []).map(codeHash),
    words: [],
    following: [],
  })
  const pinned = [...deployment.assets, ...deployment.markets, ...deployment.vaults]
  const codeHash = (address: Address) => {
    const oracle = deployment.markets.find((market) => market.oracle === address)?.oracleCodeHash
    if (address === STRANGER) return ORACLE_CODE
    return oracle ?? pinned.find((pin) => pin.address === address)?.codeHash ?? null
  }
  return { chainId, simulate }
}

const liquidating: FinalOptions = {
  workflow: { ...bound(liquidation), prepared: freeze(liquidationAnswer()) },
  ruleset,
  signer: {
    nextNonce: 0,
    pending: [],
    maxFeePerGasWei: 10n ** 9n,
    maxPriorityFeePerGasWei: 1n,
    standing: [],
  },
  nowMs: NOW_MS,
}
const settling: FinalOptions = {
  ...liquidating,
  workflow: { ...bound(settlement), prepared: freeze(settlementAnswer()) },
}
const reasonOf = async (script: Script, options = liquidating) => {
  const checked = await checkFinal(options, { nodes: scripted(script) })
  return checked.ok ? 'cleared' : checked.check
}
const log = (address: Address, event: string, to: Address): Log => ({
  address,
  topics: [toEventSelector(event), pad(SELF), pad(to)],
  data: encodeAbiParameters(parseAbiParameters('uint256'), [1n]),
})

describe('a liquidation on a scripted chain', () => {
  it('is cleared with its gas, head room on top', async () => {
    const checked = await checkFinal(liquidating, { nodes: scripted({}) })
    if (!checked.ok) throw new TypeError(checked.message)
    expect(checked.clearance.payloads.map(({ payload }) => payload.gasLimit)).toEqual([120_000n, 130_000n])
    expect(checked.clearance).toMatchObject({
      blockNumber: 100n,
      predictedTokens: [{ token: LOAN, assets: -REPAY }],
    })
  })

  it.each([
    'healthFactorWad',
    'debtOf',
    'collateralOf',
    'closeFactorBps',
    'liquidationBonusBps',
    'paused',
    'read',
    'openClaimAssets',
    'balanceOf',
    'allowance',
  ])('is refused while %s cannot be read', async (name) => {
    expect(await reasonOf({ says: { [name]: null } })).toBe('read_failed')
  })

  it('is refused at a health of exactly one', async () => {
    expect(await reasonOf({ says: { healthFactorWad: WAD } })).toBe('position_healthy')
  })

  it('may repay the close factor’s part rounded up, and not one base unit more', async () => {
    expect(await reasonOf({ says: { debtOf: 2n * REPAY - 1n } })).toBe('cleared')
    expect(await reasonOf({ says: { debtOf: 2n * REPAY - 2n } })).toBe('repay_above_close_factor')
  })

  it('needs the repayment in our balance, to the base unit', async () => {
    const short = { balances: { [LOAN]: REPAY - 1n, [COLLATERAL]: 7n } }
    expect(await reasonOf({ before: short })).toBe('insufficient_balance')
  })

  it('counts a seizure no larger than the collateral that is there', async () => {
    // 1,000 sUSD and 5 % at 60,000 are 0.0175 sBTC; the policy demands 95 % of what is due.
    const least = (MIN_COLLATERAL * 10_000n) / 9_500n
    expect(await reasonOf({ says: { read: [PRICE / 2n, BigInt(NOW_S), 0n, 1] } })).toBe('price_moved')
    expect(await reasonOf({ says: { liquidationBonusBps: 900 } })).toBe('min_collateral_too_low')
    expect(await reasonOf({ says: { liquidationBonusBps: 900, collateralOf: least } })).toBe('cleared')
  })

  it('insists on the policy’s part of what is due, and not on one base unit less', async () => {
    // 0.0175 sBTC are due; 97.14 % of it are 1,699,950 base units, 97.15 % are 1,700,125.
    const part = (minCollateral: string): FinalOptions => ({
      ...liquidating,
      ruleset: { ...ruleset, sanity: judgedWith({ minCollateral }) },
    })
    expect(await reasonOf({}, part('97.14 %'))).toBe('cleared')
    expect(await reasonOf({}, part('97.15 %'))).toBe('min_collateral_too_low')
    // 1,700,000 of 1,700,000 that are there.
    const all = { says: { collateralOf: MIN_COLLATERAL } }
    expect(await reasonOf(all, part('100 %'))).toBe('cleared')
  })

  it('is not looked at once more by a balance that is not known', async () => {
    const checked = await checkFinal(liquidating, { nodes: scripted({}) })
    if (!checked.ok) throw new TypeError(checked.message)
    const workflow = { ...liquidating.workflow, clearance: checked.clearance }
    const again = (says: Script['says'] = {}) =>
      recheck({ workflow, ruleset, nowMs: NOW_MS }, { nodes: scripted({ says }) })
    expect(await again()).toEqual({ ok: true })
    expect(await again({ balanceOf: null })).toMatchObject({ check: 'read_failed' })
  })

  it('is judged by the facts of a policy where it states one for a view, and by those that its rules name', async () => {
    const { guard } = sections
    const allow = guard.allow.map((rule) => {
      const { repayAssets = {} } = rule.params
      return rule.id === 'liquidate'
        ? { ...rule, params: { ...rule.params, repayAssets: { ...repayAssets, max: '$fact.most' } } }
        : rule
    })
    const by = (facts: NonNullable<typeof guard.facts>, rules = guard.allow): FinalOptions => ({
      ...liquidating,
      ruleset: compileRuleset({ ...sections, guard: { ...guard, facts, allow: rules } }, deployment),
    })
    const unsaid = { says: { closeFactorBps: null } }
    expect(await reasonOf(unsaid, by({ closeFactorBps: '5000' }))).toBe('cleared')
    expect(await reasonOf({}, by({ closeFactorBps: '4999' }))).toBe('repay_above_close_factor')
    expect(await reasonOf({}, by({ closeFactorBps: '1 - 2' }))).toBe('read_failed')
    expect(await reasonOf({}, by({ most: '$input.repayAssets' }, allow))).toBe('cleared')
    // The second of two calls.
    expect(await reasonOf({}, by({ most: '$input.repayAssets - 1' }, allow))).toBe('parameter_repay_assets')
  })

  it('is judged by a price as old as the policy allows, and not a second older', async () => {
    const at = (ageS: number) => ({ says: { read: [PRICE, BigInt(NOW_S - ageS), 0n, 1] } })
    expect(await reasonOf(at(120))).toBe('cleared')
    expect(await reasonOf(at(121))).toBe('price_stale')
  })

  it('is judged by no price that its oracle dates after the block: that one would stay young for ever', async () => {
    const ahead = (s: number) => ({ says: { read: [PRICE, BigInt(NOW_S + s), 0n, 1] } })
    expect(await reasonOf(ahead(0))).toBe('cleared')
    expect(await reasonOf(ahead(1))).toBe('price_in_future')
    expect(await reasonOf(ahead(31_536_000))).toBe('price_in_future')
  })

  it('needs the profit floor after gas, to the millionth of a dollar', async () => {
    // It insists on 0.017 sBTC, worth 1,020 sUSD; 200,000 gas at 1 gwei cost $0.60 of the $20 that are left.
    const floor = (profitMin: string): FinalOptions => ({
      ...liquidating,
      ruleset: { ...ruleset, sanity: judgedWith({ profitMin, nativePrice: '3,000 USD' }) },
    })
    expect(await reasonOf({}, floor('19.4 USD'))).toBe('cleared')
    expect(await reasonOf({}, floor('19.400001 USD'))).toBe('profit_below_floor')
  })

  it('counts what the chain charges for the bytes of each transaction as gas, and twice of it within the limit', async () => {
    const at = async (wei: bigint | null, profitMin = '0 USD', gasWeiMax?: bigint) => {
      const { limits } = ruleset
      const perWorkflow = { ...limits.perWorkflow, gasWeiMax: gasWeiMax ?? limits.perWorkflow.gasWeiMax }
      const sanity = judgedWith({ profitMin, nativePrice: '3,000 USD' })
      const options = { ...liquidating, ruleset: { ...ruleset, sanity, limits: { ...limits, perWorkflow } } }
      const checked = await checkFinal(options, {
        nodes: scripted({}),
        dataFees: async (unsigned) => unsigned.map(() => wei),
      })
      return checked.ok
        ? checked.clearance.payloads.map(({ predicted }) => predicted.dataFeeWei)
        : checked.check
    }
    // Two transactions at $3 each of the $19.40 that are left.
    const wei = 10n ** 15n
    expect(await at(wei, '13.4 USD')).toEqual([wei, wei])
    expect(await at(wei, '13.400001 USD')).toBe('profit_below_floor')
    // 250,000 gas at 1 gwei.
    const most = 250_000n * 10n ** 9n + 4n * wei
    expect(await at(wei, '0 USD', most)).toEqual([wei, wei])
    expect(await at(wei, '0 USD', most - 1n)).toBe('limit_workflow_gas')
    expect(await at(null)).toBe('read_failed')
  })

  it('lets gas take no more than its share of the bonus, to the wei, and says how much that is', async () => {
    // 200,000 gas of $20 at $3,000: 90 % of it at 30 gwei.
    const sanity = judgedWith({ profitMin: '0 USD', nativePrice: '3,000 USD' })
    const at = (maxFeePerGasWei: bigint): FinalOptions => ({
      ...liquidating,
      ruleset: { ...ruleset, sanity },
      signer: { ...liquidating.signer, maxFeePerGasWei },
    })
    expect(await reasonOf({}, at(30_000_000_000n))).toBe('cleared')
    expect(await reasonOf({}, at(30_000_002_000n))).toBe('gas_above_share')
    const checked = await checkFinal(at(1n), { nodes: scripted({}) })
    expect(checked).toMatchObject({ clearance: { gasWeiMax: 6n * 10n ** 15n } })
  })

  it('reads what native coin is worth, and takes the dearest that it believes where that cannot be', async () => {
    // 200,000 gas at 1 gwei: of the $20 that are left $0.60 at $3,000, and $2 at the $10,000 of the policy.
    const by = (
      profitMin: string,
      contracts = [{ name: 'ethReferenceOracle', address: STRANGER, codeHash: ORACLE_CODE }],
    ) => ({
      ...liquidating,
      ruleset: { ...ruleset, deployment: { ...deployment, contracts }, sanity: judgedWith({ profitMin }) },
    })
    const says = (dollars: bigint, ageS = 0, state = 1) => ({
      says: {
        read: ({ to }: Call) =>
          to === STRANGER
            ? [dollars * WAD, BigInt(NOW_S - ageS), 0n, state]
            : [PRICE, BigInt(NOW_S), BigInt(NOW_S), 1],
      },
    })
    expect(await reasonOf(says(3_000n), by('19.4 USD'))).toBe('cleared')
    expect(await reasonOf(says(3_000n), by('19.400001 USD'))).toBe('profit_below_floor')
    expect(await reasonOf(says(3_000n, 3_600), by('19.4 USD'))).toBe('cleared')
    const unbelieved = [says(3_000n, 3_601), says(3_000n, -1), says(3_000n, 0, 2), says(499n), says(10_001n)]
    for (const script of unbelieved) {
      expect(await reasonOf(script, by('18 USD'))).toBe('cleared')
      expect(await reasonOf(script, by('18.000001 USD'))).toBe('profit_below_floor')
    }
    expect(await reasonOf(says(3_000n), by('18.000001 USD', []))).toBe('profit_below_floor')
  })

  it('counts what is held and in claims of every market by the chain, to the base unit of the inventory', async () => {
    // 7 base units are in our balance; both markets of the deployment seize the same token.
    const claims = (openClaimAssets: bigint, inventoryMax: object) =>
      reasonOf(
        { says: { openClaimAssets } },
        { ...liquidating, ruleset: { ...ruleset, sanity: judgedWith({ inventoryMax }) } },
      )
    expect(await claims(0n, { sBTC: '0.00000007 sBTC' })).toBe('cleared')
    expect(await claims(0n, { sBTC: '0.00000006 sBTC' })).toBe('inventory_above_limit')
    expect(await claims(50_000_000n, { sBTC: '1.00000007 sBTC' })).toBe('cleared')
    expect(await claims(50_000_000n, { sBTC: '1.00000006 sBTC' })).toBe('inventory_above_limit')
    expect(await claims(0n, { sETH: '500 sETH' })).toBe('asset_not_listed')
    // A market that seizes another token is not asked.
    const [first, other] = deployment.markets
    if (first === undefined || other === undefined) throw new TypeError('there are two markets')
    const ownOnly = { ...deployment, markets: [first, { ...other, collateralAsset: LOAN }] }
    const sanity = judgedWith({ inventoryMax: { sBTC: '0.50000007 sBTC' } })
    const options = { ...liquidating, ruleset: { ...ruleset, deployment: ownOnly, sanity } }
    expect(await reasonOf({ says: { openClaimAssets: 50_000_000n } }, options)).toBe('cleared')
  })

  it('counts what every key holds and claims that shares the policy, and says of each what it comes to', async () => {
    const sharing = [STRANGER, SELF]
    const shared = (inventoryMax: string): FinalOptions => ({
      ...liquidating,
      ruleset: { ...ruleset, sharing, sanity: judgedWith({ inventoryMax: { sBTC: inventoryMax } }) },
    })
    const script = { says: { openClaimAssets: 10n } }
    // Of each key 7 base units in its balance, and 10 in claims at each of two markets.
    expect(await reasonOf(script, shared('0.00000053 sBTC'))).toBe('inventory_above_limit')
    const checked = await checkFinal(shared('0.00000054 sBTC'), { nodes: scripted(script) })
    expect(checked).toMatchObject({
      clearance: {
        holdings: [
          {
            check: 'inventory_above_limit',
            token: COLLATERAL,
            assetsMax: 54n,
            byKey: [SELF, STRANGER].map((signer) => ({ signer, assets: 27n })),
          },
        ],
      },
    })
  })

  it('is refused without the price it was decided on', async () => {
    const proposal = { ...liquidation, reason: {} }
    expect(await reasonOf({}, { ...liquidating, workflow: { ...liquidating.workflow, proposal } })).toBe(
      'price_not_stated',
    )
  })

  it('is refused when the approval is not used up', async () => {
    expect(await reasonOf({ after: { allowances: { [LOAN]: 1n } } })).toBe('allowance_left')
  })

  it('is refused when an allowance over the collateral grows', async () => {
    const standing = { allowances: { [COLLATERAL]: 4n } }
    expect(await reasonOf({ before: standing, after: standing })).toBe('cleared')
    expect(await reasonOf({ before: standing, after: { allowances: { [COLLATERAL]: 5n } } })).toBe(
      'allowance_left',
    )
  })

  it('is refused when a token leaves that nobody pinned, or one that no effect names', async () => {
    expect(await reasonOf({ logs: [log(STRANGER, 'Transfer(address,address,uint256)', MARKET)] })).toBe(
      'unknown_token_left',
    )
    expect(await reasonOf({ after: { balances: { [LOAN]: 0n, [COLLATERAL]: 6n } } })).toBe('token_left')
    expect(await reasonOf({ before: { balances: { [LOAN]: REPAY + 1n, [COLLATERAL]: 7n } } })).toBe(
      'token_left',
    )
  })

  it('is refused when it approves somebody on the way', async () => {
    expect(await reasonOf({ logs: [log(LOAN, 'Approval(address,address,uint256)', STRANGER)] })).toBe(
      'unknown_approval',
    )
    expect(await reasonOf({ logs: [log(LOAN, 'Approval(address,address,uint256)', MARKET)] })).toBe('cleared')
  })

  it('is refused by nodes on another chain', async () => {
    expect(await reasonOf({ chainId: 1 })).toBe('chain_mismatch')
  })

  it('is refused when it reverts', async () => {
    expect(await reasonOf({ status: 'reverted' })).toBe('simulation_reverted')
  })
})

describe('a settlement on a scripted chain', () => {
  const paid = (assets: bigint): Script => ({
    before: { balances: { [COLLATERAL]: 7n } },
    after: { balances: { [COLLATERAL]: 7n + assets } },
  })
  const claim = (...parts: readonly unknown[]) => ({ says: { claim: parts } })

  it('is cleared when it pays what the claim holds, to the base unit', async () => {
    expect(await reasonOf(paid(5n), settling)).toBe('cleared')
    expect(await reasonOf(paid(4n), settling)).toBe('claim_short')
    expect(await reasonOf(paid(0n), settling)).toBe('token_missing')
  })

  it('does not wait for an allowance that stands elsewhere', async () => {
    const standing = [{ token: LOAN, spender: STRANGER, assets: 1n }]
    expect(await reasonOf(paid(5n), { ...settling, signer: { ...settling.signer, standing } })).toBe(
      'cleared',
    )
  })

  it.each([
    ['belongs to another', [STRANGER, SELF, STRANGER, STRANGER, 5n, 0n, false], 'claim_not_ours'],
    ['pays another', [SELF, STRANGER, STRANGER, STRANGER, 5n, 0n, false], 'claim_not_ours'],
    ['is settled', [SELF, SELF, STRANGER, STRANGER, 5n, 0n, true], 'claim_settled'],
    [
      'is due one second after the next block',
      [SELF, SELF, STRANGER, STRANGER, 5n, BigInt(NOW_S + 1), false],
      'claim_not_settleable',
    ],
  ])('is refused when the claim %s', async (_name, parts, reason) => {
    expect(await reasonOf({ ...paid(5n), ...claim(...parts) }, settling)).toBe(reason)
  })

  it('is refused while a balance cannot be read', async () => {
    expect(await reasonOf({ says: { balanceOf: null } }, settling)).toBe('read_failed')
  })

  it('is refused while the claim cannot be read', async () => {
    expect(await reasonOf({ ...paid(5n), says: { claim: null } }, settling)).toBe('read_failed')
  })
})

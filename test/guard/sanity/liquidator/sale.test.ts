import { type Address, encodeAbiParameters, type Hex, parseAbi, toFunctionSelector } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Call, Head, SimulationRequest, SimulationResult } from '../../../../src/chain/nodes.ts'
import { checkFinal } from '../../../../src/guard/checks/check-final.ts'
import { checkPrepared } from '../../../../src/guard/checks/check-prepared.ts'
import { checkRequest } from '../../../../src/guard/checks/check-request.ts'
import { compileRuleset } from '../../../../src/guard/ruleset.ts'
import { compose } from '../../../../src/pipeline/compose.ts'
import type { Deployment } from '../../../../src/service/contract/deployment.ts'
import type { Proposal } from '../../../../src/workflow/proposal.ts'
import type { FrozenAnswer, Workflow } from '../../../../src/workflow/workflow.ts'
import {
  bound,
  COLLATERAL,
  deployment as fixture,
  judgedWith,
  MARKET,
  NOW_MS,
  ORACLE,
  SELF,
  STRANGER,
  sections,
} from '../../fixtures.ts'

const WAD = 10n ** 18n
const NOW_S = NOW_MS / 1_000
const PRICE_WAD = 60_000n * WAD
const VENUE: Address = `0x${'e1'.repeat(20)}`
const REFERENCE: Address = `0x${'e5'.repeat(20)}`
/** 1 sBTC, worth 60,000 sUSD by the oracle; the venue quotes 59,700, and 59,400 are insisted on. */
const SOLD = 10n ** 8n
const QUOTED = 59_700_000_000n
const LEAST = 59_400_000_000n
/** At 2 % of discount 59,400 may cost 1,212.244898 more than comes in. */
const LOSS_USD_MICROS = 1_212_244_898n
const HEAD: Head = {
  number: 100n,
  hash: `0x${'bb'.repeat(32)}`,
  parentHash: '0x',
  timestampS: NOW_S - 1,
  baseFeePerGasWei: 1n,
}

const deployment: Deployment = {
  ...fixture,
  contracts: [
    { name: 'btcExit', address: VENUE, codeHash: `0x${'e2'.repeat(32)}` },
    { name: 'btcReference', address: REFERENCE, codeHash: `0x${'e4'.repeat(32)}` },
    { name: 'other', address: STRANGER, codeHash: `0x${'e3'.repeat(32)}` },
  ],
}
const EXIT = { venue: 'btcExit', referenceContract: 'btcReference', saleMax: '1 sBTC' }
const rulesWith = (limits: Readonly<Record<string, unknown>>) => ({
  ...compileRuleset(sections, deployment),
  sanity: judgedWith({ exits: { 'sBTC/sUSD': EXIT }, ...limits }),
})
const ruleset = rulesWith({})

const sale = (changes: Partial<Proposal['input']> = {}): Proposal => ({
  workflowType: 'own.liquidator.sell',
  kind: 'sell',
  subject: `exit:${MARKET}`,
  occurrence: '1:2',
  input: {
    marketAddress: MARKET,
    venueAddress: VENUE,
    assets: String(SOLD),
    minLoanAssets: String(LEAST),
    ...(changes as Record<string, string>),
  },
  exposure: { token: COLLATERAL, assets: SOLD, usdMicros: LOSS_USD_MICROS },
  summary: 'sell',
  reason: { priceWad: String(PRICE_WAD) },
})
const workflowOf = (proposal: Proposal) => ({ ...bound(proposal), id: 'abc' }) as unknown as Workflow

function composed(proposal = sale(), rules = ruleset): FrozenAnswer {
  const answer = compose(workflowOf(proposal), { ruleset: rules, head: HEAD, nowMs: NOW_MS })
  if (!answer.ok) throw new TypeError(`${answer.check}: ${answer.message}`)
  return answer.frozen
}

type Says = {
  readonly quote?: bigint | null
  /** What the oracle says; null where it does not answer. */
  readonly priceWad?: bigint | null
  /** What the second source says; null where it does not answer. */
  readonly secondWad?: bigint | null
  /** What the venue could still take after the bundle. */
  readonly left?: bigint
  readonly held?: bigint | null
  readonly comes?: bigint
  readonly reverts?: true
}
const VIEWS = parseAbi([
  'function quote(address tokenIn, uint256 assetsIn) view returns (uint256)',
  'function read() view returns (uint256, uint64, uint64, uint8)',
  'function balanceOf(address) view returns (uint256)',
  'function allowance(address, address) view returns (uint256)',
])
const nameOf = (data: Hex) => VIEWS.find((item) => toFunctionSelector(item) === data.slice(0, 10))?.name
const word = (value: bigint): Hex => encodeAbiParameters([{ type: 'uint256' }], [value])

/** A plain object in the place of our nodes: the venue quotes one thing, and pays another. */
function nodesThat(says: Says) {
  const { quote = QUOTED, priceWad = PRICE_WAD, held = SOLD, comes = QUOTED, reverts, left = 0n } = says
  const { secondWad = priceWad } = says
  const answer =
    (isAfter: boolean) =>
    (call: Call): Hex | null => {
      let said: bigint | null
      switch (nameOf(call.data)) {
        case 'quote':
          return quote === null ? null : word(quote)
        case 'read':
          said = call.to === REFERENCE ? secondWad : priceWad
          if (said === null) return null
          return encodeAbiParameters(
            [{ type: 'uint256' }, { type: 'uint64' }, { type: 'uint64' }, { type: 'uint8' }],
            [said, BigInt(NOW_S), BigInt(NOW_S), 1],
          )
        case 'balanceOf':
          if (call.to !== COLLATERAL) return word(isAfter ? comes : 0n)
          if (held === null) return null
          return word(isAfter && held >= SOLD ? held - SOLD : held)
        default:
          return word(isAfter ? left : 0n)
      }
    }
  const pins = [...deployment.assets, ...deployment.markets, ...deployment.contracts]
  const codeOf = (at: Address) =>
    at === ORACLE
      ? (deployment.markets[0]?.oracleCodeHash ?? null)
      : (pins.find(({ address }) => address === at)?.codeHash ?? null)
  return {
    chainId: 31_337,
    simulate: async (request: SimulationRequest): Promise<SimulationResult> => ({
      block: HEAD,
      timestampS: NOW_S,
      pending: [],
      words: [],
      following: [],
      before: request.before.map(answer(false)),
      bundle: request.bundle.map(() => ({
        status: reverts ? ('reverted' as const) : ('success' as const),
        gasUsed: 100_000n,
        returnData: '0x' as const,
        logs: [],
      })),
      after: request.after.map(answer(true)),
      codeHashes: (request.codeAt ?? []).map(codeOf),
    }),
  }
}

async function clearanceOf(says: Says = {}, proposal = sale(), rules = ruleset) {
  const signer = {
    nextNonce: 0,
    pending: [],
    maxFeePerGasWei: 10n ** 9n,
    maxPriorityFeePerGasWei: 1n,
    standing: [],
  }
  const workflow = { ...bound(proposal), prepared: composed(proposal, rules) }
  return checkFinal({ workflow, ruleset: rules, signer, nowMs: NOW_MS }, { nodes: nodesThat(says) })
}
async function cleared(...args: Parameters<typeof clearanceOf>): Promise<string> {
  const checked = await clearanceOf(...args)
  return checked.ok ? 'cleared' : checked.check
}

describe('a sale of our own', () => {
  it('is composed of what the rules say: exactly what is sold is approved, and the swap pays ourselves', () => {
    const { transactions, canonicalPostconditions } = composed().answer
    expect(transactions.map(({ target, label }) => [target, label])).toEqual([
      [COLLATERAL, 'approve-sale'],
      [VENUE, 'sell'],
    ])
    expect(canonicalPostconditions).toEqual([])
    const checked = checkPrepared({ workflow: bound(sale()), frozen: composed(), ruleset, nowMs: NOW_MS })
    if (!checked.ok) throw new TypeError(checked.message)
    const [approval, swap] = checked.calls.map(({ args }) => args)
    expect(approval?.amount).toBe(SOLD)
    expect(swap).toMatchObject({ assetsIn: SOLD, minAssetsOut: LEAST })
    const named = [approval?.spender, swap?.tokenIn, swap?.recipient]
    expect(named.map((each) => String(each).toLowerCase())).toEqual([VENUE, COLLATERAL, SELF])
    expect(swap?.deadline).toBe(checked.subject.deadlineS)
  })

  it('is refused byte by byte where what was composed is changed afterwards', () => {
    const { answer, ...rest } = composed()
    const changed = answer.transactions.map((each) => ({
      ...each,
      calldata: each.calldata.replace('5e5e', '9999'),
    }))
    const frozen = { ...rest, answer: { ...answer, transactions: changed as typeof answer.transactions } }
    const checked = checkPrepared({ workflow: bound(sale()), frozen, ruleset, nowMs: NOW_MS })
    expect(checked.ok ? 'passed' : checked.check).toBe('parameter_recipient')
  })

  it('is refused where a rule leaves an argument open', () => {
    const [approve, swap] = ruleset.rules.get('own.liquidator.sell') ?? []
    if (approve === undefined || swap === undefined) throw new TypeError('two rules')
    const leaves = swap.leaves.map((leaf) => (leaf.path === 'recipient' ? { ...leaf, tests: [] } : leaf))
    const rules = new Map(ruleset.rules).set('own.liquidator.sell', [approve, { ...swap, leaves }])
    const answer = compose(workflowOf(sale()), { ruleset: { ...ruleset, rules }, head: HEAD, nowMs: NOW_MS })
    expect(answer).toMatchObject({ ok: false, check: 'call_not_determined' })
  })

  it('counts what it may lose by the policy’s discount, and not one base unit less', () => {
    const requested = (usdMicros: bigint) => {
      const proposal = { ...sale(), exposure: { ...sale().exposure, usdMicros } }
      const checked = checkRequest({ ...bound(proposal), ruleset })
      return checked.ok ? 'allowed' : checked.check
    }
    // sUSD count as 0.98 USD at least.
    const counted = (LOSS_USD_MICROS * 98n) / 100n
    expect(requested(counted)).toBe('allowed')
    expect(requested(counted - 1n)).toBe('exposure_underpriced')
  })
})

describe('a sale on a scripted chain', () => {
  it('is cleared where the venue keeps its quote', async () => {
    expect(await cleared()).toBe('cleared')
  })

  it('has in a block the gas that it was simulated with, however little it used', async () => {
    const checked = await clearanceOf()
    if (!checked.ok) throw new TypeError(checked.check)
    const rules = ruleset.rules.get('own.liquidator.sell') ?? []
    expect(checked.clearance.payloads.map(({ payload }) => payload.gasLimit)).toEqual(
      rules.map(({ gasMax }) => gasMax),
    )
  })

  it('insists on the oracle’s worth less the policy’s discount, and not on one base unit less', async () => {
    const least = (assets: bigint) => sale({ minLoanAssets: String(assets) })
    expect(await cleared({}, least(58_800_000_000n))).toBe('cleared')
    expect(await cleared({}, least(58_799_999_999n))).toBe('sale_too_cheap')
  })

  it('insists on the venue’s own quote less the discount, where the oracle says less', async () => {
    expect(await cleared({ quote: 60_612_244_897n })).toBe('cleared')
    expect(await cleared({ quote: 60_612_244_899n })).toBe('sale_too_cheap')
  })

  it.each([
    ['a quote that lies', { comes: LEAST - 1n }, 'token_missing'],
    ['a venue that reverts', { reverts: true }, 'simulation_reverted'],
    ['a venue without depth', { quote: 0n }, 'venue_without_depth'],
    ['a venue that does not answer', { quote: null }, 'read_failed'],
    ['more than we hold', { held: SOLD - 1n }, 'insufficient_balance'],
    ['an oracle that does not answer', { priceWad: null }, 'read_failed'],
    ['a balance that nobody says', { held: null }, 'read_failed'],
    ['a price that moved', { priceWad: (PRICE_WAD * 98n) / 100n }, 'price_moved'],
    ['a price that nothing bears out', { secondWad: (PRICE_WAD * 102n) / 100n }, 'prices_apart'],
    ['a second source that does not answer', { secondWad: null }, 'read_failed'],
    ['a venue that takes half of what it is sent', { left: SOLD / 2n }, 'allowance_left'],
  ] as const)('refuses %s', async (_what, says, check) => {
    expect(await cleared(says)).toBe(check)
  })

  it('is cleared where the second source is as far away as the policy allows', async () => {
    const priceWad = (PRICE_WAD * 101n) / 100n
    expect(await cleared({ priceWad, secondWad: PRICE_WAD })).toBe('cleared')
    expect(await cleared({ priceWad, secondWad: PRICE_WAD - 1n })).toBe('prices_apart')
  })

  it('refuses a quote that lies also where guard.effects would take less', async () => {
    const { effects } = sections.guard
    const weak = effects.map((each) => ({
      ...each,
      in: each.in.map((item) => ({ ...item, assetsMin: '1' })),
    }))
    const compiled = compileRuleset({ ...sections, guard: { ...sections.guard, effects: weak } }, deployment)
    const rules = { ...compiled, sanity: ruleset.sanity }
    expect(await cleared({ comes: LEAST - 1n }, sale(), rules)).toBe('quote_not_kept')
    expect(await cleared({ comes: LEAST }, sale(), rules)).toBe('cleared')
  })

  it('sells at most what the policy sends there at a time, and nothing where the second source is the oracle', async () => {
    const exit = (changes: Partial<typeof EXIT>) =>
      cleared({}, sale(), rulesWith({ exits: { 'sBTC/sUSD': { ...EXIT, ...changes } } }))
    expect(await exit({ saleMax: '1 sBTC' })).toBe('cleared')
    expect(await exit({ saleMax: '0.99999999 sBTC' })).toBe('sale_above_limit')
    expect(await exit({ referenceContract: 'nowhere' })).toBe('no_second_price')
    expect(() => rulesWith({ exits: { 'sBTC/sUSD': { ...EXIT, saleMax: '1 sUSD' } } })).toThrow(
      'expected an amount of sBTC, not of sUSD',
    )
  })

  it('goes nowhere but where the policy names for the pair', async () => {
    expect(await cleared({}, sale({ venueAddress: STRANGER }))).toBe('exit_not_named')
    expect(await cleared({}, sale(), rulesWith({ exits: {} }))).toBe('exit_not_named')
  })
})

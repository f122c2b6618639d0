import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Ended, InFlight, Observation } from '../../../agents/agent.ts'
import { decide } from '../../../agents/liquidator/decide.ts'
import { positionKey } from '../../../agents/liquidator/judge.ts'
import type { LiquidatorPolicy } from '../../../agents/liquidator/policy.ts'
import type { LiquidatorSeen } from '../../../agents/liquidator/seen.ts'
import { inputText, type Proposal } from '../../../src/workflow/proposal.ts'
import { BTC, claim, facility, LOAN, MARKET, market, observation, policy } from './fixtures.ts'

type Seen = Observation<LiquidatorSeen>

const CASES = 1_000
const address = (digit: number): `0x${string}` => `0x${digit.toString(16).repeat(40)}`
const OTHER_MARKET = address(12)
const GAS_WEI_FOR_ONE = 570_000n * 1_500_000_000n

/** Three in four leave room to act, so that few cases say nothing; of the others many are at an end. */
const mostly = (least: bigint, ample: bigint, most: bigint) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.noBias(fc.bigInt(ample, most)) },
    { weight: 1, arbitrary: fc.bigInt(least, most) },
  )

/** Positions around health 1, of sizes from a few dollars to the limit of one liquidation, in two markets. */
const debts = fc.record({
  market: fc.constantFrom(MARKET, OTHER_MARKET),
  vault: fc.constantFrom(address(4), address(13)),
  borrower: fc.integer({ min: 5, max: 9 }).map(address),
  collateralAssets: mostly(10_000n, 4_000_000n, 400_000_000n),
  // Of the collateral's value, in per cent: under water from 80 on.
  debtShare: fc.bigInt(70n, 130n),
})
const worlds = fc.record({
  debts: fc.uniqueArray(debts, {
    maxLength: 4,
    selector: (debt) => `${debt.market}:${debt.vault}:${debt.borrower}`,
  }),
  loan: mostly(0n, 30_000_000_000n, 150_000_000_000n),
  held: fc.bigInt(0n, 200_000_000n),
  nativeWei: mostly(0n, 3n * GAS_WEI_FOR_ONE, 8n * GAS_WEI_FOR_ONE),
  otherBonusBps: fc.constantFrom(300, 500, 900),
  reverted: fc.nat(3),
  repaidUsdMicros: fc.bigInt(0n, 100_000_000_000n),
})
const strategies = fc.record({
  inventoryAssetsMax: mostly(0n, 150_000_000n, 400_000_000n),
  exitHaircutPerMillionUsdBps: fc.constantFrom(0, 100, 5_000),
  repayUsdMicrosMax: mostly(2_000_000n, 10_000_000_000n, 60_000_000_000n),
  reverts: mostly(1n, 4n, 8n),
})

function seenOf({
  debts: rows,
  loan,
  held,
  nativeWei,
  otherBonusBps,
  ...past
}: Generated<typeof worlds>): Seen {
  const position = (row: (typeof rows)[number]) => positionKey(row.market, row.borrower)
  // A borrower's debts to several vaults share the collateral of the first.
  const shared = new Map(rows.toReversed().map((row) => [position(row), row.collateralAssets]))
  const owed = new Map<string, bigint>()
  const debtOf = (row: (typeof rows)[number]) => ((shared.get(position(row)) ?? 0n) * 5n * row.debtShare) / 1n
  for (const row of rows) owed.set(position(row), (owed.get(position(row)) ?? 0n) + debtOf(row))
  const recent = [
    ...Array.from({ length: past.reverted }, () => ended('reverted', 0n)),
    ended('succeeded', past.repaidUsdMicros),
  ]
  return observation({
    nativeBalanceWei: nativeWei,
    balances: { [LOAN]: loan, [BTC]: held },
    markets: [market(), market({ address: OTHER_MARKET, liquidationBonusBps: otherBonusBps })],
    facilities: rows.map((row) =>
      facility({
        marketAddress: row.market,
        vaultAddress: row.vault,
        borrower: row.borrower,
        collateralAssets: shared.get(position(row)) ?? 0n,
        debtAssets: debtOf(row),
        positionDebtAssets: owed.get(position(row)) ?? 0n,
        debtShares: owed.get(position(row)) ?? 0n,
      }),
    ),
    claims: [claim({ collateralAssets: 1_000_000n })],
    recent,
  })
}
type Generated<T> = T extends fc.Arbitrary<infer V> ? V : never

function rulesOf(strategy: Generated<typeof strategies>): LiquidatorPolicy {
  const { inventoryAssetsMax, exitHaircutPerMillionUsdBps, repayUsdMicrosMax, reverts } = strategy
  const base = policy()
  return {
    ...base,
    collaterals: { sBTC: { inventoryAssetsMax, exitHaircutBaseBps: 30, exitHaircutPerMillionUsdBps } },
    repayUsdMicrosMax,
    repayUsdMicrosPerHourMax: 120_000_000_000n,
    lostRace: { ...base.lostRace, revertedGasPerHourMax: reverts * base.gas.liquidateGas },
  }
}

function ended(state: Ended['state'], usdMicros: bigint): Ended {
  return {
    ...inFlight({ subject: 'elsewhere', occurrence: 'before', input: { marketAddress: LOAN } }),
    kind: 'liquidate',
    state,
    begunAtMs: 0,
    endedAtMs: observation().nowMs - 3_000_000,
    check: null,
    exposure: { token: LOAN, assets: usdMicros, usdMicros },
  }
}

function inFlight(of: Pick<Proposal, 'subject' | 'occurrence' | 'input'> & Partial<Proposal>): InFlight {
  const { subject, occurrence, input, workflowType = 'role.liquidator.liquidate', kind = 'liquidate' } = of
  const exposure = of.exposure ?? { token: LOAN, assets: 0n, usdMicros: 0n }
  return { workflowId: subject, workflowType, kind, subject, occurrence, input, exposure }
}

/** Plain comparisons: hundreds of thousands of them run here. */
function atMost(value: bigint, limit: bigint): void {
  if (value > limit) throw new Error(`${value} is more than ${limit}`)
}
function same(value: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(value, expected)) throw new Error('They differ.', { cause: { value, expected } })
}

const liquidations = ({ proposals }: ReturnType<typeof decide>) =>
  proposals.filter(({ kind }) => kind === 'liquidate')
const figure = ({ reason }: Proposal, name: string) => BigInt(String(reason[name]))
const sum = (values: readonly bigint[]) => values.reduce((total, value) => total + value, 0n)
const profit = (decision: ReturnType<typeof decide>) =>
  sum(liquidations(decision).map(({ gainUsdMicros = 0n }) => gainUsdMicros))

/** Every limit that a set of liquidations, with those before it, must keep. */
function holdLimits(chosen: readonly Proposal[], seen: Seen, rules: LiquidatorPolicy): void {
  if (chosen.length === 0) return
  const count = BigInt(chosen.length)
  const repaid = sum(chosen.map(({ exposure }) => exposure.assets))
  const repaidUsd = sum(chosen.map(({ exposure }) => exposure.usdMicros))
  const before = sum(
    seen.recent.filter(({ state }) => state === 'succeeded').map(({ exposure }) => exposure.usdMicros),
  )
  const held = (seen.balances[BTC] ?? 0n) + sum(seen.claims.map(({ collateralAssets }) => collateralAssets))
  const reverted = BigInt(seen.recent.filter(({ state }) => state === 'reverted').length)
  atMost(repaid, seen.balances[LOAN] ?? 0n)
  atMost(repaidUsd + before, rules.repayUsdMicrosPerHourMax)
  atMost(
    held + sum(chosen.map((one) => figure(one, 'seizeAssets'))),
    rules.collaterals.sBTC?.inventoryAssetsMax ?? 0n,
  )
  atMost(count * GAS_WEI_FOR_ONE, seen.nativeBalanceWei)
  atMost((count + reverted) * rules.gas.liquidateGas, rules.lostRace.revertedGasPerHourMax)
  for (const one of chosen) {
    atMost(one.exposure.usdMicros, rules.repayUsdMicrosMax)
    atMost(rules.profitUsdMicrosMin, figure(one, 'profitUsdMicros'))
    atMost(figure(one, 'repayAssets') * 2n, figure(one, 'debtAssets') + 1n)
    atMost(figure(one, 'healthFactorWad'), 10n ** 18n - 1n)
  }
}

describe('whatever the positions, balances and policy', () => {
  it('no limit is passed, now or by what follows while it is in flight; nothing is done twice; it is the same again', () => {
    const taken = { none: 0, one: 0, several: 0 }
    fc.assert(
      fc.property(worlds, strategies, (world, strategy) => {
        const seen = seenOf(world)
        const rules = rulesOf(strategy)
        const decision = decide(seen, rules)
        same(decide(seen, rules), decision)
        const chosen = liquidations(decision)
        holdLimits(chosen, seen, rules)
        taken[chosen.length === 0 ? 'none' : chosen.length === 1 ? 'one' : 'several'] += 1
        const positions = chosen.map(({ input }) =>
          positionKey(inputText(input, 'marketAddress') ?? '', inputText(input, 'borrowerAddress') ?? ''),
        )
        same(new Set(positions).size, positions.length)
        const told = [...decision.proposals, ...decision.passedOver].map(({ subject }) => subject)
        same(new Set(told).size, world.debts.length + seen.claims.length)

        const after = decide({ ...seen, inFlight: decision.proposals.map(inFlight) }, rules)
        const again = new Set(decision.proposals.map(({ subject }) => subject))
        same(
          after.proposals.filter(({ subject }) => again.has(subject)),
          [],
        )
        holdLimits([...chosen, ...liquidations(after)], seen, rules)
      }),
      { numRuns: CASES },
    )
    // What was never drawn was never tested.
    expect(Math.min(...Object.values(taken))).toBeGreaterThan(CASES / 20)
  })

  it('more inventory room, and cheaper gas, never lower what it brings together', () => {
    fc.assert(
      fc.property(worlds, strategies, fc.bigInt(0n, 200_000_000n), (world, strategy, more) => {
        const seen = seenOf(world)
        const rules = rulesOf(strategy)
        const decision = decide(seen, rules)
        const roomier = rulesOf({ ...strategy, inventoryAssetsMax: strategy.inventoryAssetsMax + more })
        const baseFeePerGasWei = seen.chain.baseFeePerGasWei / (more % 2n === 0n ? 2n : 1n)
        const cheaper = { ...seen, chain: { ...seen.chain, baseFeePerGasWei } }
        const better = decide(cheaper, roomier)
        const base = profit(decision)
        const gapBps = BigInt(Math.max(0, ...liquidations(better).map((one) => Number(one.reason.setGapBps))))
        // Rounding to base units, and what the search with more room leaves open and says so.
        const least = base - base / 100_000n - 10_000n - (base * gapBps) / 10_000n
        atMost(least, profit(better))
      }),
      { numRuns: CASES },
    )
  })
})

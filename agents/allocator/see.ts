import type { Address } from 'viem'
import type { Answer, Look, Moment } from '../agent.ts'
import { rateModelViews } from '../protocol/lending-views.ts'
import { borrowRatePerSecondWad, curveProbes, isRateCurve, type RateCurve } from '../protocol/rate-curve.ts'
import { createWave } from '../protocol/reading.ts'
import type { Rows } from '../rows.ts'
import { remember } from './borrowing.ts'
import { type AskedMarket, askMarket, type MarketReading, marketLook } from './see-market.ts'
import { allocationLook, askAllocation, askRequests, askVault, exitSeen } from './see-vault.ts'
import type { AllocatorSeen, IntelligenceSeen, MarketLook, VaultBooks, VaultLook } from './seen.ts'

type Answers = readonly Answer[]
/** A vault after the first wave: what its second asks, and how that is read. */
type VaultReading = { readonly books: VaultBooks; readonly markets: readonly Address[] }

/**
 * Look at the pinned vaults and their markets: the service's word from its rows, amounts and rate curves from the chain,
 * all at one block, in four waves: vaults; their markets and queues; the markets' rate models; proofs of new curves.
 */
export function see(
  rows: Partial<Rows>,
  moment: Moment,
  _policy: unknown,
  previous: AllocatorSeen | null,
): Look<AllocatorSeen> {
  const wave = createWave()
  const vaults = moment.deployment.vaults.map(({ address }) => askVault(wave, address, moment.signer))
  return {
    ask: wave.questions,
    next: (answers) =>
      lookAtMarkets(
        rows,
        moment,
        previous,
        vaults.map((read) => read(answers)),
      ),
  }
}

function lookAtMarkets(
  rows: Partial<Rows>,
  moment: Moment,
  previous: AllocatorSeen | null,
  readings: readonly (VaultReading | null)[],
): Look<AllocatorSeen> {
  const wave = createWave()
  const markets = moment.deployment.markets.map((pin): AskedMarket => {
    const collateral = moment.deployment.assets.find(({ address }) => address === pin.collateralAsset)
    const row = rows.markets?.find(({ address }) => address === pin.address)
    return { pin, collateralSymbol: collateral?.symbol ?? null, row, read: askMarket(wave, pin) }
  })
  const vaults = moment.deployment.vaults.map(({ address }, index) => {
    const row = rows.vaults?.find((one) => one.address === address)
    const reading = readings[index] ?? null
    const requests = reading === null ? null : askRequests(wave, address, reading.books)
    const allocations = (reading?.markets ?? []).map((market) => {
      const read = askAllocation(wave, address, market)
      const marketRow = rows.markets?.find((one) => one.address === market)
      return (answers: Answers) => allocationLook(address, market, row, marketRow, read(answers))
    })
    return (answers: Answers): VaultLook => ({
      address,
      exit: row === undefined ? null : exitSeen(row),
      books: reading === null ? null : { ...reading.books, requests: requests?.(answers) ?? null },
      allocations: allocations.map((read) => read(answers)),
    })
  })
  return {
    ask: wave.questions,
    next: (answers) =>
      lookAtCurves(
        markets.map((market) => ({ ...market, reading: market.read(answers) })),
        previous,
        (looks, proved) => ({
          vaults: vaults.map((read) => read(answers)),
          markets: looks,
          proved,
          borrowing: remember(previous?.borrowing ?? {}, looks, moment.chain.timestampS),
          intelligence: (rows['allocation-intelligence'] ?? []).flatMap(intelligenceSeen),
        }),
      ),
  }
}

type ReadMarket = AskedMarket & { readonly reading: MarketReading }
type Finish = (markets: readonly MarketLook[], proved: AllocatorSeen['proved']) => AllocatorSeen

/** Read the curve of each rate model that a market and the service agree on; prove those that are new. */
function lookAtCurves(
  markets: readonly ReadMarket[],
  previous: AllocatorSeen | null,
  finish: Finish,
): Look<AllocatorSeen> {
  const wave = createWave()
  const models = [...new Set(markets.flatMap(({ reading }) => reading.rateModel ?? []))]
  const asked = models.map((model) => {
    const ask = (name: 'baseRatePerSecondWad' | 'slope1PerSecondWad' | 'slope2PerSecondWad' | 'kinkWad') =>
      wave.ask(rateModelViews, model, name, [])
    const base = ask('baseRatePerSecondWad')
    const slope1 = ask('slope1PerSecondWad')
    const slope2 = ask('slope2PerSecondWad')
    const kink = ask('kinkWad')
    return (answers: Answers): RateCurve | null => {
      const [baseRatePerSecondWad, slope1PerSecondWad] = [base(answers), slope1(answers)]
      const [slope2PerSecondWad, kinkWad] = [slope2(answers), kink(answers)]
      if (baseRatePerSecondWad === null || slope1PerSecondWad === null) return null
      if (slope2PerSecondWad === null || kinkWad === null) return null
      const curve = { baseRatePerSecondWad, slope1PerSecondWad, slope2PerSecondWad, kinkWad }
      return isRateCurve(curve) ? curve : null
    }
  })
  return {
    ask: wave.questions,
    next: (answers) => {
      const curves = models.flatMap((model, index) => {
        const curve = asked[index]?.(answers) ?? null
        return curve === null ? [] : [{ model, curve }]
      })
      const isProved = ({ model, curve }: (typeof curves)[number]) => {
        const before = previous?.proved[model]
        return before !== undefined && sameCurve(before, curve)
      }
      return proveCurves(
        curves.filter(isProved),
        curves.filter((one) => !isProved(one)),
        (proved) =>
          finish(
            markets.map((market) => marketLook(market, market.reading, proved)),
            proved,
          ),
      )
    },
  }
}

type ModelCurve = { readonly model: Address; readonly curve: RateCurve }

/** A model that answers otherwise than its figures say, anywhere we ask, has no curve that we know. */
function proveCurves(
  known: readonly ModelCurve[],
  fresh: readonly ModelCurve[],
  finish: (proved: AllocatorSeen['proved']) => AllocatorSeen,
): Look<AllocatorSeen> {
  const table = (curves: readonly ModelCurve[]) =>
    Object.fromEntries(curves.map(({ model, curve }) => [model, curve]))
  if (fresh.length === 0) return { seen: finish(table(known)) }
  const wave = createWave()
  const probed = fresh.map(({ model, curve }) =>
    curveProbes(curve).map((utilizationWad) => ({
      read: wave.ask(rateModelViews, model, 'borrowRatePerSecond', [utilizationWad]),
      expected: borrowRatePerSecondWad(curve, utilizationWad),
    })),
  )
  return {
    ask: wave.questions,
    next: (answers) => {
      const agrees = (index: number) =>
        (probed[index] ?? []).every(({ read, expected }) => read(answers) === expected)
      return { seen: finish(table([...known, ...fresh.filter((_, index) => agrees(index))])) }
    },
  }
}

const sameCurve = (one: RateCurve, other: RateCurve) =>
  one.baseRatePerSecondWad === other.baseRatePerSecondWad &&
  one.slope1PerSecondWad === other.slope1PerSecondWad &&
  one.slope2PerSecondWad === other.slope2PerSecondWad &&
  one.kinkWad === other.kinkWad

type IntelligenceRow = NonNullable<Rows['allocation-intelligence']>[number]

/** A proposal that names no vault or market narrows nothing; one with a transaction is done. */
function intelligenceSeen(row: IntelligenceRow): readonly IntelligenceSeen[] {
  const { targetVaultAddress: vault, targetMarketAddress: market, txHash } = row
  if (vault == null || market == null || txHash != null) return []
  const createdAtMs = row.createdAt == null ? Number.NaN : Date.parse(row.createdAt)
  return [
    {
      vaultAddress: vault,
      marketAddress: market,
      action: row.action ?? '',
      amountAssets: row.amountAssets == null ? null : BigInt(row.amountAssets),
      confidenceBps: row.confidenceBps ?? null,
      policyVersion: row.policyVersion ?? null,
      modelVersion: row.modelVersion ?? null,
      createdAtMs: Number.isNaN(createdAtMs) ? null : createdAtMs,
    },
  ]
}

import type { Address } from 'viem'
import { inputText } from '../../src/workflow/proposal.ts'
import type { Ended, InFlight, Observation } from '../agent.ts'
import { dataFeesWei } from '../protocol/data-fee.ts'
import { BPS, ceilDiv, WAD } from '../protocol/health.ts'
import { ORACLE_HEALTHY } from '../protocol/lending-views.ts'
import { seizedCollateral } from '../protocol/liquidation.ts'
import type { LiquidatorPolicy } from './policy.ts'
import type { LiquidatorSeen, MarketSeen } from './seen.ts'

export const HOUR_MS = 3_600_000
const USD_MICROS = 1_000_000n

/** Ends of a liquidation that may have moved money. */
const MAY_HAVE_REPAID: ReadonlySet<Ended['state']> = new Set([
  'succeeded',
  'unconfirmed',
  'partial',
  'quarantined',
])

/** What some gas is expected to cost, and what must be there for it: fees of blocks to come may be higher. */
export type GasCost = {
  readonly gas: bigint
  readonly wei: bigint
  readonly usdMicros: bigint
  readonly reserveWei: bigint
  /** What one native coin counts as in it. */
  readonly nativeUsdMicros: bigint
}

/** What is left to spend as one decision goes on: changed in place by that decision, and by nothing else. */
export type Funds = {
  nativeWei: bigint
  /** Base units by lower-case token, less what workflows in flight may take; may be below zero. */
  readonly tokens: Map<string, bigint>
  /** Base units by lower-case token: balance, open claims, in flight, and what this decision will seize. */
  readonly held: Map<string, bigint>
  /** Whether `held` is all: false when a claim or a seizure in flight cannot be attributed to its token. */
  readonly inventoryKnown: boolean
  /** Millionths of a US dollar that the policy still allows to repay in this hour. */
  hourUsdMicros: bigint
  /** Liquidations that the hour's reverted gas could still bear, were each of them to revert. */
  reverts: bigint
  /** Approval, liquidation and settlement together. */
  readonly liquidation: GasCost
  readonly settlement: GasCost
  /** Approval and sale together. */
  readonly sale: GasCost
}

/** Count what may be spent and what is held, with everything that is in flight already taken. Pure. */
export function fundsOf(seen: Observation<LiquidatorSeen>, policy: LiquidatorPolicy): Funds {
  const liquidation = gasCost(policy.gas.liquidateGas + policy.gas.settleGas, 3n, seen, policy)
  const tokens = new Map<string, bigint>(Object.entries(seen.balances))
  for (const { exposure } of seen.inFlight) {
    if (exposure.token !== null) add(tokens, exposure.token, -exposure.assets)
  }
  const held = new Map<string, bigint>(Object.entries(seen.balances))
  const coming = [...seen.claims.map(claimed), ...seizures(seen, policy)]
  for (const { token, assets } of coming) if (token !== null) add(held, token, assets)
  return {
    nativeWei: seen.nativeBalanceWei - BigInt(seen.inFlight.length) * liquidation.reserveWei,
    tokens,
    held,
    inventoryKnown: coming.every(({ token }) => token !== null),
    ...hourOf(seen, policy),
    liquidation,
    settlement: gasCost(policy.gas.settleGas, 1n, seen, policy),
    sale: gasCost(policy.gas.sellGas, 2n, seen, policy),
  }
}

/** Liquidations under way, and those of the last hour that may have repaid, or reverted. Pure. */
export function hourRows({ inFlight, recent, nowMs }: Observation<LiquidatorSeen>) {
  const isLiquidation = ({ workflowType }: Pick<InFlight, 'workflowType'>) =>
    workflowType === 'role.liquidator.liquidate'
  const inHour = recent.filter((one) => one.endedAtMs > nowMs - HOUR_MS && isLiquidation(one))
  return {
    open: inFlight.filter(isLiquidation),
    repaid: inHour.filter(({ state }) => MAY_HAVE_REPAID.has(state)),
    reverted: inHour.filter(({ state }) => state === 'reverted'),
  }
}

/** What the last hour leaves, with everything that is in flight taken as done, and as reverted too. */
function hourOf(seen: Observation<LiquidatorSeen>, policy: LiquidatorPolicy) {
  const { open, repaid, reverted } = hourRows(seen)
  const { liquidateGas } = policy.gas
  const gasLeft = policy.lostRace.revertedGasPerHourMax - BigInt(open.length + reverted.length) * liquidateGas
  return {
    hourUsdMicros: [...open, ...repaid].reduce(
      (left, { exposure }) => left - exposure.usdMicros,
      policy.repayUsdMicrosPerHourMax,
    ),
    reverts: gasLeft / liquidateGas,
  }
}

const add = (amounts: Map<string, bigint>, token: string, assets: bigint) =>
  amounts.set(token, (amounts.get(token) ?? 0n) + assets)

type Coming = { readonly token: Address | null; readonly assets: bigint }

const claimed = ({
  collateralAsset,
  collateralAssets,
}: Observation<LiquidatorSeen>['claims'][number]): Coming => ({
  token: collateralAsset,
  assets: collateralAssets,
})

/**
 * What liquidations in flight will seize: what their repayment buys now, but at least their minimum, and at most that before
 * slippage. Once one is mined, its claim counts too until the workflow ends: for seconds, too much rather than too little.
 */
function seizures(seen: Observation<LiquidatorSeen>, policy: LiquidatorPolicy): readonly Coming[] {
  return seen.inFlight.flatMap(({ workflowType, input, exposure }) => {
    if (workflowType !== 'role.liquidator.liquidate') return []
    const pinned = seen.deployment.markets.find(({ address }) => address === input.marketAddress)
    const min = BigInt(inputText(input, 'minCollateralAssets') ?? -1)
    if (min < 0n) return { token: null, assets: 0n }
    const market = seen.markets.find(({ address }) => address === input.marketAddress)
    const most = ceilDiv(min * BPS, BPS - BigInt(policy.slippageBps))
    const bought = market === undefined ? null : boughtFor(exposure.assets, most, market)
    const assets = bought === null ? most : bought > min ? bought : min
    return { token: pinned?.collateralAsset ?? null, assets }
  })
}

/** What a repayment buys in a market now, at most so much; null where the market does not say. */
function boughtFor(repayAssets: bigint, most: bigint, market: MarketSeen): bigint | null {
  const { oracle, loanDecimals, collateralDecimals, liquidationBonusBps } = market
  if (oracle === null || oracle.priceWad <= 0n) return null
  if (loanDecimals === null || collateralDecimals === null || liquidationBonusBps === null) return null
  const price = { priceWad: oracle.priceWad, loanDecimals, collateralDecimals }
  return seizedCollateral(repayAssets, most, { price, liquidationBonusBps })
}

/** Price gas at the head's base fee and our tip, and what transactions pay for their bytes; what is reserved has the policy's headroom. */
function gasCost(
  gas: bigint,
  transactions: bigint,
  seen: Observation<LiquidatorSeen>,
  policy: LiquidatorPolicy,
): GasCost {
  const { baseFeePerGasWei, priorityFeePerGasWei } = seen.chain
  const wei = gas * (baseFeePerGasWei + priorityFeePerGasWei) + dataFeesWei(seen, transactions)
  const reserveWei = wei + ceilDiv(gas * baseFeePerGasWei * BigInt(policy.gas.baseFeeHeadroomBps), BPS)
  const native = nativeUsdMicros(seen, policy)
  return { gas, wei, reserveWei, nativeUsdMicros: native, usdMicros: ceilDiv(wei * native, WAD) }
}

/** What one native coin is worth: as it is read, and at the policy's most while that cannot be believed. Pure. */
export function nativeUsdMicros(
  { references, chain }: Observation<LiquidatorSeen>,
  { gas: { nativePriceUsdMicros: nativePrice } }: LiquidatorPolicy,
): bigint {
  if (typeof nativePrice === 'bigint') return nativePrice
  const { contract, ageSMax, priceUsdMicrosMin, priceUsdMicrosMax } = nativePrice
  const read = references[contract] ?? null
  if (read === null || read.state !== ORACLE_HEALTHY) return priceUsdMicrosMax
  if (Math.abs(chain.timestampS - read.sourceAsOfS) > ageSMax) return priceUsdMicrosMax
  const usdMicros = (read.priceWad * USD_MICROS) / WAD
  return usdMicros < priceUsdMicrosMin || usdMicros > priceUsdMicrosMax ? priceUsdMicrosMax : usdMicros
}

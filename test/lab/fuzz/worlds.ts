import {
  type AbiFunction,
  type Address,
  decodeFunctionData,
  encodeFunctionResult,
  type Hex,
  stringToHex,
  toFunctionSelector,
} from 'viem'
import type { Call } from '../../../src/chain/nodes.ts'
import { type Refusal, refuse } from '../../../src/errors.ts'
import { createReads } from '../../../src/guard/reads/views.ts'
import type { Ruleset } from '../../../src/guard/ruleset.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { BORROWER, COLLATERAL, LOAN, MARKET, NOW_MS, SELF, STRANGER, VAULT } from '../../guard/fixtures.ts'
import { deployment, kindOf } from '../../guard/kinds.ts'
import { PREPARED } from '../../guard/shipped.ts'
import type { Dice } from '../judgement/dice.ts'
import { chance, pickFrom, whole } from './dice.ts'

/** What a view answers on a chain; null: nothing. */
type Says = (name: string, to: Address, args: readonly unknown[]) => unknown

/** What rows had us ask for, on a chain that is as it is. */
export type World = {
  readonly kind: string
  readonly input: Proposal['input']
  readonly proposal: Partial<Proposal>
  readonly before: Says
  readonly after: Says
  readonly changeOf?: (token: Address) => bigint
  readonly gasWei: bigint
  /** Why it must not be cleared, reckoned from the world itself; null where it may be. */
  readonly wrong: string | null
}

const NOW_S = NOW_MS / 1_000
const WAD = 10n ** 18n
const LOAN_UNIT = 10n ** 6n
const COLLATERAL_UNIT = 10n ** 8n
const FUND = deployment.funds[0]?.address ?? '0x'
const LENS = deployment.contracts.find(({ name }) => name === 'fundLens')?.address ?? '0x'
const HOUSE = deployment.contracts.find(({ name }) => name === 'acquisitionHouse')?.address ?? '0x'

/** Make a world that one of the roles acts in. */
export const worldOf = (dice: Dice): World =>
  // A bid is held to more than anything else, so that fewer are cleared.
  pickFrom(dice, [liquidationWorld, allocationWorld, acquisitionWorld, acquisitionWorld, reportWorld])(dice)

/** The shipped rules that judge what is done in a world. */
export function rulesOf({ kind }: World): Ruleset {
  const held = PREPARED.find(([, { name }]) => name === kind)
  if (held === undefined) throw new TypeError(`nothing judges ${kind}`)
  return held[2]
}

/** Make a world, have the guard judge it, and compare. */
export function fuzzWorld(dice: Dice): {
  readonly kind: string
  readonly check: string
  /** Why it is refused. */
  readonly said: string
  readonly problem: string | null
} {
  const world = worldOf(dice)
  const refusal = judged(world, rulesOf(world))
  const check = refusal?.check ?? 'cleared'
  const problem =
    check === 'cleared' && world.wrong !== null ? `${world.kind}: cleared, though ${world.wrong}` : null
  return { kind: world.kind, check, said: refusal?.message ?? '', problem }
}

/** Have rules judge what is done in a world: why it is refused, or null. */
export function judged(
  { kind, input, proposal: changes, before: was, after: is, gasWei, changeOf = () => 0n }: World,
  ruleset: Ruleset,
): Refusal | null {
  const { proposal: honest } = kindOf(kind)
  const sanity = ruleset.sanity.get(honest.workflowType)
  if (sanity === undefined) return refuse('workflow_not_allowed', `Nothing judges ${kind}.`)
  const proposal: Proposal = { ...honest, ...changes, input }
  const find = <P extends { readonly address: Address }>(pins: readonly P[], named: unknown) =>
    pins.find(({ address }) => address === named) ?? null
  const subject = {
    input,
    self: SELF,
    deadlineS: BigInt(NOW_S + 60),
    deployment,
    market: find(deployment.markets, input.marketAddress),
    vault: find(deployment.vaults, input.vaultAddress),
    fund: find(deployment.funds, input.fundAddress),
  }
  const [before, after] = [createReads(), createReads()]
  const judgement = sanity.judge({ subject, proposal, calls: [], before, after })
  before.fill(before.calls.map(answer(sanity.views, was)))
  after.fill(after.calls.map(answer(sanity.views, is)))
  return judgement.checkState(NOW_S) ?? judgement.checkOutcome({ timestampS: NOW_S, gasWei, changeOf })
}

const BALANCE = {
  type: 'function',
  name: 'balanceOf',
  stateMutability: 'view',
  inputs: [{ name: 'owner', type: 'address' }],
  outputs: [{ name: '', type: 'uint256' }],
} as const satisfies AbiFunction
/** What the NAV reporter's policy has the chain itself say of a fund's share. */
const SHARE_VALUE = {
  ...BALANCE,
  name: 'shareValueWad',
  inputs: [{ name: 'fund', type: 'address' }],
} as const satisfies AbiFunction

const selectors = new WeakMap<AbiFunction, Hex>()
function selectorOf(item: AbiFunction): Hex {
  const selector = selectors.get(item) ?? toFunctionSelector(item)
  selectors.set(item, selector)
  return selector
}

const answer =
  (views: readonly AbiFunction[], says: Says) =>
  ({ to, data }: Call): Hex | null => {
    const item = [BALANCE, SHARE_VALUE, ...views].find((view) => selectorOf(view) === data.slice(0, 10))
    if (item === undefined || to === null) throw new TypeError(`no view has the selector of ${data}`)
    const { args = [] } = decodeFunctionData<readonly AbiFunction[]>({ abi: [item], data })
    const result = says(item.name, to, args)
    return result === null
      ? null
      : encodeFunctionResult<readonly AbiFunction[]>({
          abi: [item],
          functionName: item.name,
          result: result as never,
        })
  }

/** A number near a limit: at it, one past it, or anywhere about. */
const near = (dice: Dice, limit: bigint): bigint => {
  const way = whole(dice, 6)
  if (way === 0) return limit
  if (way === 1) return limit + 1n
  if (way === 2) return limit > 0n ? limit - 1n : 0n
  if (way === 3) return (limit * BigInt(whole(dice, 30_000))) / 10_000n
  return (limit * BigInt(whole(dice, 11_000))) / 10_000n
}
const upTo = (dice: Dice, most: bigint): bigint => (most * BigInt(whole(dice, 10_001))) / 10_000n
const unread = (dice: Dice, value: unknown): unknown => (chance(dice, 0.01) ? null : value)

/** An oracle, and what of it forbids to act. */
function oracleOf(dice: Dice, ageMaxS: number) {
  const priceWad = chance(dice, 0.02) ? 0n : (1_000n + BigInt(whole(dice, 100_000))) * WAD
  const ageS = chance(dice, 0.2)
    ? pickFrom(dice, [ageMaxS, ageMaxS + 1, 10_000, 0, -1, -10_000])
    : whole(dice, ageMaxS)
  const state = chance(dice, 0.05) ? pickFrom(dice, [0, 2, 3]) : 1
  const read = unread(dice, [priceWad, BigInt(NOW_S - ageS), BigInt(NOW_S), state])
  const wrong =
    read === null
      ? 'the oracle is silent'
      : state !== 1 || priceWad === 0n
        ? 'the oracle is ill'
        : ageS > ageMaxS
          ? 'the price is old'
          : ageS < 0
            ? 'the price is of tomorrow'
            : null
  return { priceWad, read, wrong }
}
/** The price that was decided on, and whether it is within 1 % of the oracle's. */
function decidedOn(dice: Dice, priceWad: bigint) {
  const decided = chance(dice, 0.7) ? priceWad : (priceWad * BigInt(9_850 + whole(dice, 300))) / 10_000n
  const apart = decided > priceWad ? decided - priceWad : priceWad - decided
  return { reason: { priceWad: String(decided) }, wrong: apart * 100n > decided ? 'the price moved' : null }
}
const firstOf = (...reasons: readonly (string | false | null)[]): string | null =>
  reasons.find((reason): reason is string => typeof reason === 'string') ?? null

/** A position that may be sound, and a liquidation of it that may take too much or insist on too little. */
function liquidationWorld(dice: Dice): World {
  const oracle = oracleOf(dice, 120)
  const decided = decidedOn(dice, oracle.priceWad)
  const healthWad = unread(dice, chance(dice, 0.3) ? WAD + BigInt(whole(dice, 2)) : upTo(dice, WAD - 1n))
  const debt = BigInt(1 + whole(dice, 2_000_000)) * 100_000n
  const closeFactor = BigInt(whole(dice, 10_001))
  const bonus = BigInt(whole(dice, 2_000))
  const held = BigInt(whole(dice, 20_000)) * 1_000_000n
  const paused = unread(dice, chance(dice, 0.05))
  const most = (debt * closeFactor + 9_999n) / 10_000n
  const repay = near(dice, most)
  const funds = near(dice, repay)
  const price = oracle.priceWad === 0n ? 1n : oracle.priceWad
  const wanted = (repay * (10_000n + bonus) * WAD * COLLATERAL_UNIT) / (10_000n * price * LOAN_UNIT)
  const due = wanted < held ? wanted : held
  const least = (due * 9_500n) / 10_000n
  const minimum = near(dice, chance(dice, 0.5) ? least : due)
  const gasWei = BigInt(whole(dice, 1_000)) * 10n ** 12n
  const worth = (minimum * price * LOAN_UNIT) / (WAD * COLLATERAL_UNIT)
  // A loan unit counts as a millionth of a dollar here, and a coin as $3,000.
  const gain = worth - repay - (gasWei * 3_000_000_000n) / WAD
  const read = {
    healthFactorWad: healthWad,
    debtOf: debt,
    collateralOf: held,
    closeFactorBps: Number(closeFactor),
  }
  const inventory = 25n * COLLATERAL_UNIT
  const seized = near(dice, inventory)
  const sharing = BigInt(
    deployment.markets.filter(({ collateralAsset }) => collateralAsset === COLLATERAL).length,
  )
  const claim = seized / (2n * sharing)
  const claims = unread(dice, claim)
  const more = { liquidationBonusBps: Number(bonus), paused, read: oracle.read, openClaimAssets: claims }
  const says: Says = (name, to) =>
    name === 'balanceOf'
      ? to === COLLATERAL
        ? seized - sharing * claim
        : funds
      : { ...read, ...more }[name as keyof (typeof read & typeof more)]
  return {
    kind: 'liquidate',
    input: {
      marketAddress: MARKET,
      vaultAddress: VAULT,
      borrowerAddress: BORROWER,
      recipientAddress: SELF,
      repayAssets: String(repay),
      minCollateralAssets: String(minimum),
    },
    proposal: { reason: decided.reason, exposure: { token: LOAN, assets: repay, usdMicros: repay } },
    before: says,
    after: says,
    gasWei,
    wrong: firstOf(
      oracle.wrong,
      decided.wrong,
      (healthWad === null || paused === null || claims === null) && 'a read failed',
      paused === true && 'the market is paused',
      typeof healthWad === 'bigint' && healthWad >= WAD && 'the position is sound',
      (repay === 0n || repay > most) && 'it repays more than may be',
      seized > inventory && 'more is held and claimed than may be',
      repay > funds && 'it repays more than we have',
      minimum < least && 'it insists on too little',
      gain < 1_000_000n && 'it gains too little',
    ),
  }
}

/** A vault with two markets, and a move into one that may be too much of it. */
function allocationWorld(dice: Dice): World {
  const oracle = oracleOf(dice, 300)
  const total = BigInt(1 + whole(dice, 1_000_000)) * LOAN_UNIT
  const idle = upTo(dice, total)
  const queued = upTo(dice, total / 5n)
  const bufferBps = BigInt(whole(dice, 3_000))
  const relativeCapBps = BigInt(whole(dice, 10_001))
  const absoluteCapAssets = near(dice, total)
  const allocated = upTo(dice, total)
  const needed = (total * bufferBps + 9_999n) / 10_000n + queued
  const shareBps = relativeCapBps < 9_000n ? relativeCapBps : 9_000n
  const share = (total * shareBps) / 10_000n
  const cap = absoluteCapAssets < share ? absoluteCapAssets : share
  const room = cap > allocated ? cap - allocated : 0n
  const free = idle > needed ? idle - needed : 0n
  const assets = near(dice, room < free ? room : free)
  const utilizationWad = near(dice, (WAD * 9_100n) / 10_000n)
  const [approved, allocationEnabled, paused, hasRole] = [
    chance(dice, 0.97),
    chance(dice, 0.97),
    chance(dice, 0.03),
    chance(dice, 0.97),
  ]
  const lost = chance(dice, 0.05) ? 1n : 0n
  const isYield = chance(dice, 0.7)
  const listing = unread(dice, {
    approved,
    allocationEnabled,
    relativeCapBps: Number(relativeCapBps),
    absoluteCapAssets,
  })
  const always = {
    hasRole: unread(dice, hasRole),
    queuedAssets: queued,
    liquidityBufferBps: Number(bufferBps),
    listing,
    paused,
    partition: [total, 0n, 0n],
    read: oracle.read,
    utilizationWad,
  }
  const before = { ...always, totalAssets: total, idleAssets: idle, allocatedAssets: allocated }
  const after = {
    ...always,
    totalAssets: total - lost,
    idleAssets: idle >= assets ? idle - assets : 0n,
    allocatedAssets: allocated + assets,
  }
  return {
    kind: 'allocate',
    input: { vaultAddress: VAULT, marketAddress: MARKET, assets: String(assets) },
    proposal: {
      kind: isYield ? 'yield' : 'buffer',
      exposure: { token: null, assets: 0n, usdMicros: assets },
    },
    before: (name) => before[name as keyof typeof before],
    after: (name) => after[name as keyof typeof after],
    gasWei: 1n,
    wrong: firstOf(
      oracle.wrong,
      (listing === null || always.hasRole === null) && 'a read failed',
      always.hasRole === false && 'we may not allocate',
      !(approved && allocationEnabled) && 'the vault does not lend there',
      paused && 'the market is paused',
      assets === 0n && 'nothing is moved',
      lost > 0n && 'the vault lost on the way',
      assets > idle && 'more is moved than lies idle',
      idle - assets < needed && 'the buffer is gone',
      allocated + assets > cap && 'the cap is passed',
      isYield && utilizationWad > (WAD * 9_100n) / 10_000n && 'the market is lent out',
    ),
  }
}

const LANES: Readonly<Record<string, bigint>> = { liquid: 9_500n, restricted: 8_400n }

/** Most of a fund in bids and holdings of a lane, basis points. */
const LANE_PARTS: Readonly<Record<string, bigint>> = { liquid: 7_000n, restricted: 3_500n }

/** A lot at the house, and a fund's bid that may be too high for it, or for the fund. */
function acquisitionWorld(dice: Dice): World {
  const oracle = oracleOf(dice, 120)
  const decided = decidedOn(dice, oracle.priceWad)
  const amount = BigInt(1 + whole(dice, 3_000)) * 100_000n
  const worth = (amount * oracle.priceWad * LOAN_UNIT) / (COLLATERAL_UNIT * WAD)
  const net = chance(dice, 0.4) ? near(dice, worth * 4n) : worth * BigInt(4 + whole(dice, 9))
  const lane = chance(dice, 0.1) ? 'private' : pickFrom(dice, Object.keys(LANES))
  const isLed = chance(dice, 0.5)
  // Below what it is worth, where a bid may lead.
  const asked = chance(dice, 0.6) ? (worth * 3n) / 4n : worth
  const bestAssets = isLed ? upTo(dice, asked) : 0n
  const reserveAssets = upTo(dice, asked)
  const laneMost = (worth * (LANES[lane] ?? 0n)) / 10_000n
  const raised = isLed && bestAssets > 0n ? bestAssets + (worth * 50n) / 10_000n + 1n : 0n
  const enough = raised > reserveAssets ? raised : reserveAssets
  const limit = pickFrom(dice, [laneMost, enough, (net * 2_500n) / 10_000n, bestAssets + 1n])
  const assets = chance(dice, 0.6) ? enough + BigInt(whole(dice, 2)) : near(dice, limit)
  const [manager, seller] = [
    chance(dice, 0.97) ? SELF : STRANGER,
    chance(dice, 0.97) ? STRANGER : pickFrom(dice, [SELF, FUND]),
  ]
  const bestBidder = isLed ? (chance(dice, 0.95) ? STRANGER : FUND) : `0x${'00'.repeat(20)}`
  const state = chance(dice, 0.97) ? 1 : 2
  const closesAt = BigInt(NOW_S + (chance(dice, 0.9) ? 30 : pickFrom(dice, [-1, 0, 1, 2])))
  const position: Hex = `0x${'ab'.repeat(32)}`
  const lot = {
    terms: {
      positionId: position,
      lane: stringToHex(lane, { size: 32 }),
      market: MARKET,
      borrower: STRANGER,
      asset: COLLATERAL,
      amount,
      quoteAsset: LOAN,
      reserveAssets,
      closesAt,
    },
    seller,
    state,
    bestBidder,
    bestAssets,
  }
  const flags = {
    fundReadinessApproved: chance(dice, 0.98),
    quoteAssetProfileApproved: true,
    purchasesEnabled: chance(dice, 0.98),
  }
  const impairment = chance(dice, 0.98) ? 0 : 1
  const leads = chance(dice, 0.97)
  const [idle, overspent] = [net, chance(dice, 0.03) ? 1n : 0n]
  const always = { ...flags, impairment, manager, netAssets: unread(dice, net), read: oracle.read }
  const before = { ...always, lot: unread(dice, lot), idleAssets: idle }
  const spent = assets + overspent > idle ? idle : assets + overspent
  // What the fund has in the lane, the market and of the borrower with this bid, whatever the rows list.
  const most = [LANE_PARTS[lane] ?? 0n, 8_000n, 5_000n].map((bps) => (net * bps) / 10_000n)
  const concentrationAt = most.map((assets) => (chance(dice, 0.9) ? upTo(dice, assets) : near(dice, assets)))
  const after = {
    ...always,
    concentrationAt: unread(dice, concentrationAt),
    lot: leads ? { ...lot, bestBidder: FUND, bestAssets: assets } : lot,
    idleAssets: idle - spent,
  }
  return {
    kind: 'acquire',
    input: { fundAddress: FUND, acquisitionAddress: HOUSE, lotId: '7', bidAssets: String(assets) },
    proposal: {
      kind: 'bid',
      lot: position,
      reason: decided.reason,
      exposure: { token: null, assets: 0n, usdMicros: assets },
    },
    before: (name) => before[name as keyof typeof before],
    after: (name) => after[name as keyof typeof after],
    gasWei: 1n,
    wrong: firstOf(
      oracle.wrong,
      decided.wrong,
      (before.lot === null || always.netAssets === null) && 'a read failed',
      manager !== SELF && 'the fund is not ours to manage',
      !(flags.fundReadinessApproved && flags.purchasesEnabled) && 'the fund may not buy',
      impairment !== 0 && 'the fund is impaired',
      (state !== 1 || closesAt < BigInt(NOW_S + 2)) && 'the lot takes no bids',
      seller !== STRANGER && 'we sell it',
      bestBidder === FUND && 'we lead already',
      (assets < reserveAssets || assets <= bestAssets) && 'it does not lead',
      LANES[lane] === undefined && 'no limit is stated for its lane',
      assets > laneMost && 'it is above what the lane allows',
      assets > enough && 'it is above what the rivals are a reason for',
      assets * 10_000n > net * 2_500n && 'it is too much of the fund',
      !leads && 'the fund does not lead afterwards',
      after.concentrationAt === null && 'its concentration cannot be read',
      concentrationAt.some((held, index) => held > (most[index] ?? 0n)) && 'the fund has too much like it',
      idle - (idle - spent) > assets && 'the fund spends more',
    ),
  }
}

/** An oracle with the reports that it has, and one more that may be too much, too soon, too old or of another. */
function reportWorld(dice: Dice): World {
  const [least, most] = [WAD / 10n, 10n * WAD]
  const own = chance(dice, 0.9) ? WAD / 20n + upTo(dice, 3n * WAD) : near(dice, pickFrom(dice, [least, most]))
  const previous = (own * BigInt(7_500 + whole(dice, 5_000))) / 10_000n
  const isFirst = chance(dice, 0.2)
  const edges = [
    least,
    most,
    (own * 105n) / 100n,
    (own * 95n) / 100n,
    (previous * 120n) / 100n,
    (previous * 80n) / 100n,
  ]
  const value = chance(dice, 0.5)
    ? pickFrom(dice, edges) + BigInt(whole(dice, 5) - 2)
    : (own * BigInt(9_300 + whole(dice, 1_400))) / 10_000n
  const ageS = chance(dice, 0.8) ? whole(dice, 360) : pickFrom(dice, [-1, 0, 360, 361, 100_000])
  const valuationTime = BigInt(NOW_S - ageS)
  const last = {
    value: isFirst ? 0n : previous,
    revision: isFirst ? 0 : whole(dice, 3),
    reporter: STRANGER,
    valuationTime: isFirst ? 0n : valuationTime - BigInt(pickFrom(dice, [0, 1, 60, 86_400, -1])),
    submittedAt: isFirst ? 0n : BigInt(NOW_S - 30),
  }
  const corrects = !isFirst && last.valuationTime === valuationTime
  const revision = chance(dice, 0.9) ? (corrects ? last.revision + 1 : 0) : whole(dice, 4)
  const isFar = (one: bigint, other: bigint, parts: bigint) =>
    (one > other ? one - other : other - one) * 10_000n > other * parts
  const [hasRole, asset, decimals] = [
    unread(dice, chance(dice, 0.97)),
    unread(dice, chance(dice, 0.97) ? FUND : STRANGER),
    unread(dice, chance(dice, 0.97) ? 18 : 6),
  ]
  const shown = chance(dice, 0.95)
    ? { value, valuationTime, revision, submittedAt: BigInt(NOW_S), reporter: SELF }
    : pickFrom(dice, [last, null, { ...last, value, valuationTime, revision, submittedAt: BigInt(NOW_S) }])
  const held = unread(dice, last)
  const said = unread(dice, own)
  const before: Says = (name, to, args) =>
    name === 'shareValueWad'
      ? to === LENS && String(args[0]).toLowerCase() === FUND
        ? said
        : null
      : { hasRole, asset, decimals, latest: held }[name]
  return {
    kind: 'report',
    input: {
      ...kindOf('report').proposal.input,
      value: String(value),
      valuationTimestamp: String(valuationTime),
      revision,
    },
    proposal: {},
    before,
    after: () => shown,
    gasWei: 1n,
    wrong: firstOf(
      (hasRole === null || asset === null || decimals === null || held === null || said === null) &&
        'a read failed',
      hasRole !== true && 'we are no reporter',
      asset !== FUND && 'the oracle is of another',
      decimals !== 18 && 'the oracle counts otherwise',
      ageS < 0 && 'it is for a time to come',
      revision === 0 && ageS > 360 && 'it is too old',
      valuationTime < last.valuationTime && 'a later one is there',
      revision !== (corrects ? last.revision + 1 : 0) && 'it is not next',
      (value < least || value > most) && 'it is beyond the bounds',
      !isFirst && isFar(value, previous, 2_000n) && 'it jumped',
      isFar(value, own, 500n) && 'the chain says otherwise',
      (shown?.value !== value || shown.reporter !== SELF) && 'it is not shown as ours',
    ),
  }
}

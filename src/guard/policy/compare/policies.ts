import { contentHash } from '../../content-hash.ts'
import { compareAllowances } from './allowances.ts'
import { compareApproval } from './approval.ts'
import {
  type Difference,
  type Direction,
  directionOf,
  type Members,
  type Sense,
  textOf,
} from './difference.ts'
import { compareRules } from './rules.ts'

/** What the differences of two policies come to. */
export type Change = Direction | 'same'

/**
 * The settings whose direction is certain, by where they stand, and which way lets less through. `open`: where it says
 * nothing, nothing is bounded. A setting that is not here is unknown whichever way it changes: that is never wrong.
 * What binds in two ways is left out: `badDebtMax` permits a pause and forbids its end, a venue that is not counted any more
 * takes its escrow out of the sum, and the price of native coin counts costs and what we own. Whoever gives a setting a
 * second use takes it out here.
 */
const NARROWER: readonly (readonly [path: string, narrower: Sense, absent?: 'open'])[] = [
  ...['perWorkflow', 'perHour', 'perDay'].flatMap((of) => [
    [`limits.${of}.movedMax`, 'less'] as const,
    [`limits.${of}.gasMax`, 'less'] as const,
  ]),
  ['limits.perHour.revertsMax', 'less'],
  ['limits.perDay.revertsMax', 'less'],
  ['limits.loss.perHour', 'less', 'open'],
  ['limits.loss.perDay', 'less', 'open'],
  ['freshness.ageMax', 'less'],
  ['freshness.blockLagMax', 'less'],
  ['freshness.headAgeMax', 'less'],
  ['freshness.expiryMargin', 'more'],
  ['freshness.lifetimeMax', 'less'],
  // For one offer: what is offered is never above either, whatever else depends on it.
  ['fees.maxFeePerGas', 'less'],
  ['fees.priorityFeePerGasMax', 'less'],
  ['fees.gainShare', 'less'],
  ...[
    ...['priceDivergenceMax', 'shareMax', 'utilizationMax', 'valuationAgeMax', 'raiseMax'],
    ...['positionMax', 'borrowerMax', 'marketMax', 'pauseMax', 'bidMax', 'bindsAfterCloseMax'],
    ...['lanes.*.priceMax', 'lanes.*.concentrationMax', 'oracles.*.valueMax', 'oracles.*.moveMax'],
    ...['oracles.*.chain.apartMax', 'book.leadMax', 'escrowMax.*', 'assets.*.escrowMax.*'],
    ...['assets.*.inventoryMax', 'inventoryMax.*', 'exits.*.saleMax', 'exitDiscountMax'],
  ].map((name) => [`guard.sanity.${name}`, 'less'] as const),
  // Of the allocator it says too from when on a market may be left.
  ...['liquidator', 'asset-manager', 'rfq-bidder'].map(
    (role) => [`${role}: guard.sanity.priceAgeMax`, 'less'] as const,
  ),
  ...['minCollateral', 'profitMin', 'closeMargin', 'oracles.*.valueMin'].map(
    (name) => [`guard.sanity.${name}`, 'more'] as const,
  ),
  ...[
    ...['repayMax', 'repayPerHourMax', 'priceAgeMax', 'priceDivergenceMax', 'badDebt.unpaidMax', 'bidMax'],
    ...['openBidsMax', 'collaterals.*.inventoryMax', 'assets.*.inventoryMax', 'assets.*.openBidsMax'],
    ...['bidding.positionMax', 'bidding.borrowerMax', 'bidding.marketMax', 'bidding.priceAgeMax'],
    ...['bidding.priceDivergenceMax', 'bidding.lanes.*.concentrationMax', 'secondPrice.*.divergenceMax'],
    ...['secondPrice.*.ageMax', 'rfq.raisesMax', 'unverifiedMarketsMax', 'exits.*.saleMax'],
    'exitDiscountMax',
  ].map((name) => [`strategy.${name}`, 'less'] as const),
  ...['profitMin', 'gainMin', 'yields.gainMin', 'bidding.idleMin'].map(
    (name) => [`strategy.${name}`, 'more'] as const,
  ),
]

/**
 * Compare two policies of one role, as their files say them with all that they include. What is said to be narrower lets
 * nothing through that the old one would not have: every call, at the same gas and the same offer. Both are policies that
 * load, against one deployment. Pure.
 * @returns the differences, in the order of the new file; empty where both say the same.
 */
export function comparePolicies(was: Members, is: Members): readonly Difference[] {
  const parts = [compareSettings, compareAllowances, compareApproval, compareRules]
  return parts.flatMap((compare) => compare(was, is))
}

/** Say what differences come to: one that is wider or unknown outweighs all that are narrower. Pure. */
export function changeOf(differences: readonly Difference[]): Change {
  const has = (direction: Direction) => differences.some((each) => each.direction === direction)
  return has('wider') ? 'wider' : has('unknown') ? 'unknown' : has('narrower') ? 'narrower' : 'same'
}

/** Name a change of a policy by all that both say; 64 hex digits. Pure. */
export const changeHash = (was: Members, is: Members): string => contentHash({ was, is })

/** Sections of which single settings say nothing by themselves. */
const OF_THEIR_OWN = /^(approval|limits\.allowances|guard\.(allow|deny|effects))$/

function compareSettings(was: Members, is: Members): readonly Difference[] {
  const [before, after] = [leavesOf(was), leavesOf(is)]
  // With a budget for losses a price counts on both sides: of what is lost, and of what is won.
  const isMarked = [...before.keys(), ...after.keys()].some((path) => path.startsWith('limits.loss.'))
  return [...new Set([...after.keys(), ...before.keys()])].flatMap((path) => {
    const [old, now] = [before.get(path) ?? null, after.get(path) ?? null]
    if (old === now) return []
    const isPrice = path.startsWith('limits.prices.') && !isMarked
    const direction = isPrice ? ofPrice(old, now) : directionAt(`${is.role}`, path, old, now)
    return direction === null ? [] : [{ path, direction, was: old, is: now }]
  })
}

/** Without a price a token may not leave at all. Pure. */
const ofPrice = (was: string | null, is: string | null): Direction | null =>
  was === null ? 'wider' : is === null ? 'narrower' : directionOf(was, is, 'more')

function directionAt(role: string, path: string, was: string | null, is: string | null): Direction | null {
  const found = NARROWER.find(([pattern]) => isAt(pattern, path) || pattern === `${role}: ${path}`)
  if (found === undefined) return 'unknown'
  const [, narrower, absent] = found
  if (was !== null && is !== null) return directionOf(was, is, narrower)
  return absent === undefined ? 'unknown' : was === null ? 'narrower' : 'wider'
}

const isAt = (pattern: string, path: string): boolean => {
  const steps = path.split('.')
  const wanted = pattern.split('.')
  return steps.length === wanted.length && wanted.every((each, at) => each === '*' || each === steps[at])
}

/** What a mapping says, by path; lists and what is empty are one value. Pure. */
function leavesOf(value: unknown): ReadonlyMap<string, string> {
  const leaves = new Map<string, string>()
  addLeaves(value, '', leaves)
  return leaves
}

function addLeaves(value: unknown, path: string, leaves: Map<string, string>): void {
  if (OF_THEIR_OWN.test(path)) return
  const entries =
    value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : []
  if (entries.length === 0) leaves.set(path, textOf(value))
  for (const [key, value] of entries) addLeaves(value, path === '' ? key : `${path}.${key}`, leaves)
}

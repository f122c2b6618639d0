import type { Address } from 'viem'
import type { z } from 'zod'
import { invariant, type Refusal, refuse } from '../../../errors.ts'
import type { PinnedMarket } from '../../../service/contract/deployment.ts'
import { bps, settings } from '../../../service/contract/yaml-scalars.ts'
import { amountText, decimal, percent } from '../../../units.ts'
import { memberAt } from '../../policy/paths.ts'
import type { Subject } from '../../policy/references.ts'
import { asAddress, asUint } from '../../policy/values.ts'
import type { Reads } from '../../reads/views.ts'
import { BAD_DEBT_VIEWS } from '../bad-debt.ts'
import { type JudgedCase, type Judgement, type RoleSanity, type SanityCheck, unread } from '../judgement.ts'
import { checkUsable, PRICE_VIEWS, priceView } from '../price.ts'
import { BPS, WAD } from '../units.ts'
import { OWNERSHIP_VIEWS, ownerView } from '../vault-views.ts'
import { askLeaving, checkLeaving, leavingLimits } from './leave.ts'
import {
  ALLOCATION_VIEWS,
  allocatedView,
  allocatorView,
  bufferView,
  cashView,
  listingView,
  marketPausedView,
  utilizationView,
  vaultAssetsView,
} from './views.ts'

/** The limits of what is moved within a vault, whoever moves it. */
export const allocationLimits = settings({
  ...leavingLimits,
  /** Most of a vault in one market after a supply, beside the vault's own caps. */
  shareBpsMax: bps(1).transform(BigInt),
  /** Most that a market that we touch for yield may be lent out afterwards. */
  utilizationBpsMax: bps(1).transform(BigInt),
})
type Limits = z.output<typeof allocationLimits>

/** One move of the request, in a market of the deployment; base units. */
type Move = { readonly market: PinnedMarket; readonly assets: bigint }
/** What a request moves within a vault. */
type Moves = {
  readonly withdrawals: readonly Move[]
  readonly supplies: readonly Move[]
  /** An amount of what the vault lends, as people read it. */
  readonly say: (assets: bigint) => string
}
type Kind = 'allocate' | 'deallocate' | 'batch'
/** As whom we move: as one of a vault's allocators, or as its owner, who may do what they may. */
type Mover = 'allocator' | 'owner'

/** The moves of a request; null when it names a market that is not pinned. */
function movesOf({ input, deployment }: Subject, kind: Kind): Moves | null {
  const list = (found: unknown): readonly (Move | null)[] =>
    Array.isArray(found)
      ? found.map((item: unknown) => {
          const address = asAddress(memberAt(item, 'marketAddress'))
          const assets = asUint(memberAt(item, 'assets'))
          const market = deployment.markets.find((each) => each.address === address)
          return market === undefined || assets === undefined ? null : { market, assets }
        })
      : [null]
  const withdrawals = kind === 'batch' ? list(input.withdrawals) : kind === 'deallocate' ? list([input]) : []
  const supplies = kind === 'batch' ? list(input.supplies) : kind === 'allocate' ? list([input]) : []
  const isKnown = (moves: readonly (Move | null)[]): moves is readonly Move[] =>
    moves.every((move) => move !== null)
  if (!isKnown(withdrawals) || !isKnown(supplies)) return null
  const [first] = [...withdrawals, ...supplies]
  if (first === undefined) return null
  const say = (assets: bigint) => amountText(assets, first.market.loanAsset, deployment)
  return { withdrawals, supplies, say }
}

type MoveReads = ReturnType<typeof askMoves>

function askMoves(
  { withdrawals, supplies, say }: Moves,
  vault: Address,
  { subject, before, after }: JudgedCase,
  mover: Mover,
) {
  return {
    mayMove: askMover(before, vault, subject.self, mover),
    sources: withdrawals.map((move) => ({
      ...move,
      say,
      cash: before.ask(cashView(move.market.address, vault)),
    })),
    destinations: supplies.map((move) => ({ ...move, ...askDestination(before, vault, move) })),
    books: askBooks(before, vault),
    booksAfter: askBooks(after, vault),
    touched: [...withdrawals, ...supplies].map(({ market }) => ({
      market: market.address,
      listing: after.ask(listingView(vault, market.address)),
      allocated: after.ask(allocatedView(market.address, vault)),
      utilizationWad: after.ask(utilizationView(market.address)),
    })),
  }
}

/** Ask whether we may move a vault's assets as who we are. */
function askMover(reads: Reads, vault: Address, self: Address, mover: Mover): () => boolean | null {
  if (mover === 'allocator') return reads.ask(allocatorView(vault, self))
  const owner = reads.ask(ownerView(vault))
  return () => {
    const found = owner()
    return found === null ? null : found === self
  }
}

const askDestination = (reads: Reads, vault: Address, { market }: Move) => ({
  listing: reads.ask(listingView(vault, market.address)),
  paused: reads.ask(marketPausedView(market.address)),
  oracle: reads.ask(priceView(market.oracle)),
})

/** What a vault holds and must keep. */
type Books = {
  readonly total: bigint
  readonly idle: bigint
  readonly queued: bigint
  readonly bufferBps: bigint
}

/** Ask for a vault's books; null when a read has no answer. */
function askBooks(reads: Reads, vault: Address): () => Books | null {
  const asked = {
    total: reads.ask(vaultAssetsView('totalAssets', vault)),
    idle: reads.ask(vaultAssetsView('idleAssets', vault)),
    queued: reads.ask(vaultAssetsView('queuedAssets', vault)),
    bufferBps: reads.ask(bufferView(vault)),
  }
  return () => {
    const [total, idle] = [asked.total(), asked.idle()]
    const [queued, bufferBps] = [asked.queued(), asked.bufferBps()]
    return total === null || idle === null || queued === null || bufferBps === null
      ? null
      : { total, idle, queued, bufferBps }
  }
}

/**
 * Judge a reallocation by chain reads: we may make it, every market has what is withdrawn, and what is supplied goes to
 * open markets with a healthy price; afterwards caps, buffer and utilisation hold, and nothing was lost on the way.
 */
function judgeMoves(limits: Limits, about: JudgedCase, kind: Kind, mover: Mover): Judgement {
  const { subject, proposal } = about
  const { vault, self } = subject
  invariant(vault !== null, 'every allocation names its vault')
  const moves = movesOf(subject, kind)
  if (moves === null) {
    const unknown = () => refuse('market_not_pinned', 'A move names a market that the deployment does not.')
    return { checkState: unknown, checkOutcome: unknown }
  }
  const reads = askMoves(moves, vault.address, about, mover)
  const left = proposal.kind === 'leave' ? moves.withdrawals.map(({ market }) => market) : []
  const leaving = left.length === 0 ? null : askLeaving(about.before, vault.address, left, limits)
  return {
    checkState: (timestampS) =>
      checkMover(reads, self, vault.address, mover) ??
      first(reads.sources, checkSource) ??
      (leaving === null ? null : checkLeaving(leaving, limits, timestampS)) ??
      first(reads.destinations, (destination) => checkDestination(destination, limits, timestampS)),
    checkOutcome: () => {
      const [was, is] = [reads.books(), reads.booksAfter()]
      if (was === null || is === null) return unread('the vault’s books')
      // Neither who is paid out nor what is left needs a supply: a move with one is for yield, whatever it is called.
      const isYield = proposal.kind === 'yield' || moves.supplies.length > 0
      return checkBooks(was, is, moves) ?? checkMarketsAfter(reads, is, moves, limits, isYield)
    },
  }
}

const first = <T>(items: readonly T[], check: (item: T) => Refusal | null): Refusal | null =>
  items.reduce<Refusal | null>((refusal, item) => refusal ?? check(item), null)

function checkMover(reads: MoveReads, self: Address, vault: Address, mover: Mover): Refusal | null {
  const mayMove = reads.mayMove()
  if (mayMove === null) return unread('our role in the vault')
  if (mayMove) return null
  if (mover === 'owner') return refuse('not_owner', `${self} does not own ${vault}.`)
  return refuse('not_allocator', `${self} may not move the assets of ${vault}.`)
}

function checkSource({ market, assets, cash, say }: MoveReads['sources'][number]): Refusal | null {
  const available = cash()
  if (available === null) return unread('what can be withdrawn')
  if (assets > 0n && assets <= available) return null
  return refuse(
    'market_liquidity_short',
    `${say(assets)} would be withdrawn from ${market.address}; it has ${say(available)} for the vault.`,
  )
}

function checkDestination(
  { market, assets, listing, paused, oracle }: MoveReads['destinations'][number],
  { priceAgeSMax }: Limits,
  timestampS: number,
): Refusal | null {
  const [terms, isPaused, price] = [listing(), paused(), oracle()]
  if (terms === null || isPaused === null || price === null) return unread('a market that is supplied')
  if (assets === 0n) return refuse('amount_is_zero', `Nothing would be supplied to ${market.address}.`)
  if (!terms.approved || !terms.allocationEnabled) {
    return refuse('allocation_disabled', `The vault does not lend to ${market.address} any more.`)
  }
  if (isPaused) return refuse('market_paused', `The market ${market.address} is paused.`)
  return checkUsable(price, priceAgeSMax, timestampS)
}

/** Demand that nothing is lost, that what lies idle follows from the moves, and that buffer and queue are covered. */
function checkBooks(was: Books, is: Books, { withdrawals, supplies, say }: Moves): Refusal | null {
  if (is.total < was.total) {
    return refuse('value_lost', `The vault is worth ${say(was.total)} before, and ${say(is.total)} after.`)
  }
  const expected = was.idle + sum(withdrawals) - sum(supplies)
  if (is.idle !== expected) {
    return refuse('idle_differs', `${say(is.idle)} would lie idle; the moves leave ${say(expected)}.`)
  }
  const needed = (is.total * is.bufferBps + BPS - 1n) / BPS + is.queued
  if (supplies.length === 0 || is.idle >= needed) return null
  return refuse('buffer_not_kept', `${say(is.idle)} would lie idle; buffer and queue need ${say(needed)}.`)
}

const sum = (moves: readonly Move[]) => moves.reduce((total, { assets }) => total + assets, 0n)

/** Hold every market that is touched to its caps, and where a move is for yield, to the policy's utilisation. */
function checkMarketsAfter(
  { touched }: MoveReads,
  { total }: Books,
  { supplies, say }: Moves,
  limits: Limits,
  isYield: boolean,
): Refusal | null {
  const limitWad = (limits.utilizationBpsMax * WAD) / BPS
  return first(touched, ({ market, listing, allocated, utilizationWad }) => {
    const [terms, assets, lentWad] = [listing(), allocated(), utilizationWad()]
    if (terms === null || assets === null || lentWad === null) return unread('a market after the move')
    const shareBps = terms.relativeCapBps < limits.shareBpsMax ? terms.relativeCapBps : limits.shareBpsMax
    const share = (total * shareBps) / BPS
    const cap = terms.absoluteCapAssets < share ? terms.absoluteCapAssets : share
    const isSupplied = supplies.some((move) => move.market.address === market)
    if (isSupplied && assets > cap) {
      return refuse('above_cap', `${say(assets)} would lie in ${market}; its cap is ${say(cap)}.`)
    }
    if (!isYield || lentWad <= limitWad) return null
    return refuse(
      'utilization_above_limit',
      `${market} would be lent out to ${decimal(lentWad, 16)} %; the policy allows ${percent(limits.utilizationBpsMax)}.`,
    )
  })
}

const MOVE = ['marketAddress', 'assets']

/** The judgement of what is moved within a vault, by its allocator or its owner. Pure. */
export const allocationCheck = (limits: Limits, kind: Kind, mover: Mover): SanityCheck => ({
  views: [
    ...ALLOCATION_VIEWS,
    ...(mover === 'owner' ? OWNERSHIP_VIEWS.filter(({ name }) => name === 'owner') : []),
    ...BAD_DEBT_VIEWS,
    ...PRICE_VIEWS,
  ],
  relies: [
    'vaultAddress',
    ...(kind === 'batch'
      ? MOVE.flatMap((member) => [`withdrawals[].${member}`, `supplies[].${member}`])
      : MOVE),
  ],
  revalidations: [
    mover === 'owner' ? 'vault_owner' : 'vault_allocator',
    'market_liquidity',
    'market_not_paused',
    'oracle_healthy',
    'allocation_open',
    'intent_not_expired',
  ],
  judge: (about) => judgeMoves(limits, about, kind, mover),
})

/** The allocator's judgements, with the limits of `guard.sanity` in its policy. */
export const allocatorSanity: RoleSanity<Limits> = {
  limits: () => allocationLimits,
  strategy: [
    { of: 'priceAgeMax', is: 'atMost', to: 'guard.sanity.priceAgeMax' },
    { of: 'shareMax', is: 'atMost', to: 'guard.sanity.shareMax' },
    { of: 'utilizationMax', is: 'atMost', to: 'guard.sanity.utilizationMax' },
  ],
  checks: (limits) => [
    ['role.allocator.vaultAllocate', allocationCheck(limits, 'allocate', 'allocator')],
    ['role.allocator.vaultDeallocate', allocationCheck(limits, 'deallocate', 'allocator')],
    ['role.allocator.vaultReallocationBatch', allocationCheck(limits, 'batch', 'allocator')],
  ],
}

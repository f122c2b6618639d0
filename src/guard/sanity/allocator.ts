import type { Address } from 'viem'
import { z } from 'zod'
import { invariant, type Refusal, refuse } from '../../errors.ts'
import type { PinnedMarket } from '../../service/contract/deployment.ts'
import { bps, count } from '../../service/contract/yaml-scalars.ts'
import type { Subject } from '../policy/conditions.ts'
import { memberAt } from '../policy/paths.ts'
import { asAddress, asUint } from '../policy/values.ts'
import type { Reads } from '../views.ts'
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
} from './allocator-views.ts'
import { type About, type Judgement, type RoleSanity, type SanityCheck, unread } from './judgement.ts'
import { checkUsable, PRICE_VIEWS, priceView } from './price.ts'

const limitsSchema = z.strictObject({
  /** Oldest price of a market that is supplied, by the oracle's own source time. */
  priceAgeSMax: count('seconds', 1, 86_400).transform(BigInt),
  /** Most of a vault in one market after a supply, beside the vault's own caps. */
  shareBpsMax: bps(1).transform(BigInt),
  /** Most that a market that we touch for yield may be lent out afterwards. */
  utilizationBpsMax: bps(1).transform(BigInt),
})
type Limits = z.output<typeof limitsSchema>

const BPS = 10_000n
const WAD = 10n ** 18n

/** One move of the request, in a market of the deployment; base units. */
type Move = { readonly market: PinnedMarket; readonly assets: bigint }
type Moves = { readonly withdrawals: readonly Move[]; readonly supplies: readonly Move[] }

/** The moves of a request; null when it names a market that is not pinned. */
function movesOf({ input, deployment }: Subject, type: 'allocate' | 'deallocate' | 'batch'): Moves | null {
  const list = (found: unknown): readonly (Move | null)[] =>
    Array.isArray(found)
      ? found.map((item: unknown) => {
          const address = asAddress(memberAt(item, 'marketAddress'))
          const assets = asUint(memberAt(item, 'assets'))
          const market = deployment.markets.find((each) => each.address === address)
          return market === undefined || assets === undefined ? null : { market, assets }
        })
      : [null]
  const withdrawals = type === 'batch' ? list(input.withdrawals) : type === 'deallocate' ? list([input]) : []
  const supplies = type === 'batch' ? list(input.supplies) : type === 'allocate' ? list([input]) : []
  const isKnown = (moves: readonly (Move | null)[]): moves is readonly Move[] =>
    moves.every((move) => move !== null)
  return isKnown(withdrawals) && isKnown(supplies) ? { withdrawals, supplies } : null
}

/**
 * Judge a reallocation by chain reads: we may make it, every market has what is withdrawn, and what is supplied goes to
 * open markets with a healthy price; afterwards caps, buffer and utilisation hold, and nothing was lost on the way.
 */
function judgeMoves(limits: Limits, about: About, type: Parameters<typeof movesOf>[1]): Judgement {
  const { subject, proposal, before, after } = about
  const { vault, self } = subject
  invariant(vault !== null, 'every allocation names its vault')
  const moves = movesOf(subject, type)
  if (moves === null) {
    const unknown = () => refuse('market_not_pinned', 'A move names a market that the deployment does not.')
    return { checkState: unknown, checkOutcome: unknown }
  }
  const isAllocator = before.ask(allocatorView(vault.address, self))
  const sources = moves.withdrawals.map((move) => ({
    ...move,
    cash: before.ask(cashView(move.market.address, vault.address)),
  }))
  const destinations = moves.supplies.map((move) => ({
    ...move,
    ...askDestination(before, vault.address, move),
  }))
  const books = booksOf(before, vault.address)
  const booksAfter = booksOf(after, vault.address)
  const touched = [...moves.withdrawals, ...moves.supplies].map(({ market }) => ({
    market: market.address,
    listing: after.ask(listingView(vault.address, market.address)),
    allocated: after.ask(allocatedView(market.address, vault.address)),
    utilizationWad: after.ask(utilizationView(market.address)),
  }))
  const supplied = new Set(moves.supplies.map(({ market }) => market.address))
  const isYield = proposal.kind === 'yield'

  function position(timestampS: number): Refusal | null {
    const mayMove = isAllocator()
    if (mayMove === null) return unread('our role in the vault')
    if (!mayMove) return refuse('not_allocator', `${self} may not move the assets of ${vault?.address}.`)
    for (const { market, assets, cash } of sources) {
      const available = cash()
      if (available === null) return unread('what can be withdrawn')
      if (assets === 0n || assets > available) {
        return refuse(
          'market_liquidity_short',
          `${assets} base units would be withdrawn from ${market.address}; it has ${available} for the vault.`,
        )
      }
    }
    for (const destination of destinations) {
      const refusal = checkDestination(destination, limits, timestampS)
      if (refusal !== null) return refusal
    }
    return null
  }

  function outcome(): Refusal | null {
    const [was, is] = [books(), booksAfter()]
    if (was === null || is === null) return unread('the vault’s books')
    if (is.total < was.total) {
      return refuse('value_lost', `The vault is worth ${was.total} base units before, and ${is.total} after.`)
    }
    const expected = was.idle + sum(moves?.withdrawals ?? []) - sum(moves?.supplies ?? [])
    if (is.idle !== expected) {
      return refuse('idle_differs', `${is.idle} base units would lie idle; the moves leave ${expected}.`)
    }
    const needed = (is.total * is.bufferBps + BPS - 1n) / BPS + is.queued
    if (supplied.size > 0 && is.idle < needed) {
      return refuse(
        'buffer_not_kept',
        `${is.idle} base units would lie idle; buffer and queue need ${needed}.`,
      )
    }
    for (const { market, listing, allocated, utilizationWad } of touched) {
      const [terms, assets, lentWad] = [listing(), allocated(), utilizationWad()]
      if (terms === null || assets === null || lentWad === null) return unread('a market after the move')
      const shareBps = terms.relativeCapBps < limits.shareBpsMax ? terms.relativeCapBps : limits.shareBpsMax
      const share = (is.total * shareBps) / BPS
      const cap = terms.absoluteCapAssets < share ? terms.absoluteCapAssets : share
      if (supplied.has(market) && assets > cap) {
        return refuse('above_cap', `${assets} base units would lie in ${market}; its cap is ${cap}.`)
      }
      const limitWad = (limits.utilizationBpsMax * WAD) / BPS
      if (isYield && lentWad > limitWad) {
        return refuse(
          'utilization_above_limit',
          `${market} would be lent out to ${lentWad} wad; the policy allows ${limitWad}.`,
        )
      }
    }
    return null
  }

  return { checkState: position, checkOutcome: outcome }
}

const sum = (moves: readonly Move[]) => moves.reduce((total, { assets }) => total + assets, 0n)

/** What a vault holds and must keep; null when a read has no answer. */
function booksOf(reads: Reads, vault: Address) {
  const total = reads.ask(vaultAssetsView('totalAssets', vault))
  const idle = reads.ask(vaultAssetsView('idleAssets', vault))
  const queued = reads.ask(vaultAssetsView('queuedAssets', vault))
  const buffer = reads.ask(bufferView(vault))
  return () => {
    const books = { total: total(), idle: idle(), queued: queued(), bufferBps: buffer() }
    const { total: all, idle: here, queued: owed, bufferBps } = books
    return all === null || here === null || owed === null || bufferBps === null
      ? null
      : { total: all, idle: here, queued: owed, bufferBps }
  }
}

function askDestination(reads: Reads, vault: Address, { market }: Move) {
  return {
    listing: reads.ask(listingView(vault, market.address)),
    paused: reads.ask(marketPausedView(market.address)),
    oracle: reads.ask(priceView(market.oracle)),
  }
}

function checkDestination(
  { market, assets, listing, paused, oracle }: Move & ReturnType<typeof askDestination>,
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

const sanity = (limits: Limits, type: Parameters<typeof movesOf>[1]): SanityCheck => ({
  views: [...ALLOCATION_VIEWS, ...PRICE_VIEWS],
  revalidations: [
    'vault_allocator',
    'market_liquidity',
    'market_not_paused',
    'oracle_healthy',
    'allocation_open',
    'intent_not_expired',
  ],
  judge: (about) => judgeMoves(limits, about, type),
})

/** The allocator's judgements, with the limits of `guard.sanity` in its policy. */
export const allocatorSanity: RoleSanity<Limits> = {
  limits: limitsSchema,
  checks: (limits) => [
    ['role.allocator.vaultAllocate', sanity(limits, 'allocate')],
    ['role.allocator.vaultDeallocate', sanity(limits, 'deallocate')],
    ['role.allocator.vaultReallocationBatch', sanity(limits, 'batch')],
  ],
}

import { isDeepStrictEqual } from 'node:util'
import type { Address } from 'viem'
import { type Refusal, refuse } from '../../../errors.ts'
import { type Compared, type JudgedCase, unread } from '../judgement.ts'
import { checkFields, checkLoosening, type Field, fieldOf, upTo } from '../loosening.ts'
import { type ListingRead, listingView, VAULT_ROLE_IDS, vaultRoleView } from '../vault-views.ts'

/** One role that is granted or taken back. */
type Grant = {
  readonly role: keyof typeof VAULT_ROLE_IDS
  readonly account: Address
  readonly isGranted: boolean
}

/**
 * Ask what each of our signers, and whoever a grant names, may do in a vault: afterwards it is what it was, but for that
 * grant. Who else has a role is in no view; that nobody else loses one is what the one call says.
 */
export function askRoles(
  { subject, proposal, before, after }: JudgedCase,
  vault: Address,
  grant: Grant | null,
) {
  const accounts = [
    ...new Set([subject.self, ...(subject.ours ?? []), ...(grant === null ? [] : [grant.account])]),
  ]
  const names = Object.keys(VAULT_ROLE_IDS) as (keyof typeof VAULT_ROLE_IDS)[]
  const asked = accounts.flatMap((account) =>
    names.map((role) => ({
      account,
      role,
      isAsked: grant !== null && grant.role === role && grant.account === account,
      was: before.ask(vaultRoleView(vault, VAULT_ROLE_IDS[role], account)),
      is: after.ask(vaultRoleView(vault, VAULT_ROLE_IDS[role], account)),
    })),
  )
  const found = asked.find(({ isAsked }) => isAsked)
  return {
    /** What the grant makes of a role; null where that is not known. */
    compare: (): Compared['fields'] | null => {
      const had = found?.was() ?? null
      if (grant === null || had === null) return null
      const text = (is: boolean) => (is ? 'granted' : 'not granted')
      return [{ name: `${grant.role} ${grant.account}`, was: text(had), wanted: text(grant.isGranted) }]
    },
    checkState: (): Refusal | null => {
      if (grant === null || found === undefined) return null
      const had = found.was()
      if (had === null) return unread('a role in the vault')
      if (had !== grant.isGranted) return grant.isGranted ? checkLoosening(proposal) : null
      return grant.isGranted
        ? refuse('already_granted', `${grant.account} is ${grant.role} already.`)
        : refuse('not_granted', `${grant.account} is no ${grant.role}.`)
    },
    checkOutcome: (): Refusal | null => {
      for (const { account, role, isAsked, was, is } of asked) {
        const [had, has] = [was(), is()]
        if (had === null || has === null) return unread('a role in the vault, afterwards')
        if (has === (isAsked ? grant?.isGranted : had)) continue
        return refuse('role_not_as_asked', `Afterwards ${account} would ${has ? 'be' : 'not be'} ${role}.`)
      }
      return null
    },
  }
}

/** What a listing would become, field by field. */
function listingFields(from: ListingRead, to: ListingRead): readonly Field[] {
  const isOpened = to.allocationEnabled && !from.allocationEnabled
  return [
    upTo('absoluteCapAssets', from.absoluteCapAssets, to.absoluteCapAssets),
    upTo('relativeCapBps', from.relativeCapBps, to.relativeCapBps),
    fieldOf('allocationEnabled', from.allocationEnabled, to.allocationEnabled, isOpened),
  ]
}

/** How one market is to be listed. */
type MarketListing = { readonly market: Address; readonly listing: ListingRead }

/** Ask how a vault lists each market of the deployment: afterwards as before, but for the one that is asked for. */
export function askListings(
  { subject, proposal, before, after }: JudgedCase,
  vault: Address,
  wanted: MarketListing | null,
) {
  const asked = subject.deployment.markets.map(({ address: market }) => ({
    market,
    was: before.ask(listingView(vault, market)),
    is: after.ask(listingView(vault, market)),
  }))
  const listingOf = (market: Address) => asked.find((each) => each.market === market)?.was() ?? null
  return {
    /** Refuse a market that is attached already, or of which caps are to be set and that is not. */
    checkAttached: (market: Address, isAttached: boolean): Refusal | null => {
      const found = listingOf(market)
      if (found === null) return unread('how the vault lists the market')
      if (found.approved === isAttached) return null
      return found.approved
        ? refuse('already_attached', `The vault lends to ${market} already; its caps are set otherwise.`)
        : refuse('not_attached', `The vault does not lend to ${market}.`)
    },
    /** Refuse terms that are looser than those of today and do not say so. A market that is not attached has none. */
    checkTerms: ({ market, listing: to }: MarketListing): Refusal | null => {
      const from = listingOf(market)
      if (from === null) return unread('how the vault lists the market')
      if (!from.approved) return to.allocationEnabled ? checkLoosening(proposal) : null
      return checkFields({ proposal }, listingFields(from, to))
    },
    /** Terms beside those of today; null where those are not known. */
    compare: ({ market, listing: to }: MarketListing): Compared['fields'] | null => {
      const from = listingOf(market)
      if (from === null) return null
      const fields = listingFields(from, to)
      return from.approved ? fields : fields.map((each) => ({ ...each, was: null }))
    },
    /** Refuse markets into which nothing may be supplied. */
    checkOpen: (markets: readonly Address[]): Refusal | null => {
      for (const market of markets) {
        const found = listingOf(market)
        if (found === null) return unread('how the vault lists a market')
        if (!found.approved || !found.allocationEnabled)
          return refuse('allocation_disabled', `The vault supplies nothing to ${market}.`)
      }
      return null
    },
    checkOutcome: (): Refusal | null => {
      for (const { market, was, is } of asked) {
        const [old, now] = [was(), is()]
        if (old === null || now === null) return unread('how the vault lists a market, afterwards')
        const expected = wanted?.market === market ? wanted.listing : old
        if (isDeepStrictEqual(now, expected)) continue
        return refuse(
          'listing_not_as_asked',
          `Afterwards the vault would list ${market} otherwise than asked.`,
        )
      }
      return null
    },
  }
}

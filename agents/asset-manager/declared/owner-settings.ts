import type { Address } from 'viem'
import type { ListingFigures, VaultRole } from '../seen.ts'
import { personOf } from './difference.ts'
import { marketNamed } from './see-settings.ts'
import {
  approach,
  type DeclaredSetting,
  declaredBothWays,
  figuresText,
  least,
  ofOwner,
  type SettingsAt,
  type SettingsStep,
} from './settings-step.ts'

/** Compare the markets of a vault: attached with their caps first, and allocated to in a step of its own. Pure. */
export const marketSettings = (at: SettingsAt, subject: string): readonly DeclaredSetting[] =>
  at.declared.markets.map((one) => ofOwner(`${subject}:market:${one.market}`, marketStep(one, at)))

function marketStep(
  declared: SettingsAt['declared']['markets'][number],
  { vault, seen }: SettingsAt,
): DeclaredSetting['next'] {
  const market = marketNamed(declared.market, seen.deployment)
  const listing = market === undefined ? undefined : vault.settings.listings.get(market)
  if (market === undefined || listing === undefined) {
    const message = `No market of the deployment is called ${declared.market}. Fix: give its entry in deployment.markets that name.`
    return { check: 'market_not_pinned', message }
  }
  const { approved, admitted, allocationEnabled, relativeCapBps, absoluteCapAssets } = listing
  const wanted = {
    absoluteCapAssets: declared.absoluteCapAssets,
    relativeCapBps: declared.relativeCapBps,
    allocationEnabled: declared.allocationEnabled,
  }
  const inputOf = (to: typeof wanted) => ({
    vaultAddress: vault.row.address,
    marketAddress: market,
    ...to,
    absoluteCapAssets: String(to.absoluteCapAssets),
  })
  if (!approved) {
    if (!admitted) {
      const message = `The market ${market} does not let this vault lend to it. Fix: ask its owner to add the vault ${vault.row.address}.`
      return { check: 'vault_not_listed_at_market', message }
    }
    const closed = { ...wanted, allocationEnabled: false }
    const changes = Object.entries(closed).map(([field, to]) => ({ field, from: null, to: String(to) }))
    const workflowType = 'role.vault_owner.attachMarketToVault'
    return { act: 'attach', direction: 'new', workflowType, input: inputOf(closed), from: 'absent', changes }
  }
  const there = { absoluteCapAssets, relativeCapBps, allocationEnabled }
  const lowered = {
    absoluteCapAssets: least(absoluteCapAssets, wanted.absoluteCapAssets),
    relativeCapBps: Math.min(relativeCapBps, wanted.relativeCapBps),
  }
  const isLowered = lowered.absoluteCapAssets < absoluteCapAssets || lowered.relativeCapBps < relativeCapBps
  // Under a cap below what is lent a market is closed, until that is taken back.
  const staysOpen = !isLowered || covers(lowered, listing, vault)
  const step = approach(there, wanted, {
    ...lowered,
    allocationEnabled: allocationEnabled && wanted.allocationEnabled && staysOpen,
  })
  if (step?.direction === 'looser' && wanted.allocationEnabled && !covers(wanted, listing, vault)) {
    const message = `The market ${market} is lent more than its declared cap. Fix: take back what is too much; it is opened then.`
    return { check: 'cap_below_lent', message }
  }
  return (
    step && {
      act: step.direction === 'stricter' ? 'restrict' : 'allow',
      direction: step.direction,
      workflowType: 'role.vault_owner.vaultCuratorCapsSettingsSave',
      input: inputOf(step.to),
      from: figuresText(there),
      changes: step.changes,
    }
  )
}

/** Whether caps cover what a vault lends to a market. Pure. */
const covers = (
  { absoluteCapAssets, relativeCapBps }: Pick<ListingFigures, 'absoluteCapAssets' | 'relativeCapBps'>,
  { heldAssets }: ListingFigures,
  { settings }: SettingsAt['vault'],
): boolean =>
  heldAssets <= absoluteCapAssets && heldAssets * 10_000n <= settings.totalAssets * BigInt(relativeCapBps)

/** Compare who has a role of a vault; whoever is not declared keeps what it has. Pure. */
export const roleSettings = (at: SettingsAt, subject: string): readonly DeclaredSetting[] => {
  const { allocators, managers, curators } = at.declared
  const of = (role: VaultRole, list: typeof allocators): readonly DeclaredSetting[] =>
    list.map(({ address, granted }) => {
      const account = personOf(address, at.seen)
      const isUndone = list.some(
        (one) => personOf(one.address, at.seen) === account && one.granted !== granted,
      )
      const next = isUndone ? declaredBothWays(account) : roleStep(role, account, granted, at)
      return ofOwner(`${subject}:${role}:${account}`, next)
    })
  return [...of('manager', managers), ...of('curator', curators), ...of('allocator', allocators)]
}

function roleStep(
  role: VaultRole,
  account: Address,
  granted: boolean,
  { vault }: SettingsAt,
): SettingsStep | null {
  const has = vault.settings.roles.get(`${role}:${account}`) ?? false
  if (has === granted) return null
  const vaultAddress = vault.row.address
  const how =
    role === 'allocator'
      ? ({
          workflowType: 'role.vault_owner.vaultAllocatorUpdate',
          input: { vaultAddress, allocatorAddress: account, granted },
        } as const)
      : ({
          workflowType: 'role.vault_owner.vaultRoleSettingsSave',
          input: { vaultAddress, role, accountAddress: account, granted },
        } as const)
  return {
    ...(granted
      ? ({ act: `appoint ${role}`, direction: 'looser' } as const)
      : ({ act: 'revoke', direction: 'stricter' } as const)),
    ...how,
    from: String(has),
    changes: [{ field: role, from: has ? account : 'nobody', to: granted ? account : 'nobody' }],
  }
}

/** Compare what a vault charges, and to whom it goes: lower first, and more only together with its recipient. Pure. */
export function feeSettings(at: SettingsAt, subject: string): readonly DeclaredSetting[] {
  const { fees, borrowerManagerFee } = at.declared
  return [
    ...(fees === undefined ? [] : [ofOwner(`${subject}:fees`, feeStep(fees, at))]),
    ...(borrowerManagerFee === undefined
      ? []
      : [ofOwner(`${subject}:borrowerManagerFee`, borrowerManagerFeeStep(borrowerManagerFee, at))]),
  ]
}

function feeStep(
  { managementFeeBps, performanceFeeBps, recipient }: NonNullable<SettingsAt['declared']['fees']>,
  { vault, seen }: SettingsAt,
): SettingsStep | null {
  const { fees } = vault.settings
  const there = {
    managementFeeBps: fees.managementFeeBps,
    performanceFeeBps: fees.performanceFeeBps,
    recipientAddress: fees.recipient,
  }
  const wanted = { managementFeeBps, performanceFeeBps, recipientAddress: personOf(recipient, seen) }
  const step = approach(there, wanted, {
    managementFeeBps: Math.min(there.managementFeeBps, managementFeeBps),
    performanceFeeBps: Math.min(there.performanceFeeBps, performanceFeeBps),
    // Who is paid is never changed for nothing but being stricter.
    recipientAddress: fees.recipient,
  })
  return (
    step && {
      act: step.direction === 'stricter' ? 'charge less' : 'charge',
      direction: step.direction,
      workflowType: 'role.vault_owner.vaultFeeConfigUpdate',
      input: { vaultAddress: vault.row.address, ...step.to },
      from: figuresText(there),
      changes: step.changes,
    }
  )
}

function borrowerManagerFeeStep(
  { feeBps, recipient }: NonNullable<SettingsAt['declared']['borrowerManagerFee']>,
  { vault, seen }: SettingsAt,
): SettingsStep | null {
  const { borrowerManagerFeeBps, curatorRecipient } = vault.settings.fees
  const there = { borrowerManagerFeeBps, recipientAddress: curatorRecipient }
  const wanted = { borrowerManagerFeeBps: feeBps, recipientAddress: personOf(recipient, seen) }
  const step = approach(there, wanted, {
    borrowerManagerFeeBps: Math.min(borrowerManagerFeeBps, feeBps),
    recipientAddress: curatorRecipient,
  })
  return (
    step && {
      act: step.direction === 'stricter' ? 'charge less' : 'charge borrowers',
      direction: step.direction,
      workflowType: 'role.vault_owner.vaultCuratorFeeSettingsSave',
      input: { vaultAddress: vault.row.address, ...step.to },
      from: figuresText(there),
      changes: step.changes,
    }
  )
}

/** Compare where deposits go at once: what is left out goes first, and what is attached alone comes in. Pure. */
export function routingSettings(
  { declared, vault, seen }: SettingsAt,
  subject: string,
): readonly DeclaredSetting[] {
  if (declared.routing === undefined) return []
  return [ofOwner(`${subject}:routing`, routingStep(declared.routing, { vault, seen }))]
}

function routingStep(
  names: readonly string[],
  { vault, seen }: Pick<SettingsAt, 'vault' | 'seen'>,
): DeclaredSetting['next'] {
  const { routing: there, listings } = vault.settings
  const wanted = names.flatMap((name) => marketNamed(name, seen.deployment) ?? [])
  const isOpen = (market: Address) => {
    const listing = listings.get(market)
    return listing?.approved === true && listing.allocationEnabled
  }
  // What is closed comes back with the others: until it is open, no route that names it is allowed.
  const kept = there.filter((market) => wanted.includes(market) && isOpen(market))
  const step = approach({ route: there.join() }, { route: wanted.join() }, { route: kept.join() })
  if (step === null) return null
  const closed = wanted.find((market) => !isOpen(market))
  if (step.direction === 'looser' && closed !== undefined) {
    const message = `Nothing may be allocated to the market ${closed} yet: a deposit goes to open markets alone.`
    return { check: 'market_not_open', message }
  }
  const nameOf = (market: Address) =>
    seen.deployment.markets.find(({ address }) => address === market)?.name ?? market
  const text = (list: readonly Address[]) => (list.length === 0 ? 'nowhere' : list.map(nameOf).join(', '))
  const isStricter = step.direction === 'stricter'
  const next = isStricter ? kept : wanted
  return {
    act: isStricter ? 'unroute' : 'route',
    direction: step.direction,
    workflowType: 'role.vault_owner.vaultRoutingUpdate',
    input: { vaultAddress: vault.row.address, marketAddresses: next },
    from: there.join(),
    changes: [{ field: 'routing', from: text(there), to: text(next) }],
  }
}

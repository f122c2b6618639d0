import type { Address } from 'viem'
import type { Stop } from '../../agent.ts'
import type { PartnerChannelFigures } from '../seen.ts'
import type { DeclaredChannel } from './declared-settings.ts'
import { changesOf, changesText, doneAbout, personOf } from './difference.ts'
import { accountOf } from './see-settings.ts'
import { type DeclaredSetting, declaredBothWays, notPinned, type SettingsAt } from './settings-step.ts'

/**
 * Compare the partners' channels into a vault, and who is kept out of each. Pure. One that is there is never deployed again;
 * its lists are kept once it is pinned, by its curator alone.
 */
export const channelSettings = (at: SettingsAt, subject: string): readonly DeclaredSetting[] =>
  at.declared.channels.flatMap((declared) => {
    const of = `${subject}:channel:${declared.channel}`
    const pinned = at.seen.channels.find(({ name }) => name === declared.channel)
    if (pinned === undefined) {
      const next = absentStep(declared, at, of)
      const waits = { check: 'channel_not_pinned', message: 'The channel is not pinned yet.' }
      return [
        { subject: of, by: 'manager', next },
        ...declared.blocked.map(({ address }) => ({
          subject: `${of}:${address}`,
          by: 'curator' as const,
          next: waits,
        })),
      ]
    }
    const { address, figures } = pinned
    if (figures === null) {
      const message = `Our reads of the channel ${address} failed.`
      return [{ subject: of, by: 'manager', next: { check: 'channel_not_read', message } }]
    }
    return [
      { subject: of, by: 'manager', next: compareChannelTerms(declared, figures, at) },
      ...blockSettings(declared, { address, figures }, at, of),
    ]
  })

/** A channel that is not pinned: there already, on its way, or to be deployed. */
function absentStep(
  declared: DeclaredChannel,
  { vault, seen }: SettingsAt,
  subject: string,
): DeclaredSetting['next'] {
  const { row, settings } = vault
  if (seen.wrappers === null) {
    return { check: 'channels_unknown', message: 'The service could not be asked which channels there are.' }
  }
  const [resellerAddress, curatorAddress] = [
    personOf(declared.reseller, seen),
    personOf(declared.curator, seen),
  ]
  // Anybody can deploy a channel that names our partner: one that nobody entitled deployed has no manager, and is not for us to pin.
  const there = seen.wrappers.find(
    (one) =>
      one.managerId !== null &&
      (one.vaultId === row.id || one.vaultId === row.address) &&
      one.resellerAddress === resellerAddress &&
      one.shareClass === declared.shareClass,
  )
  if (there !== undefined)
    return notPinned('channel', { list: 'contracts', name: declared.channel, address: there.address })
  const [done] = doneAbout(seen, subject)
  if (done !== undefined) {
    const message = `Workflow ${done.workflowId} ended ${done.state}; the service does not show it yet. It is not deployed twice.`
    return { check: 'launched_not_shown', message }
  }
  if (settings.roles.get(`curator:${curatorAddress}`) !== true) {
    const message = `${curatorAddress} has no CURATOR_ROLE of this vault yet. Fix: declare it under curators.`
    return { check: 'curator_not_of_vault', message }
  }
  const terms = {
    name: declared.name,
    symbol: declared.symbol,
    resellerAddress,
    curatorAddress,
    shareClass: declared.shareClass,
    resellerFeeBps: declared.resellerFeeBps,
    borrowerFeeBps: declared.borrowerFeeBps,
    capAssets: String(declared.capAssets),
  }
  return {
    act: 'open channel',
    direction: 'new',
    workflowType: 'role.vault_manager.partnerChannelDeploy',
    input: { vaultAddress: row.address, assetAddress: settings.asset, ...terms },
    from: 'absent',
    changes: Object.entries(terms).map(([field, to]) => ({ field, from: null, to: String(to) })),
  }
}

/** No workflow changes what a channel was made with: a difference is reported, and left. */
function compareChannelTerms(
  declared: DeclaredChannel,
  figures: PartnerChannelFigures,
  { vault, seen }: SettingsAt,
): Stop | null {
  const { blocked: _blocked, ...there } = figures
  const changes = changesOf(there, {
    vault: vault.row.address,
    reseller: personOf(declared.reseller, seen),
    curator: personOf(declared.curator, seen),
    shareClass: declared.shareClass,
    resellerFeeBps: declared.resellerFeeBps,
    borrowerFeeBps: declared.borrowerFeeBps,
    capAssets: declared.capAssets,
  })
  if (changes.length === 0) return null
  const message = `It is there with other terms: ${changesText(changes)}. No workflow changes them. Fix: declare what is there, or another share class.`
  return { check: 'terms_differ', message }
}

function blockSettings(
  { blocked: list }: DeclaredChannel,
  {
    address: channelAddress,
    figures,
  }: { readonly address: Address; readonly figures: PartnerChannelFigures },
  { seen }: SettingsAt,
  subject: string,
): readonly DeclaredSetting[] {
  return list.map(({ address, blocked }): DeclaredSetting => {
    const accountAddress = accountOf(address, channelAddress, seen)
    const of = { subject: `${subject}:${address}`, by: 'curator' } as const
    const isUndone = list.some(
      (one) => accountOf(one.address, channelAddress, seen) === accountAddress && one.blocked !== blocked,
    )
    if (isUndone) return { ...of, next: declaredBothWays(accountAddress) }
    const there = figures.blocked.get(accountAddress) ?? false
    if (there === blocked) return { ...of, next: null }
    if (figures.curator !== seen.signer) {
      const message = `The curator of this channel is ${figures.curator}, not we: its lists are that one's to keep.`
      return { ...of, next: { check: 'not_curator', message } }
    }
    return {
      ...of,
      next: {
        ...(blocked
          ? ({ act: 'block', direction: 'stricter' } as const)
          : ({ act: address === 'everyone' ? 'unblock everyone' : 'unblock', direction: 'looser' } as const)),
        workflowType: 'role.curator.partnerChannelBlockedUpdate',
        input: { channelAddress, accountAddress, blocked },
        from: String(there),
        changes: [{ field: 'blocked', from: String(there), to: String(blocked) }],
      },
    }
  })
}

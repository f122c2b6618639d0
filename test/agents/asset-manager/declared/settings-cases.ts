import type { Moment } from '../../../../agents/agent.ts'
import type { Declared } from '../../../../agents/asset-manager/declared/declared.ts'
import type { DeclaredSettings } from '../../../../agents/asset-manager/declared/declared-settings.ts'
import { reconcile } from '../../../../agents/asset-manager/declared/reconcile.ts'
import type { ManagerSeen } from '../../../../agents/asset-manager/seen.ts'
import type { Proposal } from '../../../../src/workflow/proposal.ts'
import { policy } from '../fixtures.ts'

type Seen = Moment & ManagerSeen

/** What differs of the settings that are declared of one vault. */
export const differencesOf = (seen: Seen, one: DeclaredSettings, more: Partial<Declared> = {}) =>
  reconcile(seen, policy({}, { ...more, vaultSettings: [one] }).declared).filter(({ subject }) =>
    subject.startsWith('settings:'),
  )
/** What is proposed of them. */
export const stepsOf = (seen: Seen, one: DeclaredSettings): readonly Proposal[] =>
  differencesOf(seen, one).flatMap(({ outcome }) => ('workflowType' in outcome ? [outcome] : []))
/** Why each is left, or the kind of its step. */
export const checksOf = (seen: Seen, one: DeclaredSettings, more: Partial<Declared> = {}) =>
  differencesOf(seen, one, more).map(({ outcome }) => ('check' in outcome ? outcome.check : outcome.kind))

/** A vault of which nothing is declared, and all that is may be looser. */
export const NOTHING: DeclaredSettings = {
  vault: 'Vault',
  baseAsset: 'sUSD',
  markets: [],
  allocators: [],
  managers: [],
  curators: [],
  channels: [],
  allowLoosening: true,
}

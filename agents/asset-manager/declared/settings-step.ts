import type { WorkflowType } from '../../../src/service/contract/workflow-types.ts'
import type { ProposalInput } from '../../../src/workflow/proposal.ts'
import type { Change, Moment, Pin } from '../../agent.ts'
import type { ManagerSeen, OwnerFigures, VaultSeen } from '../seen.ts'
import type { DeclaredSettings } from './declared-settings.ts'
import { changesOf, type LeftAlone } from './difference.ts'

/** What a vault's settings are compared by. */
export type SettingsAt = {
  readonly declared: DeclaredSettings
  readonly vault: VaultSeen & { readonly settings: OwnerFigures }
  readonly seen: Moment & ManagerSeen
}

/**
 * The order in which a vault is brought to what is declared: first all that makes it stricter, who is kept out before all;
 * then what is new and what is looser. A market is attached with its caps before anything may be allocated to it, a fee is set
 * with its recipient, roles are there before they are used, whoever is kept out is so before a channel is opened, and the
 * ownership is offered last.
 */
const STRICTER = ['block', 'unroute', 'restrict', 'revoke', 'charge less', 'tighten terms'] as const
const OTHERS = [
  ...['describe', 'classify', 'attach', 'charge', 'charge borrowers', 'appoint manager', 'appoint curator'],
  ...[
    'appoint allocator',
    'allow',
    'loosen terms',
    'route',
    'open channel',
    'unblock',
    'unblock everyone',
    'offer',
  ],
] as const
type Act = (typeof STRICTER)[number] | (typeof OTHERS)[number]

/** The place of an act in that order. Pure. */
export const turnOf = (act: Act): number => [...STRICTER, ...OTHERS].indexOf(act)

/** Whether an act makes a vault stricter. Pure. */
export const isStricter = (act: Act): boolean => STRICTER.some((each) => each === act)

/** The workflow types that settings take: those of a vault's owner, of its manager and of a channel's curator. */
export const SETTINGS_TYPES = [
  'role.vault_owner.attachMarketToVault',
  'role.vault_owner.vaultCuratorCapsSettingsSave',
  'role.vault_owner.vaultAllocatorUpdate',
  'role.vault_owner.vaultRoleSettingsSave',
  'role.vault_owner.vaultFeeConfigUpdate',
  'role.vault_owner.vaultCuratorFeeSettingsSave',
  'role.vault_owner.vaultSettingsUpdate',
  'role.vault_owner.vaultRoutingUpdate',
  'role.vault_owner.vaultManagementSettingsSave',
  'role.vault_owner.vaultOwnerSettingsSave',
  'role.vault_owner.vaultOwnerTransferUpdate',
  'role.vault_manager.partnerChannelDeploy',
  'role.curator.partnerChannelBlockedUpdate',
] as const satisfies readonly WorkflowType[]

/** One thing to do about a setting: what is there, as text that distinguishes it, and what changes. */
export type SettingsStep = {
  readonly act: Act
  readonly direction: 'new' | 'stricter' | 'looser'
  readonly workflowType: (typeof SETTINGS_TYPES)[number]
  readonly input: ProposalInput
  readonly from: string
  readonly changes: readonly Change[]
}

/** One setting: by its subject, who may change it, and what is next; null where it is as declared. */
export type DeclaredSetting = {
  readonly subject: string
  readonly by: 'owner' | 'manager' | 'curator'
  readonly next: SettingsStep | LeftAlone | null
}

/** A setting that the vault's owner may change. Pure. */
export const ofOwner = (subject: string, next: DeclaredSetting['next']): DeclaredSetting => ({
  subject,
  by: 'owner',
  next,
})

/** Say that a contract of ours is there and no rule lets us talk to it: the run configuration has to name it first. Pure. */
export const notPinned = (what: string, pin: Pin): LeftAlone => ({
  check: `${what}_not_pinned`,
  message: `The ${what} is there, at ${pin.address}, and the run configuration does not pin it. Fix: add it to deployment.${pin.list} under the name ${pin.name}; rolekeeper plan writes the entry.`,
  pin,
})

/** Say that an account is declared both ways, as `self` or `everyone` and by its address: either would undo the other. Pure. */
export const declaredBothWays = (account: string): LeftAlone => ({
  check: 'declared_both_ways',
  message: `${account} is declared both ways, under its address and under another word for it. Fix: write it once.`,
})

type Figures = Readonly<Record<string, string | number | bigint | boolean>>

/** Where figures go from here: to the stricter of both first, field by field, and then to what is wanted. Pure. */
export function approach<F extends Figures>(
  there: F,
  wanted: F,
  stricter: F,
): { readonly to: F; readonly changes: readonly Change[]; readonly direction: 'stricter' | 'looser' } | null {
  const all = changesOf(there, wanted)
  if (all.length === 0) return null
  const tightens = changesOf(there, stricter)
  return tightens.length > 0
    ? { to: stricter, changes: tightens, direction: 'stricter' }
    : { to: wanted, changes: all, direction: 'looser' }
}

/** Write figures as an occurrence names them. Pure. */
export const figuresText = (figures: Figures): string =>
  Object.entries(figures)
    .map(([name, value]) => `${name}:${value}`)
    .join(',')

/** The lower of two amounts. Pure. */
export const least = (one: bigint, other: bigint): bigint => (one < other ? one : other)
/** The higher of two amounts. Pure. */
export const most = (one: bigint, other: bigint): bigint => (one > other ? one : other)

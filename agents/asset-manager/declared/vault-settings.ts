import { exactTokens } from '../../../src/units.ts'
import type { Change, Difference, Ended, Moment, Stop } from '../../agent.ts'
import type { ManagerSeen, OwnerFigures, VaultSeen } from '../seen.ts'
import { whyNotAgain } from './again.ts'
import type { Declared } from './declared.ts'
import type { DeclaredSettings } from './declared-settings.ts'
import {
  asDeclared,
  changesText,
  differ,
  doneAbout,
  figureText,
  isUnderWay,
  type LeftAlone,
  leave,
} from './difference.ts'
import { vaultsDeclaredAs } from './launch.ts'
import { feeSettings, marketSettings, roleSettings, routingSettings } from './owner-settings.ts'
import { channelSettings } from './partner-channels.ts'
import { ownerSetting, recordSettings } from './record-settings.ts'
import {
  type DeclaredSetting,
  isStricter,
  notPinned,
  type SettingsAt,
  type SettingsStep,
  turnOf,
} from './settings-step.ts'
import { termSettings } from './term-settings.ts'

type Seen = Moment & ManagerSeen

/**
 * Compare all that is declared of a vault's settings with what there is, in the order in which it is applied. Pure. One step
 * at a time: the next is proposed once the one before is final, and nothing looser while anything stricter is to be done. What
 * does not belong to us is said and left.
 */
export function compareSettings(
  declared: DeclaredSettings,
  seen: Seen,
  { vaults }: Pick<Declared, 'vaults'>,
): readonly Difference[] {
  const subject = `settings:${declared.vault}`
  const vault = vaultOf(declared, seen, vaults)
  if ('check' in vault) return [leave(subject, vault)]
  const at: SettingsAt = { declared, vault, seen }
  const before = [
    ...roleSettings(at, subject),
    ...recordSettings(at, subject),
    ...marketSettings(at, subject),
    ...feeSettings(at, subject),
    ...termSettings(at, subject),
    ...routingSettings(at, subject),
    ...channelSettings(at, subject),
  ]
  const all = [...before, ...ownerSetting(at, subject)].toSorted((one, other) => {
    const [place, otherPlace] = [placeOf(one, seen), placeOf(other, seen)]
    return place === STUCK && otherPlace === STUCK
      ? lastMsOf(one, seen) - lastMsOf(other, seen)
      : place - otherPlace
  })
  const open = before.filter(({ next }) => next !== null)
  const under = underWay(subject, seen)
  let first: string | null = null
  const differences = all.map((setting): Difference => {
    const judged = judge(setting, at, open)
    if ('direction' in judged) return judged
    const waits = first ?? (under(judged) ? 'a workflow of ours' : null)
    first ??= setting.subject
    return waits === null ? propose(judged, at) : waiting(judged, waits, seen)
  })
  const stuck = all.filter((one) => placeOf(one, seen) === STUCK)
  if (stuck.length > 0) differences.push(leave(subject, notOpened(stuck)))
  // What amounts are of: neither a vault nor a request of its owner says so.
  return differences.map((one) => (one.changes.length === 0 ? one : { ...one, asset: vault.settings.asset }))
}

/** A setting whose step may be taken once it is its turn. */
type Ready = { readonly subject: string; readonly step: SettingsStep }

function vaultOf(
  { vault: name, baseAsset }: DeclaredSettings,
  seen: Seen,
  vaults: Declared['vaults'],
): (VaultSeen & { readonly settings: OwnerFigures }) | LeftAlone {
  const address = seen.deployment.vaults.find((pinned) => pinned.name === name)?.address
  if (address === undefined) {
    const [ours] = vaults.filter(({ symbol }) => symbol === name)
    const [there] = ours === undefined ? [] : vaultsDeclaredAs(ours, seen)
    if (there !== undefined) {
      const lends = seen.deployment.assets.find(({ symbol }) => symbol === baseAsset)?.address
      const pin = { list: 'vaults', name, address: there.row.address }
      return notPinned('vault', lends === undefined ? pin : { ...pin, asset: lends })
    }
    return ours === undefined
      ? {
          check: 'vault_not_pinned',
          message: `No vault of the deployment is called ${name}. Fix: give its entry in deployment.vaults that name.`,
        }
      : { check: 'vault_not_deployed', message: `The vault ${name} is declared and not there yet.` }
  }
  const vault = seen.vaults.find(({ row }) => row.address === address)
  if (vault === undefined) {
    return { check: 'vault_not_found', message: `The service shows no vault ${address}.` }
  }
  const { settings } = vault
  if (settings === null) return { check: 'vault_not_read', message: `Our reads of vault ${address} failed.` }
  const asset = seen.deployment.assets.find(({ symbol }) => symbol === baseAsset)
  if (asset?.address !== settings.asset) {
    const message = `The vault ${address} is of ${settings.asset}, not of ${baseAsset}. Fix: declare its base asset.`
    return { check: 'base_asset_differs', message }
  }
  return { ...vault, settings }
}

/** Ends without an effect: the same would be tried again before anything else. */
const UNDONE: ReadonlySet<Ended['state']> = new Set([
  'refused',
  'expired',
  'reverted',
  'superseded',
  'cancelled',
])

/**
 * Where a setting stands in the order; what just failed goes behind the others that are as strict, and what cannot be opened
 * behind all, so that it holds up none.
 */
function placeOf({ subject, next }: DeclaredSetting, seen: Seen): number {
  if (next === null || !('act' in next)) return -1
  if (isStuck(subject, seen)) return STUCK
  const { recent } = seen
  const last = recent.find((one) => one.subject === subject)
  const failed = last !== undefined && UNDONE.has(last.state)
  return turnOf(next.act) + (failed ? BEHIND : 0) + (isStricter(next.act) ? 0 : 2 * BEHIND)
}
/** More than there are acts. */
const BEHIND = 100
/** Behind whatever failed and is looser. */
const STUCK = 4 * BEHIND

/** More than twice the longest wait between two tries. */
const OPENED_WITHIN_MS = 300_000

const isStuck = (subject: string, { unopened, nowMs }: Seen): boolean => {
  const one = unopened.get(subject)
  return one !== undefined && nowMs - one.sinceMs >= OPENED_WITHIN_MS
}
/** Of what is stuck, each has its turn: what keeps one may be over while another is kept for ever. */
const lastMsOf = ({ subject }: DeclaredSetting, { unopened }: Seen): number =>
  unopened.get(subject)?.lastMs ?? 0

function notOpened(stuck: readonly DeclaredSetting[]): Stop {
  const parts = stuck.map(({ subject }) => partOf(subject)).join('; ')
  return {
    check: 'not_opened',
    message: `For 5 minutes and more nothing could be opened for: ${parts}. All else of the vault goes on without it.`,
    alarm: {
      fix: 'see what refuses it with rolekeeper explain. already_done: the last try was quarantined; see what it left, and set it by hand with rolekeeper submit. rejected: declare what is there, or rolekeeper reject --take-back.',
    },
  }
}

const partOf = (subject: string): string => subject.split(':').slice(2).join(' ')

/**
 * Tell what has to wait for a workflow of this vault: everything for one that is carried out, and what is not stricter for one
 * that waits for a person.
 */
function underWay(subject: string, { inFlight }: Seen): (ready: Ready) => boolean {
  const ours = inFlight.filter((one) => one.subject.startsWith(`${subject}:`))
  const isCarried = ours.some(({ held }) => held !== true)
  return ({ step }) => isCarried || (ours.length > 0 && !isStricter(step.act))
}

/** What becomes of a setting whatever else is to be done, or its step. */
function judge(
  { subject, by, next }: DeclaredSetting,
  at: SettingsAt,
  open: readonly DeclaredSetting[],
): Difference | Ready {
  if (next === null) return asDeclared(subject)
  if ('check' in next) return leave(subject, next)
  const { direction, changes } = next
  const stranger = whyNotOurs(by, at)
  if (stranger !== null) return leave(subject, stranger, 'none', changes)
  if (isUnderWay(at.seen, { subject, kind: kindOf(next) })) {
    const message = 'A workflow of ours sets it already.'
    return leave(subject, { check: 'already_in_flight', message }, direction, changes)
  }
  if (direction === 'looser' && !at.declared.allowLoosening) {
    const message = `It is stricter than declared: ${changesOfVault(changes, at)}. Fix: declare what is there, or allowLoosening: "true".`
    return leave(subject, { check: 'loosening_not_allowed', message }, direction, changes)
  }
  const shadowed = at.seen.recent.find((one) => one.subject === subject && one.state === 'shadowed')
  if (shadowed !== undefined) {
    const message = `Workflow ${shadowed.workflowId} did it in shadow; the next is looked at as if it were done.`
    return leave(subject, { check: 'shadowed', message }, direction, changes)
  }
  const again = whyNotAgain(subject, next, at.seen)
  if (again !== null) return leave(subject, again, direction, changes)
  if (next.act === 'offer' && open.length > 0) {
    const message = `The vault is offered once all else is as declared; ${open.length} ${open.length === 1 ? 'setting is' : 'settings are'} not.`
    return leave(subject, { check: 'offered_last', message }, direction, changes)
  }
  const kept = excludedMarkets(subject, next, open)
  if (kept !== null) {
    const message = `The channel is opened to everyone once ${kept.length} ${kept.length === 1 ? 'account is' : 'accounts are'} kept out.`
    return leave(subject, { check: 'blocks_first', message }, direction, changes)
  }
  return { subject, step: next }
}

/** Who has to be kept out before a channel is opened to everyone, also where that cannot be done; null where nobody has. */
function excludedMarkets(
  subject: string,
  { act }: SettingsStep,
  open: readonly DeclaredSetting[],
): readonly DeclaredSetting[] | null {
  if (act !== 'unblock everyone') return null
  const channel = subject.slice(0, subject.lastIndexOf(':') + 1)
  const blocks = open.filter(
    ({ subject: of, next }) =>
      of.startsWith(channel) &&
      next !== null &&
      ('act' in next ? next.act === 'block' : next.check === 'declared_both_ways'),
  )
  return blocks.length === 0 ? null : blocks
}

/** Why nobody but another may change it, or null. A channel's curator is held against the channel itself. */
function whyNotOurs(by: DeclaredSetting['by'], { vault, seen }: SettingsAt): Stop | null {
  const { owner, roles } = vault.settings
  if (by === 'owner' && owner !== seen.signer) {
    const message = `The vault ${vault.row.address} belongs to ${owner}, not to us: its settings are that one's to change.`
    return { check: 'not_owner', message }
  }
  if (by === 'manager' && roles.get(`manager:${seen.signer}`) !== true) {
    return { check: 'not_manager', message: `The vault ${vault.row.address} does not give us MANAGER_ROLE.` }
  }
  return null
}

const kindOf = ({ act, direction }: SettingsStep): string =>
  act === 'open channel' ? 'launch' : { new: 'set', stricter: 'tighten', looser: 'loosen' }[direction]

function waiting({ subject, step }: Ready, before: string, seen: Seen): Difference {
  const message = `One step at a time: it waits for ${before}.`
  const check = isStuck(subject, seen) ? 'not_opened' : 'waits_its_turn'
  return leave(subject, { check, message }, step.direction, step.changes)
}

function propose({ subject, step }: Ready, at: SettingsAt): Difference {
  const { workflowType, input, direction, changes, from } = step
  // No setting has a counter: what was done of late distinguishes the same figures when they come back.
  const last = doneAbout(at.seen, subject)[0]?.workflowId ?? 'none'
  const kind = kindOf(step)
  const proposal: Parameters<typeof differ>[0] = {
    workflowType,
    input,
    subject,
    kind,
    occurrence: `after:${last},${from}`,
    // What was opened and is not shown is not opened twice.
    ...(kind === 'launch' ? {} : { comesBack: true }),
    summary: `${at.declared.vault} (${at.vault.row.address}), ${partOf(subject)}: ${changesOfVault(changes, at)}`,
  }
  return differ(proposal, direction, changes, direction === 'looser')
}

/** Write changes for people, amounts with the vault's asset. */
function changesOfVault(changes: readonly Change[], { declared, seen }: SettingsAt): string {
  const asset = seen.deployment.assets.find(({ symbol }) => symbol === declared.baseAsset)
  return changesText(changes, (field, text) =>
    field.endsWith('Assets') && /^\d+$/.test(text) && asset !== undefined
      ? exactTokens(BigInt(text), asset)
      : figureText(field, text),
  )
}

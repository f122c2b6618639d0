import type { Address } from 'viem'
import { TRANSFER_PROFILES } from '../../../src/service/contract/workflow-inputs.ts'
import { duration, time } from '../../../src/units.ts'
import type { InputValue } from '../../../src/workflow/proposal.ts'
import type { Change, Difference, Moment, Stop } from '../../agent.ts'
import type { ManagerSeen, MobilityFigures, VaultSeen } from '../seen.ts'
import type { DeclaredMobility } from './declared.ts'
import { asDeclared, changesText, differ, isUnderWay, leave, personOf } from './difference.ts'
import { judgeTrouble } from './trouble.ts'

type Seen = Moment & ManagerSeen

/** One action on a vault's mobility. */
type Action = {
  readonly kind: 'pause' | 'restore' | 'tighten' | 'loosen'
  readonly input: Readonly<Record<string, InputValue>>
  readonly changes: readonly Change[]
}

/**
 * Compare what is declared of a vault's mobility with what its contract says. Pure. One action at a time, the safest
 * first: a pause, then what is stricter, then the end of a pause of ours, then what is looser where that is allowed.
 * What is not declared stays as it is.
 */
export function compareMobility(declared: DeclaredMobility, seen: Seen): Difference {
  const subject = `mobility:${declared.vault}`
  const vault = vaultOf(declared, seen)
  if ('check' in vault) return leave(subject, vault)
  const { mobility } = vault
  const action = nextAction(declared, vault, seen)
  if (action === null) return asDeclared(subject)
  if ('check' in action) return leave(subject, action)
  const { kind, changes } = action
  const direction = kind === 'pause' || kind === 'tighten' ? 'stricter' : 'looser'
  if (isUnderWay(seen, { subject, kind })) {
    const message = "A workflow of ours changes this vault's mobility already."
    return leave(subject, { check: 'already_in_flight', message }, direction, changes)
  }
  const early = kind === 'restore' && seen.chain.timestampS < mobility.restoreAfterS
  const isLooser = kind === 'loosen' || early
  if (isLooser && !declared.allowLoosening) {
    const message = `It is stricter than declared: ${changesText(changes)}. Fix: declare what is there, or allowLoosening: "true".`
    return leave(subject, { check: 'loosening_not_allowed', message }, direction, changes)
  }
  const step = {
    workflowType: 'role.asset_manager.vaultShareMobilityManagerAction',
    kind,
    subject,
    occurrence: `mobilityEpoch:${mobility.mobilityEpoch}`,
    input: { vaultAddress: vault.row.address, ...action.input },
    summary: `${declared.vault} (${vault.row.address}): ${changesText(changes)}`,
  } as const
  return differ(step, direction, changes, isLooser)
}

type KnownVault = VaultSeen & { readonly mobility: MobilityFigures }

function vaultOf({ vault: name }: DeclaredMobility, seen: Seen): KnownVault | Stop {
  const address = seen.deployment.vaults.find((pinned) => pinned.name === name)?.address
  if (address === undefined) {
    const message = `No vault of the deployment is called ${name}. Fix: give its entry in deployment.vaults that name.`
    return { check: 'vault_not_pinned', message }
  }
  const vault = seen.vaults.find(({ row }) => row.address === address)
  if (vault === undefined) {
    return { check: 'vault_not_found', message: `The service shows no vault ${address}.` }
  }
  const { mobility } = vault
  if (mobility === null) return { check: 'vault_not_read', message: `Our reads of vault ${address} failed.` }
  if (!mobility.isManager) {
    return { check: 'not_manager', message: `The vault ${address} does not give us MANAGER_ROLE.` }
  }
  return { ...vault, mobility }
}

/** What to do first; null when nothing differs. */
function nextAction(declared: DeclaredMobility, vault: KnownVault, seen: Seen): Action | Stop | null {
  const pausing = pauseAction(declared, vault, seen)
  if (pausing !== null && 'kind' in pausing && pausing.kind === 'pause') return pausing
  const steps = [profileAction(declared, vault.mobility), ...recipientActions(declared, vault.mobility, seen)]
  const differing = steps.filter((step) => step !== null)
  return differing.find(({ kind }) => kind === 'tighten') ?? pausing ?? differing[0] ?? null
}

/** Pause while a market is in trouble; end such a pause once none is. */
function pauseAction(
  { emergencyPause }: DeclaredMobility,
  vault: KnownVault,
  seen: Seen,
): Action | Stop | null {
  if (emergencyPause === undefined) return null
  const { paused, pauseReason, restoreAfterS } = vault.mobility
  const { reason, pauseSeconds } = emergencyPause
  if (paused && pauseReason !== reason) {
    const message = `Somebody else paused it, until ${time(restoreAfterS)}.`
    return { check: 'paused_by_another', message }
  }
  const trouble = judgeTrouble(vault.row, seen, emergencyPause)
  if ('check' in trouble) return paused ? null : trouble
  const [first] = trouble.problems
  if (!paused) {
    if (first === undefined) return null
    return {
      kind: 'pause',
      input: {
        action: 'pause',
        restoreAfterTimestamp: String(seen.chain.timestampS + pauseSeconds),
        reason,
      },
      changes: [
        { field: 'paused', from: 'false', to: `true for ${duration(pauseSeconds * 1_000)} (${first})` },
      ],
    }
  }
  if (first !== undefined) return { check: 'pause_stands', message: `It stays paused: ${first}.` }
  return {
    kind: 'restore',
    input: { action: 'restore' },
    changes: [{ field: 'paused', from: `true until ${time(restoreAfterS)}`, to: 'false' }],
  }
}

/** Profiles are listed from the loosest to the strictest, as the contract numbers them. */
function profileAction(
  { transferProfile: wanted }: DeclaredMobility,
  mobility: MobilityFigures,
): Action | null {
  if (wanted === undefined) return null
  const [from, to] = [mobility.transferProfile, TRANSFER_PROFILES.indexOf(wanted)]
  if (from === to) return null
  return {
    kind: to > from ? 'tighten' : 'loosen',
    input: { action: 'set_transfer_profile', transferProfile: wanted },
    changes: [{ field: 'transferProfile', from: TRANSFER_PROFILES[from] ?? String(from), to: wanted }],
  }
}

/** Recipients that are trusted and not declared stay trusted. */
function recipientActions(
  { trustedRecipients = [] }: DeclaredMobility,
  mobility: MobilityFigures,
  seen: Seen,
): readonly Action[] {
  return trustedRecipients.flatMap(({ address, trusted }): readonly Action[] => {
    const recipientAddress: Address = personOf(address, seen)
    const isTrusted = mobility.trustedRecipients.includes(recipientAddress)
    if (isTrusted === trusted) return []
    return [
      {
        kind: trusted ? 'loosen' : 'tighten',
        input: { action: 'set_trusted_recipient', recipientAddress, trusted },
        changes: [
          {
            field: 'trustedRecipient',
            from: null,
            to: `${recipientAddress} ${trusted ? '' : 'no more'}`.trim(),
          },
        ],
      },
    ]
  })
}

import { encodeFunctionData, type Hex } from 'viem'
import { entityIdOf } from '../../../src/service/contract/assumptions.ts'
import { TRANSFER_PROFILES } from '../../../src/service/contract/workflow-inputs.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { lendingVaultAbi } from '../../contracts/abis.ts'
import { lower } from '../../indexer/logs.ts'
import type { VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import { intents } from './intents.ts'
import {
  blocked,
  type Expectation,
  type Family,
  type Judgement,
  type Moment,
  passed,
  preparer,
  type Reads,
  staleness,
} from './preparer.ts'
import { vaultIn } from './vault-shares.ts'

const TYPE = 'role.asset_manager.vaultShareMobilityManagerAction'
type Input = WorkflowInput<typeof TYPE>

/** The contract's longest pause: 30 days. */
const PAUSE_SECONDS_MAX = 2_592_000n
const REASON_BYTES_MAX = 64

/** What a vault's manager does to the mobility of its shares. */
export const vaultMobility: Family = {
  preparers: [preparer(TYPE, act)],
  fields: {
    vault_share_mobility: (snapshot, entityId, field) => {
      const mobility = vaultIn(snapshot, entityId)?.state.mobility
      if (mobility === undefined) return undefined
      if (field === 'mobilityEpoch') return String(mobility.epoch)
      if (field === 'shareMobilityPaused') return mobility.paused
      return field === 'transferProfile' ? TRANSFER_PROFILES[mobility.transferProfile] : undefined
    },
    trusted_recipient: (snapshot, entityId, field) => {
      const [vaultAddress = '', recipient = ''] = entityId.split(':')
      const vault = vaultIn(snapshot, vaultAddress)
      return vault === undefined || field !== 'trusted' ? undefined : isTrusted(vault, recipient)
    },
  },
}

const isTrusted = ({ state }: VaultRead, recipient: string): boolean =>
  state.mobility.trustedRecipients.some((one) => same(one, recipient))

function act(input: Input, { snapshot, freshness, principal }: Moment, { chainId }: Reads): Judgement {
  const vault = vaultIn(snapshot, input.vaultAddress)
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (vault === undefined) return blocked(null, [...reasons, 'vault_not_found'])
  const { mobility } = vault.state
  const nowS = vault.state.blockTimestamp
  // Once a pause has lasted its time, anyone may end it.
  const forAnyone = input.action === 'restore' && mobility.paused && nowS >= mobility.restoreAfter
  if (principal !== null && !forAnyone && !vault.entry.managers.has(lower(principal))) {
    reasons.push('principal_not_manager')
  }
  reasons.push(...judgeAction(input, vault))
  if (reasons.length > 0) return blocked(vault.state, reasons)
  const { calldata, label, expected } = actionOf(input, vault.address)
  return passed(vault.state, intents(chainId, [{ target: vault.address, calldata, label }]), [
    expected,
    {
      entityType: 'vault_share_mobility',
      entityId: vault.address,
      field: 'mobilityEpoch',
      expected: { op: 'gte', value: String(mobility.epoch + 1n) },
    },
  ])
}

/** What would change nothing is refused: its effect could not be distinguished from what was. */
function judgeAction(input: Input, vault: VaultRead): readonly string[] {
  const { mobility, blockTimestamp } = vault.state
  switch (input.action) {
    case 'pause': {
      const reasons: string[] = []
      const until = BigInt(input.restoreAfterTimestamp)
      if (mobility.paused) reasons.push('share_mobility_paused')
      if (until <= blockTimestamp || until > blockTimestamp + PAUSE_SECONDS_MAX) {
        reasons.push('restore_after_out_of_range')
      }
      if (Buffer.byteLength(input.reason) > REASON_BYTES_MAX) reasons.push('reason_too_long')
      return reasons
    }
    case 'restore':
      return mobility.paused ? [] : ['share_mobility_not_paused']
    case 'set_transfer_profile':
      return TRANSFER_PROFILES[mobility.transferProfile] === input.transferProfile
        ? ['transfer_profile_unchanged']
        : []
    case 'set_trusted_recipient':
      return isTrusted(vault, input.recipientAddress) === input.trusted ? ['recipient_unchanged'] : []
  }
}

function actionOf(
  input: Input,
  vault: string,
): { readonly calldata: Hex; readonly label: string; readonly expected: Expectation } {
  const abi = lendingVaultAbi
  const paused = (expected: boolean): Expectation => ({
    entityType: 'vault_share_mobility',
    entityId: vault,
    field: 'shareMobilityPaused',
    expected,
  })
  switch (input.action) {
    case 'pause': {
      const args = [BigInt(input.restoreAfterTimestamp), input.reason, ''] as const
      const calldata = encodeFunctionData({ abi, functionName: 'pauseShareMobility', args })
      return { calldata, label: 'Pause transfers and deposits', expected: paused(true) }
    }
    case 'restore': {
      const calldata = encodeFunctionData({ abi, functionName: 'restoreShareMobility' })
      return { calldata, label: 'Restore transfers and deposits', expected: paused(false) }
    }
    case 'set_transfer_profile': {
      const { transferProfile } = input
      const args = [TRANSFER_PROFILES.indexOf(transferProfile)] as const
      return {
        calldata: encodeFunctionData({ abi, functionName: 'setTransferProfile', args }),
        label: `Set the transfer profile to ${transferProfile}`,
        expected: {
          entityType: 'vault_share_mobility',
          entityId: vault,
          field: 'transferProfile',
          expected: transferProfile,
        },
      }
    }
    case 'set_trusted_recipient': {
      const { recipientAddress, trusted } = input
      const args = [recipientAddress, trusted] as const
      return {
        calldata: encodeFunctionData({ abi, functionName: 'setTrustedRecipient', args }),
        label: trusted ? 'Trust a recipient of shares' : 'No longer trust a recipient of shares',
        expected: {
          entityType: 'trusted_recipient',
          entityId: entityIdOf(vault, recipientAddress),
          field: 'trusted',
          expected: trusted,
        },
      }
    }
  }
}

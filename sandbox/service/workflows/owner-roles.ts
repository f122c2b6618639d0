import { type Address, encodeFunctionData, keccak256, stringToHex, zeroAddress } from 'viem'
import { entityIdOf } from '../../../src/service/contract/assumptions.ts'
import type { VAULT_ROLES } from '../../../src/service/contract/ownership-inputs.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { lendingVaultAbi } from '../../contracts/abis.ts'
import type { VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import { become, type OwnersCall, ownersAct } from './owner-act.ts'
import { type Family, preparer } from './preparer.ts'
import { vaultIn } from './vault-shares.ts'

type AllocatorInput = WorkflowInput<'role.vault_owner.vaultAllocatorUpdate'>
type RoleInput = WorkflowInput<'role.vault_owner.vaultRoleSettingsSave'>
type Role = 'allocator' | (typeof VAULT_ROLES)[number]

/** A role of a vault that somebody gets or loses. */
type Appointment = { readonly role: Role; readonly account: Address; readonly granted: boolean }

/** Who may act for a vault beside its owner. */
export const ownerRoles: Family = {
  preparers: [
    preparer(
      'role.vault_owner.vaultAllocatorUpdate',
      ownersAct({
        judge: (input, vault) => judgeAppointment(allocatorOf(input), vault),
        call: (input, vault) => appoint(allocatorOf(input), vault),
      }),
    ),
    preparer(
      'role.vault_owner.vaultRoleSettingsSave',
      ownersAct({
        judge: (input, vault) => judgeAppointment(roleOf(input), vault),
        call: (input, vault) => appoint(roleOf(input), vault),
      }),
    ),
  ],
  fields: {
    vault_role: (snapshot, entityId, field) => {
      const [vaultAddress = '', role = '', account = ''] = entityId.split(':')
      const vault = vaultIn(snapshot, vaultAddress)
      if (vault === undefined || field !== 'granted' || !isRole(role)) return undefined
      return holders(vault, role).has(account.toLowerCase())
    },
  },
}

const HOLDERS = { allocator: 'allocators', manager: 'managers', curator: 'curators' } as const

const isRole = (role: string): role is Role => Object.hasOwn(HOLDERS, role)

const holders = ({ entry }: VaultRead, role: Role): ReadonlySet<string> => entry[HOLDERS[role]]

const allocatorOf = ({ allocatorAddress, granted }: AllocatorInput): Appointment => ({
  role: 'allocator',
  account: allocatorAddress,
  granted,
})

const roleOf = ({ role, accountAddress, granted }: RoleInput): Appointment => ({
  role,
  account: accountAddress,
  granted,
})

function judgeAppointment({ role, account, granted }: Appointment, vault: VaultRead): readonly string[] {
  if (same(account, zeroAddress)) return [`${role}_is_zero`]
  if (holders(vault, role).has(account.toLowerCase()) !== granted) return []
  return [granted ? 'already_granted' : 'not_granted']
}

function appoint({ role, account, granted }: Appointment, { address }: VaultRead): OwnersCall {
  // As the contract names its roles: the hash of the constant's name.
  const id = keccak256(stringToHex(`${role.toUpperCase()}_ROLE`))
  return {
    calldata: encodeFunctionData({
      abi: lendingVaultAbi,
      functionName: granted ? 'grantRole' : 'revokeRole',
      args: [id, account],
    }),
    label: granted
      ? `Make ${account} the vault's ${role}`
      : `Let ${account} be the vault's ${role} no longer`,
    postconditions: become('vault_role', entityIdOf(address, role, account), { granted }),
  }
}

import {
  type Address,
  BaseError,
  decodeErrorResult,
  encodeFunctionData,
  type Hex,
  isHex,
  keccak256,
  stringToHex,
} from 'viem'
import { expect } from 'vitest'
import { lendingVaultAbi } from '../../../../sandbox/contracts/abis.ts'
import type { VaultRead } from '../../../../sandbox/indexer/state.ts'
import type { WorkflowInput, WorkflowType } from '../../../../src/service/contract/workflow-types.ts'
import { lower, SENT } from '../../indexer/scene.ts'
import { createWorkflowScene } from './scene.ts'

type OwnersType = Extract<WorkflowType, `role.vault_owner.${string}`>

const abi = lendingVaultAbi
/** What people write to a vault past the service. */
export const calls = {
  listing: (market: Address, approved: boolean) => {
    const terms = { approved, allocationEnabled: true, relativeCapBps: 10_000, absoluteCapAssets: 2n ** 100n }
    return encodeFunctionData({ abi, functionName: 'setListing', args: [market, terms] })
  },
  routing: (markets: readonly Address[]) =>
    encodeFunctionData({ abi, functionName: 'setRouting', args: [markets] }),
  allocate: (market: Address, assets: bigint) =>
    encodeFunctionData({ abi, functionName: 'allocate', args: [market, assets] }),
  deallocate: (market: Address, assets: bigint) =>
    encodeFunctionData({ abi, functionName: 'deallocate', args: [market, assets] }),
  deposit: (assets: bigint, receiver: Address) =>
    encodeFunctionData({ abi, functionName: 'deposit', args: [assets, receiver] }),
  fees: (management: number, performance: number, recipient: Address) =>
    encodeFunctionData({ abi, functionName: 'setFeeConfig', args: [management, performance, recipient] }),
  curatorFee: (bps: number, recipient: Address) =>
    encodeFunctionData({ abi, functionName: 'setCuratorFee', args: [bps, recipient] }),
  settings: (terms: VaultRead['state']['exitTerms'], least = 0n, most = 0n) =>
    encodeFunctionData({ abi, functionName: 'setSettings', args: [0, terms, least, most] }),
  lockTightening: () => encodeFunctionData({ abi, functionName: 'lockTightening' }),
  profile: (profile: number) =>
    encodeFunctionData({ abi, functionName: 'setTransferProfile', args: [profile] }),
  pause: (untilS: bigint) =>
    encodeFunctionData({ abi, functionName: 'pauseShareMobility', args: [untilS, 'audit', ''] }),
  restore: () => encodeFunctionData({ abi, functionName: 'restoreShareMobility' }),
  grant: (role: string, account: Address) =>
    encodeFunctionData({
      abi,
      functionName: 'grantRole',
      args: [keccak256(stringToHex(role)), account],
    }),
  offer: (account: Address) =>
    encodeFunctionData({ abi, functionName: 'beginDefaultAdminTransfer', args: [account] }),
  accept: () => encodeFunctionData({ abi, functionName: 'acceptDefaultAdminTransfer' }),
}

/** Exit terms as the contract takes them. */
export const terms = (kind: number, figure: bigint) => ({
  kind,
  noticeSeconds: kind === 1 ? figure : 0n,
  intervalSeconds: kind === 2 ? figure : 0n,
  maturityTimestamp: kind === 3 ? figure : 0n,
})

/** A workflow scene in which the admin owns the vaults, and each request is held against the chain. */
export async function createOwnerScene() {
  const world = await createWorkflowScene()
  const { client, deployment } = world.scene
  const { admin } = deployment
  return {
    ...world,
    admin,
    manager: deployment.assetManager,
    /** Read a vault as the indexer has it. */
    vault: async (address: Address): Promise<VaultRead> => {
      const { vaultReads } = await world.scene.caughtUp(world.canonical)
      const read = vaultReads.find((vault) => vault.address === lower(address))
      if (read === undefined) throw new TypeError(`There is no vault ${address}.`)
      return read
    },
    write: (to: Address, data: Hex, account = admin) =>
      client.sendTransactionSync({ ...SENT, chain: null, account, to, data }),
    /** Name the vault's own error for a call; null where the vault would do it. */
    errorOf: (to: Address, data: Hex, account = admin): Promise<string | null> =>
      client.call({ account, to, data }).then(
        () => null,
        (error) => {
          const cause = error instanceof BaseError ? error.walk((one) => isHex(Object(one).data)) : null
          if (cause === null) throw error
          return decodeErrorResult({ abi, data: Object(cause).data }).errorName
        },
      ),
    /** Say why a request is refused. What passes is tried on the chain, which throws where it would revert. */
    judged: async <T extends OwnersType>(
      type: T,
      input: WorkflowInput<T>,
      principal = admin,
    ): Promise<readonly string[]> => {
      const { preflight, transactions } = await world.prepare(type, principal, input)
      for (const { target, calldata } of transactions) {
        await client.call({ account: principal, to: target, data: calldata })
      }
      return preflight.blockedReasons
    },
    /** Prepare and send, see every condition true at the end, and say what is looked at again before it is sent. */
    carried: async <T extends OwnersType>(
      type: T,
      input: WorkflowInput<T>,
      principal = admin,
    ): Promise<readonly string[]> => {
      const prepared = await world.prepare(type, principal, input)
      expect(prepared.transactions).toMatchObject([
        { order: 0, transactionKind: 'contract_call', target: lower(input.vaultAddress), value: '0' },
      ])
      const done = await world.carryOut(prepared, principal)
      expect(done.status, type).toBe('final_success')
      expect(new Set(done.canonicalPostconditions.map(({ satisfied }) => satisfied))).toEqual(new Set([true]))
      return prepared.preflight.revalidateAtExecution
    },
  }
}

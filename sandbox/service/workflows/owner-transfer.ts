import { encodeFunctionData, type PublicClient, zeroAddress } from 'viem'
import type { Revalidation } from '../../../src/service/contract/assumptions.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { lendingVaultAbi } from '../../contracts/abis.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
import { lower } from '../../indexer/logs.ts'
import type { VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import { intents } from './intents.ts'
import { become, type OwnersCall, ownersAct } from './owner-act.ts'
import {
  blocked,
  type Family,
  type Judgement,
  type Moment,
  passed,
  preparer,
  type Reads,
  staleness,
} from './preparer.ts'
import { vaultIn } from './vault-shares.ts'

const TYPE = 'role.vault_owner.vaultOwnerTransferUpdate'
type Input = WorkflowInput<typeof TYPE>
/** The steps that the owner takes, before and after the other one's. */
type OwnersStep = Exclude<Input, { readonly action: 'accept' }>
type Acceptance = Extract<Input, { readonly action: 'accept' }>

/** A vault's ownership: offered by one key and accepted by the other, or taken back before. */
export const ownerTransfer: Family = {
  preparers: [
    preparer(TYPE, (input, moment, reads) =>
      input.action === 'accept' ? accept(input, moment, reads) : takeOwnersStep(input, moment, reads),
    ),
  ],
  fields: {
    vault_owner: (snapshot, entityId, field) => {
      const vault = vaultIn(snapshot, entityId)
      if (vault === undefined) return undefined
      if (field === 'ownerAddress') return lower(vault.state.owner)
      return field === 'pendingOwnerAddress' ? offeredTo(vault) : undefined
    },
  },
}

/** Whom the ownership is offered to, in lower case; nobody reads as the empty text. */
const offeredTo = ({ state }: VaultRead): string =>
  same(state.pendingOwner, zeroAddress) ? '' : lower(state.pendingOwner)

const judged = ownersAct<OwnersStep>({ judge: judgeOwnersStep, call: ownersStep })

/** An offer to a contract would stand for good: no contract of this deployment accepts a vault. */
async function takeOwnersStep(input: OwnersStep, moment: Moment, reads: Reads): Promise<Judgement> {
  const judgement = judged(input, moment, reads)
  if (input.action !== 'offer' || judgement.blockedReasons.length > 0) return judgement
  const code = await reads.node.getCode({
    address: input.newOwnerAddress,
    blockNumber: moment.snapshot.block.number,
  })
  // A wallet that delegates to code (EIP-7702) signs as before.
  if (code === undefined || code === '0x' || code.startsWith(DELEGATED)) return judgement
  return blocked(judgement.judged, ['new_owner_cannot_accept'])
}
const DELEGATED = '0xef0100'

function judgeOwnersStep(input: OwnersStep, vault: VaultRead): readonly string[] {
  if (input.action === 'cancel') return offeredTo(vault) === '' ? ['no_ownership_offer'] : []
  if (same(input.newOwnerAddress, zeroAddress)) return ['new_owner_is_zero']
  if (same(input.newOwnerAddress, vault.state.owner)) return ['new_owner_is_owner']
  return same(input.newOwnerAddress, offeredTo(vault)) ? ['ownership_already_offered'] : []
}

function ownersStep(input: OwnersStep, { address }: VaultRead): OwnersCall {
  const abi = lendingVaultAbi
  if (input.action === 'cancel') {
    return {
      calldata: encodeFunctionData({ abi, functionName: 'cancelDefaultAdminTransfer' }),
      label: "Take the offer of the vault's ownership back",
      postconditions: become('vault_owner', address, { pendingOwnerAddress: '' }),
    }
  }
  const { newOwnerAddress } = input
  return {
    calldata: encodeFunctionData({ abi, functionName: 'beginDefaultAdminTransfer', args: [newOwnerAddress] }),
    label: `Offer the vault's ownership to ${newOwnerAddress}`,
    postconditions: become('vault_owner', address, { pendingOwnerAddress: lower(newOwnerAddress) }),
  }
}

const OFFERED: readonly Revalidation[] = ['ownership_offered', 'intent_not_expired']

/** Only who was offered it takes this step: the owner that was has no part in it. */
async function accept(
  { vaultAddress }: Acceptance,
  { snapshot, freshness, principal }: Moment,
  { chainId, node }: Reads,
): Promise<Judgement> {
  const vault = vaultIn(snapshot, vaultAddress)
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (vault === undefined) return blocked(null, [...reasons, 'vault_not_found'])
  const offered = offeredTo(vault)
  if (offered === '') reasons.push('no_ownership_offer')
  else if (principal !== null && !same(offered, principal)) reasons.push('ownership_offer_to_another')
  if (reasons.length === 0 && (await scheduleS(vault, snapshot, node)) >= snapshot.block.timestampS) {
    reasons.push('ownership_offer_too_new')
  }
  if (reasons.length > 0) return blocked(vault.state, reasons)
  const calldata = encodeFunctionData({ abi: lendingVaultAbi, functionName: 'acceptDefaultAdminTransfer' })
  return passed(
    vault.state,
    intents(chainId, [{ target: vault.address, calldata, label: acceptanceLabel(vault) }]),
    become('vault_owner', vault.address, { ownerAddress: offered, pendingOwnerAddress: '' }),
    OFFERED,
  )
}

/** Roles and fees survive the transfer: whoever takes the vault reads in the label how many there are. */
function acceptanceLabel({ state, entry }: VaultRead): string {
  const { recipient, curatorRecipient } = state.feeConfig
  const paid = [recipient, curatorRecipient].filter((one) => !same(one, zeroAddress))
  const roles = `${entry.managers.size} managers, ${entry.allocators.size} allocators and ${entry.curators.size} curators`
  return `Take the vault's ownership over; ${roles} keep their roles, ${paid.length} fee recipients their fees`
}

/** The unix second after which an offer may be accepted, and not in it: blocks of one second share it. */
async function scheduleS({ address }: VaultRead, { block }: Snapshot, node: PublicClient): Promise<number> {
  const [, schedule] = await node.readContract({
    address,
    abi: lendingVaultAbi,
    functionName: 'pendingDefaultAdmin',
    blockNumber: block.number,
  })
  return schedule
}

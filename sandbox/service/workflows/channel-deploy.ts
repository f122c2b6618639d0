import { type Address, encodeDeployData, zeroAddress } from 'viem'
import { invariant } from '../../../src/errors.ts'
import { entityIdOf, type Revalidation } from '../../../src/service/contract/assumptions.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { partnerChannelAbi } from '../../contracts/abis.ts'
import { loadArtifacts } from '../../contracts/artifacts.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
import { lower } from '../../indexer/logs.ts'
import type { VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import { intents } from './intents.ts'
import {
  blocked,
  type Family,
  type Judgement,
  type Moment,
  type Preparer,
  passed,
  preparer,
  type Reads,
  staleness,
} from './preparer.ts'
import { vaultIn } from './vault-shares.ts'

type Type =
  | 'role.partner.partnerChannelDeploy'
  | 'role.vault_manager.partnerChannelDeploy'
  | 'role.curator.partnerChannelDeploy'
type Input = WorkflowInput<Type>

/** The contract's highest fees: 5% of what it holds a year, and a fifth of what that gains. */
const RESELLER_FEE_BPS_MAX = 500
const BORROWER_FEE_BPS_MAX = 2_000
/** The contract's largest cap: what its conversions hold. */
const CAP_ASSETS_MAX = 2n ** 128n - 1n

/** Who deploys a channel: what it has to be, and what of that is looked at again. */
type Deployer = {
  readonly type: Type
  readonly judge: (principal: Address, input: Input, vault: VaultRead) => readonly string[]
  readonly revalidateAtExecution: readonly Revalidation[]
}

/** That a partner is approved is the service's own record, so nothing on chain can change it. */
const DEPLOYERS: readonly Deployer[] = [
  {
    type: 'role.partner.partnerChannelDeploy',
    judge: (principal, { resellerAddress }) =>
      same(principal, resellerAddress) ? [] : ['reseller_is_not_principal'],
    revalidateAtExecution: ['intent_not_expired'],
  },
  {
    type: 'role.vault_manager.partnerChannelDeploy',
    judge: (principal, _input, { entry }) =>
      entry.managers.has(lower(principal)) ? [] : ['principal_not_manager'],
    revalidateAtExecution: ['vault_manager', 'intent_not_expired'],
  },
  {
    type: 'role.curator.partnerChannelDeploy',
    judge: (principal, _input, { entry }) =>
      entry.curators.has(lower(principal)) ? [] : ['principal_not_curator'],
    revalidateAtExecution: ['vault_curator', 'intent_not_expired'],
  },
]

/** Channels that partners, and those who run a vault, deploy by their own key. */
export const channelDeploy: Family = {
  preparers: DEPLOYERS.map(deployed),
  fields: {
    // A channel's address follows from the nonce that the signer chooses; how many there are of a class does not.
    partner_channel_deployment: (snapshot, entityId, field) =>
      field === 'count' ? String(deployedAs(snapshot, entityId)) : undefined,
  },
}

/** Anybody can deploy one that names a partner: it neither is in that partner's way nor done by it. */
const deployedAs = ({ channels }: Snapshot, entityId: string): number =>
  channels
    .filter(({ entry }) => entry.isEntitled)
    .filter(({ state }) => entityIdOf(state.vault, state.reseller, state.shareClass) === entityId).length

function deployed(deployer: Deployer): Preparer {
  return preparer(deployer.type, (input, moment, reads) => deploy(input, moment, reads, deployer))
}

function deploy(input: Input, moment: Moment, { chainId, records }: Reads, deployer: Deployer): Judgement {
  const { snapshot, freshness, principal } = moment
  const { revalidateAtExecution } = deployer
  const vault = vaultIn(snapshot, input.vaultAddress)
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (vault === undefined) return blocked(null, [...reasons, 'vault_not_found'], revalidateAtExecution)
  if (principal !== null) reasons.push(...deployer.judge(principal, input, vault))
  const entityId = entityIdOf(vault.address, input.resellerAddress, input.shareClass)
  reasons.push(...judgeSetup(input, vault))
  if (deployedAs(snapshot, entityId) > 0) reasons.push('channel_exists')
  const application = records.find('partner_application', entityIdOf(vault.address, input.resellerAddress))
  if (application?.status !== 'approved') reasons.push('partner_not_approved')
  const judged = { vault: vault.state, application: application?.status ?? null }
  if (reasons.length > 0) return blocked(judged, reasons, revalidateAtExecution)
  invariant(principal !== null, 'a channel that may be deployed has its deployer')
  const calldata = encodeDeployData({
    abi: partnerChannelAbi,
    bytecode: loadArtifacts().PartnerChannel.bytecode,
    args: [setupOf(input, vault)],
  })
  return passed(
    judged,
    intents(chainId, [{ target: null, calldata, label: `Deploy the channel ${input.symbol}` }]),
    [
      {
        entityType: 'partner_channel_deployment',
        entityId,
        field: 'count',
        expected: { op: 'gte', value: '1' },
      },
    ],
    revalidateAtExecution,
  )
}

/** What the constructor would refuse, and what would make a channel that nobody can use. */
function judgeSetup(input: Input, { state, entry }: VaultRead): readonly string[] {
  const reasons: string[] = []
  if (!same(input.assetAddress, state.asset.token)) reasons.push('wrapper_asset_mismatch')
  if (same(input.resellerAddress, zeroAddress)) reasons.push('reseller_is_zero')
  if (!entry.curators.has(lower(input.curatorAddress))) reasons.push('curator_not_of_vault')
  if (input.resellerFeeBps > RESELLER_FEE_BPS_MAX || input.borrowerFeeBps > BORROWER_FEE_BPS_MAX) {
    reasons.push('fee_above_cap')
  }
  const capAssets = BigInt(input.capAssets)
  if (capAssets === 0n || capAssets > CAP_ASSETS_MAX) reasons.push('cap_out_of_range')
  return reasons
}

const setupOf = (input: Input, { address, state }: VaultRead) => ({
  vault: address,
  name: input.name,
  symbol: input.symbol,
  directory: state.directory,
  reseller: input.resellerAddress,
  curator: input.curatorAddress,
  shareClass: input.shareClass,
  resellerFeeBps: input.resellerFeeBps,
  borrowerFeeBps: input.borrowerFeeBps,
  capAssets: BigInt(input.capAssets),
})

import { type Address, encodeDeployData, zeroAddress } from 'viem'
import { invariant } from '../../../src/errors.ts'
import { entityIdOf } from '../../../src/service/contract/assumptions.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { lendingVaultAbi } from '../../contracts/abis.ts'
import { loadArtifacts } from '../../contracts/artifacts.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
import { same } from '../same.ts'
import { exitTermsOf, judgeTerms } from './exit-terms-judge.ts'
import { intents } from './intents.ts'
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

const TYPE = 'role.asset_manager.vaultDeploy'
type Input = WorkflowInput<typeof TYPE>

/** Vaults that their manager's own key deploys. */
export const vaultDeploy: Family = {
  preparers: [preparer(TYPE, deploy)],
  fields: {
    // A vault's address follows from the nonce that the signer chooses; how many there are of a name does not.
    vault_deployment: (snapshot, entityId, field) =>
      field === 'count' ? String(deployedAs(snapshot, entityId)) : undefined,
  },
}

const deployedAs = ({ vaultReads }: Snapshot, entityId: string): number =>
  vaultReads.filter(({ entry, state }) => entityIdOf(entry.owner, state.symbol) === entityId).length

function deploy(input: Input, { snapshot, freshness, principal }: Moment, { chainId }: Reads): Judgement {
  const directory = directoryOf(snapshot)
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (directory === undefined) reasons.push('directory_not_found')
  if (!snapshot.markets.some((row) => same(row.loanAssetAddress ?? '', input.baseAssetAddress))) {
    reasons.push('base_asset_not_found')
  }
  const people = {
    owner: input.ownerAddress,
    allocator: input.allocatorAddress,
    manager: input.managerAddress,
  }
  for (const [who, address] of Object.entries(people)) {
    if (same(address, zeroAddress)) reasons.push(`${who}_is_zero`)
  }
  reasons.push(...judgeTerms(exitTermsOf(input), snapshot.block.timestampS))
  if (reasons.length > 0) return blocked(directory ?? null, reasons)
  invariant(directory !== undefined, 'a vault that may be deployed has its directory')
  const setup = { ...setupOf(input), ...people, directory }
  const calldata = encodeDeployData({
    abi: lendingVaultAbi,
    bytecode: loadArtifacts().LendingVault.bytecode,
    args: [setup],
  })
  const entityId = entityIdOf(input.ownerAddress, input.symbol)
  const count = deployedAs(snapshot, entityId) + 1
  return passed(
    { directory, count },
    intents(chainId, [{ target: null, calldata, label: `Deploy the vault ${input.symbol}` }]),
    [
      {
        entityType: 'vault_deployment',
        entityId,
        field: 'count',
        expected: { op: 'gte', value: String(count) },
      },
    ],
  )
}

/** Every vault names the same one; the sandbox's own are the first. */
const directoryOf = ({ vaultReads }: Snapshot): Address | undefined => vaultReads[0]?.state.directory

const setupOf = (input: Input) => ({
  asset: input.baseAssetAddress,
  name: input.name,
  symbol: input.symbol,
  liquidityBufferBps: input.liquidityBufferBps,
  exitTerms: exitTermsOf(input),
})

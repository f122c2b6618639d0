import type { Address, Hex } from 'viem'
import { systemClock } from '../../clock.ts'
import { loadChain } from '../../config/chain.ts'
import { RolekeeperError } from '../../errors.ts'
import { balanceView, createReads, type Reads } from '../../guard/reads/views.ts'
import { ownerView, VAULT_ROLE_IDS, vaultRoleView } from '../../guard/sanity/vault-views.ts'
import { openNodes } from '../../keeper/startup/connect.ts'
import { WORKFLOW_CATALOGUE, type WorkflowType } from '../../service/contract/workflow-types.ts'

/** Asks whether a vault is one that a signer may act on. */
type Ask = (vault: Address, signer: Address, reads: Reads) => () => boolean

const hasRole =
  (role: Hex): Ask =>
  (vault, signer, reads) => {
    const answer = reads.ask(vaultRoleView(vault, role, signer))
    return () => answer() === true
  }
const owns: Ask = (vault, signer, reads) => {
  const answer = reads.ask(ownerView(vault))
  return () => answer() === signer
}
const holds: Ask = (vault, signer, reads) => {
  const answer = reads.ask(balanceView(vault, signer))
  return () => (answer() ?? 0n) > 0n
}

/** What makes a vault one's own, by the service's role that a type belongs to: that role of the vault, where it has such a one. */
const OWN: Readonly<Record<string, Ask>> = {
  ...Object.fromEntries(Object.entries(VAULT_ROLE_IDS).map(([name, role]) => [name, hasRole(role)])),
  asset_manager: hasRole(VAULT_ROLE_IDS.manager),
  vault_manager: hasRole(VAULT_ROLE_IDS.manager),
  vault_owner: owns,
  lender: holds,
}

/**
 * Find which vaults a signer may act on with a type, by what the chain says: those that it owns, allocates, manages or curates,
 * or whose shares it holds.
 * @returns null where the type asks nothing of the sort, or no node of the run configuration answers.
 */
export async function ownVaults(
  {
    type,
    signer,
    vaults,
  }: { readonly type: WorkflowType; readonly signer: Address; readonly vaults: readonly Address[] },
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ReadonlySet<Address> | null> {
  const ask = OWN[WORKFLOW_CATALOGUE[type].role ?? '']
  if (ask === undefined) return null
  const reads = createReads()
  const asked = vaults.map((vault) => [vault, ask(vault, signer, reads)] as const)
  try {
    const nodes = await openNodes({ chain: await loadChain(file, env) }, systemClock)
    try {
      reads.fill(await nodes.calls(reads.calls))
    } finally {
      await nodes.close()
    }
  } catch (error) {
    // An example is written without a node as well.
    if (error instanceof RolekeeperError) return null
    throw error
  }
  return new Set(asked.flatMap(([vault, isOwn]) => (isOwn() ? [vault] : [])))
}

import type { Address, Hex } from 'viem'
import type { ExpectedValue } from '../../../src/service/contract/assumptions.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
import type { VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import { intents } from './intents.ts'
import {
  blocked,
  type Expectation,
  type Judgement,
  type Moment,
  passed,
  type Reads,
  staleness,
} from './preparer.ts'
import { vaultIn } from './vault-shares.ts'

/** One call of a vault's owner, and what it leaves. */
export type OwnersCall = {
  readonly calldata: Hex
  readonly label: string
  readonly postconditions: readonly Expectation[]
}

/** How one type of a vault's owner is judged, and what it does once nothing speaks against it. */
export type OwnersAct<Input> = {
  /** Why the vault would refuse it, or why it would change nothing; empty for neither. */
  readonly judge: (input: Input, vault: VaultRead, snapshot: Snapshot) => readonly string[]
  readonly call: (input: Input, vault: VaultRead) => OwnersCall
}

/** Judge that a principal may act for a vault's owner: the vault, where there is one, and why it may not. Pure. */
export function judgeOwner(
  vaultAddress: string,
  { snapshot, freshness, principal }: Moment,
): { readonly vault: VaultRead | undefined; readonly reasons: string[] } {
  const vault = vaultIn(snapshot, vaultAddress)
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (vault === undefined) reasons.push('vault_not_found')
  else if (principal !== null && !same(vault.state.owner, principal)) reasons.push('principal_not_owner')
  return { vault, reasons }
}

/**
 * Make the judge of a type that is one call of a vault's owner. What would change nothing is refused everywhere: its effect
 * could not be distinguished from what was.
 */
export const ownersAct =
  <Input extends { readonly vaultAddress: Address }>({ judge, call }: OwnersAct<Input>) =>
  (input: Input, moment: Moment, { chainId }: Pick<Reads, 'chainId'>): Judgement => {
    const { vault, reasons } = judgeOwner(input.vaultAddress, moment)
    if (vault === undefined) return blocked(null, reasons)
    reasons.push(...judge(input, vault, moment.snapshot))
    if (reasons.length > 0) return blocked(vault.state, reasons)
    const { calldata, label, postconditions } = call(input, vault)
    return passed(
      vault.state,
      intents(chainId, [{ target: vault.address, calldata, label }]),
      postconditions,
      ['vault_owner', 'intent_not_expired'],
    )
  }

/** State what fields of one entity then are, in the order given. Pure. */
export const become = (
  entityType: string,
  entityId: string,
  fields: Readonly<Record<string, ExpectedValue>>,
): readonly Expectation[] =>
  Object.entries(fields).map(([field, expected]) => ({ entityType, entityId, field, expected }))

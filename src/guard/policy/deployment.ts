import type { Address } from 'viem'
import type { Call } from '../../chain/nodes.ts'
import { type Refusal, refuse } from '../../errors.ts'
import type { Deployment, PinnedContract } from '../../service/contract/deployment.ts'

/** List every contract that a deployment pins, oracles of markets among them. Pure. */
export const pinsOf = ({
  assets,
  markets,
  vaults,
  funds,
  contracts,
}: Deployment): readonly PinnedContract[] => [
  ...assets,
  ...markets,
  ...markets.map(({ oracle, oracleCodeHash }) => ({ address: oracle, codeHash: oracleCodeHash })),
  ...vaults,
  ...funds,
  ...contracts,
]

/** Find a contract that the deployment pins; undefined when it is not pinned. Pure. */
export const pinOf = (address: Address | undefined, deployment: Deployment): PinnedContract | undefined =>
  pinsOf(deployment).find((pin) => pin.address === address)

/** Refuse reads of a contract that is not pinned: they prove nothing. Pure. */
export function checkReads(reads: readonly Call[], deployment: Deployment): Refusal | null {
  const unpinned = reads.find(({ to }) => pinOf(to, deployment) === undefined)
  if (unpinned === undefined) return null
  return refuse(
    'read_not_pinned',
    `The guard would judge by ${unpinned.to}, which is not in the deployment. Fix: pin it in deployment.contracts.`,
  )
}

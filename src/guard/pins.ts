import type { Address } from 'viem'
import type { Deployment, PinnedContract } from './ruleset.ts'

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
  address === undefined ? undefined : pinsOf(deployment).find((pin) => pin.address === address)

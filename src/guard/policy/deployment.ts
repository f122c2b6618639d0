import type { Address, Hex } from 'viem'
import type { Call } from '../../chain/nodes.ts'
import { type Refusal, refuse } from '../../errors.ts'

/** A contract that may be talked to, by the keccak-256 of its deployed code. Addresses are lower case. */
export type PinnedContract = { readonly address: Address; readonly codeHash: Hex }

/** One market of the deployment, with what it lends, what it takes, and who prices it. */
export type PinnedMarket = PinnedContract & {
  readonly loanAsset: Address
  readonly collateralAsset: Address
  readonly oracle: Address
  readonly oracleCodeHash: Hex
}

/** One recovery fund of the deployment, with what it is subscribed and bids in. */
export type PinnedFund = PinnedContract & { readonly quoteAsset: Address }

/** The contracts of the deployment: nothing outside of it is ever a target. */
export type Deployment = {
  readonly namespace: string
  readonly assets: readonly (PinnedContract & { readonly symbol: string; readonly decimals: number })[]
  readonly markets: readonly PinnedMarket[]
  readonly vaults: readonly PinnedContract[]
  readonly funds: readonly PinnedFund[]
  /** Other contracts by their names, for example `rfqDesk`. */
  readonly contracts: readonly (PinnedContract & { readonly name: string })[]
}

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

/** Refuse reads of a contract that is not pinned: they prove nothing. Pure. */
export function checkReads(reads: readonly Call[], deployment: Deployment): Refusal | null {
  const stranger = reads.find(({ to }) => pinOf(to, deployment) === undefined)
  if (stranger === undefined) return null
  return refuse(
    'read_not_pinned',
    `The guard would judge by ${stranger.to}, which is not in the deployment. Fix: pin it in deployment.contracts.`,
  )
}

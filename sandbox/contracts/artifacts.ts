import { readFileSync } from 'node:fs'
import type { Abi, Hex } from 'viem'

/** The sandbox's contracts that are deployed, each in the Solidity file of its name; in alphabetical order. */
export const CONTRACT_NAMES = [
  'AcquisitionHouse',
  'Asset',
  'DataFeeOracle',
  'EligibilityRegistry',
  'ExitPool',
  'FundFactory',
  'FundLens',
  'KinkedRateModel',
  'L1Block',
  'LendingMarket',
  'LendingVault',
  'NavOracle',
  'PartnerChannel',
  'PriceOracle',
  'RecoveryAuction',
  'RecoveryFund',
  'RfqDesk',
  'StateLens',
] as const
export type ContractName = (typeof CONTRACT_NAMES)[number]

/** A contract's interface and its creation code, without constructor arguments. */
export type Artifact = { readonly abi: Abi; readonly bytecode: Hex }

/** Every contract's artifact, in alphabetical order. */
export type Artifacts = Readonly<Record<ContractName, Artifact>>

/** Read the committed artifacts. For typed calls use `abis.ts`, which holds the same interfaces. */
export function loadArtifacts(): Artifacts {
  return JSON.parse(readFileSync(`${import.meta.dirname}/artifacts.json`, 'utf8'))
}

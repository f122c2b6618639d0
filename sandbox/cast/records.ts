import type { Address, Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { z } from 'zod'
import type {
  assetSubmissionInput,
  partnerApplicationInput,
} from '../../src/service/contract/channel-inputs.ts'
import type {
  managementSettingsInput,
  ownerSettingsInput,
} from '../../src/service/contract/ownership-inputs.ts'
import type { Deployment } from '../deploy/deploy.ts'
import { lower } from '../indexer/logs.ts'
import type { ServiceRecord } from '../service/records.ts'
import type { SandboxKeys } from './keys.ts'

/**
 * List what is known at the service from the start, as if it had been saved there: how each vault is shown and classed, the
 * partners that were approved, and the assets that were listed. Pure.
 * @param atMs when it was saved.
 */
export function castRecords(
  { contracts }: Deployment,
  keys: SandboxKeys,
  atMs: number,
): readonly ServiceRecord[] {
  const { primeVault, growthVault, rivalVault, ownedVault, weatherVault, sUSD, sBTC, sETH } = contracts
  const { deployer, weatherOwner, weatherPartner, roles } = keys
  const owner = roles['vault-owner'].privateKey
  const drafts: readonly (readonly [Hex, Draft])[] = [
    [deployer, managed(primeVault.address, 'Sandbox Asset Management')],
    [deployer, classed(primeVault.address, 'senior', 20)],
    [deployer, managed(growthVault.address, 'Sandbox Asset Management')],
    [deployer, classed(growthVault.address, 'junior', 45)],
    [deployer, managed(rivalVault.address, 'Sandbox Rivals')],
    [deployer, classed(rivalVault.address, 'institutional', 30)],
    [owner, managed(ownedVault.address, 'Sandbox Asset Management')],
    [owner, classed(ownedVault.address, 'retail', 35)],
    [weatherOwner, managed(weatherVault.address, 'Sandbox Weather')],
    [weatherOwner, classed(weatherVault.address, 'retail', 40)],
    [roles.partner.privateKey, approved(ownedVault.address, 'Sandbox Partner')],
    [weatherPartner, approved(weatherVault.address, 'Sandbox Weather Partner')],
    [deployer, listed(sUSD.address, 'Sandbox USD', 'sUSD', 6, 'stablecoin')],
    [deployer, listed(sBTC.address, 'Sandbox BTC', 'sBTC', 8, 'wrapped coin')],
    [deployer, listed(sETH.address, 'Sandbox ETH', 'sETH', 18, 'wrapped coin')],
  ]
  return drafts.map(([key, { kind, status, keyOf, body }]) => {
    const wallet = lower(privateKeyToAddress(key))
    return { kind, status, body, key: keyOf(wallet), wallet, atMs }
  })
}

/** A record but for who saves it, which some keys are made of. */
type Draft = Pick<ServiceRecord, 'kind' | 'status' | 'body'> & { readonly keyOf: (wallet: Address) => string }

/** Of a name that is kept for examples. Source: RFC 2606, section 2. */
const WEBSITE = 'https://sandbox.example'

function managed(vault: Address, managerName: string): Draft {
  const vaultAddress = lower(vault)
  const shown = { managerName, website: WEBSITE, logoUrl: `${WEBSITE}/logo.svg` }
  const body = { vaultAddress, ...shown } satisfies z.input<typeof managementSettingsInput>
  return { kind: 'management_settings', status: 'saved', body, keyOf: () => vaultAddress }
}

function classed(vault: Address, shareClass: string, riskScore: number): Draft {
  const vaultAddress = lower(vault)
  const body = { vaultAddress, shareClass, riskScore } satisfies z.input<typeof ownerSettingsInput>
  return { kind: 'owner_settings', status: 'saved', body, keyOf: () => vaultAddress }
}

function approved(vault: Address, partnerName: string): Draft {
  const vaultAddress = lower(vault)
  const useCase = 'Offers the vault to its own customers, through a channel of its own.'
  const asked = { vaultAddress, partnerName, website: WEBSITE, useCase }
  const body = asked satisfies z.input<typeof partnerApplicationInput>
  return {
    kind: 'partner_application',
    status: 'approved',
    body,
    keyOf: (wallet) => `${vaultAddress}:${wallet}`,
  }
}

function listed(asset: Address, name: string, symbol: string, decimals: number, topCategory: string): Draft {
  const assetAddress = lower(asset)
  const issued = { name, symbol, decimals, issuerName: 'Sandbox', website: WEBSITE, topCategory }
  const body = { assetAddress, ...issued } satisfies z.input<typeof assetSubmissionInput>
  return { kind: 'asset_submission', status: 'approved', body, keyOf: () => assetAddress }
}

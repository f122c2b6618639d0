import type { Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { EntityResource } from '../../src/service/contract/directory-resources.ts'
import { lower } from '../indexer/logs.ts'
import type { SandboxKeys } from './keys.ts'

/** List who takes part in the sandbox beside its borrowers; a role's id is its name. Pure. */
export function castEntities({
  deployer,
  feeder,
  weatherOwner,
  weatherPartner,
  roles,
}: SandboxKeys): readonly EntityResource[] {
  const entity = (id: string, kind: string, name: string, key: Hex): EntityResource => ({
    id,
    kind,
    name,
    status: 'active',
    walletAddress: lower(privateKeyToAddress(key)),
  })
  return [
    entity('operator', 'operator', 'Sandbox operator', deployer),
    entity('price-feeder', 'price_feeder', 'Sandbox price feeder', feeder),
    entity('liquidator', 'liquidator', 'Sandbox liquidator', roles.liquidator.privateKey),
    entity('allocator', 'allocator', 'Sandbox allocator', roles.allocator.privateKey),
    entity('nav-reporter', 'nav_reporter', 'Sandbox NAV reporter', roles['nav-reporter'].privateKey),
    entity('asset-manager', 'asset_manager', 'Sandbox asset manager', roles['asset-manager'].privateKey),
    entity('rfq-bidder', 'rfq_bidder', 'Sandbox RFQ bidder', roles['rfq-bidder'].privateKey),
    entity('vault-owner', 'vault_owner', 'Sandbox vault owner', roles['vault-owner'].privateKey),
    entity('partner', 'partner', 'Sandbox partner', roles.partner.privateKey),
    entity('curator', 'curator', 'Sandbox curator', roles.curator.privateKey),
    entity('investor', 'investor', 'Sandbox investor', roles.investor.privateKey),
    entity('weather-owner', 'vault_owner', 'Sandbox weather owner', weatherOwner),
    entity('weather-partner', 'partner', 'Sandbox weather partner', weatherPartner),
  ]
}

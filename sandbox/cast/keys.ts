import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { z } from 'zod'
import { SHIPPED_ROLES } from '../../src/service/contract/roles.ts'
import type { DeployPeople } from '../deploy/deploy.ts'
import { readJsonFile, writeJsonFile } from '../files.ts'
import { BORROWERS } from './borrowers.ts'

/** Who has a KMS key and a key of the service: every role that ships, and a guest for one of your own. */
export const KEYED_ROLES = [...SHIPPED_ROLES, 'guest'] as const
export type KeyedRole = (typeof KEYED_ROLES)[number]

const privateKey = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/)
  .transform((text): Hex => `0x${text.slice(2)}`)

const sandboxKeys = z.strictObject({
  chainId: z.number().int(),
  deployer: privateKey,
  feeder: privateKey,
  borrowers: z.array(privateKey).length(BORROWERS),
  /** Bid on RFQs and at auctions, as others do. */
  rivals: z.array(privateKey).length(2),
  /** Liquidates what it finds first, as others do. */
  rivalLiquidator: privateKey,
  /** Manages a recovery fund that bids for the same lots as ours. */
  rivalManager: privateKey,
  /** Owns and curates the vault and the channel that the weather alone touches. */
  weatherOwner: privateKey,
  /** Brings investors to that channel, and takes its fees. */
  weatherPartner: privateKey,
  /** Deposit and redeem through that channel. */
  channelInvestors: z.array(privateKey).length(2),
  /** Borrows and lends in amounts that move the markets' rates and the vaults' queues. */
  whale: privateKey,
  /** One KMS key a role, `id` being what the KMS calls it, and its own key of the service. */
  roles: z.record(z.enum(KEYED_ROLES), z.strictObject({ id: z.uuid(), privateKey, secretKey: z.string() })),
  kms: z.strictObject({ accessKeyId: z.string(), secretAccessKey: z.string() }),
  secretKey: z.string(),
  publishableKey: z.string(),
})

/** Everything secret of one sandbox, and its chain's id; made at random once for each directory. */
export type SandboxKeys = z.output<typeof sandboxKeys>

/** Name who has a part in the deployment. Pure. */
export function peopleOf(keys: SandboxKeys): DeployPeople {
  const { feeder, rivalManager, weatherOwner, weatherPartner, roles } = keys
  return {
    feeder: privateKeyToAddress(feeder),
    allocator: privateKeyToAddress(roles.allocator.privateKey),
    assetManager: privateKeyToAddress(roles['asset-manager'].privateKey),
    navReporter: privateKeyToAddress(roles['nav-reporter'].privateKey),
    rivalManager: privateKeyToAddress(rivalManager),
    vaultOwner: privateKeyToAddress(roles['vault-owner'].privateKey),
    curator: privateKeyToAddress(roles.curator.privateKey),
    partner: privateKeyToAddress(roles.partner.privateKey),
    weatherOwner: privateKeyToAddress(weatherOwner),
    weatherPartner: privateKeyToAddress(weatherPartner),
  }
}

/** Load the keys of a sandbox's folder, made when there are none. Throws `sandbox.file` when they are damaged. */
export function loadKeys(folder: string): SandboxKeys {
  const file = join(folder, 'keys.json')
  const stored = readJsonFile(file, sandboxKeys)
  if (stored !== undefined) return stored
  const created = createKeys()
  writeJsonFile(file, created)
  return created
}

const createSecretKey = () => `sk_sandbox_${randomBytes(24).toString('base64url')}`
const createRole = () => ({
  id: randomUUID(),
  privateKey: generatePrivateKey(),
  secretKey: createSecretKey(),
})

const createKeys = (): SandboxKeys => ({
  // A signature for one sandbox is worth nothing on another, or on any chain that people use.
  chainId: 3_133_700_000 + randomInt(100_000),
  deployer: generatePrivateKey(),
  feeder: generatePrivateKey(),
  borrowers: Array.from({ length: BORROWERS }, () => generatePrivateKey()),
  rivals: [generatePrivateKey(), generatePrivateKey()],
  rivalLiquidator: generatePrivateKey(),
  rivalManager: generatePrivateKey(),
  weatherOwner: generatePrivateKey(),
  weatherPartner: generatePrivateKey(),
  channelInvestors: [generatePrivateKey(), generatePrivateKey()],
  whale: generatePrivateKey(),
  roles: {
    liquidator: createRole(),
    allocator: createRole(),
    'nav-reporter': createRole(),
    'asset-manager': createRole(),
    'rfq-bidder': createRole(),
    'vault-owner': createRole(),
    partner: createRole(),
    curator: createRole(),
    investor: createRole(),
    guest: createRole(),
  },
  kms: {
    // As AWS writes them.
    accessKeyId: `AKIA${randomBytes(8).toString('hex').toUpperCase()}`,
    secretAccessKey: randomBytes(30).toString('base64'),
  },
  secretKey: createSecretKey(),
  publishableKey: `pk_sandbox_${randomBytes(24).toString('base64url')}`,
})

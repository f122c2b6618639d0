import { existsSync, readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Address } from 'viem'
import { SHIPPED_ROLES } from '../src/service/contract/roles.ts'
import type { KeyedRole } from './cast/keys.ts'
import type { DeploymentPins } from './deploy/pins.ts'
import { writeJsonFile, writePrivateFile } from './files.ts'
import type { SourcePin } from './story/nav-sources.ts'

/** What an outside program needs to know of a running sandbox: the content of `sandbox.json`. */
export type SandboxInfo = {
  readonly serviceUrl: string
  readonly streamUrl: string
  readonly rpcUrl: string
  readonly chainId: number
  readonly kmsUrl: string
  readonly kmsRegion: string
  readonly kmsAccessKeyId: string
  readonly kmsSecretAccessKey: string
  readonly secretKey: string
  /** By role, with the scopes that it needs. */
  readonly secretKeys: Readonly<Record<KeyedRole, string>>
  readonly publishableKey: string
  /** Lets its holder set faults: `PUT /sandbox-control/faults` on the service. New with each start. */
  readonly controlToken: string
  /** The web origins that the publishable key is accepted from. */
  readonly origins: readonly string[]
  /** By name. */
  readonly contracts: Readonly<Record<string, Address>>
  /** By role; `keyId` is the key's ARN. */
  readonly signers: Readonly<Record<KeyedRole, { readonly keyId: string; readonly address: Address }>>
  /** As `deployment` of a run configuration. */
  readonly deployment: DeploymentPins
  /** As `sources` of a run configuration. */
  readonly sources: readonly SourcePin[]
  /** The sandbox's process. */
  readonly pid: number
}

/** Write the files that describe a sandbox into its directory, each as a whole, for its owner alone. */
export function publishInfo(directory: string, info: SandboxInfo): void {
  writePrivateFile(join(directory, 'run.yaml'), runYaml(directory, info))
  writePrivateFile(join(directory, 'fleet.yaml'), fleetYaml(directory, info))
  writePrivateFile(join(directory, 'sandbox.env'), environment(info))
  writeJsonFile(join(directory, 'sandbox.json'), info)
  writeJsonFile(join(directory, 'sandbox', 'pins.json'), { deployment: info.deployment })
}

/** Remove what names addresses that nothing listens on any more; the names and units of what is on the chain stay. */
export function retractInfo(directory: string): void {
  for (const name of ['sandbox.json', 'run.yaml', 'fleet.yaml', 'sandbox.env']) {
    rmSync(join(directory, name), { force: true })
  }
}

/** Name the environment variable that a role's own key of the service comes from. Pure. */
const secretKeyName = (role: KeyedRole) => `ROLEKEEPER_${role.toUpperCase().replaceAll('-', '_')}_SECRET_KEY`

const POLICIES = fileURLToPath(new URL('../policies', import.meta.url))
/** Policies as they are shipped, at the sandbox's paces. */
const PACED = fileURLToPath(new URL('policies', import.meta.url))
const policyOf = (role: string): string => {
  const paced = join(PACED, `${role}.yaml`)
  return existsSync(paced) ? paced : join(POLICIES, `${role}.yaml`)
}

/** Every role that has a policy, and whose keys it works with: those that ship their own, the first other one the guest's. */
function staffed(): readonly { readonly role: string; readonly keyed: KeyedRole }[] {
  const named = readdirSync(POLICIES).flatMap((file) =>
    file.endsWith('.yaml') ? [basename(file, '.yaml')] : [],
  )
  const [guest] = named.filter((role) => !SHIPPED_ROLES.some((each) => each === role))
  return [
    ...SHIPPED_ROLES.filter((role) => named.includes(role)).map((role) => ({ role, keyed: role })),
    ...(guest === undefined ? [] : [{ role: guest, keyed: 'guest' as const }]),
  ]
}

/** Say what a run configuration of this sandbox takes from the environment, as a shell and Docker read it. */
const environment = (info: SandboxInfo): string =>
  [
    `ROLEKEEPER_SECRET_KEY=${info.secretKey}`,
    `ROLEKEEPER_KMS_ACCESS_KEY_ID=${info.kmsAccessKeyId}`,
    `ROLEKEEPER_KMS_SECRET_ACCESS_KEY=${info.kmsSecretAccessKey}`,
    ...staffed().map(({ keyed }) => `${secretKeyName(keyed)}=${info.secretKeys[keyed]}`),
    // Of fleet.yaml, where nothing else is said: a Redis on this machine, and any free port.
    'ROLEKEEPER_REDIS=redis://127.0.0.1:6379/0',
    'ROLEKEEPER_OPS_PORT=0',
    '',
  ].join('\n')

/** Write the run configuration of a keeper beside this sandbox, secrets by reference. Values are JSON, which is YAML. */
function runYaml(directory: string, info: SandboxInfo): string {
  const config = {
    ...keeperOf(info),
    directory,
    ops: { host: '127.0.0.1', port: '0' },
    console: { port: '0' },
  }
  return `# A keeper beside the sandbox of this directory: rolekeeper run --config ${join(directory, 'run.yaml')}
# What it takes from the environment is in sandbox.env.
${JSON.stringify(config, null, 2)}
`
}

/** Write the same for several keepers that share a Redis; each has a folder with its name beside the file. */
function fleetYaml(directory: string, info: SandboxInfo): string {
  const config = {
    ...keeperOf(info),
    directory: 'env:ROLEKEEPER_INSTANCE',
    journal: { redis: { url: 'env:ROLEKEEPER_REDIS' } },
    queue: 'bullmq',
    fleet: { name: 'sandbox', instance: 'env:ROLEKEEPER_INSTANCE', roster: ['a', 'b'] },
    ops: { host: '127.0.0.1', port: 'env:ROLEKEEPER_OPS_PORT' },
  }
  return `# Two keepers beside the sandbox of this directory: rolekeeper run --config ${join(directory, 'fleet.yaml')}
# What it takes from the environment is in sandbox.env, but for ROLEKEEPER_INSTANCE: a or b.
${JSON.stringify(config, null, 2)}
`
}

/** What every keeper beside this sandbox has in its run configuration. */
const keeperOf = (info: SandboxInfo) => ({
  environment: 'sandbox',
  chain: {
    id: String(info.chainId),
    finality: 'finalized',
    nodes: { read: [info.rpcUrl], send: [info.rpcUrl] },
  },
  service: { url: info.serviceUrl, streamUrl: info.streamUrl, secretKey: 'env:ROLEKEEPER_SECRET_KEY' },
  kms: {
    region: info.kmsRegion,
    endpoint: info.kmsUrl,
    accessKeyId: 'env:ROLEKEEPER_KMS_ACCESS_KEY_ID',
    secretAccessKey: 'env:ROLEKEEPER_KMS_SECRET_ACCESS_KEY',
  },
  deployment: info.deployment,
  sources: info.sources,
  agents: staffed().map(({ role, keyed }) => ({
    role,
    mode: 'live',
    policy: policyOf(role),
    secretKey: `env:${secretKeyName(keyed)}`,
    signer: { kms: info.signers[keyed] },
  })),
})

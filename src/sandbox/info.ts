import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Address } from 'viem'
import { ROLES, type ServiceRole } from '../agent.ts'
import { writeJsonFile, writePrivateFile } from './files.ts'
import type { SourcePin } from './nav-sources.ts'
import type { DeploymentPins } from './pins.ts'

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
  readonly secretKeys: Readonly<Record<ServiceRole, string>>
  readonly publishableKey: string
  /** Lets its holder set faults: `PUT /sandbox-control/faults` on the service. New with each start. */
  readonly controlToken: string
  /** The web origins that the publishable key is accepted from. */
  readonly origins: readonly string[]
  /** By name. */
  readonly contracts: Readonly<Record<string, Address>>
  /** By role; `keyId` is the key's ARN. */
  readonly signers: Readonly<Record<ServiceRole, { readonly keyId: string; readonly address: Address }>>
  /** As `deployment` of a run configuration. */
  readonly deployment: DeploymentPins
  /** As `sources` of a run configuration. */
  readonly sources: readonly SourcePin[]
  /** The sandbox's process. */
  readonly pid: number
}

/** Write `sandbox.json` and `run.yaml` into a directory, each as a whole, for its owner alone. */
export function publishInfo(directory: string, info: SandboxInfo): void {
  writePrivateFile(join(directory, 'run.yaml'), runYaml(directory, info))
  writeJsonFile(join(directory, 'sandbox.json'), info)
}

/** Remove what names addresses that nothing listens on any more. */
export function retractInfo(directory: string): void {
  rmSync(join(directory, 'sandbox.json'), { force: true })
  rmSync(join(directory, 'run.yaml'), { force: true })
}

/** Name the environment variable that a role's own key of the service comes from. Pure. */
const secretKeyName = (role: ServiceRole) =>
  `ROLEKEEPER_${role.toUpperCase().replaceAll('-', '_')}_SECRET_KEY`

const policyOf = (role: ServiceRole) => fileURLToPath(new URL(`../../policies/${role}.yaml`, import.meta.url))

/** The roles that this release ships a policy for. */
const staffed = () => ROLES.filter((role) => existsSync(policyOf(role)))

/** Write the run configuration of a keeper beside this sandbox, secrets by reference. Values are JSON, which is YAML. */
function runYaml(directory: string, info: SandboxInfo): string {
  const config = {
    environment: 'sandbox',
    directory,
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
    ops: { host: '127.0.0.1', port: '0' },
    deployment: info.deployment,
    sources: info.sources,
    agents: staffed().map((role) => ({
      role,
      mode: 'live',
      policy: policyOf(role),
      secretKey: `env:${secretKeyName(role)}`,
      signer: { kms: info.signers[role] },
    })),
  }
  const names = staffed().map((role) => `# ${secretKeyName(role)} (secretKeys.${role}).`)
  return `# A keeper beside the sandbox of this directory: rolekeeper run --config ${join(directory, 'run.yaml')}
# Takes from the environment, by sandbox.json: ROLEKEEPER_SECRET_KEY (secretKey),
# ROLEKEEPER_KMS_ACCESS_KEY_ID (kmsAccessKeyId), ROLEKEEPER_KMS_SECRET_ACCESS_KEY (kmsSecretAccessKey), and
${names.join('\n')}
${JSON.stringify(config, null, 2)}
`
}

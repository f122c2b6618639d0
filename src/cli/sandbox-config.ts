import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { checkRunConfig, type RunConfig } from '../config/config.ts'
import { RolekeeperError } from '../errors.ts'
import { isWellKnown } from '../sign/well-known.ts'

const text = z.string().min(1)

/** What `sandbox.json` says, as far as a keeper needs it; the rest is for other programs. */
const sandboxFile = z.object({
  serviceUrl: text,
  streamUrl: text,
  rpcUrl: text,
  chainId: z.number().int(),
  kmsUrl: text,
  kmsRegion: text,
  kmsAccessKeyId: text,
  kmsSecretAccessKey: text,
  secretKey: text,
  signers: z.object({ liquidator: z.object({ keyId: text, address: text }) }),
  /** As `deployment` of a run configuration. */
  deployment: z.unknown(),
})

/**
 * Make the run configuration of a keeper beside the sandbox of a directory. It passes the same check as a file does,
 * and its secrets come the same way.
 * @throws RolekeeperError `sandbox.unreadable` or `config.invalid`.
 */
export function sandboxConfig(directory: string): RunConfig {
  const file = join(directory, 'sandbox.json')
  const sandbox = readSandboxFile(file)
  const value = {
    environment: 'sandbox',
    directory,
    chain: {
      id: String(sandbox.chainId),
      finality: 'finalized',
      nodes: { read: [sandbox.rpcUrl], send: [sandbox.rpcUrl] },
    },
    service: { url: sandbox.serviceUrl, streamUrl: sandbox.streamUrl, secretKey: 'env:SANDBOX_SECRET_KEY' },
    kms: {
      region: sandbox.kmsRegion,
      endpoint: sandbox.kmsUrl,
      accessKeyId: sandbox.kmsAccessKeyId,
      secretAccessKey: 'env:SANDBOX_KMS_SECRET',
    },
    ops: { host: '127.0.0.1', port: '0' },
    deployment: sandbox.deployment,
    agents: [
      {
        role: 'liquidator',
        mode: 'live',
        policy: fileURLToPath(new URL('../../policies/liquidator.yaml', import.meta.url)),
        signer: { kms: sandbox.signers.liquidator },
      },
    ],
  }
  const env = { SANDBOX_SECRET_KEY: sandbox.secretKey, SANDBOX_KMS_SECRET: sandbox.kmsSecretAccessKey }
  return checkRunConfig({ file, value, position: () => '1:1' }, directory, { env, isWellKnown })
}

function readSandboxFile(file: string): z.infer<typeof sandboxFile> {
  try {
    return sandboxFile.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    throw new RolekeeperError('sandbox.unreadable', `${file} does not describe a sandbox.`, {
      fix: 'start over with --fresh',
      cause,
    })
  }
}

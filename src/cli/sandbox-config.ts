import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { loadRunConfig, type RunConfig } from '../config/config.ts'
import { RolekeeperError } from '../errors.ts'
import { isWellKnown } from '../sign/well-known.ts'

/** What `sandbox.json` says of secrets; the rest is for other programs. */
const sandboxFile = z.object({
  secretKey: z.string().min(1),
  secretKeys: z.record(z.string(), z.string().min(1)),
  kmsAccessKeyId: z.string().min(1),
  kmsSecretAccessKey: z.string().min(1),
})

/**
 * Load the run configuration that the sandbox of a directory wrote, as `run` would: its secrets come by reference,
 * only that here `sandbox.json` stands in for the environment.
 * @throws RolekeeperError `sandbox.unreadable`, and what {@link loadRunConfig} throws.
 */
export function sandboxConfig(directory: string): RunConfig {
  const file = readSandboxFile(join(directory, 'sandbox.json'))
  const { secretKey, secretKeys, kmsAccessKeyId, kmsSecretAccessKey } = file
  const env = {
    ...Object.fromEntries(Object.entries(secretKeys).map(([role, key]) => [secretKeyName(role), key])),
    ROLEKEEPER_SECRET_KEY: secretKey,
    ROLEKEEPER_KMS_ACCESS_KEY_ID: kmsAccessKeyId,
    ROLEKEEPER_KMS_SECRET_ACCESS_KEY: kmsSecretAccessKey,
  }
  return loadRunConfig(join(directory, 'run.yaml'), { env, isWellKnown })
}

/** Name the variable that the sandbox's `run.yaml` takes a role's own key of the service from. Pure. */
const secretKeyName = (role: string) => `ROLEKEEPER_${role.toUpperCase().replaceAll('-', '_')}_SECRET_KEY`

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

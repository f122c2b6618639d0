import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { z } from 'zod'
import { agents as staffed } from '../../../agents/index.ts'
import { RolekeeperError } from '../../errors.ts'

const PACES = fileURLToPath(new URL('../../../sandbox/policies', import.meta.url))

/**
 * Write what of a role's policy is otherwise in the sandbox, where a day takes half a minute and lots close within the minute:
 * it includes the policy in the folder above its own. Null for a role that works there at its usual pace.
 */
export function pacedPolicy(role: string): string | null {
  const file = join(PACES, `${role}.yaml`)
  if (!existsSync(file)) return null
  return readFileSync(file, 'utf8').replace(/^include: .*$/m, `include: ../${role}.yaml`)
}

const info = z.looseObject({
  serviceUrl: z.string(),
  rpcUrl: z.string(),
  kmsUrl: z.string(),
  kmsRegion: z.string(),
  signers: z.record(z.string(), z.object({ keyId: z.string() })),
  sources: z.array(z.record(z.string(), z.unknown())),
})

/** The answers that the sandbox of a directory gives. Throws RolekeeperError `sandbox.unreadable` where none runs there. */
export function ofSandbox(directory: string) {
  const secrets = join(directory, 'sandbox.env')
  try {
    const sandbox = info.parse(JSON.parse(readFileSync(join(directory, 'sandbox.json'), 'utf8')))
    const roles = staffed.map(({ role }) => role).filter((role) => sandbox.signers[role] !== undefined)
    const keys = roles.map((role) => [`key.${role}`, sandbox.signers[role]?.keyId ?? ''] as const)
    return {
      // Its files are where it runs, wherever the configuration is written.
      sources: sandbox.sources.map(({ file, ...each }) =>
        typeof file === 'string' ? { ...each, file: resolve(directory, file) } : each,
      ),
      secrets,
      env: parseEnv(readFileSync(secrets, 'utf8')),
      answers: new Map([
        ...Object.entries({
          service: sandbox.serviceUrl,
          nodes: sandbox.rpcUrl,
          region: sandbox.kmsRegion,
          endpoint: sandbox.kmsUrl,
          roles: roles.join(','),
          credentials: 'ROLEKEEPER_KMS',
        }),
        ...keys,
      ]),
    }
  } catch (cause) {
    throw new RolekeeperError('sandbox.unreadable', `No sandbox runs in ${directory}.`, {
      fix: 'start one with `rolekeeper sandbox`, or name its directory with --directory.',
      cause,
    })
  }
}

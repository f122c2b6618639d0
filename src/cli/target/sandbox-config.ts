import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { loadRunConfig, type RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import { isWellKnown } from '../../sign/well-known.ts'

/**
 * Load the run configuration that the sandbox of a directory wrote, as `run` would: its secrets come by reference,
 * only that here `sandbox.env` stands in for the environment.
 * @throws RolekeeperError `sandbox.unreadable`, and what {@link loadRunConfig} throws.
 */
export const sandboxConfig = (directory: string): RunConfig =>
  loadRunConfig(join(directory, 'run.yaml'), {
    env: readEnvironment(join(directory, 'sandbox.env')),
    isWellKnown,
  })

/** Read the environment of a sandbox, as `source` would. @throws RolekeeperError `sandbox.unreadable`. */
export function readEnvironment(file: string): Record<string, string | undefined> {
  try {
    return parseEnv(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new RolekeeperError('sandbox.unreadable', `${file} does not describe a sandbox.`, {
      fix: 'start over with --fresh',
      cause,
    })
  }
}

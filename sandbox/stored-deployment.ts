import { join } from 'node:path'
import { z } from 'zod'
import { RolekeeperError } from '../src/errors.ts'
import type { Deployment } from './deploy/deploy.ts'
import { releaseHash } from './deploy/release.ts'
import { readJsonFile, writeJsonFile } from './files.ts'

const fileIn = (folder: string) => join(folder, 'deployment.json')

/** A file of our own; that its contracts are on the chain is checked when they are pinned. */
const storedDeployment = z.custom<Deployment & { readonly release?: string }>(
  (value) => typeof value === 'object' && value !== null && 'contracts' in value && 'startBlock' in value,
)

/** Read the deployment of a sandbox's folder; undefined when there is none. Throws `sandbox.outdated` for another release's. */
export function readDeployment(directory: string, folder: string): Deployment | undefined {
  const stored = readJsonFile(fileIn(folder), storedDeployment)
  if (stored === undefined || stored.release === releaseHash()) return stored
  throw new RolekeeperError(
    'sandbox.outdated',
    `${directory} holds the chain of another release, whose contracts are not those of this one.`,
    {
      fix: 'start over with `--fresh`, which forgets that chain, or choose another directory with --directory.',
    },
  )
}

/** Keep a deployment in a sandbox's folder, with the release that it is of. */
export const storeDeployment = (folder: string, deployment: Deployment): void =>
  writeJsonFile(fileIn(folder), { ...deployment, release: releaseHash() })

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Name what this release deploys, by the contracts' code and by what puts them on the chain; 64 hex digits. */
export function releaseHash(): string {
  const own = readdirSync(import.meta.dirname).toSorted()
  const files = ['../contracts/artifacts.json', ...own].map((name) => join(import.meta.dirname, name))
  const hash = createHash('sha256')
  for (const file of files) hash.update(readFileSync(file))
  return hash.digest('hex')
}

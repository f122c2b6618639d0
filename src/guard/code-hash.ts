import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { contentHash } from './content-hash.ts'

/** The code that verdicts rest on beside the policy: the guard itself, and what we assume of the service. */
const SOURCES = [import.meta.dirname, join(import.meta.dirname, '..', 'service', 'contract')]

const filesIn = (directory: string): readonly string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .toSorted()

/** Names the guard's code by its content: another release judges otherwise under the same policy. 64 hex digits. */
export const CODE_HASH: string = contentHash(
  SOURCES.map((directory) =>
    filesIn(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]),
  ),
)

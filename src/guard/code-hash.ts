import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { contentHash } from './content-hash.ts'

/** The code that verdicts rest on beside the policy: the guard itself, what it uses of ours, and what we assume of the service. */
const SOURCES = ['guard', 'service/contract', 'workflow'].map((name) => join(import.meta.dirname, '..', name))
/** What is ours besides, and which libraries it decodes and hashes by. */
const FILES = ['../units.ts', '../readable.js', '../errors.ts', '../../package.json'].map((name) =>
  join(import.meta.dirname, name),
)

const filesIn = (directory: string): readonly string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .toSorted()
    .map((name) => join(directory, name))

/** All of it, by path. */
export const HASHED: readonly string[] = [...SOURCES.flatMap(filesIn), ...FILES]

/** Names the guard's code by its content: another release judges otherwise under the same policy. 64 hex digits. */
export const CODE_HASH: string = contentHash(
  HASHED.map((file) => [relative(import.meta.dirname, file), readFileSync(file, 'utf8')]),
)

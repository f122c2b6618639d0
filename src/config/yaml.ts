import { closeSync, openSync, readSync } from 'node:fs'
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
} from 'yaml'
import { RolekeeperError } from '../errors.ts'
import { isSpeltRight } from '../service/contract/scalars.ts'

/** A file of ours is a few kilobytes; the cap bounds what a mistaken path can make us read. */
const BYTES_MAX = 256 * 1024
/** Deeper nesting than any file of ours has; a bound for the walks below. */
const DEPTH_MAX = 32

/** Wherever they stand in a text. */
const ADDRESSES = /(?<![0-9a-zA-Z])0x[0-9a-fA-F]{40}(?![0-9a-zA-Z])/g

/** A path into a document, as zod writes it. */
export type Path = readonly PropertyKey[]

/** A YAML file as read: every scalar is a string, whatever it looks like. */
export type YamlFile = {
  /** As the user wrote it, for messages. */
  readonly file: string
  readonly value: unknown
  /** Where a path stands, `file:line:column` from 1: its key, or the deepest part of it that is there. */
  readonly at: (path: Path) => string
}

/**
 * Read a YAML file.
 * @throws RolekeeperError `config.unreadable`, and what {@link parseYaml} throws.
 */
export const loadYaml = (file: string): YamlFile => parseYaml(file, readCapped(file))

/**
 * Parse YAML with the failsafe schema, so that nothing turns into a float, a date or a boolean on the way. Refuses
 * duplicate keys, anchors, aliases, tags, several documents, and an unquoted 0x value: another YAML reader (an
 * editor's check, yq) would take that for a number.
 * @throws RolekeeperError `config.yaml`, one line with file, position and fix.
 */
export function parseYaml(file: string, text: string): YamlFile {
  const key = `${file}\0${text}`
  const known = parsed.get(key) ?? parse(file, text)
  // The newest last.
  parsed.delete(key)
  parsed.set(key, known)
  const [oldest] = parsed.keys()
  if (parsed.size > PARSED_MAX && oldest !== undefined) parsed.delete(oldest)
  return known
}

/** Files as they were parsed: what policies share is included by each, and read again for each message about it. */
const parsed = new Map<string, YamlFile>()
const PARSED_MAX = 32

function parse(file: string, text: string): YamlFile {
  const lines = new LineCounter()
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${line}:${col}`
  }
  const refuse = (offset: number, problem: string, fix: string): never => {
    throw new RolekeeperError('config.yaml', `${file}:${at(offset)}: ${problem}.`, { fix })
  }
  const document = parseDocument(text, {
    schema: 'failsafe',
    stringKeys: true,
    uniqueKeys: true,
    prettyErrors: false,
    lineCounter: lines,
  })
  const [error] = document.errors
  if (error !== undefined) {
    const fix = error.code === 'DUPLICATE_KEY' ? 'keep one of the two keys' : 'correct the YAML there'
    refuse(error.pos[0], error.message.split('\n')[0] ?? error.code, fix)
  }
  visit(document, (_, node, ancestors) => {
    if (!isNode(node)) return
    const offset = node.range?.[0] ?? 0
    if (isAlias(node) || node.anchor !== undefined) {
      refuse(offset, 'an anchor or alias is not allowed', 'write the value out')
    }
    if (node.tag !== undefined) refuse(offset, `the tag ${node.tag} is not allowed`, 'remove it')
    if (isCollection(node) && ancestors.filter(isCollection).length >= DEPTH_MAX) {
      refuse(offset, 'the nesting is too deep', `use at most ${DEPTH_MAX} levels`)
    }
    if (isScalar(node)) {
      const address = String(node.value)
        .match(ADDRESSES)
        ?.find((each) => !isSpeltRight(each))
      const problem = `${address} has capitals that are not its checksum (EIP-55), so a digit of it may be wrong`
      const fix = 'copy it again from where it is right; in lower case it is taken as it stands'
      if (address !== undefined) refuse(offset, problem, fix)
    }
    if (isScalar(node) && node.type === 'PLAIN' && /^0x/i.test(String(node.value))) {
      const text = String(node.value).slice(0, 80)
      const problem = `${text} is not quoted, and a YAML reader may take it for a number`
      refuse(offset, problem, `write "${text}"`)
    }
  })
  return { file, value: document.toJS(), at: (path) => `${file}:${at(offsetOf(document, path))}` }
}

/** Find the offset of a path's key or item, or of the deepest part of it that exists. Pure. */
function offsetOf(document: Document.Parsed, path: Path): number {
  let node: unknown = document.contents
  let offset = document.contents?.range?.[0] ?? 0
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === String(part))
      if (pair === undefined) break
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset
      node = pair.value
    } else if (isSeq(node)) {
      const item: unknown = node.items[Number(part)]
      if (item === undefined) break
      if (isMap(item) || isSeq(item) || isScalar(item)) offset = item.range?.[0] ?? offset
      node = item
    } else break
  }
  return offset
}

function readCapped(file: string): string {
  const buffer = Buffer.alloc(BYTES_MAX + 1)
  let length = 0
  try {
    const descriptor = openSync(file, 'r')
    try {
      for (let read = -1; read !== 0 && length < buffer.length; length += read) {
        read = readSync(descriptor, buffer, length, buffer.length - length, null)
      }
    } finally {
      closeSync(descriptor)
    }
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    throw new RolekeeperError('config.unreadable', `${file} cannot be read (${reason}).`, {
      fix: 'check the path and its permissions',
      facts: { file, reason },
      cause,
    })
  }
  if (length > BYTES_MAX) {
    throw new RolekeeperError('config.unreadable', `${file} is larger than ${BYTES_MAX} bytes.`, {
      fix: 'point to a configuration or policy file',
      facts: { file },
    })
  }
  return buffer.toString('utf8', 0, length)
}

import { z } from 'zod'
import { invariant, RolekeeperError } from '../errors.ts'
import { oddIn } from './odd-characters.ts'
import type { Path, YamlFile } from './yaml.ts'

/** A value shown in a message is cut here: an address, a key id and a URL fit. */
const SHOWN_MAX = 120

/**
 * Check what a file holds against its schema.
 * @param read keys that the file may have too, and that were read before.
 * @returns the schema's output.
 * @throws RolekeeperError `config.invalid`, one line for the first problem: file, line and column, path, value, what
 *   is allowed, and the fix; facts `file`, `path` and how many `problems` there are. A secret's value is not shown.
 */
export function checkYaml<S extends z.ZodType>(
  yaml: YamlFile,
  schema: S,
  read: readonly string[] = [],
): z.output<S> {
  const result = schema.safeParse(yaml.value)
  if (result.success) return result.data
  const { issues } = result.error
  const problem = firstOf(issues, yaml.value, schema, read)
  throw configError(yaml, problem, issues.length - (problem.also ?? 0))
}

/** Say what is wrong first in a value that its schema does not take, and what to do about it; null for one that it takes. Pure. */
export function problemIn(value: unknown, schema: z.ZodType): Pick<Problem, 'text' | 'fix'> | null {
  const { error } = schema.safeParse(value)
  return error === undefined ? null : firstOf(error.issues, value, schema, [])
}

function firstOf(
  issues: readonly Issue[],
  value: unknown,
  schema: z.ZodType,
  read: readonly string[],
): Problem {
  const { issue, beside } = innermost(issues)
  return describe(issue, value, { schema, read, beside })
}

/** One thing that is wrong in a file: where, what, and what to do about it. */
type Problem = {
  readonly path: Path
  readonly text: string
  readonly fix: string
  /** How many problems beside it that says as well. */
  readonly also?: number
}

/** Make the one-line error of a problem in a file. Pure. */
function configError(yaml: YamlFile, problem: Problem, problems = 1): RolekeeperError {
  const more = problems > 1 ? ` (and ${problems - 1} more)` : ''
  return new RolekeeperError('config.invalid', `${yaml.at(problem.path)}: ${problem.text}${more}.`, {
    fix: problem.fix,
    facts: { file: yaml.file, path: written(problem.path), problems },
  })
}

/** Write a path as a person would: `agents[0].mode`. Pure. */
const written = (path: Path): string =>
  path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? String(part) : `${text}.${String(part)}`,
    '',
  ) || 'the file'

/** Show a value in a message, cut, and never a secret's. Pure. */
function shown(path: Path, value: unknown): string {
  if (value === undefined) return 'missing'
  if (value !== null && typeof value === 'object')
    return Array.isArray(value) ? (value.length === 0 ? 'empty' : 'a list') : 'a mapping'
  const secret = path.some((part) => /secret|password|apikey|token/i.test(String(part)))
  if (secret && !/^(env|file|aws|vault):[\w./#-]*$/.test(String(value))) return '(not shown)'
  const text = /:\/\/|@/.test(String(value)) ? origin(String(value)) : String(value)
  const odd = oddIn(String(value))
  const written = JSON.stringify(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text)
  return odd === null ? written : `${written} (with ${odd} in it)`
}

/** A node's key may be anywhere in a URL but its scheme and host, and anywhere at all in what only looks like one. */
const origin = (text: string) => {
  const url = URL.parse(text)
  return url === null || url.host === '' ? '…' : `${url.protocol}//${url.host}/…`
}

type Issue = z.core.$ZodIssue

/**
 * Choose what is said of several: a mistyped key is two, one unknown and one missing, of which the unknown one says more. Of a
 * union's branches, follow the one that got furthest: that is most likely what was meant.
 */
function innermost(issues: readonly Issue[]): { readonly issue: Issue; readonly beside: readonly Issue[] } {
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  invariant(issue !== undefined, 'a failed check has an issue')
  if (issue.code !== 'invalid_union') return { issue, beside: issues }
  const depthOf = (branch: readonly Issue[]) => Math.max(0, ...branch.map(({ path }) => path.length))
  const [deepest = []] = issue.errors.toSorted((one, other) => depthOf(other) - depthOf(one))
  if (depthOf(deepest) === 0) return { issue, beside: issues }
  return innermost(deepest.map((each) => ({ ...each, path: [...issue.path, ...each.path] })))
}

/** What a key is told by: which ones there are, those that were read before, and the problems beside it. */
type Around = {
  readonly schema: z.ZodType
  readonly read: readonly string[]
  readonly beside: readonly Issue[]
}

/** Say of a key that nobody knows what it stands for, most likely: one that is missing beside it, before any other. */
function describeUnknown(
  { path: parent, keys: [key = ''] }: z.core.$ZodIssueUnrecognizedKeys,
  value: unknown,
  { schema, read, beside }: Around,
): Problem {
  const path = [...parent, key]
  const allowed = [...keysAt(schema, parent), ...(parent.length === 0 ? read : [])]
  const missing = beside
    .filter(({ path: at }) => written(at.slice(0, -1)) === written(parent) && at.length === path.length)
    .filter(({ path: at }) => at.reduce(member, value) === undefined)
    .map(({ path: at }) => String(at.at(-1)))
  const [listed, are] = [missing.join(', '), missing.length === 1 ? 'is' : 'are']
  const instead = nearest(key, missing)
  const near = nearest(key, allowed)
  const otherwise = listed === '' ? 'remove it' : `remove it, and add \`${listed}\``
  return {
    path,
    also: missing.length,
    text: `${written(path)} is not a known key${listed === '' ? '' : `, and ${listed} ${are} missing`}${allowed.length > 0 ? `; allowed: ${allowed.join(', ')}` : ''}`,
    fix:
      instead !== undefined
        ? `write \`${instead}\``
        : near === undefined
          ? otherwise
          : `write \`${near}\`, or remove it`,
  }
}

function describe(issue: Issue, whole: unknown, around: Around): Problem {
  if (issue.code === 'unrecognized_keys') return describeUnknown(issue, whole, around)
  const value = issue.path.reduce<unknown>(member, whole)
  const name = written(issue.path)
  const fix = issue.code === 'custom' && typeof issue.params?.fix === 'string' ? issue.params.fix : undefined
  return {
    path: issue.path,
    text: `${name} is ${shown(issue.path, value)}; ${allowedBy(issue, value)}`,
    fix: fix ?? (value === undefined ? `add \`${name}\`` : `correct \`${name}\` there`),
  }
}

const member = (value: unknown, part: PropertyKey): unknown =>
  value !== null && typeof value === 'object' ? Reflect.get(value, part) : undefined

/** Say what a place takes. The schema's own sentence, where it has one, is the best text. */
function allowedBy(issue: Issue, value: unknown): string {
  if (issue.code === 'invalid_value')
    return `allowed: ${nearestFirst(String(value), issue.values.map(String))}`
  if (issue.code === 'invalid_key') {
    const [first] = issue.issues
    return first === undefined ? 'that key is not allowed' : allowedBy(first, value)
  }
  if (issue.code === 'invalid_type') return `expected ${EXPECTED[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_format' && issue.message.startsWith('Invalid')) {
    return `expected ${issue.pattern === undefined ? issue.format : `text that matches ${issue.pattern}`}`
  }
  return issue.message.replace(/\.$/, '').replace(/^Too/, 'too')
}

const EXPECTED: Readonly<Record<string, string>> = {
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
  string: 'a text or number in quotes',
  number: 'a number without quotes',
  int: 'a whole number without quotes',
}

/** The keys that a schema takes at a path; empty where the schema does not say. */
function keysAt(schema: z.ZodType, path: Path): readonly string[] {
  let nodes = [z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as unknown]
  for (const part of path) {
    nodes = nodes
      .flatMap(branchesOf)
      .map((node) =>
        typeof part === 'number'
          ? member(node, 'items')
          : (member(member(node, 'properties'), part) ?? member(node, 'additionalProperties')),
      )
  }
  const properties = nodes.flatMap(branchesOf).map((node) => member(node, 'properties'))
  return [...new Set(properties.flatMap((each) => Object.keys(each ?? {})))]
}

const branchesOf = (node: unknown): readonly unknown[] => {
  const branches = member(node, 'anyOf')
  return Array.isArray(branches) ? branches.flatMap(branchesOf) : [node]
}

/** More than this many are not read by anybody. */
const LISTED_MAX = 12

/** List what is allowed; of much, what was most likely meant. */
function nearestFirst(text: string, allowed: readonly string[]): string {
  if (allowed.length <= LISTED_MAX) return allowed.join(', ')
  const ranked = allowed.toSorted((a, b) => edits(text, a) - edits(text, b)).slice(0, 3)
  return `${ranked.join(', ')} and ${allowed.length - ranked.length} more`
}

/** Find which of these a mistyped name most likely stands for: at most a third of it differs. Pure. */
export function nearest(key: string, allowed: readonly string[]): string | undefined {
  const ranked = allowed.map((name) => ({ name, steps: edits(key.toLowerCase(), name.toLowerCase()) }))
  const best = ranked.toSorted((a, b) => a.steps - b.steps)[0]
  return best !== undefined && best.steps * 3 <= Math.max(key.length, best.name.length)
    ? best.name
    : undefined
}

/** Levenshtein distance. */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...to].entries()) {
      const swap = (row[j] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, swap))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

import { existsSync, readFileSync, statSync } from 'node:fs'
import { getAddress } from 'viem'
import { z } from 'zod'
import { printable, RolekeeperError } from '../../errors.ts'
import { isSpeltRight } from '../../service/contract/scalars.ts'
import { WORKFLOW_CATALOGUE, type WorkflowType } from '../../service/contract/workflow-types.ts'
import { counted } from '../../units.ts'
import type { ProposalInput } from '../../workflow/proposal.ts'
import { perhaps } from '../parse/nearest.ts'
import { isAddress, takesText } from './input-members.ts'
import { type JsonProblem, jsonProblem } from './json-text.ts'

/** Far above any workflow's input. */
const BYTES_MAX = 65_536

/** As much of a wrong value as a line has room for. */
const SHOWN_MAX = 80

/**
 * Read and check an input. It goes out as it is in the file.
 * @param at what leads a command to where it is submitted.
 * @throws RolekeeperError `config.input_unreadable` for what is no JSON object, `config.input_invalid` for one that the type does
 * not take, each with what is wrong where and what to write instead.
 */
export function readInput(type: WorkflowType, file: string, at: string): ProposalInput {
  const example = `rolekeeper submit ${type} --example${at} writes`
  const value = readObject(example, file)
  const schema: z.ZodType = WORKFLOW_CATALOGUE[type].input
  const checked = schema.safeParse(value)
  const choice = choiceOf(schema, value)
  if (!checked.success)
    throw invalid(
      example,
      file,
      problemOf(checked.error.issues, value, choice, WORKFLOW_CATALOGUE[type].name),
    )
  const misspelt = textsIn(value, []).find(
    ({ path, text }) => isAddress(schemaAt(choice, path)) && !isSpeltRight(text),
  )
  if (misspelt === undefined) return z.record(z.string(), z.json()).parse(value) as ProposalInput
  const { path, text } = misspelt
  throw invalid(example, file, {
    what: `${written(path)} is ${text}, whose capitals are not those of this address (EIP-55): a digit of it may be wrong`,
    fix: `compare it with where you have it from; if every digit is right, write ${getAddress(text.toLowerCase())}`,
  })
}

/** What is wrong with an input, and what to do about it. */
type Problem = { readonly what: string; readonly fix: string }

const invalid = (example: string, file: string, { what, fix }: Problem) =>
  new RolekeeperError('config.input_invalid', `${printable(file)}: ${what}.`, {
    fix: `${fix}; ${example} a whole input.`,
  })

type Issue = z.core.$ZodIssue

/** Say the first thing that is wrong; a member that nobody knows before all: it is why another is missing. */
function problemOf(issues: readonly Issue[], value: unknown, schema: z.ZodType, name: string): Problem {
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  const path = issue?.path ?? []
  if (issue?.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys
    const known = membersOf(schemaAt(schema, path))
    const missing = known.filter((name) => memberOf(path.reduce(memberOf, value), name) === undefined)
    const near = perhaps(key, missing) || perhaps(key, known)
    return {
      what: `"${printable(written([...path, key]))}" is no member of ${path.length === 0 ? `a ${name}` : written(path)}`,
      fix: `${near}its members are ${known.join(', ')}`,
    }
  }
  const found = path.reduce(memberOf, value)
  const is = found === undefined ? 'is missing' : `is ${printable(JSON.stringify(found), SHOWN_MAX)}`
  const takes = takesText(
    String(path.findLast((part) => typeof part === 'string') ?? ''),
    schemaAt(schema, path),
  )
  const why = takes === null && issue !== undefined ? ` (${printable(issue.message)})` : ''
  return {
    what: `${printable(written(path))} ${is}`,
    fix:
      found === undefined
        ? `add it${takes === null ? '' : `, ${takes}`}`
        : `write ${takes ?? 'another'}${why}`,
  }
}

const memberOf = (held: unknown, key: PropertyKey): unknown =>
  held !== null && typeof held === 'object' && Object.hasOwn(held, key)
    ? (held as Readonly<Record<PropertyKey, unknown>>)[key]
    : undefined

/** Write a path as a person would: `withdrawals[0].assets`. */
const written = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? String(part) : `${text}.${String(part)}`,
    '',
  ) || 'the input'

/** Of an input that has a choice, what the choice that it makes takes; where it makes none, the choice itself. */
function choiceOf(schema: z.ZodType, value: unknown): z.ZodType {
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return schema
  const by = String(schema.def.discriminator)
  const options = schema.options.filter((each) => each instanceof z.ZodObject)
  const made = options.find(
    (each) => z.safeParse(each.shape[by] as z.core.$ZodType, memberOf(value, by)).success,
  )
  const choices = options.flatMap((each) => {
    const choice = each.shape[by]
    return choice instanceof z.ZodLiteral ? [...choice.values].map(String) : []
  })
  return made ?? z.object({ [by]: z.enum(choices) })
}

/** What stands at a path of an input. */
const schemaAt = (schema: z.core.$ZodType, path: readonly PropertyKey[]): z.core.$ZodType | undefined =>
  path.reduce<z.core.$ZodType | undefined>((at, part) => {
    if (at instanceof z.ZodArray) return at.element
    return at instanceof z.ZodObject ? at.shape[part as string] : undefined
  }, schema)

const membersOf = (schema: z.core.$ZodType | undefined): readonly string[] =>
  schema instanceof z.ZodObject ? Object.keys(schema.shape) : []

type Text = { readonly path: readonly (string | number)[]; readonly text: string }

/** Texts of an input, by their paths. */
function textsIn(value: unknown, path: Text['path']): readonly Text[] {
  if (Array.isArray(value)) return value.flatMap((each, index) => textsIn(each, [...path, index]))
  if (value !== null && typeof value === 'object')
    return Object.entries(value).flatMap(([name, each]) => textsIn(each, [...path, name]))
  return typeof value === 'string' ? [{ path, text: value }] : []
}

function readObject(writes: string, file: string): unknown {
  const example = `${writes} one to begin with.`
  const unreadable = (what: string, fix: string) =>
    new RolekeeperError('config.input_unreadable', `${printable(file)} ${what}.`, {
      fix: `${fix}; ${example}`,
    })
  const text = textOf(file, example)
  if (text.trim() === '') throw unreadable('is empty', 'write the input into it, as one JSON object')
  const found = jsonProblem(text)
  if (found !== null) {
    const { what, fix } = jsonText(found, text)
    throw unreadable(what, fix)
  }
  const value: unknown = JSON.parse(text)
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value
  if (!Array.isArray(value))
    throw unreadable(
      `holds ${value === null ? 'null' : `a ${typeof value}`}`,
      'write the input as one JSON object',
    )
  const fix = 'an input is one object: put each into a file of its own, and submit one after the other'
  throw unreadable(`holds a list of ${value.length}`, fix)
}

function textOf(file: string, example: string): string {
  let bytes: Buffer
  try {
    // What says that it is too large is not read for that.
    const { size } = statSync(file)
    if (size > BYTES_MAX) throw tooLarge(file, size, example)
    bytes = readFileSync(file)
  } catch (error) {
    if (error instanceof RolekeeperError) throw error
    const is = existsSync(file)
      ? `${printable(file)} cannot be read.`
      : `There is no file ${printable(file)}.`
    throw new RolekeeperError('config.input_unreadable', is, {
      fix: `name a file with the input; ${example}`,
    })
  }
  if (bytes.length > BYTES_MAX) throw tooLarge(file, bytes.length, example)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    // A letter that was lost would go out as another.
    throw new RolekeeperError('config.input_unreadable', `${printable(file)} is no text in UTF-8.`, {
      fix: `save it as UTF-8, in PowerShell with \`Out-File -Encoding utf8\`; ${example}`,
    })
  }
}

const tooLarge = (file: string, bytes: number, example: string) =>
  new RolekeeperError(
    'config.input_unreadable',
    `${printable(file)} has ${counted(bytes, 'bytes')}; an input has at most ${counted(BYTES_MAX, 'bytes')}.`,
    { fix: `name the file of one input; ${example}` },
  )

/** The line of the first comment, of any language; null where there is none. What stands in quotes is none. */
function commentIn(text: string): number | null {
  const bare = text.replace(/"(?:\\.|[^"\\\n])*"/g, '""')
  const index = bare.search(/\/\/|\/\*|#/)
  return index < 0 ? null : bare.slice(0, index).split('\n').length
}

/** Say what is wrong with a text as JSON. */
function jsonText({ kind, name, line, column }: JsonProblem, text: string): Problem {
  const comment = commentIn(text)
  if (kind === 'twice')
    return {
      what: `has "${printable(name)}" twice in one object, again in line ${line}`,
      fix: 'keep the one that is meant',
    }
  if (kind === 'deep')
    return {
      what: `is nested deeper than any input, from line ${line} on`,
      fix: 'look there for a bracket too many',
    }
  if (comment !== null)
    return { what: `has a comment in line ${comment}, which JSON does not have`, fix: 'remove it' }
  if (kind === 'end')
    return { what: `ends in line ${line} before its JSON is whole`, fix: 'write the rest, to its last "}"' }
  return {
    what: `is no JSON from line ${line}, column ${column} on`,
    fix: 'look there for a comma or a quote too many, too few or of another kind, or for a number that is no plain one',
  }
}

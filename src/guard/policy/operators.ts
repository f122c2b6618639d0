import { z } from 'zod'
import type { Deployment } from '../../service/contract/deployment.ts'
import { type Direction, directionOf, ofSets, textOf } from './compare/difference.ts'
import { depthOf, type ListIndexes, memberAt } from './paths.ts'
import { policyError } from './policy-error.ts'
import {
  compileList,
  compileMapped,
  LISTS,
  listed,
  needReference,
  type Reference,
  type Scope,
  SIGNERS,
  type Subject,
  signersOf,
} from './references.ts'
import { isNumber, type Value, type ValueKind } from './values.ts'

/** A part of what a reference says, as a fraction: `99 % of $args.assets` is 99 of 100. */
type Part = { readonly of: bigint; readonly over: bigint }

type Exact = { readonly op: 'eq'; readonly reference: Reference }
type Bound = { readonly op: 'min' | 'max'; readonly reference: Reference; readonly part: Part | null }
type Among = {
  readonly op: 'in'
  readonly text: string
  readonly among: readonly Reference[]
  /** The signers of the run configuration, whoever they are. */
  readonly signers?: true
}

/** One test of a parameter by one operator, compiled. */
export type Test = Exact | Bound | Among

/** A value of a call's arguments: where it is, and what it holds. */
export type Shape = { readonly path: string; readonly kind: ValueKind }

/** What a test is compiled for: the value that it is of, what it may refer to, and where the policy says it. */
type CompileAt = {
  readonly shape: Shape
  readonly scope: Scope
  readonly path: string
  /** What each choice of the input is on chain, beside `eq`. */
  readonly map: Readonly<Record<string, string>> | undefined
}

/** Writes a value that is compared by a reference. */
export type SayValue = (value: Value, reference: string) => string

/**
 * An operator of the policy language: all that is known of it. Methods, so that one of any tests can stand for each: an
 * operator is only given what it compiled itself.
 */
type Operator<T extends Test, Source> = {
  /** How a policy writes what it compares with. */
  readonly schema: z.ZodType<Source>
  /** Throws RolekeeperError `policy.guard_invalid`. Pure. */
  compile(source: Source, at: CompileAt): T
  references(test: T): readonly Reference[]
  /** Whether a decoded value passes; a reference that resolves to nothing denies. */
  holds(test: T, actual: Value, subject: Subject, place: ListIndexes): boolean
  /** Which ends of a range it closes. */
  readonly closes: readonly ('min' | 'max')[]
  /** What stands before the value in a sentence; nothing where the value stands for itself. */
  readonly label: string
  /** What it demands, for a refusal. */
  describe(test: T, subject: Subject, place: ListIndexes, say: SayValue): string
  /** What who asks can do where a value does not pass. */
  readonly fix?: string
  /**
   * What a change from one text of a policy to another lets through; null where they are the same.
   * @param isSigned whether the value may be below zero.
   */
  readonly compare: (was: unknown, is: unknown, isSigned: boolean) => Direction | null
}

/** `$…` refers to the request, the signer or the deployment; anything else is the value itself. */
export const valueText = z.string().max(200)

/** The values are exactly one another. */
const EQ: Operator<Exact, string> = {
  schema: valueText,
  compile: (source, { shape, scope, path, map }) => {
    const reference =
      map === undefined
        ? needReference(source, shape.kind, scope, `${path}.eq`)
        : needMapped(source, map, shape.kind, scope, path)
    return { op: 'eq', reference: needDepth(reference, shape, `${path}.eq`) }
  },
  references: ({ reference }) => [reference],
  holds: ({ reference }, actual, subject, place) => {
    const wanted = reference.resolve(subject, place)
    return wanted !== undefined && actual === wanted
  },
  closes: ['min', 'max'],
  label: '',
  describe: ({ reference }, subject, place, say) =>
    `exactly ${referenceText(reference, subject, place, say)}`,
  compare: () => 'unknown',
}

/** The value is one of a list of the deployment, or of values. */
const IN: Operator<Among, string | string[]> = {
  schema: z.union([valueText, z.array(valueText).min(1, 'nothing is one of none').max(100)]),
  compile: (source, { shape, scope, path }) =>
    typeof source === 'string'
      ? compileNamedList(source, shape, scope.deployment, `${path}.in`)
      : {
          op: 'in',
          text: source.join(', '),
          among: source.map((text, index) => {
            const at = `${path}.in[${index}]`
            return needDepth(needReference(text, shape.kind, scope, at), shape, at)
          }),
        },
  references: ({ among }) => among,
  holds: ({ among, signers }, actual, subject, place) =>
    among.some((reference) => reference.resolve(subject, place) === actual) ||
    (signers === true && signersOf(subject).some((signer) => signer === actual)),
  closes: ['min', 'max'],
  label: 'one of ',
  describe: (test, subject, place, say) => `one of ${test.text}${membersText(test, subject, place, say)}`,
  fix: 'give one of these, or list it by address in that rule of the policy.',
  compare: (was, is) =>
    Array.isArray(was) && Array.isArray(is) ? ofSets(was.map(textOf), is.map(textOf), 'less') : 'unknown',
}

/** The value has a bound, or a part of one: `99 % of $args.assets`. */
const bound = (op: Bound['op']): Operator<Bound, string> => ({
  schema: valueText,
  compile: (source, { shape, scope, path }) => ({
    op,
    ...compileBound(source, shape, scope, `${path}.${op}`),
  }),
  references: ({ reference }) => [reference],
  holds: ({ reference, part }, actual, subject, place) => {
    const wanted = reference.resolve(subject, place)
    if (typeof actual !== 'bigint' || typeof wanted !== 'bigint') return false
    const { of, over } = part ?? { of: 1n, over: 1n }
    return op === 'min' ? actual * over >= wanted * of : actual * over <= wanted * of
  },
  closes: [op],
  label: LABELS[op],
  describe: ({ reference, part }, subject, place, say) =>
    `${LABELS[op]}${part === null ? '' : `${partText(part)} of `}${referenceText(reference, subject, place, say)}`,
  compare: (was, is, isSigned) => compareBounds(was, is, op === 'min' ? 'more' : 'less', isSigned),
})

const LABELS = { min: 'at least ', max: 'at most ' } as const

/** The operators of the policy language, by their keys in a policy. */
export const OPERATORS = { eq: EQ, in: IN, min: bound('min'), max: bound('max') } as const

/** The name of an operator, as a policy writes it. */
export type Op = keyof typeof OPERATORS

/** Find what is known of the operator of a test, or of one by its name. Pure. */
export const operatorOf = ({ op }: { readonly op: Op }): Operator<Test, unknown> => OPERATORS[op]

function compileBound(
  text: string,
  shape: Shape,
  scope: Scope,
  path: string,
): { readonly reference: Reference; readonly part: Part | null } {
  if (!isNumber(shape.kind)) throw policyError(path, `a ${shape.kind} has no order.`, 'use eq or in.')
  const [, whole, decimals = '', of] = /^(\d{1,5})(?:\.(\d{1,4}))? % of (\$.+)$/.exec(text) ?? []
  const part =
    whole === undefined
      ? null
      : { of: BigInt(`${whole}${decimals}`), over: 100n * 10n ** BigInt(decimals.length) }
  const reference = needReference(of ?? text, shape.kind, scope, path)
  return { reference: needDepth(reference, shape, path), part }
}

function compileNamedList(source: string, shape: Shape, deployment: Deployment, path: string): Among {
  if (source === SIGNERS && shape.kind === 'address')
    return { op: 'in', text: source, among: [], signers: true }
  const among = shape.kind === 'address' ? compileList(source, deployment) : null
  if (among === null) {
    const known = [...LISTS.map((name) => `$deployment.${name}`), SIGNERS].join(', ')
    throw policyError(
      path,
      `"${source}" is no list.`,
      `list the values, or use one of ${known} for an address.`,
    )
  }
  if (among.length > 0) return { op: 'in', text: source, among }
  throw policyError(
    path,
    `${source} is empty: nothing is one of it.`,
    'pin what it is to list, or remove the rule.',
  )
}

/** A list is compared with a list of the same depth, or with one value. */
function needDepth(reference: Reference, { path: leaf }: Shape, path: string): Reference {
  if (reference.each === null || depthOf(reference.each.path) === depthOf(leaf)) return reference
  throw policyError(
    path,
    `"${reference.text}" is a whole list.`,
    'compare a list with a list, or one value with one value.',
  )
}

function needMapped(
  text: string,
  map: Readonly<Record<string, string>>,
  kind: ValueKind,
  scope: Scope,
  path: string,
): Reference {
  const reference = compileMapped(text, map, kind, scope)
  if (reference !== null) return reference
  throw policyError(
    `${path}.map`,
    `it does not lead from a text of the input to a ${kind}.`,
    'name each choice of the input, with its value on chain as quoted text.',
  )
}

function compareBounds(
  was: unknown,
  is: unknown,
  narrower: 'more' | 'less',
  isSigned: boolean,
): Direction | null {
  if (typeof was !== 'string' || typeof is !== 'string') return 'unknown'
  const [[part, of], [other, ofOther]] = [partOf(was), partOf(is)]
  // A part of what may be below zero turns its sense around.
  if (of !== null && isSigned) return 'unknown'
  return of === ofOther ? directionOf(part, other, narrower) : 'unknown'
}

/** Part a bound into how much, and of what; of nothing where it is a number. Pure. */
function partOf(text: string): readonly [part: string, of: string | null] {
  const [, part, of] = /^(\S+ %) of (\$\S+)$/.exec(text) ?? []
  if (part !== undefined && of !== undefined) return [part, of]
  return text.startsWith('$') ? ['100 %', text] : [text, null]
}

const partText = ({ of, over }: Part): string => `${Number(of) / (Number(over) / 100)} %`

function referenceText(
  { text, resolve }: Reference,
  subject: Subject,
  place: ListIndexes,
  say: SayValue,
): string {
  const wanted = resolve(subject, place)
  return `${text} (${wanted === undefined ? withoutValue(text, subject, place) : say(wanted, text)})`
}

/** Whom a list of the run configuration has, in brackets; nothing where the policy lists its values itself. */
function membersText(
  { text, among, signers }: Among,
  subject: Subject,
  place: ListIndexes,
  say: SayValue,
): string {
  if (!/^\$(signers|deployment\.\w+)$/.test(text)) return ''
  const all = signers === true ? signersOf(subject) : among.map((each) => each.resolve(subject, place))
  return ` (${listed([...new Set(all)].map((each) => (each === undefined ? 'not given' : say(each, ''))))})`
}

/** Why a reference names no value: nothing is there, or it is a choice that its map does not have. */
function withoutValue(text: string, { input }: Subject, place: ListIndexes): string {
  const given = text.startsWith('$input.') ? memberAt(input, text.slice('$input.'.length), place) : undefined
  return given === undefined ? 'not given' : `${given}, for which it has no value`
}

import type { Address } from 'viem'
import type {
  Deployment,
  PinnedContract,
  PinnedFund,
  PinnedMarket,
} from '../../service/contract/deployment.ts'
import type { InputShape } from './inputs.ts'
import { countAt, isEach, memberAt } from './paths.ts'
import { asValue, type Value, type ValueKind } from './values.ts'

/** What references resolve against: one request of ours, and the contracts of the deployment that it is about. */
export type Subject = {
  /** The workflow's input, as the service takes it. */
  readonly input: Readonly<Record<string, unknown>>
  readonly self: Address
  /** Unix seconds, rounded down: no call of ours may be valid longer. */
  readonly deadlineS: bigint
  /** The market of `input.marketAddress`; null when the input names none. */
  readonly market: PinnedMarket | null
  /** The vault of `input.vaultAddress`; null when the input names none. */
  readonly vault: PinnedContract | null
  /** The fund of `input.fundAddress`; null when the input names none. */
  readonly fund: PinnedFund | null
  readonly deployment: Deployment
}

/** A value of the policy, compiled: what it says, and how it is found. */
export type Reference = {
  readonly text: string
  /** The path of the input whose list it goes through, element by element; null when it is one value. */
  readonly each: string | null
  readonly resolve: (subject: Subject, index: number) => Value | undefined
}

/** One test of a parameter, compiled. `in` compares with a list of the deployment. */
export type Condition =
  | { readonly op: 'eq' | 'min' | 'max'; readonly reference: Reference }
  | { readonly op: 'in'; readonly text: string; readonly list: ReadonlySet<Value> }

/** What references of one rule may name. */
export type Scope = { readonly inputs: InputShape; readonly deployment: Deployment }

/** Compile a value of the policy; null when it refers to nothing known or to another kind. Pure. */
export function compileReference(text: string, kind: ValueKind, scope: Scope): Reference | null {
  if (!text.startsWith('$')) {
    const literal = kind === 'bool' ? asBool(text) : asValue(text, kind)
    return literal === undefined ? null : one(text, () => literal)
  }
  const path = text.slice(text.indexOf('.') + 1)
  if (text.startsWith('$input.')) return inputReference(text, path, kind, scope.inputs)
  if (text === '$deadline') return kind === 'uint' ? one(text, ({ deadlineS }) => deadlineS) : null
  if (kind !== 'address') return null
  if (text.startsWith('$asset.')) {
    return fixed(text, scope.deployment.assets.find(({ symbol }) => symbol === path)?.address)
  }
  if (text.startsWith('$contract.')) {
    return fixed(text, scope.deployment.contracts.find(({ name }) => name === path)?.address)
  }
  const found = CONTEXT[text]
  return found !== undefined && (found.needs === null || scope.inputs.get(found.needs) === 'address')
    ? one(text, found.resolve)
    : null
}

const asBool = (text: string): boolean | undefined =>
  text === 'true' || text === 'false' ? text === 'true' : undefined

const one = (text: string, resolve: (subject: Subject) => Value | undefined): Reference => ({
  text,
  each: null,
  resolve,
})

const fixed = (text: string, address: Address | undefined): Reference | null =>
  address === undefined ? null : one(text, () => address)

function inputReference(text: string, path: string, kind: ValueKind, inputs: InputShape): Reference | null {
  const held = inputs.get(path)
  const fits = kind === 'string' || kind === 'bytes32' ? held === 'text' : held === kind
  if (!fits) return null
  return {
    text,
    each: isEach(path) ? path : null,
    resolve: ({ input }, index) => asValue(memberAt(input, path, index), kind),
  }
}

/** Addresses that a request brings with it, and the member of the input that each needs. */
const CONTEXT: Readonly<
  Record<string, { readonly needs: string | null; readonly resolve: (subject: Subject) => Value | undefined }>
> = {
  $self: { needs: null, resolve: ({ self }) => self },
  $market: { needs: 'marketAddress', resolve: ({ market }) => market?.address },
  '$market.loanAsset': { needs: 'marketAddress', resolve: ({ market }) => market?.loanAsset },
  '$market.collateralAsset': { needs: 'marketAddress', resolve: ({ market }) => market?.collateralAsset },
  $vault: { needs: 'vaultAddress', resolve: ({ vault }) => vault?.address },
  $fund: { needs: 'fundAddress', resolve: ({ fund }) => fund?.address },
  '$fund.quoteAsset': { needs: 'fundAddress', resolve: ({ fund }) => fund?.quoteAsset },
}

/** Name what a reference of a kind may be, for an error. Pure. */
export function knownReferences(kind: ValueKind, { inputs, deployment }: Scope): readonly string[] {
  const references = [
    ...[...inputs.keys()].map((path) => `$input.${path}`),
    '$deadline',
    ...Object.keys(CONTEXT),
    ...deployment.assets.map(({ symbol }) => `$asset.${symbol}`),
    ...deployment.contracts.map(({ name }) => `$contract.${name}`),
  ]
  return references.filter((text) => compileReference(text, kind, { inputs, deployment }) !== null)
}

/**
 * Compile a choice of the input that is another value on chain, as an enumeration is; null when the reference is no
 * text of the input, or a value of the map is of another kind. A text that is not in the map denies. Pure.
 */
export function compileMapped(
  text: string,
  map: Readonly<Record<string, string>>,
  kind: ValueKind,
  scope: Scope,
): Reference | null {
  const source = compileReference(text, 'string', scope)
  const values = new Map(
    Object.entries(map).map(([name, value]) => [
      name,
      kind === 'bool' ? asBool(value) : asValue(value, kind),
    ]),
  )
  if (source === null || !text.startsWith('$input.') || [...values.values()].includes(undefined)) return null
  return { ...source, resolve: (subject, index) => values.get(String(source.resolve(subject, index))) }
}

/** The lists of the deployment that `in` may name. */
export const LISTS = ['assets', 'markets', 'vaults', 'funds', 'contracts'] as const

/** Find a list of the deployment by its name; null when there is none. Pure. */
export function compileList(text: string, deployment: Deployment): ReadonlySet<Value> | null {
  const list = LISTS.find((name) => text === `$deployment.${name}`)
  return list === undefined ? null : new Set(deployment[list].map(({ address }) => address))
}

/** Whether a decoded value passes a test; a reference that resolves to nothing denies. Pure. */
export function holds(condition: Condition, actual: Value, subject: Subject, index: number): boolean {
  if (condition.op === 'in') return condition.list.has(actual)
  const wanted = condition.reference.resolve(subject, index)
  if (wanted === undefined || typeof wanted !== typeof actual) return false
  if (condition.op === 'eq') return actual === wanted
  return condition.op === 'min' ? actual >= wanted : actual <= wanted
}

/** Add up what a reference names: one value, or each element of its list; null when it names no amount. Pure. */
export function sumOf(reference: Reference, subject: Subject): bigint | null {
  const count = reference.each === null ? 1 : countAt(subject.input, reference.each)
  if (count === undefined) return null
  const amounts = Array.from({ length: count }, (_, index) => reference.resolve(subject, index))
  return amounts.reduce<bigint | null>(
    (sum, amount) => (sum === null || typeof amount !== 'bigint' ? null : sum + amount),
    0n,
  )
}

/** Say what a test demands, for a refusal. Pure. */
export function describeCondition(condition: Condition, subject: Subject, index: number): string {
  if (condition.op === 'in') return `one of ${condition.text}`
  const wanted = condition.reference.resolve(subject, index)
  const words = { eq: 'exactly', min: 'at least', max: 'at most' }
  return `${words[condition.op]} ${condition.reference.text} (${wanted ?? 'not given'})`
}

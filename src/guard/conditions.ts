import type { Address } from 'viem'
import type { Deployment, PinnedMarket } from './ruleset.ts'

/** What a condition compares: an address in lower case, or an unsigned integer. */
export type Value = Address | bigint

/** What references resolve against: one request of ours, and the market of the deployment that it is about. */
export type Subject = {
  readonly input: Readonly<Record<string, string>>
  readonly self: Address
  /** Unix seconds, rounded down: no call of ours may be valid longer. */
  readonly deadlineS: bigint
  readonly market: PinnedMarket
  readonly deployment: Deployment
}

/** A value of the policy, compiled: what it says, and how it is found. */
export type Reference = { readonly text: string; readonly resolve: (subject: Subject) => Value | undefined }

/** One test of a parameter, compiled. `in` compares with a list of the deployment. */
export type Condition =
  | { readonly op: 'eq' | 'min' | 'max'; readonly reference: Reference }
  | { readonly op: 'in'; readonly text: string; readonly list: readonly Value[] }

/** Kinds of values that calldata of ours may carry. */
export type ValueKind = 'address' | 'uint'

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const UINT = /^[0-9]{1,78}$/

/** Read a value as text: an address or decimal digits; undefined when it is neither. Pure. */
export function parseValue(text: string): Value | undefined {
  if (ADDRESS.test(text)) return `0x${text.slice(2).toLowerCase()}`
  return UINT.test(text) ? BigInt(text) : undefined
}

const kindOf = (value: Value): ValueKind => (typeof value === 'bigint' ? 'uint' : 'address')

/**
 * Compile a value of the policy; null when it refers to nothing known or to another kind. Pure.
 * @param inputKinds the members of the workflow's input, and what each holds.
 */
export function compileReference(
  text: string,
  kind: ValueKind,
  inputKinds: ReadonlyMap<string, ValueKind>,
): Reference | null {
  const [head, ...rest] = text.split('.')
  const member = rest.join('.')
  switch (head) {
    case '$input':
      if (inputKinds.get(member) !== kind) return null
      return { text, resolve: (subject) => parseValue(subject.input[member] ?? '') }
    case '$self':
      return member === '' && kind === 'address' ? { text, resolve: (subject) => subject.self } : null
    case '$deadline':
      return member === '' && kind === 'uint' ? { text, resolve: (subject) => subject.deadlineS } : null
    case '$market':
      if (kind !== 'address' || !isMarketMember(member)) return null
      return { text, resolve: (subject) => subject.market[member] }
    default: {
      const literal = parseValue(text)
      return literal !== undefined && kindOf(literal) === kind ? { text, resolve: () => literal } : null
    }
  }
}

const MARKET_MEMBERS = ['address', 'loanAsset', 'collateralAsset', 'oracle'] as const
const isMarketMember = (text: string): text is (typeof MARKET_MEMBERS)[number] =>
  MARKET_MEMBERS.some((member) => member === text)

/** Find a list of the deployment that `in` may name; null when there is none. Pure. */
export function compileList(text: string, deployment: Deployment): readonly Value[] | null {
  switch (text) {
    case '$deployment.markets':
      return deployment.markets.map(({ address }) => address)
    case '$deployment.vaults':
      return deployment.vaults.map(({ address }) => address)
    case '$deployment.assets':
      return deployment.assets.map(({ address }) => address)
    default:
      return null
  }
}

/** Whether a decoded value passes a test; a reference that resolves to nothing denies. Pure. */
export function holds(condition: Condition, actual: Value, subject: Subject): boolean {
  if (condition.op === 'in') return condition.list.includes(actual)
  const wanted = condition.reference.resolve(subject)
  if (wanted === undefined || kindOf(wanted) !== kindOf(actual)) return false
  if (condition.op === 'eq') return actual === wanted
  return condition.op === 'min' ? actual >= wanted : actual <= wanted
}

/** Say what a test demands, for a refusal. Pure. */
export function describeCondition(condition: Condition, subject: Subject): string {
  if (condition.op === 'in') return `one of ${condition.text}`
  const wanted = condition.reference.resolve(subject)
  const words = { eq: 'exactly', min: 'at least', max: 'at most' }
  return `${words[condition.op]} ${condition.reference.text} (${wanted ?? 'not given'})`
}

import type { Address } from 'viem'
import { RolekeeperError } from '../../errors.ts'
import type { Deployment, PinnedFund, PinnedMarket, PinnedVault } from '../../service/contract/deployment.ts'
import type { InputShape } from './inputs.ts'
import { type Arguments, countAt, depthOf, type ListIndexes, memberAt, placesOf } from './paths.ts'
import { policyError } from './policy-error.ts'
import { asLiteral, asValue, type Value, type ValueKind } from './values.ts'

/** What references resolve against: one request of ours, and the contracts of the deployment that it is about. */
export type Subject = {
  /** The workflow's input, as the service takes it. */
  readonly input: Readonly<Record<string, unknown>>
  readonly self: Address
  /** The signers of the run configuration, lower case; absent where none is known beside this one. */
  readonly ours?: readonly Address[]
  /** Those of them that share this policy's limits, lower case; absent: this one alone. */
  readonly sharing?: readonly Address[]
  /** Unix seconds, rounded down: no call of ours may be valid longer. */
  readonly deadlineS: bigint
  /** The market of `input.marketAddress`; null when the input names none. */
  readonly market: PinnedMarket | null
  /** The vault of `input.vaultAddress`; null when the input names none. */
  readonly vault: PinnedVault | null
  /** The fund of `input.fundAddress`; null when the input names none. */
  readonly fund: PinnedFund | null
  readonly deployment: Deployment
  /** What its type does to balances, and so what its amounts are of; absent where no rule allows it. */
  readonly effects?: Effects | undefined
  /** The arguments of the call that is judged; absent where no call is. */
  readonly args?: Arguments
  /** The facts of the policy that were read, by name; absent where none is read yet. */
  readonly facts?: ReadonlyMap<string, () => unknown>
}

/** A value of the policy, compiled: what it says, and how it is found. */
export type Reference = {
  readonly text: string
  /** The path whose list it goes through, element by element, and whose it is; null when it is one value. */
  readonly each: { readonly path: string; readonly of: 'input' | 'args' } | null
  readonly resolve: (subject: Subject, place?: ListIndexes) => Value | undefined
}

/** What one type of workflow may take out, must bring in, and moves of others, by reference. */
export type Effects = {
  readonly out: readonly { readonly token: Reference; readonly assetsMax: Reference }[]
  readonly in: readonly { readonly token: Reference; readonly assetsMin: Reference }[]
  readonly moves: readonly { readonly token: Reference; readonly assets: Reference }[]
}

/** What references of one rule may name. */
export type Scope = {
  readonly inputs: InputShape
  readonly deployment: Deployment
  /** The call's own parameters by path; absent where a reference stands beside no call. */
  readonly args?: ReadonlyMap<string, ValueKind>
  /** The facts of the policy; absent where nothing is read. Else why one is not to be had here. */
  readonly facts?: ReadonlyMap<string, { readonly kind: string } | RolekeeperError>
}

/** Compile a value of the policy; null when it refers to nothing known or to another kind. Pure. */
export function compileReference(text: string, kind: ValueKind, scope: Scope): Reference | null {
  if (!text.startsWith('$')) {
    const literal = asLiteral(text, kind)
    return literal === undefined ? null : one(text, () => literal)
  }
  const path = text.slice(text.indexOf('.') + 1)
  if (text.startsWith('$input.')) return inputReference(text, path, kind, scope.inputs)
  if (text.startsWith('$args.')) return argsReference(text, path, kind, scope.args)
  if (text.startsWith('$fact.')) return factReference(text, path, kind, scope.facts)
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

const one = (text: string, resolve: (subject: Subject) => Value | undefined): Reference => ({
  text,
  each: null,
  resolve,
})

const fixed = (text: string, address: Address | undefined): Reference | null =>
  address === undefined ? null : one(text, () => address)

function inputReference(text: string, path: string, kind: ValueKind, inputs: InputShape): Reference | null {
  const held = inputs.get(path)
  const isText = kind === 'string' || /^bytes\d/.test(kind)
  if (held === undefined || held !== (isText ? 'text' : kind === 'int' ? 'uint' : kind)) return null
  return {
    text,
    each: depthOf(path) === 0 ? null : { path, of: 'input' },
    resolve: ({ input }, place) => asValue(memberAt(input, path, place), kind),
  }
}

function argsReference(text: string, path: string, kind: ValueKind, args: Scope['args']): Reference | null {
  if (args?.get(path) !== kind) return null
  return {
    text,
    each: depthOf(path) === 0 ? null : { path, of: 'args' },
    resolve: ({ args: given }, place) => asValue(memberAt(given, path, place), kind),
  }
}

function factReference(text: string, name: string, kind: ValueKind, facts: Scope['facts']): Reference | null {
  const fact = facts?.get(name)
  if (fact instanceof RolekeeperError) throw fact
  return fact?.kind === kind ? one(text, ({ facts: known }) => asValue(known?.get(name)?.(), kind)) : null
}

/** Addresses that a request brings with it, and the member of the input that each needs. */
const CONTEXT: Readonly<
  Record<string, { readonly needs: string | null; readonly resolve: (subject: Subject) => Value | undefined }>
> = {
  $self: { needs: null, resolve: ({ self }) => self },
  $market: { needs: 'marketAddress', resolve: ({ market }) => market?.address },
  '$market.loanAsset': { needs: 'marketAddress', resolve: ({ market }) => market?.loanAsset },
  '$market.collateralAsset': { needs: 'marketAddress', resolve: ({ market }) => market?.collateralAsset },
  '$market.oracle': { needs: 'marketAddress', resolve: ({ market }) => market?.oracle },
  $vault: { needs: 'vaultAddress', resolve: ({ vault }) => vault?.address },
  $fund: { needs: 'fundAddress', resolve: ({ fund }) => fund?.address },
  '$fund.quoteAsset': { needs: 'fundAddress', resolve: ({ fund }) => fund?.quoteAsset },
}

/** Name what a reference of a kind may be, for an error. Pure. */
export function knownReferences(kind: ValueKind, scope: Scope): readonly string[] {
  const { inputs, deployment, args } = scope
  const references = [
    ...[...inputs.keys()].map((path) => `$input.${path}`),
    ...[...(args?.keys() ?? [])].map((path) => `$args.${path}`),
    ...[...(scope.facts ?? [])].flatMap(([name, fact]) => ('kind' in fact ? [`$fact.${name}`] : [])),
    '$deadline',
    ...Object.keys(CONTEXT),
    ...deployment.assets.map(({ symbol }) => `$asset.${symbol}`),
    ...deployment.contracts.map(({ name }) => `$contract.${name}`),
  ]
  return references.filter((text) => compileReference(text, kind, scope) !== null)
}

/** Compile a reference that must be there. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function needReference(text: string, kind: ValueKind, scope: Scope, path: string): Reference {
  const reference = compileReference(text, kind, scope)
  if (reference !== null) return reference
  const known = knownReferences(kind, scope).join(', ')
  throw policyError(path, `"${text}" refers to no ${kind} that is known.`, `use a value, or one of ${known}.`)
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
  const values = new Map(Object.entries(map).map(([name, value]) => [name, asLiteral(value, kind)]))
  if (source === null || !text.startsWith('$input.') || [...values.values()].includes(undefined)) return null
  return { ...source, resolve: (subject, place) => values.get(String(source.resolve(subject, place))) }
}

/** The list that is no part of the deployment: whose keys the run configuration names. */
export const SIGNERS = '$signers'

/** The lists of the deployment that `in` may name. */
export const LISTS = ['assets', 'markets', 'vaults', 'funds', 'contracts'] as const

/** Find a list of the deployment by its name; null when there is none. Pure. */
export function compileList(text: string, deployment: Deployment): readonly Reference[] | null {
  const list = LISTS.find((name) => text === `$deployment.${name}`)
  return list === undefined ? null : deployment[list].map(({ address }) => one(address, () => address))
}

/** Find the elements of the list of the input that a reference goes through; null when it is one value. Pure. */
export const elementsOf = ({ each }: Reference, { input }: Subject): readonly ListIndexes[] | null =>
  each === null ? null : placesOf(input, each.path)

/** Add up what a reference names: one value, or each element of its list; null when it names no amount. Pure. */
export function sumOf(reference: Reference, subject: Subject): bigint | null {
  const { each } = reference
  if (each !== null && countAt(subject.input, each.path) === undefined) return null
  const places = elementsOf(reference, subject) ?? [[]]
  return places.reduce<bigint | null>((sum, place) => {
    const amount = reference.resolve(subject, place)
    return sum === null || typeof amount !== 'bigint' ? null : sum + amount
  }, 0n)
}

/** The signers of the run configuration, this one among them. Pure. */
export const signersOf = ({ self, ours = [] }: Subject): readonly Address[] => [self, ...ours]

/** As many of a list as a line has room for. */
const LISTED_MAX = 12

/** Write a list for people: of a long one how many more there are. Pure. */
export const listed = (all: readonly string[]): string =>
  all.length <= LISTED_MAX
    ? all.join(', ')
    : `${all.slice(0, LISTED_MAX).join(', ')} and ${all.length - LISTED_MAX} more`

import type { Assumptions } from '../contract/assumptions.ts'
import { openApiDocument } from '../contract/openapi.ts'
import type { JsonObject } from '../contract/openapi-schemas.ts'
import { OPERATIONS, type Operation } from '../contract/operations.ts'
import { follow, isObject } from './contract-schema.ts'
import { type ContractPair, compareSchemas, type Difference, type SchemaPlace } from './schema-diff.ts'

/** The differences, and the assumptions that the contract says nothing about. */
export type Comparison = {
  readonly differences: readonly Difference[]
  readonly unsaid: readonly string[]
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options', 'trace']

/** One operation of a contract. */
type Entry = {
  readonly method: string
  readonly path: string
  readonly node: JsonObject
  readonly shared: unknown
}

/** Compare a service's OpenAPI document with the catalogue and with what is assumed beside it. Pure. */
export function compareContract(theirs: JsonObject): Comparison {
  const ours = openApiDocument('')
  const both = { ours, theirs }
  const mine = entriesOf(ours)
  const other = entriesOf(theirs)
  const differences: Difference[] = [...headerNames(both)]
  for (const [key, entry] of mine) {
    const found = other.get(key)
    if (found !== undefined) differences.push(...compareOperation(both, entry, found))
    else differences.push(missing(entry, [...other.values()]))
  }
  const moved = new Set(differences.filter(({ kind }) => kind === 'path').map(({ theirs: place }) => place))
  for (const [key, entry] of other) {
    const place = placeOf(entry)
    if (mine.has(key) || moved.has(place)) continue
    differences.push({
      kind: 'operation_extra',
      where: place,
      ours: 'none',
      theirs: 'there',
      change: 'add an entry to OPERATIONS in src/service/contract/operations.ts, if it is wanted.',
    })
  }
  const assumed = compareAssumptions(both)
  return { differences: [...unique(differences), ...assumed.differences], unsaid: assumed.unsaid }
}

/** A path's parameters may have any name. */
const keyOf = (method: string, path: string) => `${method} ${path.replaceAll(/\{[^}]*\}/g, '{}')}`
const placeOf = ({ method, path }: Entry) => `${method.toUpperCase()} ${path}`

function entriesOf(document: JsonObject): ReadonlyMap<string, Entry> {
  const paths = isObject(document.paths) ? Object.entries(document.paths) : []
  const entries = paths.flatMap(([path, item]) =>
    METHODS.flatMap((method): [string, Entry][] => {
      const node = isObject(item) ? item[method] : undefined
      if (!isObject(node) || !isObject(item)) return []
      return [[keyOf(method, path), { method, path, node, shared: item.parameters }]]
    }),
  )
  return new Map(entries)
}

function missing(entry: Entry, others: readonly Entry[]): Difference {
  const id = String(entry.node.operationId)
  const renamed = others.find(({ node }) => String(node.operationId).toLowerCase() === id.toLowerCase())
  const where = placeOf(entry)
  if (renamed === undefined)
    return {
      kind: 'operation_missing',
      where,
      ours: 'there',
      theirs: 'none',
      change: `nothing that uses \`${id}\` can run here; ask the operator, or remove the entry from OPERATIONS in src/service/contract/operations.ts.`,
    }
  const place = placeOf(renamed)
  return {
    kind: 'path',
    where,
    ours: where,
    theirs: place,
    change: `set method and path of \`${id}\` in OPERATIONS in src/service/contract/operations.ts to ${place}.`,
  }
}

function compareOperation(both: ContractPair, ours: Entry, theirs: Entry): readonly Difference[] {
  const id = String(ours.node.operationId)
  const where = placeOf(ours)
  const change = `change \`${id}\` in OPERATIONS in src/service/contract/operations.ts`
  const differences: Difference[] = []
  const [mine, other] = [credentialsOf(both.ours, ours), credentialsOf(both.theirs, theirs)]
  if (mine !== other)
    differences.push({
      kind: 'credentials',
      where,
      ours: mine,
      theirs: other,
      change: `${change}: permits ${other}.`,
    })
  const scope = theirs.node['x-required-scope']
  if (scope !== undefined && scope !== ours.node['x-required-scope'])
    differences.push({
      kind: 'scope',
      where,
      ours: String(ours.node['x-required-scope']),
      theirs: String(scope),
      change: `${change}: scope ${String(scope)}; give the keys that use it this scope.`,
    })
  differences.push(...compareParameters(both, ours, theirs))
  for (const [side, steps] of [
    ['body', ['requestBody']],
    ['answer', ['responses', '200']],
  ] as const) {
    const [a, b] = [contentOf(both.ours, ours.node, steps), contentOf(both.theirs, theirs.node, steps)]
    if (a === undefined) continue
    const at: SchemaPlace = { where: `${where}, ${side}`, side, change: changeOfSchema(id, side), depth: 0 }
    differences.push(...compareSchemas(both, a, b ?? {}, at))
  }
  return differences
}

function changeOfSchema(id: string, side: 'body' | 'answer'): string {
  const entry: Operation | undefined = Object.entries(OPERATIONS).find(([name]) => name === id)?.[1]
  const why = entry?.assumed.includes(side) ? 'which we assumed' : 'which the document shows otherwise'
  return `correct the ${side} schema of \`${id}\` in src/service/contract/operations.ts, ${why}`
}

const schemesOf = (document: JsonObject): JsonObject => {
  const components = follow(document, document.components)
  return follow(document, components?.securitySchemes) ?? {}
}

/** `secret`, `publishable` or `wallet`, by how a scheme is presented; its own name where it is none of them. */
function credentialOf(document: JsonObject, name: string): string {
  const scheme = follow(document, schemesOf(document)[name]) ?? {}
  if (scheme.type === 'http' && String(scheme.scheme).toLowerCase() === 'bearer') return 'secret'
  if (/publishable/i.test(String(scheme.name))) return 'publishable'
  return /wallet|session/i.test(String(scheme.name)) ? 'wallet' : name
}

/** The alternatives in one order, for example `publishable or secret+wallet`. */
function credentialsOf(document: JsonObject, { node }: Entry): string {
  const listed = node.security ?? document.security
  const sets = (Array.isArray(listed) && listed.length > 0 ? listed : [{}]).map((set) =>
    Object.keys(isObject(set) ? set : {})
      .map((name) => credentialOf(document, name))
      .toSorted()
      .join('+'),
  )
  return sets
    .map((set) => (set === '' ? 'anonymous' : set))
    .toSorted()
    .join(' or ')
}

type Parameter = { readonly name: string; readonly place: string; readonly required: boolean }

function parametersOf(document: JsonObject, { node, shared }: Entry): readonly Parameter[] {
  return [
    ...(Array.isArray(shared) ? shared : []),
    ...(Array.isArray(node.parameters) ? node.parameters : []),
  ].flatMap((each): Parameter[] => {
    const found = follow(document, each)
    return found === undefined
      ? []
      : [{ name: String(found.name), place: String(found.in), required: found.required === true }]
  })
}

/** What another name of a query parameter of ours may look like. */
const ALIKE: Readonly<Record<keyof Assumptions['query'], RegExp>> = {
  cursor: /cursor|after|token|start/i,
  pageSize: /limit|size|per_?page|first|count/i,
  fields: /field|select|only|include/i,
  wallet: /wallet|owner|account/i,
  borrower: /borrower|wallet|owner|account/i,
}

function compareParameters(both: ContractPair, ours: Entry, theirs: Entry): readonly Difference[] {
  const where = placeOf(ours)
  const other = parametersOf(both.theirs, theirs)
  const assumed: unknown = both.ours['x-assumptions']
  const query = isObject(assumed) && isObject(assumed.query) ? assumed.query : {}
  const lacking = parametersOf(both.ours, ours)
    .filter(({ place }) => place !== 'path')
    .filter(({ name, place }) => !other.some((each) => each.place === place && same(each.name, name)))
    .map(({ name, place }): Difference => {
      const role = (['cursor', 'pageSize', 'fields', 'wallet', 'borrower'] as const).find(
        (key) => query[key] === name,
      )
      const like = other.find(
        (each) => each.place === 'query' && role !== undefined && ALIKE[role].test(each.name),
      )
      return {
        kind: 'parameter',
        where: role === undefined ? where : `query parameter ${name}`,
        ours: `${place} ${name}`,
        theirs: like === undefined ? 'none' : `query ${like.name}`,
        change:
          role === undefined
            ? `ask the operator how a change is kept from happening twice without ${name}.`
            : `set service.assumptions.query.${role}${like === undefined ? ' to the name that this service has for it' : `: ${like.name}`}.`,
      }
    })
  const demanded = other
    .filter(({ required, place }) => required && place !== 'path')
    .filter(
      ({ name, place }) =>
        !parametersOf(both.ours, ours).some((each) => each.place === place && same(each.name, name)),
    )
    .map(
      ({ name, place }): Difference => ({
        kind: 'parameter',
        where,
        ours: 'none',
        theirs: `${place} ${name}, required`,
        change: `add it to \`${String(ours.node.operationId)}\` in src/service/contract/operations.ts.`,
      }),
    )
  return [...lacking, ...demanded]
}

const same = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()

function contentOf(document: JsonObject, node: JsonObject, steps: readonly string[]): unknown {
  const holder = steps.reduce<JsonObject | undefined>((at, step) => follow(document, at?.[step]), node)
  const content = follow(document, holder?.content)
  return follow(document, content?.['application/json'])?.schema
}

/** Names of headers, which bear the operator's brand or are assumed. */
function headerNames({ ours, theirs }: ContractPair): readonly Difference[] {
  const named = (document: JsonObject, like: RegExp) =>
    Object.values(schemesOf(document)).flatMap((each) => {
      const { name } = follow(document, each) ?? {}
      return typeof name === 'string' && like.test(name) ? [name] : []
    })[0]
  const limits = (document: JsonObject, like: RegExp) =>
    [...JSON.stringify(document).matchAll(/"([A-Za-z0-9-]+)":/g)]
      .map(([, name = '']) => name)
      .find((name) => like.test(name))
  const rows = [
    ['credentialHeaders.publishableKey', named, /publishable/i],
    ['credentialHeaders.walletSession', named, /wallet|session/i],
    ['rateLimitHeaders.remaining', limits, /^x?-?rate-?limit-remaining$/i],
    ['rateLimitHeaders.resetSeconds', limits, /^x?-?rate-?limit-reset[a-z-]*$/i],
  ] as const
  return rows.flatMap(([path, find, like]): Difference[] => {
    const [a = 'none', b] = [find(ours, like), find(theirs, like)]
    if (b === undefined || same(a, b)) return []
    return [
      {
        kind: 'header',
        where: `header ${a}`,
        ours: a,
        theirs: b,
        change: `set service.assumptions.${path}: ${b}.`,
      },
    ]
  })
}

/** Assumptions that a configuration can set; a revalidation is mapped by its name. */
const CONFIGURABLE =
  /^(query\.\w+|streamQuery\.(token|cursor|types)|rateLimitHeaders\.(remaining|resetSeconds)|eligibility\.\w+|healthyOracleState|normalMarketRegime|priceScale|streamHeartbeatMs)$/

/** What no part of OpenAPI says, where the contract has our extension. */
function compareAssumptions({ ours, theirs }: ContractPair): Comparison {
  const mine = leavesOf(ours['x-assumptions'])
  const other = leavesOf(theirs['x-assumptions'])
  if (other.size === 0)
    return {
      differences: [],
      unsaid: [...new Set([...mine.keys()].map((path) => path.split('.')[0] ?? path))],
    }
  const paths = [...new Set([...mine.keys(), ...other.keys()])]
  const differences = paths.flatMap((path): Difference[] => {
    const [a = 'none', b = 'none'] = [mine.get(path), other.get(path)]
    if (a === b) return []
    const set = path.startsWith('revalidations')
      ? 'map each new name under service.assumptions.revalidations'
      : CONFIGURABLE.test(path) && b !== 'none'
        ? `set service.assumptions.${path}: ${b}`
        : `change ${path} in src/service/contract/assumptions.ts or the catalogue that it comes from`
    return [{ kind: 'assumption', where: `x-assumptions ${path}`, ours: a, theirs: b, change: `${set}.` }]
  })
  return { differences, unsaid: [] }
}

/** Every value with its path; a list counts as one value, in any order. */
function leavesOf(node: unknown, path = ''): ReadonlyMap<string, string> {
  if (node === undefined) return new Map()
  if (Array.isArray(node))
    return new Map([
      [
        path,
        node
          .map((each) => JSON.stringify(each))
          .toSorted()
          .join(', '),
      ],
    ])
  if (!isObject(node)) return new Map([[path, String(node)]])
  return new Map(
    Object.entries(node).flatMap(([name, member]) => [
      ...leavesOf(member, path === '' ? name : `${path}.${name}`),
    ]),
  )
}

/** A name that every collection has differs once, not forty times. */
function unique(differences: readonly Difference[]): readonly Difference[] {
  return [...new Map(differences.map((each) => [JSON.stringify(each), each])).values()]
}

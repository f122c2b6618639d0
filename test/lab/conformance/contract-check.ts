import type { ValidateFunction } from 'ajv/dist/2020.js'
import { type Contract, locate, walk } from './contract.ts'
import { probesOf, sampleOf } from './probes.ts'
import { isObject, type Json } from './shape-check.ts'
import type { Access, Operation } from './transcription/operations.ts'
import { ERROR_STATUSES, PAGE_SIZE_MAX, QUERY } from './transcription/statuses.ts'

/** Names of the schemes in the document. Source: "Authentication". */
const SCHEMES = { secret: 'SecretKey', publishable: 'PublishableKey', session: 'WalletSession' } as const

/**
 * Hold what the service publishes of one operation against the transcription: who may call, parameters, the request's
 * body, the answer and the failures. Schemas are held by probes: each value the document permits must pass, and each
 * one past its limits must not. Returns what differs.
 */
export function contractProblems(contract: Contract, operation: Operation): readonly string[] {
  const published = contract.operation(operation)
  if (published === null) return ['the published contract does not have it']
  return [
    ...accessProblems(published, operation),
    ...parameterProblems(contract.document, published, operation),
    ...requestProblems(contract, operation),
    ...answerProblems(contract, operation),
    ...ERROR_STATUSES.flatMap((status) =>
      probe(contract.answer(operation, status), 'ServiceApiError', `${status}`),
    ),
  ]
}

function accessProblems({ security }: Json, { access }: Operation): readonly string[] {
  const published = Array.isArray(security)
    ? security.map((schemes) =>
        Object.keys(isObject(schemes) ? schemes : {})
          .toSorted()
          .join(' and '),
      )
    : ['nothing said']
  const expected = accessNames(access)
  const differs = published.toSorted().join(', ') !== expected.toSorted().join(', ')
  return differs ? [`published access is [${published.join(', ')}], not [${expected.join(', ')}]`] : []
}

const accessNames = (access: Access): readonly string[] =>
  access.map((set) =>
    set
      .map((credential) => SCHEMES[credential])
      .toSorted()
      .join(' and '),
  )

function parameterProblems(document: Json, published: Json, operation: Operation): readonly string[] {
  const item = walk(document, ['paths', operation.path])
  const listed = [published, item].flatMap((node) =>
    isObject(node) && Array.isArray(node.parameters) ? node.parameters : [],
  )
  const parameters = listed.map((given) => {
    const place =
      isObject(given) && typeof given.$ref === 'string' ? locate(document, [...refSteps(given.$ref)]) : null
    const found = place === null ? given : walk(document, place)
    return isObject(found) ? found : {}
  })
  const find = (where: string, name: string) =>
    parameters.find((one) => one.in === where && String(one.name).toLowerCase() === name.toLowerCase())
  const expectOne = (where: string, name: string, required: boolean, wanted: boolean): readonly string[] => {
    const found = find(where, name)
    if (!wanted) return found === undefined ? [] : [`published ${where} parameter ${name} is not its own`]
    if (found === undefined) return [`published parameters lack ${name} in ${where}`]
    return (found.required === true) === required
      ? []
      : [`published ${name} is ${required ? 'not ' : ''}required`]
  }
  const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
  return [
    ...inPath.flatMap((name) => expectOne('path', name, true, true)),
    ...expectOne('header', 'Idempotency-Key', true, operation.writes),
    ...expectOne('query', QUERY.fields, false, operation.selects),
    ...pageSizeProblems(find('query', QUERY.pageSize), operation),
  ]
}

function pageSizeProblems(parameter: Json | undefined, { collection }: Operation): readonly string[] {
  if (!collection || parameter === undefined) return []
  const maximum = isObject(parameter.schema) ? parameter.schema.maximum : undefined
  return maximum === PAGE_SIZE_MAX
    ? []
    : [`published ${QUERY.pageSize} has maximum ${maximum}, not ${PAGE_SIZE_MAX}`]
}

const refSteps = (reference: string) => reference.replace(/^#\//, '').split('/')

function requestProblems(contract: Contract, operation: Operation): readonly string[] {
  if (operation.request === null) return []
  return probe(contract.request(operation), operation.request, 'request')
}

function answerProblems(contract: Contract, operation: Operation): readonly string[] {
  const { answer, collection } = operation
  const validate = contract.answer(operation, 200)
  if (validate === null) return ['the published contract has no schema of its 200 answer']
  if (!collection) return answer === null ? [] : probe(validate, answer, '200')
  const envelope = { items: [], pageInfo: sampleOf('PageInfo'), freshness: sampleOf('Freshness') }
  const inEnvelope = (name: string, value: unknown) => ({ ...envelope, [name]: value })
  const without = (name: string) =>
    Object.fromEntries(Object.entries(envelope).filter(([key]) => key !== name))
  const missing = Object.keys(envelope)
    .filter((name) => validate(without(name)))
    .map((name) => `published 200 answer lets ${name} be absent`)
  return [
    ...missing,
    ...probe(validate, 'PageInfo', '200 pageInfo', (value) => inEnvelope('pageInfo', value)),
    ...probe(validate, 'Freshness', '200 freshness', (value) => inEnvelope('freshness', value)),
    ...(answer === null ? [] : probe(validate, answer, '200 items', (value) => inEnvelope('items', [value]))),
  ]
}

function probe(
  validate: ValidateFunction | null,
  resource: string,
  where: string,
  around: (value: unknown) => unknown = (value) => value,
): readonly string[] {
  if (validate === null) return [`the published contract has no schema of ${where}`]
  const [whole, ...rest] = probesOf(resource)
  if (whole !== undefined && !validate(around(whole.value))) {
    const { instancePath, message } = validate.errors?.[0] ?? {}
    return [`published ${where} refuses a right ${resource}: ${instancePath} ${message}`]
  }
  return rest.flatMap(({ what, value, accepted }) =>
    validate(around(value)) === accepted
      ? []
      : [`published ${where} ${accepted ? 'refuses' : 'accepts'} ${what}`],
  )
}

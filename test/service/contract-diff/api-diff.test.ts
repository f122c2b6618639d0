import { expect, test } from 'vitest'
import { openApiDocument } from '../../../src/service/contract/openapi.ts'
import { compareContract } from '../../../src/service/contract-diff/api-diff.ts'

type Node = { [name: string]: Node }

/** A contract of another service: ours with one thing done to it. */
function contract(change: (document: Node) => void): Node {
  const document = JSON.parse(JSON.stringify(openApiDocument('https://api.example'))) as Node
  change(document)
  return document
}
const differences = (change: (document: Node) => void) => compareContract(contract(change)).differences
const at = (document: Node, ...steps: string[]): Node =>
  steps.reduce((node, step) => node[step] as Node, document)
const schema = (document: Node, name: string) => at(document, 'components', 'schemas', name)

test('finds nothing in its own document, nor in one with other words for people', () => {
  expect(compareContract(contract(() => undefined))).toEqual({ differences: [], unsaid: [] })
  const reworded = differences((document) => {
    Object.assign(at(document, 'info'), { title: 'Other', description: 'Other' })
    Object.assign(at(document, 'paths', '/v1/markets', 'get'), {
      summary: 'x',
      description: 'y',
      tags: ['z'],
    })
    const { '/v1/keys/{keyId}/rotate': rotate, ...paths } = at(document, 'paths')
    const parameters = [
      { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
      { $ref: '#/components/parameters/IdempotencyKey' },
    ]
    Object.assign(rotate?.post as object, { parameters })
    Object.assign(document, { paths: { ...paths, '/v1/keys/{id}/rotate': rotate } })
  })
  expect(reworded).toEqual([])
})

test.each<[string, (document: Node) => void, object]>([
  [
    'an operation that is not there',
    (document) => delete at(document, 'paths')['/v1/wrappers'],
    { kind: 'operation_missing', where: 'GET /v1/wrappers', theirs: 'none' },
  ],
  [
    'an operation that we do not have',
    (document) => Object.assign(at(document, 'paths'), { '/v1/extra': { get: { responses: {} } } }),
    { kind: 'operation_extra', where: 'GET /v1/extra', ours: 'none' },
  ],
  [
    'a path that moved',
    (document) => {
      const { '/v1/fees': fees, ...paths } = at(document, 'paths')
      Object.assign(document, { paths: { ...paths, '/v1/vault-fees': fees } })
    },
    { kind: 'path', where: 'GET /v1/fees', theirs: 'GET /v1/vault-fees' },
  ],
  [
    'credentials',
    (document) =>
      Object.assign(at(document, 'paths', '/v1/vaults', 'get'), { security: [{ SecretKey: [] }] }),
    { kind: 'credentials', where: 'GET /v1/vaults', ours: 'anonymous', theirs: 'secret' },
  ],
  [
    'a session that a key must come with',
    (document) =>
      Object.assign(at(document, 'paths', '/v1/events', 'get'), {
        security: [{ SecretKey: [], WalletSession: [] }],
      }),
    { kind: 'credentials', ours: 'secret', theirs: 'secret+wallet' },
  ],
  [
    'a scope',
    (document) =>
      Object.assign(at(document, 'paths', '/v1/usage', 'get'), { 'x-required-scope': 'metering:read' }),
    { kind: 'scope', ours: 'usage:read', theirs: 'metering:read' },
  ],
  [
    'a query name of all collections, once',
    (document) => Object.assign(at(document, 'components', 'parameters', 'Cursor'), { name: 'after' }),
    {
      kind: 'parameter',
      theirs: 'query after',
      change: 'set service.assumptions.query.cursor: after.',
    },
  ],
  [
    'no idempotency key',
    (document) => delete at(document, 'paths', '/v1/keys', 'post').parameters,
    { kind: 'parameter', where: 'POST /v1/keys', ours: 'header Idempotency-Key' },
  ],
  [
    'a parameter that it demands',
    (document) =>
      Object.assign(at(document, 'paths', '/v1/fees', 'get'), {
        parameters: [
          ...(at(document, 'paths', '/v1/fees', 'get').parameters as unknown as object[]),
          { name: 'chainId', in: 'query', required: true, schema: {} },
        ],
      }),
    { kind: 'parameter', where: 'GET /v1/fees', theirs: 'query chainId, required' },
  ],
  [
    'a header of the brand',
    (document) =>
      Object.assign(at(document, 'components', 'securitySchemes', 'WalletSession'), {
        name: 'x-acme-wallet-session',
      }),
    {
      kind: 'header',
      change: 'set service.assumptions.credentialHeaders.walletSession: x-acme-wallet-session.',
    },
  ],
  [
    'a member that is gone',
    (document) => delete at(schema(document, 'PositionResource'), 'properties').debtShares,
    {
      kind: 'member',
      where: 'GET /v1/positions, answer .items[] .debtShares',
      ours: 'known',
      theirs: 'none',
    },
  ],
  [
    'a member more of what we are to sign',
    (document) =>
      Object.assign(at(schema(document, 'TransactionIntent'), 'properties'), { gas: { type: 'string' } }),
    {
      kind: 'member',
      where: 'POST /v1/workflows/prepare, answer .transactions[] .gas',
      theirs: 'may be absent',
    },
  ],
  [
    'a required member that may be absent',
    (document) =>
      Object.assign(schema(document, 'PositionResource'), {
        required: ['chainId', 'marketAddress', 'walletAddress'],
      }),
    { kind: 'required', where: 'GET /v1/positions, answer .items[] .marketId', theirs: 'may be absent' },
  ],
  [
    'a member of a body that it demands',
    (document) => {
      const request = schema(document, 'KeyRequest')
      Object.assign(request, { required: [...(request.required as unknown as string[]), 'origins'] })
    },
    { kind: 'required', where: 'POST /v1/keys, body .origins', ours: 'may be absent', theirs: 'required' },
  ],
  [
    'a type',
    (document) =>
      Object.assign(at(schema(document, 'MarketResource'), 'properties'), { chainId: { type: 'string' } }),
    { kind: 'type', where: 'GET /v1/markets, answer .items[] .chainId', ours: 'integer', theirs: 'string' },
  ],
  [
    'null where a value is needed',
    (document) =>
      Object.assign(at(schema(document, 'PositionResource'), 'properties'), {
        marketId: { type: ['string', 'null'] },
      }),
    { kind: 'type', ours: 'string', theirs: 'null or string' },
  ],
  [
    'a word of an enum',
    (document) =>
      Object.assign(at(schema(document, 'PreparedWorkflow'), 'properties', 'executionMode'), {
        enum: ['onchain_transaction', 'metadata_only', 'batched'],
      }),
    { kind: 'enum', where: 'POST /v1/workflows/prepare, answer .executionMode', theirs: 'has "batched"' },
  ],
  [
    'a word that it says for ours',
    (document) => Object.assign(at(document, 'x-assumptions'), { healthyOracleState: 'ok' }),
    { kind: 'assumption', change: 'set service.assumptions.healthyOracleState: ok.' },
  ],
  [
    'a revalidation that we do not know',
    (document) => (at(document, 'x-assumptions').revalidations as unknown as string[]).push('moon_is_full'),
    { kind: 'assumption', change: 'map each new name under service.assumptions.revalidations.' },
  ],
])('tells %s', (_name, change, expected) => {
  const found = differences(change)
  expect(found).toContainEqual(expect.objectContaining(expected))
  // A schema can be answered by several operations: the same thing is told of each, and nothing else.
  expect(new Set(found.map(({ kind }) => kind))).toEqual(new Set([(expected as { kind: string }).kind]))
  for (const { change } of found) expect(change).toMatch(/service\.assumptions|src\/service|operator/)
})

test('names the assumptions that a contract without them leaves open', () => {
  const { differences, unsaid } = compareContract(contract((document) => delete document['x-assumptions']))
  expect(differences).toEqual([])
  expect(unsaid).toContain('healthyOracleState')
})

test('reads schemas as others write them: anyOf null, nullable, const, allOf, references', () => {
  const found = differences((document) => {
    const { properties } = schema(document, 'PositionResource')
    Object.assign(properties as object, {
      liquidatable: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
      debtAssets: { type: 'string', nullable: true },
    })
    const market = { ...schema(document, 'MarketResource') }
    Object.assign(at(document, 'components', 'schemas'), {
      Base: market,
      MarketResource: { allOf: [{ $ref: '#/components/schemas/Base' }] },
    })
  })
  expect(found).toEqual([])
})

test.each([
  ['nothing', { openapi: '3.1.0', paths: {} }],
  [
    'other types everywhere',
    { openapi: 3, paths: { '/v1/markets': { get: { parameters: 7, security: 'x', responses: [] } } } },
  ],
  [
    'a schema that refers to itself',
    {
      openapi: '3.1.0',
      paths: {
        '/v1/markets': {
          get: {
            responses: {
              200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/A' } } } },
            },
          },
        },
      },
      components: {
        schemas: {
          A: {
            allOf: [{ $ref: '#/components/schemas/A' }],
            properties: { items: { items: { $ref: '#/components/schemas/A' } } },
          },
        },
      },
    },
  ],
])('compares a contract of %s without a crash', (_name, document) => {
  expect(compareContract(document).differences.length).toBeGreaterThan(60)
})

import { expect, test } from 'vitest'
import { openApiDocument } from '../../../src/service/contract/openapi.ts'
import { OPERATIONS } from '../../../src/service/contract/operations.ts'

type Node = { readonly [name: string]: Node } & { readonly length?: number }
const document = JSON.parse(JSON.stringify(openApiDocument('http://127.0.0.1:4100'))) as Node
const operationOf = (id: keyof typeof OPERATIONS) => {
  const { path, method } = OPERATIONS[id]
  return document.paths?.[path]?.[method.toLowerCase()]
}

test('describes each of the 65 operations once, under its id', () => {
  const found = Object.values(document.paths ?? {}).flatMap((path) =>
    Object.values(path).flatMap(({ operationId }) =>
      operationId === undefined ? [] : [String(operationId)],
    ),
  )
  expect(found.toSorted()).toEqual(Object.keys(OPERATIONS).toSorted())
  expect(document.info?.version).toBe('1.0.0-private-preview')
})

test.each([
  ['listMarkets', [{}], null],
  ['listFunds', [{ PublishableKey: [] }, { SecretKey: [] }], 'canonical:read'],
  ['listPositions', [{ PublishableKey: [] }, { WalletSession: [] }, { SecretKey: [] }], 'canonical:read'],
  [
    'listEligibility',
    [
      { PublishableKey: [], WalletSession: [] },
      { SecretKey: [], WalletSession: [] },
    ],
    'canonical:read',
  ],
  ['replayWebhookDelivery', [{ SecretKey: [] }], 'webhooks:write'],
] as const)('names the credentials of %s', (id, security, scope) => {
  expect(operationOf(id)).toMatchObject({ security, 'x-required-scope': scope })
})

test('names the parameters that an operation takes, and no others', () => {
  const names = (id: keyof typeof OPERATIONS) =>
    JSON.stringify(operationOf(id)?.parameters ?? []).match(/(?<=parameters\/|"name":")\w+/g)
  expect(names('listMarkets')).toEqual(['Cursor', 'PageSize'])
  expect(names('getMarket')).toEqual(['resourceId', 'Fields'])
  expect(names('createKey')).toEqual(['IdempotencyKey'])
  expect(names('queryGraphql')).toBeNull()
})

test('refers to components only, each of them there and used, without a trace of the library', () => {
  const text = JSON.stringify(document)
  const referred = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name))
  expect([...referred].toSorted()).toEqual(Object.keys(document.components?.schemas ?? {}).toSorted())
  expect(text).not.toMatch(/"\$schema"|"\$id"|9007199254740991|"~standard"/)
})

test('lets a detail with selected fields lack all but its identity, at any depth', () => {
  const { schemas } = document.components ?? {}
  expect(schemas?.VaultResourceSelection?.required).toEqual(['id', 'chainId', 'address'])
  expect(JSON.stringify(schemas?.VaultResourceSelection?.properties?.portfolioLiquidity)).not.toContain(
    'required',
  )
})

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './sandbox-under-test.ts'
import { type Mistake, WORKFLOW_MISTAKES } from './workflow-mistakes.ts'

const CATALOGUE = 'src/service/contract/operations.ts'
const TENANT = 'src/service/contract/tenant-resources.ts'

/** Mistakes that do not hide each other: each changes what another row, or another check of a row, looks at. */
export const MISTAKES: readonly Mistake[] = [
  {
    name: 'a wrong path',
    file: CATALOGUE,
    from: "'/v1/tranches'",
    to: "'/v1/tranche'",
    row: 'GET /v1/tranches',
    says: /published contract does not have it/,
  },
  {
    name: 'a wrong method',
    file: CATALOGUE,
    from: "    'PATCH',\n    '/v1/webhook-endpoints/{endpointId}'",
    to: "    'POST',\n    '/v1/webhook-endpoints/{endpointId}'",
    row: 'PATCH /v1/webhook-endpoints/{endpointId}',
    says: /published contract does not have it/,
  },
  {
    name: 'a missing path parameter',
    file: CATALOGUE,
    from: "'/v1/transactions/{chainId}/{txHash}'",
    to: "'/v1/transactions/{txHash}'",
    row: 'GET /v1/transactions/{chainId}/{txHash}',
    says: /published contract does not have it/,
  },
  {
    name: 'a missing credential',
    file: CATALOGUE,
    from: "'List positions', keyOrWallet('canonical:read')",
    to: "'List positions', key('canonical:read')",
    row: 'GET /v1/positions',
    says: /^session: 40[13], not 200/,
  },
  {
    name: 'an extra permitted credential',
    file: CATALOGUE,
    from: "'List the use of 30 days', secret('usage:read')",
    to: "'List the use of 30 days', key('usage:read')",
    row: 'GET /v1/usage',
    says: /published access is \[PublishableKey, SecretKey\], not \[SecretKey\]/,
  },
  {
    name: 'events for publishable keys',
    file: CATALOGUE,
    from: "pollEvents: list('/v1/events', 'Poll events', secret('events:read')",
    to: "pollEvents: list('/v1/events', 'Poll events', key('canonical:read')",
    row: 'GET /v1/events',
    says: /^publishable: 200, not 401 or 403/,
  },
  {
    name: 'a wallet session no longer needed',
    file: CATALOGUE,
    from: "\"List what the session's wallet may do\",\n    keyAndWallet('canonical:read')",
    to: "\"List what the session's wallet may do\",\n    key('canonical:read')",
    row: 'GET /v1/eligibility',
    says: /published access is/,
  },
  {
    name: 'a public read that needs a key',
    file: CATALOGUE,
    from: "'List NAV reports', open",
    to: "'List NAV reports', key('canonical:read')",
    row: 'GET /v1/nav-reports',
    says: /^anonymous: 401, not 200/,
  },
  {
    name: 'an operation that any key of the application may use',
    file: CATALOGUE,
    from: "secret('audit:read')",
    to: "{ permits: ['secret'], scope: null }",
    row: 'GET /v1/audit-log',
    says: /^secret, authorization: 200, not 403/,
  },
  {
    name: 'a state change without an idempotency key',
    file: CATALOGUE,
    from: "  createStreamToken: write(\n    'POST',\n    '/v1/stream-token',\n    'Create a stream token',\n    secret('events:read'),\n    emptyRequest,\n    streamToken,\n    'body',\n    'answer',\n  ),",
    to: "  createStreamToken: {\n    ...write('POST', '/v1/stream-token', 'Create a stream token', secret('events:read'), emptyRequest, streamToken, 'body', 'answer'),\n    changes: false,\n  },",
    row: 'POST /v1/stream-token',
    says: /parameters lack Idempotency-Key/,
  },
  {
    name: 'a detail without field selection',
    file: CATALOGUE,
    from: "'Read a market', { ...open, fields: true }",
    to: "'Read a market', { ...open, fields: false }",
    row: 'GET /v1/markets/{resourceId}',
    says: /parameters lack fields in query/,
  },
  {
    name: 'rows of another resource',
    file: CATALOGUE,
    from: "    \"List a fund's epochs\",\n    key('canonical:read'),\n    fundEpoch,",
    to: "    \"List a fund's epochs\",\n    key('canonical:read'),\n    fundHolding,",
    row: 'GET /v1/funds/{resourceId}/epochs',
    says: /refuses a right FundEpochResource/,
  },
  {
    name: 'a detail that is a list',
    file: CATALOGUE,
    from: 'getSandbox: read(',
    to: 'getSandbox: list(',
    row: 'GET /v1/sandbox',
    says: /refuses a right SandboxState/,
  },
  {
    name: 'a nullable field made required',
    file: 'src/service/contract/resources.ts',
    from: '  priceUsd: optional(text),\n  priceAsOf: optional(ts),\n  logoUrl: optional(text),\n})',
    to: '  priceUsd: text,\n  priceAsOf: optional(ts),\n  logoUrl: optional(text),\n})',
    row: 'GET /v1/assets',
    says: /refuses AssetResource\.priceUsd null/,
  },
  {
    name: 'a required field made optional',
    file: TENANT,
    from: '  secretShownOnce: z.boolean(),\n  createdAt: ts.optional(),',
    to: '  secretShownOnce: z.boolean().optional(),\n  createdAt: ts.optional(),',
    row: 'POST /v1/keys',
    says: /accepts ApiKeyCreated\.secretShownOnce absent/,
  },
  {
    name: 'a required null made optional',
    file: 'src/service/contract/prepared-workflow.ts',
    from: 'target: addr.nullable()',
    to: 'target: addr.nullish()',
    row: 'POST /v1/workflows/prepare',
    says: /accepts PreparedWorkflow\.transactions\[\]\.target absent/,
  },
  {
    name: 'a pattern dropped',
    file: TENANT,
    from: 'const slug = z.string().regex(/^[a-z0-9-]{1,64}$/)',
    to: 'const slug = z.string()',
    row: 'POST /v1/applications',
    says: /request accepts ApplicationCreate\.slug/,
  },
  {
    name: 'an enum value missing',
    file: 'src/service/contract/prepared-workflow.ts',
    from: "status: z.enum(['passed', 'blocked'])",
    to: "status: z.enum(['passed'])",
    row: 'POST /v1/workflows/prepare',
    says: /refuses PreparedWorkflow\.preflight\.status "blocked"/,
  },
  {
    name: 'an upper limit off by one',
    file: TENANT,
    from: 'useCase: z.string().min(20).max(4_000)',
    to: 'useCase: z.string().min(20).max(3_999)',
    row: 'POST /v1/production-access-requests',
    says: /refuses ProductionAccessRequestCreate\.useCase of length 4000/,
  },
  {
    name: 'a lower limit off by one',
    file: TENANT,
    from: 'const name = z.string().min(2).max(120)',
    to: 'const name = z.string().min(1).max(120)',
    row: 'POST /v1/applications',
    says: /^name of 1: 200, not 400/,
  },
  {
    name: 'another type',
    file: 'src/service/contract/directory-resources.ts',
    from: 'deploymentStartBlock: optional(z.number().int())',
    to: 'deploymentStartBlock: optional(text)',
    row: 'GET /v1/deployments',
    says: /deploymentStartBlock must be string/,
  },
  {
    name: 'a wrong status',
    file: 'sandbox/service/reads/fields.ts',
    from: "new ApiError(400, 'invalid_fields'",
    to: "new ApiError(403, 'invalid_fields'",
    row: 'GET /v1/vaults/{resourceId}',
    says: /403 invalid_fields, not 400 invalid_fields/,
  },
  {
    name: 'a wrong event name',
    file: 'src/service/contract/workflow-types.ts',
    from: "deposit: onchain(null, 'deposit',",
    to: "deposit: onchain(null, 'deposited',",
    row: 'POST /v1/workflows/{requestId}/transactions',
    says: /no event workflow\.deposit\.updated/,
  },
  ...WORKFLOW_MISTAKES,
]

/** Copy the program with mistakes made in it. Throws when one does not apply. Remove the folder when done. */
export function makeMistakes(mistakes: readonly Mistake[]): {
  readonly root: string
  readonly remove: () => void
} {
  const root = mkdtempSync(join(tmpdir(), 'rolekeeper-mistaken-'))
  for (const part of ['src', 'agents', 'sandbox', 'policies', 'config', 'package.json'])
    cpSync(join(ROOT, part), join(root, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  for (const { name, file, from, to } of mistakes) {
    const path = join(root, file)
    const [before, after, ...more] = readFileSync(path, 'utf8').split(from)
    if (before === undefined || after === undefined || more.length > 0)
      throw new Error(`${name}: ${file} does not hold its text once`)
    writeFileSync(path, before + to + after)
  }
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) }
}

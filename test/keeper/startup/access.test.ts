import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { liquidator as role } from '../../../agents/liquidator/agent.ts'
import { systemClock } from '../../../src/clock.ts'
import { type AgentConfig, loadRunConfig } from '../../../src/config/config.ts'
import { Secret } from '../../../src/config/secrets/secret.ts'
import { checkAccess, clientOf, operationsOf, proveAccess } from '../../../src/keeper/startup/access.ts'
import { proveService } from '../../../src/keeper/startup/service.ts'
import { createLog } from '../../../src/ops/log.ts'
import { createServiceClient, type ServiceClient } from '../../../src/service/client.ts'
import { OPERATIONS, type OperationId } from '../../../src/service/contract/operations.ts'
import { SERVICE_TIMEOUTS } from '../../../src/service/http.ts'
import { collection, failure, json, type Scripted, startScripted } from '../../service/scripted-service.ts'

const names = ['SECRET_KEY', 'NODE_A', 'NODE_B', 'NODE_SEND']
const env = Object.fromEntries(
  names.map((name) => [`ROLEKEEPER_${name}`, `https://${name.toLowerCase()}.example/key`]),
)
const example = loadRunConfig(fileURLToPath(new URL('../../../config/example.yaml', import.meta.url)), {
  env,
  isWellKnown: () => false,
})
const { secretKey, ...keyless } = example.service
const liquidator = example.agents[0] as AgentConfig
const log = createLog({ level: 'error', secrets: [] })
const operations = operationsOf(role)
const own: AgentConfig = { ...liquidator, secretKey: new Secret('sk_own') }

let service: Scripted
let client: ServiceClient
beforeEach(async () => {
  service = await startScripted((_, response) => json(response, 200, collection([])))
  client = createServiceClient(
    { baseUrl: service.url, secretKey: 'sk_keeper', timeouts: SERVICE_TIMEOUTS },
    systemClock,
  )
})
afterEach(async () => {
  await client.close()
  await service.close()
})

test('derives what the liquidator uses from what it watches and proposes', () => {
  expect(operations).toEqual([
    ...['listMarkets', 'listPositions', 'listLiquidationRecovery', 'listCreditFacilities', 'listEligibility'],
    ...['prepareWorkflow', 'registerTransaction', 'getWorkflow'],
  ])
  const scopes = new Set(operations.map((id: OperationId) => OPERATIONS[id].scope))
  expect([...scopes]).toEqual([null, 'canonical:read', 'workflows:write', 'workflows:read'])
})

test('accepts a key for all, or one of each agent beside the keeper’s own', () => {
  checkAccess(example, [{ agent: liquidator, operations }])
  checkAccess({ ...example, agents: [own] }, [{ agent: own, operations }])
})

test('names who, operation, scope and fix where a key is missing', () => {
  expect(() => checkAccess({ ...example, service: keyless }, [{ agent: liquidator, operations }])).toThrow(
    'No secret key is configured, and agents[0], the liquidator, uses listPositions, which needs one with the scope canonical:read. Fix: add `agents[0].secretKey: env:NAME`, or `service.secretKey` for all.',
  )
  const config = { ...example, service: keyless, agents: [own] }
  expect(() => checkAccess(config, [{ agent: own, operations }])).toThrow(
    'No secret key is configured, and the keeper itself uses createStreamToken, which needs one with the scope events:read. Fix: add `service.secretKey: env:NAME`.',
  )
})

test('reads with the agent’s own key, and says in the configuration’s words whose was refused', async () => {
  const config = { ...example, agents: [own] }
  const mine = clientOf(client, config, own)
  await proveAccess(mine, role, log)
  expect(service.arrived.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/v1/positions', 'Bearer sk_own'],
  ])
  expect(clientOf(client, example, liquidator)).toBe(client)
  service.script.answer = (_, response) => json(response, 403, failure('insufficient_scope'))
  await expect(proveAccess(mine, role, log)).rejects.toMatchObject({
    code: 'service.forbidden',
    facts: { operation: 'listPositions', keyPath: 'agents[0].secretKey' },
    fix: expect.stringContaining('the scope `canonical:read`'),
  })
})

test('refuses a service of another chain, and waits for one that is down', async () => {
  const serving = (chainId: number) => {
    service.script.answer = (_, response) => json(response, 200, collection([{ chainId, network: 'n' }]))
  }
  serving(2)
  await expect(proveService(client, 1, log)).rejects.toMatchObject({
    code: 'service.other_chain',
    facts: { chains: '2', chainId: 1 },
  })
  serving(1)
  await proveService(client, 1, log)
  service.script.answer = (_, response) => json(response, 503, failure('down', { retryable: true }))
  await proveService(client, 1, log)
})

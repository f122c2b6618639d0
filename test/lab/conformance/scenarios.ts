import type { Target } from './calls.ts'
import { eventually } from './eventually.ts'
import {
  arrivedDelivery,
  eventTypesOf,
  funded,
  newOrganization,
  prepareBody,
  preparedBy,
  registration,
  unusedName,
} from './setups.ts'
import { isObject, type Json } from './shape-check.ts'
import { isEventType } from './transcription/events.ts'
import type { Credential, Operation } from './transcription/operations.ts'
import { itemsOf, type World } from './world.ts'

/** How the witness uses one operation, beyond what the transcription says by itself. */
export type Scenario = {
  /** A target that succeeds; asked again for each call that changes state. Absent: the bare path. */
  readonly target?: (world: World, credentials: readonly Credential[]) => Promise<Target>
  /** What else must hold of a 200 answer; problems. */
  readonly inspect?: (
    world: World,
    body: Json,
    credentials: readonly Credential[],
    target: Target,
  ) => readonly string[] | Promise<readonly string[]>
  /** Targets that must be refused with 400, by name. */
  readonly refused?: (world: World, right: Target) => Readonly<Record<string, Target>>
}

const at = (name: string, value: string): Target => ({ path: { [name]: value } })
const text = (value: unknown) => String(value)

/** Find the id of the first row of a collection. */
async function firstId(world: World, line: string): Promise<string> {
  const [row] = itemsOf(await world.ask(line, world.secret))
  if (row === undefined) throw new Error(`${line} lists nothing`)
  return text(row.id)
}

const ofMarket: Scenario = {
  target: async (world) => at('resourceId', await firstId(world, 'GET /v1/markets')),
}
const ofVault: Scenario = {
  target: async (world) => at('resourceId', await firstId(world, 'GET /v1/vaults')),
}
const ofFund: Scenario = { target: async (world) => at('resourceId', await firstId(world, 'GET /v1/funds')) }

const empty: Scenario = { target: async () => ({ body: {} }) }

const createKey = async (world: World): Promise<Json> =>
  world.ask('POST /v1/keys', world.secret, { kind: 'secret', scopes: ['canonical:read'] })
const createEndpoint = async (world: World): Promise<Json> =>
  world.ask('POST /v1/webhook-endpoints', world.secret, { url: 'https://example.com/hook' })

const ofKey: Scenario = {
  target: async (world) => ({ ...at('keyId', text((await createKey(world)).id)), body: {} }),
}

/** Bodies with one member changed. */
const changed = (right: Target, members: Readonly<Record<string, Json>>): Readonly<Record<string, Target>> =>
  Object.fromEntries(
    Object.entries(members).map(([name, change]) => [
      name,
      { ...right, body: { ...(isObject(right.body) ? right.body : {}), ...change } },
    ]),
  )

const shownOnce = (_: World, body: Json): readonly string[] =>
  body.secretShownOnce === true ? [] : ['secretShownOnce is not true']

/** No secret of ours is in a listing. */
const redacted = ({ info }: World, body: Json): readonly string[] =>
  JSON.stringify(body).includes(info.secretKey) || JSON.stringify(body).includes(info.publishableKey)
    ? ['the listing shows a key']
    : []

/** A session sees rows of its own wallet only. */
const ownRows = (world: World, body: Json, credentials: readonly Credential[]): readonly string[] =>
  credentials.includes('session')
    ? itemsOf(body)
        .filter(
          ({ walletAddress }) => text(walletAddress).toLowerCase() !== world.wallet.address.toLowerCase(),
        )
        .map(({ walletAddress }) => `a row of ${text(walletAddress)} is shown to another wallet`)
    : []

/** By operation. One that is not here is asked for by its bare path. */
const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'POST /graphql': {
    target: async () => ({ body: { query: '{ __typename }' } }),
    inspect: (_, body) => (isObject(body.data) ? [] : ['the answer holds no data']),
    refused: (_, right) =>
      changed(right, { 'without a query': { query: undefined }, 'query 7': { query: 7 } }),
  },
  'POST /v1/applications': {
    target: async () => ({
      body: { name: unusedName(), environment: 'test', scopes: ['canonical:read'] },
    }),
    inspect: shownOnce,
    refused: (_, right) =>
      changed(right, {
        'name of 1': { name: 'x' },
        'name of 121': { name: 'x'.repeat(121) },
        'slug in capitals': { slug: 'Witness' },
        'slug of 65': { slug: 'x'.repeat(65) },
        'no environment': { environment: undefined },
        'environment staging': { environment: 'staging' },
        'no scopes': { scopes: undefined },
      }),
  },
  'GET /v1/assets/{resourceId}': {
    target: async (world) => at('resourceId', await firstId(world, 'GET /v1/assets')),
  },
  'POST /v1/console/owner-claim': { target: newOrganization },
  'GET /v1/contracts/{contractName}': {
    target: async ({ info }) => at('contractName', Object.keys(info.contracts)[0] ?? ''),
    inspect: (_, body) =>
      itemsOf(body).every(({ abi }) => Array.isArray(abi)) ? [] : ['an artifact without an abi'],
  },
  'GET /v1/events': {
    inspect: (_, body) =>
      itemsOf(body).flatMap(({ event }) =>
        isObject(event) && isEventType(text(event.type))
          ? []
          : [`an event of the type ${JSON.stringify(event)}`],
      ),
  },
  'GET /v1/funds/{resourceId}': ofFund,
  'GET /v1/funds/{resourceId}/epochs': ofFund,
  'GET /v1/funds/{resourceId}/holdings': ofFund,
  'GET /v1/keys': { inspect: redacted },
  'POST /v1/keys': {
    target: async () => ({ body: { kind: 'secret', scopes: ['canonical:read'] } }),
    inspect: shownOnce,
    refused: (_, right) =>
      changed(right, {
        'no kind': { kind: undefined },
        'kind private': { kind: 'private' },
        'no scopes': { scopes: undefined },
        'an origin that is no URI': { kind: 'publishable', origins: ['no uri'] },
      }),
  },
  'POST /v1/keys/{keyId}/revoke': ofKey,
  'POST /v1/keys/{keyId}/rotate': ofKey,
  'GET /v1/markets/{resourceId}': ofMarket,
  'GET /v1/markets/{resourceId}/activity': ofMarket,
  'GET /v1/markets/{resourceId}/allocators': ofMarket,
  'GET /v1/markets/{resourceId}/history': ofMarket,
  'POST /v1/organizations': {
    target: async () => ({ body: { name: unusedName() } }),
  },
  'GET /v1/positions': { inspect: ownRows },
  'GET /v1/eligibility': { inspect: ownRows },
  'POST /v1/production-access-requests': {
    target: async () => ({ body: { scopes: ['canonical:read'], useCase: 'To witness that it conforms.' } }),
    refused: (_, right) =>
      changed(right, {
        'use case of 19': { useCase: 'x'.repeat(19) },
        'use case of 4001': { useCase: 'x'.repeat(4001) },
        'no scopes': { scopes: undefined },
      }),
  },
  'POST /v1/sandbox/admissions': empty,
  'POST /v1/sandbox/faucet-claims': {
    target: async (world) => {
      await funded(world)
      return { body: {} }
    },
  },
  'POST /v1/sandbox/reset': {
    target: newOrganization,
    inspect: async (world, _, __, target) => {
      const types = await eventTypesOf(world, target)
      return ['sandbox.provisioned', 'sandbox.reset.requested', 'sandbox.reset.completed']
        .filter((type) => !types.includes(type))
        .map((type) => `no event ${type}`)
    },
  },
  'POST /v1/stream-token': empty,
  'GET /v1/transactions/{chainId}/{txHash}': {
    target: async (world, credentials) => {
      // A publishable key alone sees no workflow of a wallet, only what it prepared itself.
      const requestId = await preparedBy(world, credentials)
      const body = registration(world)
      await world.ask(`POST /v1/workflows/${requestId}/transactions`, world.secret, body)
      return { path: { chainId: text(body.chainId), txHash: text(body.txHash) } }
    },
    inspect: (_, body) => (itemsOf(body).length === 1 ? [] : ['the registered transaction is not there']),
  },
  'GET /v1/vaults/{resourceId}': ofVault,
  'GET /v1/vaults/{resourceId}/activity': ofVault,
  'GET /v1/vaults/{resourceId}/allocations': ofVault,
  'GET /v1/vaults/{resourceId}/history': ofVault,
  'GET /v1/vaults/{resourceId}/liquidity': ofVault,
  'GET /v1/vaults/{resourceId}/share-mobility': ofVault,
  'POST /v1/wallet-sessions/challenges': {
    target: async ({ info, wallet }) => ({ body: { address: wallet.address, chainId: info.chainId } }),
    inspect: ({ wallet }, { message }) =>
      text(message).includes(`wants you to sign in with your Ethereum account:\n${wallet.address}`)
        ? []
        : ['the message is not an EIP-4361 text of the wallet'],
    refused: (_, right) => changed(right, { 'no address': { address: undefined } }),
  },
  'POST /v1/wallet-sessions/confirm': {
    target: async ({ ask, wallet, info }) => {
      const challenge = await ask(
        'POST /v1/wallet-sessions/challenges',
        {},
        { address: wallet.address, chainId: info.chainId },
      )
      const signature = await wallet.signMessage(text(challenge.message))
      return { body: { challengeId: challenge.challengeId, signature } }
    },
  },
  'POST /v1/webhook-deliveries/{deliveryId}/replay': {
    target: async (world) => ({ ...at('deliveryId', await arrivedDelivery(world)), body: {} }),
    inspect: ({ receiver }) => receiver.problems(),
  },
  'POST /v1/webhook-endpoints': {
    target: async () => ({ body: { url: 'https://example.com/hook' } }),
    inspect: shownOnce,
    refused: (_, right) =>
      changed(right, {
        'plain http to a public address': { url: 'http://8.8.8.8/hook' },
        'a private address': { url: 'https://10.0.0.1/hook' },
      }),
  },
  'DELETE /v1/webhook-endpoints/{endpointId}': {
    target: async (world) => at('endpointId', text((await createEndpoint(world)).id)),
  },
  'PATCH /v1/webhook-endpoints/{endpointId}': {
    target: async (world) => ({
      ...at('endpointId', text((await createEndpoint(world)).id)),
      body: { eventTypes: ['markets.updated'] },
    }),
  },
  'GET /v1/workflows/{requestId}': {
    target: async (world, credentials) => at('requestId', await preparedBy(world, credentials)),
  },
  'POST /v1/workflows/{requestId}/transactions': {
    target: async (world, credentials) => ({
      ...at('requestId', await preparedBy(world, credentials)),
      body: registration(world),
    }),
    inspect: async (world, { requestId }, credentials) => {
      // A session alone has no application's events; both keys are the same application's.
      if (!credentials.includes('secret')) return []
      // That it is tracked is written, and announced, after the answer.
      const tracked = async () => {
        const { status } = await world.ask(`GET /v1/workflows/${requestId}`, world.secret)
        return status === 'prepared' ? undefined : status
      }
      await eventually(tracked, `${text(requestId)} stays prepared`)
      const event = await world.events.published('workflow.deposit.updated', text(requestId))
      return event === null ? [`no event workflow.deposit.updated names ${text(requestId)}`] : []
    },
    refused: ({ info }, right) =>
      changed(right, {
        'a short hash': { txHash: '0x12' },
        'an order of none': { order: 99 },
        'another chain': { chainId: info.chainId + 1 },
      }),
  },
  'POST /v1/workflows/prepare': {
    target: async (world) => ({ body: prepareBody(world) }),
    refused: (_, right) =>
      changed(right, {
        'an unlisted type': { workflowType: 'role.nobody.nothing' },
        'chain 0': { chainId: 0 },
        'no chain': { chainId: undefined },
        'no input': { input: undefined },
        'a short principal': { principalAddress: '0x12' },
      }),
  },
}

/** The scenario of an operation. */
export const scenarioOf = ({ name }: Operation): Scenario => SCENARIOS[name] ?? {}

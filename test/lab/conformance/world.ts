import { randomUUID } from 'node:crypto'
import { type ApplicationEvents, followEvents } from './application-events.ts'
import { type Service, schemaProblems } from './calls.ts'
import { type Chain, createChain } from './chain.ts'
import { type Contract, createContract } from './contract.ts'
import { eventually } from './eventually.ts'
import type { SandboxInfo } from './sandbox-under-test.ts'
import { isObject, type Json } from './shape-check.ts'
import { OPERATIONS, type Operation } from './transcription/operations.ts'
import { createWallet, type Wallet } from './wallet.ts'
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts'

/** What all rows share: where the service is, what it publishes, and a wallet that has signed in. */
export type World = {
  readonly info: SandboxInfo
  readonly contract: Contract
  readonly chain: Chain
  /** Gets the seeded application's webhooks. */
  readonly receiver: WebhookReceiver
  /** What the seeded application sees by polling. */
  readonly events: ApplicationEvents
  /** The service as the seeded application calls it, its session being `wallet`'s. */
  readonly service: Service
  readonly wallet: Wallet
  /** Call outside any row, to set something up; throws when the answer is not 200. */
  readonly ask: (line: string, headers: Headers, body?: unknown) => Promise<Json>
  /** Sign in. Returns the session's headers; the second call for a wallet gives the first one's. */
  readonly signIn: (wallet: Wallet) => Promise<Headers>
  /** A secret key that has none of the scopes, or one other than `scope`. */
  readonly unscopedKey: (scope: unknown) => Promise<string>
  /** Wait until the service knows the chain as it is now: what is read there is news to a service that lags. */
  readonly caughtUp: () => Promise<void>
  readonly secret: Headers
  readonly publishable: Headers
  /** Stop polling and receiving. */
  readonly leave: () => Promise<void>
}

type Headers = Readonly<Record<string, string>>

/** Two scopes, so that there is always one which an operation does not ask for. */
const OTHER_SCOPES = ['usage:read', 'audit:read']

/** Get to know a running sandbox. An unusable or absent OpenAPI document throws. */
export async function createWorld(info: SandboxInfo): Promise<World> {
  const url = info.serviceUrl
  const published = await fetch(`${url}/openapi.json`)
  const document: unknown = await published.json()
  if (!isObject(document)) throw new Error(`GET /openapi.json answered ${published.status}`)
  const contract = createContract(document)
  const wallet = createWallet()
  const secret = { authorization: `Bearer ${info.secretKey}` }
  const publishable = { 'x-svc-publishable-key': info.publishableKey, origin: info.origins[0] ?? '' }

  const ask: World['ask'] = async (line, headers, body) => {
    const operation = operationOf(line)
    const [path = ''] = line.split(' ').slice(1)
    const answer = await fetch(url + path, {
      method: operation.method,
      headers: {
        ...(operation.writes ? { 'idempotency-key': randomUUID() } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const { status } = answer
    const given: unknown = await answer.json()
    if (status !== 200 || !isObject(given))
      throw new Error(`${line} answered ${status} ${JSON.stringify(given).slice(0, 200)}`)
    const [problem] = schemaProblems(contract, operation, body, { status, body: given }, line)
    if (problem !== undefined) throw new Error(problem)
    return given
  }

  const sessions = new Map<Wallet, Promise<Headers>>()
  const signIn = (who: Wallet): Promise<Headers> => {
    const session = sessions.get(who) ?? confirm(ask, who, info.chainId)
    sessions.set(who, session)
    return session
  }
  const service: Service = {
    url,
    contract,
    present: async (credential) =>
      credential === 'session' ? signIn(wallet) : credential === 'secret' ? secret : publishable,
  }
  const keys = new Map<string, Promise<Json>>()
  const unscopedKey = async (scope: unknown): Promise<string> => {
    const other = OTHER_SCOPES.find((one) => one !== scope) ?? ''
    const key = keys.get(other) ?? ask('POST /v1/keys', secret, { kind: 'secret', scopes: [other] })
    keys.set(other, key)
    return String((await key).token)
  }
  const chain = createChain(info)
  const events = followEvents((query) => ask(`GET /v1/events?${query}`, secret).then(itemsOf))
  const receiver = await startWebhookReceiver()
  const leave = async () => {
    await Promise.all([events.stop(), receiver.stop()])
  }
  const caughtUp = async () => {
    const head = await chain.client.getBlockNumber({ cacheTime: 0 })
    const known = async () => {
      const { freshness } = await ask('GET /v1/markets?limit=1', {})
      return isObject(freshness) && BigInt(String(freshness.blockNumber ?? 0)) >= head ? head : undefined
    }
    await eventually(known, `the service does not come to know block ${head}`)
  }
  const places = { info, contract, chain, receiver, events, service, wallet }
  return { ...places, ask, signIn, unscopedKey, caughtUp, secret, publishable, leave }
}

/** Find the operation of a line such as `GET /v1/vaults/0x12?limit=1`. Throws `RangeError` when there is none. */
export function operationOf(line: string): Operation {
  const [method, address = ''] = line.split(' ')
  const { pathname } = new URL(address, 'http://service')
  const found = OPERATIONS.find(
    (one) =>
      one.method === method && new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname),
  )
  if (found === undefined) throw new RangeError(`no operation ${line}`)
  return found
}

/** Answer a challenge with the wallet's signature. Source: EIP-4361. */
async function confirm(ask: World['ask'], wallet: Wallet, chainId: number): Promise<Headers> {
  const challenge = await ask('POST /v1/wallet-sessions/challenges', {}, { address: wallet.address, chainId })
  const signature = await wallet.signMessage(String(challenge.message))
  const { challengeId } = challenge
  const { session } = await ask('POST /v1/wallet-sessions/confirm', {}, { challengeId, signature })
  return { 'x-svc-wallet-session': String(session) }
}

/** Give the rows of a collection. Throws when there is none. */
export function itemsOf({ items }: Json): readonly Json[] {
  if (!Array.isArray(items)) throw new TypeError('a collection without items')
  return items.filter(isObject)
}

import type { Address } from 'viem'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { invariant } from '../errors.ts'
import { admitWhole } from './admit.ts'
import { type Page, readCollection, readPages, type WholeCollection } from './collection.ts'
import { ASSUMPTIONS, type Assumptions } from './contract/assumptions.ts'
import {
  type AnswerOf,
  type BodyOf,
  type CollectionId,
  OPERATIONS,
  type Operation,
  type OperationId,
  type ParamsOf,
} from './contract/operations.ts'
import { type Freshness, freshness } from './contract/resources.ts'
import { type Selected, selected } from './contract/selection.ts'
import { askerOf, type Keys } from './credentials.ts'
import { firstIssuePath, garbage } from './failure.ts'
import { createHttp, type HttpEvents, type ServiceTimeouts } from './http.ts'
import { createSender, type Sender, type ServiceRequest } from './sender.ts'

/** How the service is reached, and as whom. */
type ServiceClientOptions = Keys & {
  /** Origin and optional path prefix, for example `https://api.example.com`. */
  readonly baseUrl: string
  readonly timeouts: ServiceTimeouts
  /** What the service does otherwise than we assume; nothing when absent. */
  readonly assumptions?: Assumptions
  /** Called for every attempt and whenever the circuit moves. */
  readonly events?: HttpEvents
}

type Entry<Id extends OperationId> = (typeof OPERATIONS)[Id]

type ChangeCall = {
  /** 1 to 200 visible characters: the same change, sent again whenever, has the same key. */
  readonly idempotencyKey: string
  /**
   * For a change that must be asked about each time: called once its turn came, right before it is sent; where it throws,
   * nothing is. It is then sent once, and its caller sees to another try.
   */
  readonly ready?: () => void
}

/** What a call is given beside the credentials of its client: what its operation takes, and no more. */
type CallOf<Id extends OperationId> = {
  /** The token of a wallet session. */
  readonly session?: string
  readonly signal?: AbortSignal
} & (keyof ParamsOf<Id> extends never ? unknown : { readonly params: ParamsOf<Id> }) &
  /** Of whom the rows are wanted; absent, everyone's. */
  (Entry<Id>['rowsOf'] extends string ? { readonly wallets?: readonly Address[] } : unknown) &
  /** Names or dotted paths; absent, the whole resource. */
  (Entry<Id>['fields'] extends true ? { readonly fields?: readonly string[] } : unknown) &
  (Entry<Id>['changes'] extends true ? ChangeCall : unknown) &
  /** A value, or the exact JSON text to send. */
  (BodyOf<Id> extends null ? unknown : { readonly body: BodyOf<Id> } | { readonly bodyText: string })

type Arguments<Call> = Record<never, never> extends Call ? [call?: Call] : [call: Call]

/** The answer of an operation that is no collection. */
type OperationAnswer<T> = {
  readonly answer: T
  /** The exact text of the answer. */
  readonly bytes: string
  /** What the answer says of its own freshness; null where it says nothing. */
  readonly freshness: Freshness | null
}

type ResultOf<Id extends OperationId> = Id extends CollectionId
  ? WholeCollection<AnswerOf<Id>>
  : OperationAnswer<Entry<Id>['fields'] extends true ? Selected<AnswerOf<Id>> : AnswerOf<Id>>

/** One method for each operation; a collection is read whole. */
type Operations = {
  readonly [Id in OperationId]: (...call: Arguments<CallOf<Id>>) => Promise<ResultOf<Id>>
}

/** Collections page by page, from a cursor on; without one, from the start. */
type Pages = {
  readonly [Id in CollectionId]: (
    ...call: Arguments<CallOf<Id> & { readonly cursor?: string | null }>
  ) => AsyncGenerator<Page<AnswerOf<Id>>, void, undefined>
}

/** The client of one service, with one asker's keys. */
export type ServiceClient = Operations & {
  /** The authority that error texts name, and that a wallet challenge must name. */
  readonly base: URL
  readonly pages: Pages
  /** The same service over the same connections, with other keys. */
  readonly as: (keys: Keys) => ServiceClient
  /** Drop every connection, of every asker; what is in flight fails. */
  readonly close: () => Promise<void>
}

const NO_EVENTS: HttpEvents = { onAttempt: () => undefined, onCircuit: () => undefined }

/**
 * Create the client of one service, derived from the catalogue. Every method throws RolekeeperError with a `service.*`
 * code; its `retry` says whether asking again can help. Rows that do not parse are counted, not thrown. A change is
 * sent again only with the same bytes under the same key; `service.conflict` means that the key had other bytes.
 * Source: service API, "Endpoints".
 */
export function createServiceClient(options: ServiceClientOptions, clock: Clock): ServiceClient {
  const http = createHttp(options.baseUrl, options.timeouts, clock, options.events ?? NO_EVENTS)
  const assumed = options.assumptions ?? ASSUMPTIONS
  const as = (keys: Keys): ServiceClient => {
    const sender = createSender(http, askerOf(keys, assumed.credentialHeaders), clock, assumed)
    return { ...derive(sender), base: http.base, as, close: http.close }
  }
  return as(options)
}

/** Any call, as the loop below sees it. */
type AnyCall = {
  readonly session?: string
  readonly signal?: AbortSignal
  readonly params?: Readonly<Record<string, string>>
  readonly fields?: readonly string[]
  readonly wallets?: readonly string[]
  readonly idempotencyKey?: string
  readonly ready?: () => void
  readonly body?: unknown
  readonly bodyText?: string
  readonly cursor?: string | null
}

function derive(sender: Sender): Operations & { readonly pages: Pages } {
  const methods: { [Id in OperationId]?: (call?: AnyCall) => Promise<unknown> } = {}
  const pages: { [Id in OperationId]?: (call?: AnyCall) => AsyncGenerator<unknown, void, undefined> } = {}
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    const id = name as OperationId
    const { kind, schema } = operation.answer
    if (kind === 'collection') {
      methods[id] = async (call = {}) => readCollection(sender, requestOf(id, call, sender.assumed), schema)
      pages[id] = (call = {}) =>
        readPages(sender, requestOf(id, call, sender.assumed), schema, call.cursor ?? null)
    } else {
      const answer = () => (operation.fields ? selectedOf(operation.answer.schema) : schema)
      methods[id] = async (call = {}) => ask(sender, requestOf(id, call, sender.assumed), answer())
    }
  }
  // The loop made exactly the catalogue's methods.
  return { ...(methods as Operations), pages: pages as Pages }
}

const selections = new WeakMap<z.ZodObject, z.ZodObject>()

/** Made by the first who asks, and once for every client: it takes longer than all else that a client is made of. */
function selectedOf(schema: z.ZodObject): z.ZodObject {
  const made = selections.get(schema) ?? selected(schema)
  selections.set(schema, made)
  return made
}

/** A challenge has lines, and its whole text is held to ours; the rows of a query are let in one by one. */
const JUDGED_ELSEWHERE: ReadonlySet<OperationId> = new Set(['createWalletChallenge', 'queryGraphql'])

/** Made once: a schema is compiled by its first use. */
const withFreshness = z.object({ freshness })

async function ask(
  sender: Sender,
  request: ServiceRequest,
  schema: z.ZodType,
): Promise<OperationAnswer<unknown>> {
  const { text, value } = await sender.send(request)
  const kept = JUDGED_ELSEWHERE.has(request.operation) ? null : admitWhole(text, value)
  if (kept !== null) throw garbage(sender.callOf(request), kept)
  const parsed = schema.safeParse(value)
  if (!parsed.success)
    throw garbage(
      sender.callOf(request),
      `the answer does not fit at ${firstIssuePath(parsed.error, 'answer')}`,
    )
  const withStamp = withFreshness.safeParse(parsed.data)
  return { bytes: text, answer: parsed.data, freshness: withStamp.success ? withStamp.data.freshness : null }
}

function requestOf(id: OperationId, call: AnyCall, assumed: Assumptions): ServiceRequest {
  const { body, changes, rowsOf }: Operation = OPERATIONS[id]
  const key = call.idempotencyKey
  invariant(!changes || /^[\x21-\x7e]{1,200}$/.test(key ?? ''), `${id} is asked with the key "${key}"`)
  return {
    operation: id,
    params: call.params ?? {},
    query: new URLSearchParams([
      ...(call.fields ?? []).map((field): [string, string] => [assumed.query.fields, field]),
      ...(rowsOf === null ? [] : walletsOf(call, assumed.query[rowsOf])),
    ]),
    headers: {
      ...(body === null ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(call.session === undefined ? {} : { [assumed.credentialHeaders.walletSession]: call.session }),
    },
    body: body === null ? null : (call.bodyText ?? JSON.stringify(call.body)),
    signal: call.signal,
    ready: call.ready,
  }
}

const walletsOf = ({ wallets = [] }: AnyCall, name: string) =>
  wallets.map((wallet): [string, string] => [name, wallet])

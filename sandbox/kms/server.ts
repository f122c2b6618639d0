import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Clock } from '../../src/clock.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { SERVER_OPTIONS } from '../server-options.ts'
import { holdKey, type KmsKey, type KmsKeySettings } from './keys.ts'
import { type KmsFaults, NO_FAULTS, type Outcome, performOperation } from './operations.ts'
import { type KmsFault, sigV4Fault } from './sigv4.ts'

/** One call as the log has it, in memory and as a JSON line. Holds no secret and no signature. */
type KmsCall = {
  /** Unix epoch, milliseconds. */
  readonly at: number
  readonly operation: string
  /** The ARN of the key, once one was found. */
  readonly keyId?: string
  /** What was signed: 32 bytes, hex without a prefix. */
  readonly digest?: string
  /** `ok`, or the name of AWS's error. A dropped reply and a hang are logged too. */
  readonly outcome: string
  readonly requestId: string
}

/** What a KMS needs to start. `port` 0 or absent takes a free one; `logFile` is appended to. */
export type KmsServerSettings = {
  readonly clock: Clock
  readonly port?: number
  readonly region: string
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string }
  readonly keys: readonly KmsKeySettings[]
  readonly logFile?: string
  readonly faults?: Partial<KmsFaults>
}

/** A running KMS. */
export type Kms = {
  readonly url: string
  readonly keys: readonly KmsKey[]
  /** The newest 10,000 calls, oldest first; the log file has all. */
  readonly calls: () => readonly KmsCall[]
  /** Change some faults; the others stay as they are. */
  readonly setFault: (faults: Partial<KmsFaults>) => void
  /** Close the port and every connection, also those of a hanging call. */
  readonly stop: () => Promise<void>
}

const BODY_BYTES_MAX = 65_536
const CALLS_MAX = 10_000
const TARGET = /^TrentService\.([A-Za-z]{1,64})$/

/** Spread a share of calls evenly: the share that is carried over decides, not chance, so tests can count. */
function createShare(): (rate: number) => boolean {
  let carried = 0
  return (rate) => {
    carried += rate
    if (carried < 1) return false
    carried -= 1
    return true
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > BODY_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

/** Refuse what is not a program's call to AWS's one path. A browser page sends an Origin, a rebound name another Host. */
function requestFault(request: IncomingMessage): KmsFault | undefined {
  const { host, origin, 'content-type': contentType } = request.headers
  if (origin !== undefined || !/^(127\.0\.0\.1|localhost)(:\d{1,5})?$/.test(host ?? '')) {
    return { type: 'AccessDeniedException', message: 'Only local programs may call.' }
  }
  if (request.method !== 'POST' || request.url !== '/' || contentType !== 'application/x-amz-json-1.1') {
    return { type: 'UnknownOperationException', message: 'Expected POST / with application/x-amz-json-1.1.' }
  }
  return undefined
}

/**
 * Start a server on loopback that speaks AWS KMS's JSON 1.1 protocol for Sign, GetPublicKey and DescribeKey, with
 * secp256k1 keys and full SigV4. It holds keys in memory only. Rejects with `sandbox.port` when the port cannot be
 * had. Source: https://docs.aws.amazon.com/kms/latest/APIReference/Welcome.html,
 * https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html
 */
export async function startKms(settings: KmsServerSettings): Promise<Kms> {
  const { clock, region, credentials, logFile } = settings
  const scope = { ...credentials, region, clock }
  const keys = settings.keys.map((key) => holdKey(key, region))
  const createdAtMs = clock.nowMs()
  const log = createCallLog(clock, logFile)
  const stopping = new AbortController()
  const isThrottled = createShare()
  const isDropped = createShare()
  let faults: KmsFaults = { ...NO_FAULTS, ...settings.faults }

  async function perform(request: IncomingMessage, operation: string): Promise<Outcome> {
    const body = await readBody(request)
    if (body === undefined) {
      return { ok: false, fault: { type: 'ValidationException', message: `Over ${BODY_BYTES_MAX} bytes.` } }
    }
    const fault = requestFault(request) ?? sigV4Fault(request.headers, body, scope)
    if (fault !== undefined) return { ok: false, fault }
    if (isThrottled(faults.throttleRate)) {
      return { ok: false, fault: { type: 'ThrottlingException', message: 'Rate exceeded' } }
    }
    return performOperation(operation, parseJson(body), { keys, faults, createdAtMs })
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = randomUUID()
    const operation = TARGET.exec(String(request.headers['x-amz-target']))?.[1] ?? 'Unknown'
    const outcome = await perform(request, operation)
    log.add(operation, outcome, requestId)
    if (faults.hang) return
    if (faults.latencyMs > 0) await clock.sleep(faults.latencyMs, stopping.signal)
    if (isDropped(faults.dropRate)) {
      request.socket.destroy()
      return
    }
    send(response, outcome, requestId, clock.nowMs())
  }

  const server = createServer(SERVER_OPTIONS, (request, response) => {
    // Only a connection that ended early, or a stop, can reject: there is nobody left to answer.
    answer(request, response).catch(() => request.socket.destroy())
  })
  const port = await listen(server, settings.port ?? 0)
  return {
    url: `http://127.0.0.1:${port}`,
    keys: keys.map(({ id, arn, address }) => ({ id, arn, address })),
    calls: log.calls,
    setFault: (change) => {
      faults = { ...faults, ...change }
    },
    stop: async () => {
      if (!server.listening) return
      stopping.abort()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Remember the newest calls, and write each to a file where there is one. */
function createCallLog(clock: Clock, logFile: string | undefined) {
  const calls: KmsCall[] = []
  return {
    calls: (): readonly KmsCall[] => calls,
    add: (operation: string, outcome: Outcome, requestId: string): void => {
      const { keyId, digest } = outcome
      const call: KmsCall = {
        at: clock.nowMs(),
        operation,
        ...(keyId === undefined ? {} : { keyId }),
        ...(digest === undefined ? {} : { digest }),
        outcome: outcome.ok ? 'ok' : outcome.fault.type,
        requestId,
      }
      calls.push(call)
      if (calls.length > CALLS_MAX) calls.shift()
      // Written before the reply leaves, so that no signature is out that the log does not have.
      if (logFile !== undefined) appendFileSync(logFile, `${JSON.stringify(call)}\n`)
    },
  }
}

function send(response: ServerResponse, outcome: Outcome, requestId: string, nowMs: number): void {
  const content = outcome.ok ? outcome.reply : { __type: outcome.fault.type, message: outcome.fault.message }
  response.writeHead(outcome.ok ? 200 : 400, {
    'content-type': 'application/x-amz-json-1.1',
    'x-amzn-requestid': requestId,
    // The SDK sets its clock by this header, so a sandbox at another time than the machine still verifies.
    date: new Date(nowMs).toUTCString(),
  })
  response.end(JSON.stringify(content))
}

/** Listen on loopback, at a port or, for 0, at any free one. Returns the port; throws `sandbox.port`. */
async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening').catch(() => {
    throw new RolekeeperError('sandbox.port', `The KMS cannot listen on 127.0.0.1:${port}.`, {
      fix: 'end the program that has this port, or choose another one.',
      facts: { port },
    })
  })
  const address = server.address()
  return address !== null && typeof address === 'object' ? address.port : port
}

/** Deliveries that no receiver may accept, made from genuine ones. Imports nothing of ours, as the receiver beside it. */
import { createHmac, randomBytes } from 'node:crypto'
import type { Delivery } from './receiver.ts'

/** One attempt: what is sent, and when it arrives. */
export type Attempt = { readonly kind: string; readonly delivery: Delivery; readonly nowMs: number }

type Genuine = {
  readonly t: number
  readonly v1: string
  readonly id: string
  readonly body: Buffer
  /** A second genuine delivery, to swap parts with. */
  readonly other: Omit<Genuine, 'other'>
}
type Forged = Partial<{
  signature: string | null
  id: string | null
  body: Buffer
  nowMs: number
}>

/** How an attacker who has seen deliveries, and holds no secret, makes another. */
const KINDS: Readonly<Record<string, (from: Genuine, draw: (below: number) => number) => Forged>> = {
  'played back as it was': () => ({}),
  'played back a second past the tolerance': ({ t }) => ({ nowMs: (t + 301) * 1_000 }),
  'signed further ahead than the tolerance': ({ t }) => ({ nowMs: (t - 301) * 1_000 }),
  'one bit of the body flipped': ({ body }, draw) => {
    const bytes = Buffer.from(body)
    const at = draw(bytes.length)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << draw(8))
    return { body: bytes }
  },
  'a byte appended': ({ body }) => ({ body: Buffer.concat([body, Buffer.from('\n')]) }),
  'a byte dropped': ({ body }, draw) => {
    const at = draw(body.length)
    return { body: Buffer.concat([body.subarray(0, at), body.subarray(at + 1)]) }
  },
  'the same JSON, written anew': ({ body }) => ({
    body: Buffer.from(JSON.stringify(JSON.parse(body.toString()), null, 1)),
  }),
  'a member added': ({ body }) => ({ body: Buffer.from(body.toString().replace(/}$/, ',"x":1}')) }),
  'no body': () => ({ body: Buffer.alloc(0) }),
  'the body of another delivery': ({ other }) => ({ body: other.body }),
  'the signature of another delivery': ({ other }) => ({ signature: `t=${other.t},v1=${other.v1}` }),
  'the id of another delivery': ({ other }) => ({ id: other.id }),
  'an id never seen': () => ({ id: `dlv_${randomBytes(12).toString('hex')}` }),
  'no id': () => ({ id: null }),
  'bytes moved from the body to the id': ({ id, body }, draw) => {
    const at = draw(body.length)
    return {
      id: `${id}.${body
        .subarray(0, at)
        .toString('latin1')
        .replaceAll(/[^!-~]/g, '')}`,
      body: body.subarray(at),
    }
  },
  'a fresh timestamp on an old signature': ({ t, v1 }) => ({ signature: `t=${t + 1},v1=${v1}` }),
  'an old timestamp beside a fresh one': ({ t, v1 }) => ({ signature: `t=${t},t=${t + 1},v1=${v1}` }),
  'a timestamp in milliseconds': ({ t, v1 }) => ({ signature: `t=${t}000,v1=${v1}` }),
  'a timestamp with a sign': ({ t, v1 }) => ({ signature: `t=-${t},v1=${v1}` }),
  'no timestamp': ({ v1 }) => ({ signature: `v1=${v1}` }),
  'no signature': ({ t }) => ({ signature: `t=${t}` }),
  'no signature header': () => ({ signature: null }),
  'an empty signature': ({ t }) => ({ signature: `t=${t},v1=` }),
  'a scheme of its own': ({ t, v1 }) => ({ signature: `t=${t},v0=${v1}` }),
  'random signatures, many': ({ t }, draw) => ({
    signature: `t=${t}${`,v1=${randomBytes(32).toString('hex')}`.repeat(1 + draw(200))}`,
  }),
  'one digit of the signature changed': ({ t, v1 }, draw) => {
    const at = draw(64)
    const digit = ((Number.parseInt(v1[at] ?? '0', 16) + 1 + draw(15)) % 16).toString(16)
    return { signature: `t=${t},v1=${v1.slice(0, at)}${digit}${v1.slice(at + 1)}` }
  },
  'a signature cut short': ({ t, v1 }, draw) => ({ signature: `t=${t},v1=${v1.slice(0, draw(64))}` }),
  'a signature too long': ({ t, v1 }) => ({ signature: `t=${t},v1=${v1}00` }),
  'a signature that is not hex': ({ t, v1 }) => ({ signature: `t=${t},v1=${v1.slice(0, 62)}zz` }),
  'the signature in base64': ({ t, v1 }) => ({
    signature: `t=${t},v1=${Buffer.from(v1, 'hex').toString('base64')}`,
  }),
  'signed with the empty secret': ({ t, id, body }) => ({
    signature: `t=${t},v1=${hmac('', `${t}.${id}.`, body)}`,
  }),
  'signed with a guessed secret': ({ t, id, body }, draw) => ({
    signature: `t=${t},v1=${hmac(`whsec_${draw(1e6)}`, `${t}.${id}.`, body)}`,
  }),
  'hashed without a secret': ({ t, id, body }) => ({
    signature: `t=${t},v1=${hmac(id, '', body)}`,
  }),
}

const ATTEMPT_KINDS = Object.keys(KINDS)

/**
 * Make `count` attempts, all kinds in turn, from genuine deliveries that the receiver has accepted already; they arrive
 * in the second in which the genuine one was signed, unless their kind says otherwise.
 * @param seed equal seeds make equal choices; random bytes aside.
 */
export function* attempts(
  genuine: readonly Delivery[],
  count: number,
  seed: number,
): Generator<Attempt, void, void> {
  const draw = drawer(seed)
  const parsed = genuine.map(parse)
  for (let index = 0; index < count; index += 1) {
    const kind = ATTEMPT_KINDS[index % ATTEMPT_KINDS.length] ?? ''
    const at = draw(parsed.length)
    const one = parsed[at]
    const other = parsed[(at + 1) % parsed.length]
    const forge = KINDS[kind]
    if (one === undefined || other === undefined || forge === undefined || one === other)
      throw new RangeError('attempts need two genuine deliveries')
    const forged = forge({ ...one, other }, draw)
    const signature = forged.signature === undefined ? `t=${one.t},v1=${one.v1}` : forged.signature
    const id = forged.id === undefined ? one.id : forged.id
    const headers = {
      ...(signature === null ? {} : { 'svc-signature': signature }),
      ...(id === null ? {} : { 'svc-delivery-id': id }),
    }
    yield {
      kind,
      delivery: { headers, body: forged.body ?? one.body },
      nowMs: forged.nowMs ?? one.t * 1_000,
    }
  }
}

function parse({ headers, body }: Delivery): Omit<Genuine, 'other'> {
  const [, t, v1 = ''] = /^t=(\d+),v1=([0-9a-f]{64})/.exec(headers['svc-signature'] ?? '') ?? []
  return { t: Number(t), v1, id: headers['svc-delivery-id'] ?? '', body }
}

const hmac = (key: string, head: string, body: Buffer) =>
  createHmac('sha256', key).update(head).update(body).digest('hex')

/** A small generator of its own (mulberry32): the same seed makes the same attempts. */
function drawer(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

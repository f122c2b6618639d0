import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { EventEnvelope } from '../../../src/service/contract/assumptions.ts'
import { createWebhookInbox } from '../../../src/service/events/webhook.ts'
import { attempts } from '../../support/webhook-witness/corpus.ts'
import { createReceiver } from '../../support/webhook-witness/receiver.ts'

const T = 1_767_225_600
const SECRET = 'whsec_current'

const envelope = (id: string, changes: Record<string, unknown> = {}) =>
  JSON.stringify({
    id,
    type: 'positions.updated',
    schemaVersion: 1,
    occurredAt: '2026-01-01T00:00:00Z',
    subject: 'm:v:b',
    data: { blockNumber: '7', note: 'größe 1.5' },
    ...changes,
  })
const sign = (id: string, body: string, { t = T, secret = SECRET } = {}) =>
  createHmac('sha256', secret).update(`${t}.${id}.${body}`).digest('hex')
function delivery(id: string, body: string, { t = T, secret = SECRET } = {}) {
  const signature = `t=${t},v1=${sign(id, body, { t, secret })}`
  return { signature, deliveryId: id, body: Buffer.from(body) }
}

/** An inbox at `nowMs`, and what it gave. */
function open({ nowMs = T * 1_000, secrets = [SECRET], taken = true } = {}) {
  const events: EventEnvelope[] = []
  const at = { nowMs, taken }
  const inbox = createWebhookInbox(
    () => secrets,
    { nowMs: () => at.nowMs },
    (event) => {
      if (at.taken) events.push(event)
      return at.taken
    },
  )
  return { ...inbox, events, at }
}
const said = (received: ReturnType<ReturnType<typeof open>['receive']>) =>
  received.ok ? received.outcome : received.check

describe('the webhook inbox', () => {
  it('takes the example that was signed by hand', () => {
    // printf '%s' '1767225600.dlv_1.{…}' | openssl dgst -sha256 -hmac whsec_current
    const body = envelope('evt_1', { data: {} })
    const inbox = open()
    const signature = 't=1767225600,v1=df6f92a7e54cf29e55056f686f0db23915b0961d10a2d15d82a3cacac4a2edd5'
    expect(said(inbox.receive({ signature, deliveryId: 'dlv_1', body: Buffer.from(body) }))).toBe('taken')
    expect(inbox.events).toEqual([JSON.parse(body)])
  })

  it.each([
    [300_000, 'taken'],
    [300_001, 'timestamp'],
    [-300_000, 'taken'],
    [-300_001, 'timestamp'],
  ])('answers a delivery signed %i ms away with %s', (offMs, outcome) => {
    const inbox = open({ nowMs: T * 1_000 + offMs })
    expect(said(inbox.receive(delivery('d', envelope('e'))))).toBe(outcome)
  })

  it('gives an event once, by its own id and by the id of the delivery', () => {
    const inbox = open()
    expect(said(inbox.receive(delivery('d1', envelope('e1'))))).toBe('taken')
    inbox.at.nowMs += 120_000
    expect(said(inbox.receive(delivery('d1', envelope('e1'), { t: T + 120 })))).toBe('duplicate')
    expect(said(inbox.receive(delivery('d2', envelope('e1'))))).toBe('duplicate')
    expect(said(inbox.receive(delivery('d1', envelope('e2'))))).toBe('duplicate')
    expect(inbox.events).toHaveLength(1)
  })

  it('remembers nothing that was not taken', () => {
    const inbox = open({ taken: false })
    expect(said(inbox.receive(delivery('d', envelope('e'))))).toBe('not_taken')
    inbox.at.taken = true
    expect(said(inbox.receive(delivery('d', envelope('e'))))).toBe('taken')
  })

  it('knows the old and the new secret while one is being replaced, in whichever part', () => {
    const inbox = open({ secrets: ['whsec_next', SECRET] })
    expect(said(inbox.receive(delivery('d1', envelope('e1'))))).toBe('taken')
    expect(said(inbox.receive(delivery('d2', envelope('e2'), { secret: 'whsec_next' })))).toBe('taken')
    const body = envelope('e3')
    const parts = [sign('d3', body, { secret: 'whsec_gone' }), sign('d3', body)].map((hex) => `v1=${hex}`)
    const signature = `t=${T},v0=x,${parts.join(', ')}`
    expect(said(inbox.receive({ signature, deliveryId: 'd3', body: Buffer.from(body) }))).toBe('taken')
    const gone = delivery('d4', envelope('e4'), { secret: 'whsec_gone' })
    expect(said(inbox.receive(gone))).toBe('signature')
  })

  it('takes eight signatures in one header, and not nine', () => {
    const body = envelope('e')
    const header = (count: number) =>
      [`t=${T}`, ...Array(count - 1).fill(`v1=${'0'.repeat(64)}`), `v1=${sign('d', body)}`].join()
    const send = (count: number) =>
      said(open().receive({ signature: header(count), deliveryId: 'd', body: Buffer.from(body) }))
    expect([send(8), send(9)]).toEqual(['taken', 'signature_header'])
  })

  it.each([
    ['no JSON', '{', 'json_syntax'],
    ['JSON that nests too deep', `${'['.repeat(40)}${']'.repeat(40)}`, 'json_depth'],
    ['no envelope', '{"id":"e"}', 'envelope'],
    ['a fraction as schema version', envelope('e', { schemaVersion: 1.5 }), 'envelope'],
    ['an empty id', envelope(''), 'envelope'],
  ])('refuses %s under a good signature', (_name, body, check) => {
    const inbox = open()
    expect(said(inbox.receive(delivery('d', body)))).toBe(check)
    expect(inbox.events).toEqual([])
  })

  it('never lets bytes move between the delivery id and the body', () => {
    const [id, rest] = ['d', `x.${envelope('e')}`]
    const signature = `t=${T},v1=${sign(id, rest)}`
    const moved = { signature, deliveryId: 'd.x', body: Buffer.from(envelope('e')) }
    expect(said(open().receive(moved))).toBe('delivery_id')
  })

  it('accepts 1,000 deliveries once, as the witness does, and none of 10,000 forged, altered or replayed ones', () => {
    const inbox = open()
    const witness = createReceiver(SECRET)
    const genuine = Array.from({ length: 1_000 }, (_, index) => {
      const { signature, deliveryId, body } = delivery(`dlv_${index}`, envelope(`evt_${index}`), {
        t: T + (index % 60),
      })
      return { headers: { 'svc-signature': signature, 'svc-delivery-id': deliveryId }, body }
    })
    for (const one of genuine) {
      expect(witness(one, T * 1_000)).toBe('accepted')
      const { 'svc-signature': signature, 'svc-delivery-id': deliveryId } = one.headers
      expect(said(inbox.receive({ signature, deliveryId, body: one.body }))).toBe('taken')
    }
    const accepted: string[] = []
    for (const { kind, delivery: forged, nowMs } of attempts(genuine, 10_000, 1)) {
      inbox.at.nowMs = nowMs
      const { 'svc-signature': signature, 'svc-delivery-id': deliveryId } = forged.headers
      if (said(inbox.receive({ signature, deliveryId, body: forged.body })) === 'taken')
        accepted.push(`ours: ${kind}`)
      if (witness(forged, nowMs) === 'accepted') accepted.push(`witness: ${kind}`)
    }
    expect(accepted).toEqual([])
    expect(inbox.events).toHaveLength(1_000)
  })
})

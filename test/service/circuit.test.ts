import { afterEach, beforeEach, expect, test } from 'vitest'
import { createServiceClient, type ServiceClient } from '../../src/service/client.ts'
import { WAIT_MS_MAX } from '../support/until.ts'
import { leapingClock } from './clocks.ts'
import { type Answer, collection, failure, json, type Scripted, startScripted } from './scripted-service.ts'

const good: Answer = (_, response) => json(response, 200, collection([]))
const bad: Answer = (_, response) => json(response, 500, failure('broken', { retryable: false }))
/** Nothing is given up here but by its caller. */
const timeouts = {
  connectMs: WAIT_MS_MAX,
  headersMs: WAIT_MS_MAX,
  bodyMs: WAIT_MS_MAX,
  attemptMs: WAIT_MS_MAX,
}

let service: Scripted
let client: ServiceClient
let clock: ReturnType<typeof leapingClock>
let phases: string[]
let attempts: string[]
beforeEach(async () => {
  clock = leapingClock()
  phases = []
  attempts = []
  service = await startScripted(bad)
  const events = {
    onCircuit: (phase: string) => phases.push(phase),
    onAttempt: (outcome: string) => attempts.push(outcome),
  }
  client = createServiceClient({ baseUrl: service.url, secretKey: 'sk', timeouts, events }, clock)
})
afterEach(async () => {
  await client.close()
  await service.close()
})

const ask = (times = 1) => Promise.allSettled(Array.from({ length: times }, () => client.listMarkets()))
const failInTurn = async (times: number) => {
  for (let count = 0; count < times; count += 1) await ask()
}
const code = async () =>
  client.listMarkets().then(
    () => 'ok',
    ({ code }) => code,
  )

test('sends nothing after five failures in a row, and says why and until when', async () => {
  await failInTurn(4)
  expect(phases).toEqual([])
  await failInTurn(3)
  expect(service.arrived).toHaveLength(5)
  expect(phases).toEqual(['open'])
  expect(attempts).toEqual(Array(5).fill('status_500'))
  await expect(client.listAssets()).rejects.toMatchObject({
    code: 'service.circuit_open',
    retry: 'later',
    message:
      `The service at ${service.host} was not asked GET /v1/assets: 5 requests in a row failed (last: status_500), and it is tried again in 500 ms. ` +
      'Fix: check that the service is up and that `service.url` is right; nothing needs to be restarted.',
  })
})

test('lets one request through after a pause, and closes when it goes well', async () => {
  await failInTurn(5)
  clock.leap(499)
  expect(await code()).toBe('service.circuit_open')
  clock.leap(1)
  service.script.answer = good
  expect((await ask(4)).filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(phases).toEqual(['open', 'half_open', 'closed'])
  expect((await ask(4)).every(({ status }) => status === 'fulfilled')).toBe(true)
})

test('doubles its pause with each failed probe, up to five seconds', async () => {
  await failInTurn(5)
  for (const pauseMs of [500, 1_000, 2_000, 4_000, 5_000, 5_000]) {
    clock.leap(pauseMs - 1)
    expect(await code()).toBe('service.circuit_open')
    clock.leap(1)
    expect(await code()).toBe('service.internal')
  }
})

test('counts what is below HTTP, and forgets with one answer', async () => {
  service.script.answer = (_, response) => response.destroy()
  await failInTurn(2)
  expect(service.arrived).toHaveLength(4)
  service.script.answer = good
  expect(await code()).toBe('ok')
  service.script.answer = (_, response) => response.destroy()
  await failInTurn(2)
  expect(phases).toEqual([])
})

test.each([400, 401, 403, 409, 429])('is never opened by %i', async (status) => {
  service.script.answer = (_, response) => json(response, status, failure('no'))
  for (let count = 0; count < 6; count += 1) await ask()
  expect(phases).toEqual([])
})

test('is opened by no caller that gives up, and closed by none', async () => {
  const giveUp = async () => {
    const signal = AbortSignal.timeout(20)
    await client.listMarkets({ signal }).catch(() => undefined)
  }
  service.script.answer = () => undefined
  for (let count = 0; count < 6; count += 1) await giveUp()
  expect(phases).toEqual([])
  service.script.answer = bad
  await failInTurn(5)
  clock.leap(500)
  service.script.answer = () => undefined
  await giveUp()
  expect(phases).toEqual(['open', 'half_open', 'open'])
})

test('does not say of a change that was sent that it was not asked', async () => {
  await failInTurn(4)
  service.script.answer = (_, response) => json(response, 503, failure('busy', { retryable: true }))
  await expect(client.prepareWorkflow({ bodyText: '{}', idempotencyKey: 'key-1' })).rejects.toMatchObject({
    code: 'service.internal',
    retry: 'later',
    facts: { status: 503 },
  })
  expect(phases).toEqual(['open'])
  expect(service.arrived).toHaveLength(5)
})

test('asks of no change whether it may be sent where none is sent', async () => {
  const ready: number[] = []
  const save = () =>
    client.prepareWorkflow({
      bodyText: '{}',
      idempotencyKey: 'key-1',
      ready: () => ready.push(service.arrived.length),
    })
  await failInTurn(5)
  await expect(save()).rejects.toMatchObject({ code: 'service.circuit_open' })
  expect(ready).toEqual([])
  clock.leap(500)
  await expect(save()).rejects.toMatchObject({ code: 'service.internal' })
  expect([ready, service.arrived.length]).toEqual([[5], 6])
})

test('is one for a host, whoever asks', async () => {
  await failInTurn(5)
  await expect(client.as({ secretKey: 'other' }).listAssets()).rejects.toMatchObject({
    code: 'service.circuit_open',
  })
})

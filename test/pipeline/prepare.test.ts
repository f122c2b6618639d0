import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type Retry, RolekeeperError, refuse } from '../../src/errors.ts'
import { type PrepareDeps, prepare } from '../../src/pipeline/prepare.ts'
import { type RequestDeps, request } from '../../src/pipeline/request.ts'
import { answerOf, approvedUntil, proposalOf, SIGNER, workflowOf } from '../support/workflows.ts'

describe('a request', () => {
  const deps: RequestDeps = {
    nowMs: () => 2_000,
    stopped: () => null,
    hold: async () => null,
    checkRequest: () => ({ ok: true }),
    checkBudget: async () => ({ ok: true }),
    compose: async () => refuse('not_composed', 'Nothing is composed here.'),
    deploymentNamespace: 'sandbox',
  }
  const asked = async (changes: Partial<RequestDeps> = {}) => {
    const step = await request(workflowOf('discovered'), { ...deps, ...changes })
    if (step.type === 'wait') throw new TypeError('waits')
    return step.workflow
  }

  it('fixes its key, the workflow’s own, and the exact bytes', async () => {
    const workflow = await asked()
    expect(workflow.state).toBe('requested')
    expect(workflow.request?.idempotencyKey).toBe(workflow.id)
    expect(JSON.parse(workflow.request?.body ?? '')).toEqual({
      workflowType: 'role.liquidator.liquidate',
      chainId: 31_337,
      deploymentNamespace: 'sandbox',
      principalAddress: SIGNER,
      input: workflow.proposal.input,
    })
    expect((await asked()).request).toEqual(workflow.request)
  })

  it('composes what is our own, and asks the service nothing of it', async () => {
    const frozen = { bytesSha256: 'ab', answer: answerOf(), receivedAtMs: 2_000 }
    const own = workflowOf('discovered', { proposal: proposalOf({ workflowType: 'own.liquidator.sell' }) })
    const done = await request(own, { ...deps, compose: async () => ({ ok: true, frozen }) })
    expect(done).toMatchObject({ type: 'moved', workflow: { state: 'prepared', prepared: frozen } })
    expect(done.type === 'moved' && done.workflow.request).toBeUndefined()
    const refused = await request(own, deps)
    expect(refused).toMatchObject({ workflow: { state: 'refused', note: { check: 'not_composed' } } })
  })

  it('waits where it is stopped for now, as while Redis is away or the keeper ends: nobody asked for that', async () => {
    const step = await request(workflowOf('discovered'), { ...deps, stopped: () => 'for_now' })
    expect(step).toEqual({ type: 'wait', ms: 500 })
  })

  it('waits through a pause once it is approved, and is cancelled where it only was held', async () => {
    const shown = { calls: [], effects: [], changes: [], day: '', askedBy: '', quorum: 1, approvers: null }
    const hold = { check: 'c', message: 'm', rules: 'r', hash: 'h', approvals: [], shown, untilMs: 9_000 }
    const paused = { ...deps, stopped: () => refuse('paused', 'p') }
    const approved = { ...workflowOf('discovered'), hold: { ...hold, approvedAtMs: 1 } }
    expect(await request(approved, paused)).toMatchObject({ type: 'wait' })
    expect(await request({ ...workflowOf('discovered'), hold }, paused)).toMatchObject({
      workflow: { state: 'cancelled', note: { check: 'paused' } },
    })
  })

  it('is cancelled while stopped, and refused by policy and budget', async () => {
    expect(await asked({ stopped: () => refuse('killed', 'k') })).toMatchObject({
      state: 'cancelled',
      note: { check: 'killed' },
    })
    expect(await asked({ checkRequest: () => refuse('input_invalid', 'i') })).toMatchObject({
      state: 'refused',
      note: { check: 'input_invalid' },
    })
    expect(await asked({ checkBudget: async () => refuse('limit_hour_usd', 'b') })).toMatchObject({
      state: 'refused',
      note: { check: 'limit_hour_usd' },
    })
  })
})

describe('preparing', () => {
  const workflow = workflowOf('requested', { request: { idempotencyKey: 'key', body: '{"a":1}' } })
  const prepared = async (post: PrepareDeps['post'], nowMs = 2_000) => {
    const step = await prepare(workflow, { nowMs: () => nowMs, post })
    return step.type === 'wait' ? step : step.workflow
  }
  const failing = (code: string, retry: Retry) => async () => {
    throw new RolekeeperError(code, 'no', { retry })
  }

  it('posts the stored bytes under the stored key, and freezes the answer with its hash', async () => {
    const posts: string[][] = []
    const answer = answerOf()
    const done = await prepared(async (...args) => {
      posts.push(args)
      return { bytes: 'bytes', answer }
    })
    expect(posts).toEqual([['key', '{"a":1}']])
    const bytesSha256 = createHash('sha256').update('bytes').digest('hex')
    expect(done).toMatchObject({ state: 'prepared', prepared: { bytesSha256, answer, receivedAtMs: 2_000 } })
  })

  it('tries again for a minute while the service may answer, and then gives up with nothing claimed', async () => {
    const down = failing('service.unreachable', 'later')
    expect(await prepared(down, 61_000)).toEqual({ type: 'wait', ms: 1_000 })
    expect(await prepared(down, 61_001)).toMatchObject({ state: 'expired', slots: [] })
  })

  it('tries as long for what a person took an hour to approve', async () => {
    const held = { ...workflow, updatedAtMs: 3_600_000 }
    const at = (nowMs: number) => ({ nowMs: () => nowMs, post: failing('service.unreachable', 'later') })
    expect(await prepare(held, at(3_660_000))).toEqual({ type: 'wait', ms: 1_000 })
    expect(await prepare(held, at(3_660_001))).toMatchObject({ workflow: { state: 'expired' } })
  })

  it('asks nothing any more once its approval is over, as after a night without a keeper', async () => {
    const approved = { ...workflow, hold: approvedUntil(9_000) }
    let posts = 0
    const at = (nowMs: number) => ({
      nowMs: () => nowMs,
      post: async () => {
        posts += 1
        return { bytes: 'bytes', answer: answerOf() }
      },
    })
    expect(await prepare(approved, at(8_999))).toMatchObject({ workflow: { state: 'prepared' } })
    const over = { state: 'expired', note: { check: 'approval_expired' } }
    expect(await prepare(approved, at(9_000))).toMatchObject({ workflow: over })
    expect(posts).toBe(1)
  })

  it('is refused where asking again cannot help', async () => {
    expect(await prepared(failing('service.bad_request', 'never'))).toMatchObject({
      state: 'refused',
      note: { check: 'service.bad_request' },
    })
  })

  it('tries the next round where the service knows its key for a try that our journal forgot', async () => {
    expect(await prepared(failing('service.conflict', 'never'))).toMatchObject({
      state: 'refused',
      note: { check: 'service.conflict' },
    })
  })

  it('leaves what is no operating error to whoever counts strikes', async () => {
    const broken = async () => Promise.reject(new TypeError('boom'))
    await expect(prepared(broken)).rejects.toThrow('boom')
  })
})

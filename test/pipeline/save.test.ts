import { describe, expect, it } from 'vitest'
import { type Retry, RolekeeperError, refuse } from '../../src/errors.ts'
import { type SaveDeps, save } from '../../src/pipeline/save.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { answerOf, approvedUntil, proposalOf, workflowOf } from '../support/workflows.ts'

const REQUEST = { idempotencyKey: 'key', body: '{"a":1}' }
const requested = (sentAtMs?: number): Workflow =>
  workflowOf('requested', {
    proposal: proposalOf({ workflowType: 'role.vault_owner.vaultOwnerSettingsSave' }),
    request: sentAtMs === undefined ? REQUEST : { ...REQUEST, sentAtMs },
    updatedAtMs: 1_000,
  })

/** What the client's errors of a POST name. */
const POST = { operation: 'prepareWorkflow' }
const failing =
  (code: string, retry: Retry, facts: RolekeeperError['facts'] = POST) =>
  async () => {
    throw new RolekeeperError(code, 'no', { retry, facts })
  }
/** A POST that the session is there for, and that then fails. */
const posting =
  (code: string, retry: Retry, facts: RolekeeperError['facts'] = POST): SaveDeps['post'] =>
  async (_key, _body, ready) => {
    ready()
    return failing(code, retry, facts)()
  }

const blocking: SaveDeps['post'] = async (_key, _body, ready) => {
  ready()
  const answer = answerOf()
  const preflight = { ...answer.preflight, status: 'blocked' as const }
  return { bytes: 'bytes', answer: { ...answer, preflight } }
}

/** A clock that says each of these once, and the last from then on. */
const clock = (...ms: number[]) => {
  const left = [...ms]
  return () => (left.length > 1 ? left.shift() : left[0]) as number
}

/** What was done, in its order, and what came of it. */
async function saved(workflow: Workflow, changes: Partial<SaveDeps> = {}) {
  const did: string[] = []
  const note =
    (what: keyof SaveDeps, otherwise: (...args: never[]) => unknown) =>
    (...args: never[]): unknown => {
      did.push(what)
      return ((changes[what] as typeof otherwise | undefined) ?? otherwise)(...args)
    }
  const deps = {
    nowMs: changes.nowMs ?? (() => 2_000),
    stopped: note('stopped', () => null),
    judge: note('judge', () => ({ ok: true })),
    look: note('look', async () => ({ ok: true })),
    openSession: note('openSession', async () => null),
    post: note('post', async () => ({ bytes: 'bytes', answer: answerOf() })),
    unsent: changes.unsent ?? new Set(),
  } as SaveDeps
  const step = await save(workflow, deps)
  return { did, step, state: step.type === 'wait' ? 'waits' : step.workflow.state }
}

/** What may speak against it, how it then ends, and what was done until then. */
const AGAINST: readonly (readonly [keyof SaveDeps, () => unknown, string, readonly string[]])[] = [
  ['judge', () => refuse('approval_missing', 'a'), 'refused', ['judge']],
  ['look', async () => refuse('head_stale', 'h'), 'refused', ['judge', 'look']],
  ['stopped', () => refuse('killed', 'k'), 'cancelled', ['judge', 'look', 'stopped']],
  ['stopped', () => 'for_now', 'waits', ['judge', 'look', 'stopped']],
]

describe('before it is sent', () => {
  it('is judged, looked at and stopped before a session is opened, and recorded before anything is posted', async () => {
    const { did, step } = await saved(requested())
    expect(did).toEqual(['judge', 'look', 'stopped', 'openSession', 'stopped'])
    expect(step).toMatchObject({
      type: 'moved',
      workflow: { state: 'requested', request: { ...REQUEST, sentAtMs: 2_000 }, updatedAtMs: 2_000 },
    })
  })

  it.each(AGAINST)(
    'ends where %s speaks against it, and nothing is opened or posted',
    async (what, says, ends, done) => {
      const { state, did } = await saved(requested(), { [what]: says })
      expect([state, did]).toEqual([ends, done])
    },
  )

  it('is cancelled by a kill that comes while the key opens the session', async () => {
    let killed = false
    const openSession = async (): Promise<void> => {
      killed = true
    }
    const stopped: SaveDeps['stopped'] = () => (killed ? refuse('killed', 'k') : null)
    expect((await saved(requested(), { openSession, stopped })).state).toBe('cancelled')
  })

  it('waits a minute for a session, and then ends as what was never done', async () => {
    const openSession = failing('session.refused', 'later')
    const at = async (ms: number) => (await saved(requested(), { openSession, nowMs: () => ms })).state
    expect([await at(61_000), await at(61_001)]).toEqual(['waits', 'expired'])
  })

  it('is not sent where it was requested more than a minute ago, as before a restart, or its approval is over', async () => {
    const at = async (ms: number, workflow = requested()) => {
      const { did, step, state } = await saved(workflow, { nowMs: () => ms })
      return [state, step.type === 'moved' && step.workflow.note?.check, did.includes('openSession')]
    }
    expect(await at(61_000)).toEqual(['requested', undefined, true])
    expect(await at(61_001)).toEqual(['expired', 'save_too_late', true])
    const approved = { ...requested(), hold: approvedUntil(2_000) }
    expect(await at(1_999, approved)).toEqual(['requested', undefined, true])
    expect(await at(2_000, approved)).toEqual(['expired', 'approval_expired', false])
  })
})

describe('once it may have been sent', () => {
  it('posts the same bytes under the same key each time, and freezes what comes', async () => {
    const posts: string[][] = []
    const post: SaveDeps['post'] = async (...args) => {
      posts.push(args.slice(0, 2) as string[])
      return { bytes: 'bytes', answer: answerOf({ status: 'final_success' }) }
    }
    const { step } = await saved(requested(2_000), { post })
    await saved(requested(2_000), { post })
    expect(posts).toEqual([
      ['key', '{"a":1}'],
      ['key', '{"a":1}'],
    ])
    expect(step).toMatchObject({ workflow: { state: 'prepared', prepared: { receivedAtMs: 2_000 } } })
  })

  it('posts nothing while it is stopped', async () => {
    const { did, state } = await saved(requested(2_000), {
      stopped: () => refuse('killed', 'k'),
      nowMs: () => 62_000,
    })
    expect([state, did.includes('post')]).toEqual(['waits', false])
  })

  it.each<readonly [string, Partial<SaveDeps>]>([
    ['the rules speak against it now', { judge: () => refuse('approval_outdated', 'o') }],
    ['the chain speaks against it now', { look: async () => refuse('head_stale', 'h') }],
    ['the service knows its key for other bytes', { post: posting('service.conflict', 'never') }],
    [
      'a minute brought no answer',
      { post: posting('service.timeout', 'later'), nowMs: clock(62_000, 62_000, 62_001) },
    ],
    ['a minute is over, as after a restart or a pause', { nowMs: () => 62_001 }],
    ['its time is far ahead, as in a record that was restored', { nowMs: () => -58_001 }],
    ['it is turned away, and was posted before a restart', { post: posting('service.forbidden', 'never') }],
    ['it is blocked, and was posted before a restart', { post: blocking }],
    ['its wallet’s key is away', { post: failing('sign.denied', 'never', {}) }],
  ])('is left to a person where %s: it may be saved', async (_, changes) => {
    const { step, did } = await saved(requested(2_000), changes)
    expect(step).toMatchObject({ workflow: { state: 'quarantined' } })
    expect(step.type === 'moved' && step.workflow.note?.message).toContain('see at the service')
    expect(did.includes('post')).toBe(changes.post !== undefined)
  })

  it('is tried again for a minute, and all is asked again before', async () => {
    const changes = { post: posting('service.timeout', 'later'), nowMs: () => 62_000 }
    const { step, did } = await saved(requested(2_000), changes)
    expect(step).toEqual({ type: 'wait', ms: 1_000 })
    expect(did).toEqual(['stopped', 'judge', 'look', 'post', 'stopped'])
  })

  it('is not posted where a stop comes, or the minute ends, while the session is opened anew', async () => {
    const posted: string[] = []
    const with_ =
      (while_: () => void): SaveDeps['post'] =>
      async (key, _body, ready) => {
        while_()
        ready()
        posted.push(key)
        return { bytes: 'bytes', answer: answerOf() }
      }
    let halt: ReturnType<SaveDeps['stopped']> = null
    let nowMs = 2_000
    const stop = with_(() => {
      halt = 'for_now'
    })
    expect((await saved(requested(2_000), { post: stop, stopped: () => halt })).state).toBe('waits')
    const late = with_(() => {
      nowMs = 62_001
    })
    expect((await saved(requested(2_000), { post: late, nowMs: () => nowMs })).state).toBe('quarantined')
    expect(posted).toEqual([])
  })

  /** Begin it, then send it, in one process. */
  const sent = async (...posts: readonly Partial<SaveDeps>[]) => {
    const unsent = new Set<string>()
    const { step } = await saved(requested(), { unsent })
    let workflow = (step as { workflow: Workflow }).workflow
    const states: string[] = []
    for (const changes of posts) {
      const next = await saved(workflow, { unsent, ...changes })
      states.push(next.state)
      if (next.step.type === 'moved') workflow = next.step.workflow
    }
    return states
  }

  it.each<readonly [string, Partial<SaveDeps>, string]>([
    ['service.bad_request', { post: posting('service.bad_request', 'never') }, 'refused'],
    ['service.forbidden', { post: posting('service.forbidden', 'never') }, 'refused'],
    ['the key, before the first POST', { post: failing('sign.denied', 'never', {}) }, 'refused'],
    ['the rules, before the first POST', { judge: () => refuse('approval_outdated', 'o') }, 'refused'],
    ['its age, before the first POST', { nowMs: () => 62_001 }, 'expired'],
    ['a preflight that did not pass, for the guard to judge', { post: blocking }, 'prepared'],
    ['service.garbage', { post: posting('service.garbage', 'never') }, 'quarantined'],
    ['service.unauthorized', { post: posting('service.unauthorized', 'never') }, 'quarantined'],
    ['service.redirected', { post: posting('service.redirected', 'never') }, 'quarantined'],
    ['service.internal', { post: posting('service.internal', 'never') }, 'quarantined'],
    [
      'a 403 to the challenge after a POST',
      { post: posting('service.forbidden', 'never', { operation: 'createWalletChallenge' }) },
      'quarantined',
    ],
  ])('says that nothing was saved only where that is known: %s', async (_, changes, ends) => {
    expect(await sent(changes)).toEqual([ends])
    const lost = { post: posting('service.timeout', 'later') }
    expect(await sent(lost, changes)).toEqual(['waits', 'quarantined'])
  })

  it('leaves what is no operating error to whoever counts strikes', async () => {
    const post = async () => Promise.reject(new TypeError('boom'))
    await expect(saved(requested(2_000), { post })).rejects.toThrow('boom')
  })
})

import { beforeEach, describe, expect, it } from 'vitest'
import { type Refusal, refuse } from '../../../src/errors.ts'
import { takeSubmissions } from '../../../src/keeper/term/submissions.ts'
import { fileMail, type Mail, replyKey } from '../../../src/ops/mail.ts'
import { readSubmissions, type Submission, withdrawOrder, writeSubmission } from '../../../src/ops/orders.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { newDirectory } from '../../support/directory.ts'

const UUID = '11111111-2222-4333-8444-555555555555'
const VAULT = `0x${'7A'.repeat(20)}`
const submission: Submission = {
  by: { user: 'anna@ops1' },
  role: 'allocator',
  workflowType: 'deposit',
  input: { vaultAddress: VAULT, assets: '5', receiverAddress: `0x${'11'.repeat(20)}`, minShares: '1' },
  shadow: false,
}
const exposure = { token: null, assets: 0n, usdMicros: 7n }

let directory: string
beforeEach(() => {
  directory = newDirectory()
})

function createWorld() {
  const world = {
    values: new Map<string, string>(),
    opened: [] as (readonly [Proposal, boolean])[],
    mode: 'live' as 'live' | 'shadow',
    counted: { ok: true, exposure } as { readonly ok: true; readonly exposure: typeof exposure } | Refusal,
    stopped: null as Refusal | 'for_now' | null,
    opening: false,
    meanwhile: () => {},
    /** The process ends before the reply is kept. */
    crash: false,
    /** Who took it ended long ago. */
    isLate: false,
  }
  const late = (mail: Mail): Mail => ({
    ...mail,
    submissions: async () => (await mail.submissions()).map((each) => ({ ...each, isLate: true })),
  })
  const take = () => {
    const mail = fileMail(directory, {
      getValue: async (key) => world.values.get(key) ?? null,
      setValue: async (key, value) => {
        if (world.crash) throw new TypeError('crash')
        world.values.set(key, value)
      },
      barrier: async () => {},
    })
    return takeSubmissions({
      mail: world.isLate ? late(mail) : mail,
      role: (role) =>
        world.opening
          ? null
          : role === 'allocator'
            ? {
                mode: world.mode,
                askerOf: ({ by }) => ({ ok: true, asker: by.user }),
                say: ({ workflowType }) => `what ${workflowType} asks for`,
                exposureOf: () => {
                  world.meanwhile()
                  return world.counted
                },
                open: async (proposal, shadow) => {
                  world.opened.push([proposal, shadow])
                  return { ok: true, workflowId: `workflow of ${proposal.occurrence}` }
                },
                opened: async ({ occurrence, subject }, shadow) => {
                  const isIt = ([known, isShadow]: (typeof world.opened)[number]) =>
                    known.occurrence === occurrence && known.subject === subject && isShadow === shadow
                  return world.opened.some(isIt) ? { workflowId: `workflow of ${occurrence}` } : null
                },
              }
            : refuse('role_absent', `The role ${role} is not configured.`),
      stopped: () => world.stopped,
    })
  }
  const reply = () => JSON.parse(world.values.get(replyKey(UUID)) ?? 'null')
  const checkOf = async (changes: Partial<Submission> = {}) => {
    writeSubmission(directory, UUID, { ...submission, ...changes })
    await take()
    expect(readSubmissions(directory)).toEqual([])
    return reply().check
  }
  return { world, take, reply, checkOf }
}

describe('a submission', () => {
  it('becomes one proposal, whose exposure the policy counts', async () => {
    const { world, take, reply } = createWorld()
    writeSubmission(directory, UUID, submission)
    await take()
    await take()
    expect(world.opened).toEqual([
      [
        {
          workflowType: 'deposit',
          kind: 'order',
          occurrence: UUID,
          input: submission.input,
          exposure,
          subject: `${VAULT.toLowerCase()}:0x${'11'.repeat(20)}`,
          summary: 'what deposit asks for',
          askedBy: 'anna@ops1',
          reason: {},
        },
        false,
      ],
    ])
    expect(reply()).toEqual({ workflowId: `workflow of ${UUID}` })
    expect(readSubmissions(directory)).toEqual([])
  })

  it('waits while its role is being opened, as after every start, or all is stopped for now', async () => {
    const { world, take, reply } = createWorld()
    writeSubmission(directory, UUID, submission)
    world.opening = true
    await take()
    expect([reply(), readSubmissions(directory).length]).toEqual([null, 1])
    world.opening = false
    world.stopped = 'for_now'
    await take()
    expect([reply(), readSubmissions(directory).length]).toEqual([null, 1])
    world.stopped = null
    await take()
    expect(reply()).toEqual({ workflowId: `workflow of ${UUID}` })
  })

  it('is taken again, as the same order, when its reply was lost', async () => {
    const { world, take, reply } = createWorld()
    writeSubmission(directory, UUID, submission)
    world.crash = true
    await expect(take()).rejects.toThrow('crash')
    expect(readSubmissions(directory)).toHaveLength(1)
    world.crash = false
    await take()
    expect(world.opened.map(([{ occurrence }]) => occurrence)).toEqual([UUID, UUID])
    expect(reply()).toEqual({ workflowId: `workflow of ${UUID}` })
  })

  it('is what was opened of it, whatever stands in its way by the time that its reply is given', async () => {
    const { world, take, reply } = createWorld()
    writeSubmission(directory, UUID, submission)
    world.crash = true
    await expect(take()).rejects.toThrow('crash')
    world.crash = false
    world.stopped = refuse('paused', 'The keeper is paused.')
    await take()
    expect([world.opened.length, reply()]).toEqual([1, { workflowId: `workflow of ${UUID}` }])
  })

  it('is what was opened of it where who took it ended long ago, and where nothing was, nothing any more', async () => {
    const { world, take, reply } = createWorld()
    writeSubmission(directory, UUID, submission)
    world.isLate = true
    await take()
    expect([world.opened.length, reply()]).toMatchObject([0, { check: 'order_late' }])
    world.values.clear()
    writeSubmission(directory, UUID, submission)
    world.isLate = false
    world.crash = true
    await expect(take()).rejects.toThrow('crash')
    world.crash = false
    world.isLate = true
    await take()
    expect([world.opened.length, reply()]).toEqual([1, { workflowId: `workflow of ${UUID}` }])
  })

  it('is not carried out once its author took it back, also by who has read it before', async () => {
    const { world, take, reply } = createWorld()
    writeSubmission(directory, UUID, submission)
    world.meanwhile = () => withdrawOrder(directory, UUID)
    await take()
    expect([world.opened, reply()]).toEqual([[], null])
  })

  it('carries what a proposal says besides, where it is given', async () => {
    const { world, take } = createWorld()
    const said = { subject: 'a:b', summary: 'restate', reason: { value: '1' } }
    writeSubmission(directory, UUID, { ...submission, ...said, shadow: true })
    await take()
    expect(world.opened).toMatchObject([[said, true]])
  })

  it('is refused by name, and nothing is opened', async () => {
    const { world, checkOf } = createWorld()
    expect(await checkOf({ role: 'nav-reporter' })).toBe('role_absent')
    world.values.clear()
    expect(await checkOf({ workflowType: 'role.lender.investorRedeemAll' })).toBe('type_unknown')
    world.values.clear()
    world.counted = refuse('exposure_unpriced', 'no price')
    expect(await checkOf()).toBe('exposure_unpriced')
    world.values.clear()
    world.stopped = refuse('paused', 'The keeper is paused.')
    expect(await checkOf()).toBe('paused')
    world.values.clear()
    world.mode = 'shadow'
    expect(await checkOf()).toBe('role_in_shadow')
    expect(world.opened).toEqual([])
  })
})

import { afterAll, beforeAll, expect, it } from 'vitest'
import { agents } from '../../agents/index.ts'
import { SCENARIOS } from '../../sandbox/story/scenarios.ts'
import { createRoleSession, type RoleSession } from '../support/role-session.ts'

/** What the roles are for; each must come from an agent's own decision. */
const WORKFLOW_TYPES = agents.flatMap(({ workflowTypes }) => workflowTypes)
/** It takes 60 to 75 s; a loaded machine gets more. */
const MS_MAX = 110_000

let session: RoleSession
beforeAll(async () => {
  // In this seed's first minute one oracle goes stale, and lots are lost and won.
  session = await createRoleSession(SCENARIOS.busy, 459)
})
afterAll(() => session.stop())

it(
  "brings every workflow type of every role to success by the agents' own decisions, each role with its own key",
  async () => {
    expect(WORKFLOW_TYPES).toHaveLength(17)
    const { keeper, until } = await session.begin('live')
    const missing = new Set<string>(WORKFLOW_TYPES)
    const all = until((event) => {
      if (event.type === 'workflow' && event.state === 'succeeded') missing.delete(event.workflowType)
      return missing.size === 0
    })
    const deadline = Promise.withResolvers<void>()
    const timer = setTimeout(deadline.resolve, MS_MAX)
    await Promise.race([all, deadline.promise])
    clearTimeout(timer)
    expect([...missing]).toEqual([])

    await keeper.stop({ drainMs: 0 })
    const { workflows } = keeper.summary()
    for (const [role, { succeeded, quarantined }] of Object.entries(workflows)) {
      expect([role, succeeded > 0, quarantined]).toEqual([role, true, 0])
    }
    const signedWith = session.sandbox.kms
      .calls()
      .flatMap(({ operation, keyId }) => (operation === 'Sign' ? [keyId] : []))
    const keys = session.config.agents.map(({ signer }) => (signer.kind === 'kms' ? signer.keyId : ''))
    expect(new Set(signedWith)).toEqual(new Set(keys))
  },
  MS_MAX + 10_000,
)

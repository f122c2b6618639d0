import { writeFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AgentConfig } from '../../../src/config/config.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { createPersonKey, looseningText, signText } from '../../../src/guard/approval/person-key.ts'
import type { Members } from '../../../src/guard/policy/compare/difference.ts'
import { changeHash } from '../../../src/guard/policy/compare/policies.ts'
import { admitPolicy, approvalsFileOf, refusalOfLoosening } from '../../../src/keeper/policy/loosening.ts'
import { newDirectory } from '../../support/directory.ts'
import { SIGNER } from '../../support/workflows.ts'

const anna = createPersonKey()
const ben = createPersonKey()
const approvers = { anna: { key: anna.publicKey }, ben: { key: ben.publicKey } }
const policyOf = (moved: string, approval: Members = {}): Members => ({
  version: '2',
  role: 'liquidator',
  approval,
  limits: { perHour: { movedMax: moved } },
})

/** A role that starts again and again with its journal, by whatever its file says then. */
function role(environment: 'production' | 'sandbox' = 'production', mode: AgentConfig['mode'] = 'live') {
  const policy = join(newDirectory(), 'liquidator.yaml')
  const values = new Map<string, string | null>()
  const dies = { at: '' }
  const agent: AgentConfig = {
    role: 'liquidator',
    mode,
    policy,
    signer: { kind: 'kms', keyId: 'key', address: SIGNER, window: 4 },
  }
  const journal = {
    getValue: async (key: string) => values.get(key) ?? null,
    setValue: async (key: string, value: string | null) => {
      if (dies.at === key) throw new TypeError(`died before ${key}`)
      values.set(key, value)
    },
    barrier: async () => {},
  }
  const deps = { journal, config: { environment }, clock: { nowMs: () => 1_000 }, log: { info: () => {} } }
  return {
    /** Do something with a process that dies before it writes a value. */
    dying: async (before: 'policy' | 'loosened', work: () => Promise<unknown>) => {
      dies.at = `${before}:liquidator:${SIGNER}`
      const done = await work()
      dies.at = ''
      return done
    },
    /** What a keeper that runs says of its file. */
    refusalOfFile: (was: Members, is: Members) => refusalOfLoosening(agent, was, is),
    taken: () => JSON.parse(values.get(`loosened:liquidator:${SIGNER}`) ?? '[]'),
    approve: (name: string, privatePem: string, hash: string) =>
      writeFileSync(
        approvalsFileOf(policy),
        `${JSON.stringify({ user: 'a@b', name, signature: signText(looseningText(hash), privatePem) })}\n`,
        { flag: 'a' },
      ),
    starts: (members: Members, ...loosens: readonly string[]) =>
      admitPolicy({ agent, members }, { ...deps, loosens }).then(
        () => 'works',
        (error: unknown) => (error instanceof RolekeeperError ? error.code : String(error)),
      ),
    refusal: (members: Members) =>
      admitPolicy({ agent, members }, { ...deps, loosens: [] }).catch((error) => error),
  }
}

describe('a role that starts', () => {
  it('works by its first policy, by the same one, and by one that is narrower', async () => {
    const { starts } = role()
    expect(await starts(policyOf('100 USD'))).toBe('works')
    expect(await starts(policyOf('100 USD'))).toBe('works')
    expect(await starts(policyOf('99 USD'))).toBe('works')
    // What it worked by last is what counts.
    expect(await starts(policyOf('100 USD'))).toBe('policy.loosened')
  })

  it('works by a looser one only where this start names the very change', async () => {
    const { starts, refusal } = role()
    const [was, is] = [policyOf('100 USD'), policyOf('200 USD')]
    await starts(was)
    expect(await refusal(is)).toMatchObject({
      shortMessage:
        'The policy of the liquidator is wider than the one that it worked by: limits.perHour.movedMax 100 USD → 200 USD.',
      fix: expect.stringMatching(
        new RegExp(`^write into /.*liquidator.yaml what it worked by.* --loosen ${changeHash(was, is)}$`),
      ),
    })
    expect(await starts(is, changeHash(was, policyOf('300 USD')))).toBe('policy.loosened')
    expect(await starts(is, changeHash(was, is))).toBe('works')
    // The flag of that start lets nothing else through, however long it stands in a service file.
    expect(await starts(policyOf('300 USD'), changeHash(was, is))).toBe('policy.loosened')
  })

  it('is let by a name that stays in a service file through once, and says the name of the next time', async () => {
    const { starts, refusal, refusalOfFile, taken } = role()
    const [was, is] = [policyOf('100 USD'), policyOf('200 USD')]
    const change = changeHash(was, is)
    const again = 'where it was taken up before, that start says its name of this time'
    expect(refusalOfFile(was, is)?.fix).toMatch(new RegExp(`--loosen ${change}; ${again}$`))
    await starts(was)
    expect(await starts(is, change)).toBe('works')
    // It goes on by it, restart by restart.
    expect(await starts(is, change)).toBe('works')
    expect(await starts(was, change)).toBe('works')
    expect(await starts(is, change)).toBe('policy.loosened')
    expect((await refusal(is)).fix).toMatch(new RegExp(`--loosen ${change}\\.2$`))
    expect(await starts(is, `${change}.2`)).toBe('works')
    await starts(was)
    expect(await starts(is, change, `${change}.2`)).toBe('policy.loosened')
    const [by, at] = [`${userInfo().username}@${hostname()}`, '1970-01-01T00:00:01.000Z']
    expect(taken()).toEqual([
      { change, at, startedBy: by, approvedBy: [], isOver: true },
      { change: `${change}.2`, at, startedBy: by, approvedBy: [], isOver: true },
    ])
  })

  it.each(['loosened', 'policy'] as const)(
    'is let through by the same name after a start that died before it wrote %s, and once all the same',
    async (where) => {
      const { starts, dying, taken } = role()
      const [was, is] = [policyOf('100 USD'), policyOf('200 USD')]
      const change = changeHash(was, is)
      await starts(was)
      expect(await dying(where, () => starts(is, change))).toMatch(/died/)
      expect(await dying(where, () => starts(is, change))).toMatch(/died/)
      expect(await starts(is, change)).toBe('works')
      expect(taken()).toHaveLength(1)
      // Also where the start that leaves it dies at either write.
      expect(await dying(where, () => starts(was))).toMatch(/died/)
      await starts(was)
      expect(await starts(is, change)).toBe('policy.loosened')
    },
  )

  it('reads the newest approvals of a file that many changes before have filled', async () => {
    const { starts, approve } = role()
    const was = policyOf('100 USD', { approvers, quorum: '1' })
    const is = policyOf('200 USD', { approvers, quorum: '1' })
    await starts(was)
    for (let each = 0; each < 120; each += 1) approve('ben', ben.privatePem, `${each}`)
    approve('anna', anna.privatePem, changeHash(was, is))
    expect(await starts(is, changeHash(was, is))).toBe('works')
  })

  it('takes what nobody can compare for looser', async () => {
    const { starts, refusal } = role()
    await starts(policyOf('100 USD'))
    const other = { ...policyOf('100 USD'), guard: { gasHeadroom: '130 %' } }
    expect((await refusal(other)).shortMessage).toBe(
      'The policy of the liquidator may be wider than the one that it worked by: guard.gasHeadroom nothing → 130 %.',
    )
  })

  it('needs the approvers of the policy that it leaves, not of the one that comes', async () => {
    const { starts, approve, taken } = role()
    const mallory = createPersonKey()
    const was = policyOf('100 USD', { approvers, quorum: '2' })
    const is = policyOf('200 USD', { approvers: { mallory: { key: mallory.publicKey } } })
    const hash = changeHash(was, is)
    await starts(was)
    expect(await starts(is, hash)).toBe('policy.loosening_unapproved')
    approve('mallory', mallory.privatePem, hash)
    approve('anna', anna.privatePem, hash)
    approve('anna', anna.privatePem, hash)
    approve('ben', ben.privatePem, changeHash(was, was))
    expect(await starts(is, hash)).toBe('policy.loosening_unapproved')
    approve('ben', ben.privatePem, hash)
    // Approved is not started: the flag is needed still.
    expect(await starts(is)).toBe('policy.loosened')
    expect(await starts(is, hash)).toBe('works')
    expect(taken()).toMatchObject([{ change: hash, approvedBy: ['anna', 'ben'] }])
  })

  it('needs approvals of its own each time that the same change loosens again', async () => {
    const { starts, approve } = role()
    const [was, is] = [policyOf('100 USD', { approvers }), policyOf('200 USD', { approvers })]
    const hash = changeHash(was, is)
    await starts(was)
    approve('anna', anna.privatePem, hash)
    expect(await starts(is, hash)).toBe('works')
    expect(await starts(was)).toBe('works')
    expect(await starts(is, `${hash}.2`)).toBe('policy.loosening_unapproved')
    approve('ben', ben.privatePem, `${hash}.2`)
    expect(await starts(is, `${hash}.2`)).toBe('works')
  })

  it('is asked nothing in a sandbox, and in shadow', async () => {
    for (const each of [role('sandbox'), role('production', 'shadow')]) {
      await each.starts(policyOf('100 USD'))
      expect(await each.starts(policyOf('200 USD'))).toBe('works')
    }
  })
})

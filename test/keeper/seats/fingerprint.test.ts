import { join } from 'node:path'
import { expect, it } from 'vitest'
import { agents } from '../../../agents/index.ts'
import type { AgentConfig } from '../../../src/config/config.ts'
import { loadWithIncludes } from '../../../src/config/include.ts'
import { compilePolicy, type RolePolicy } from '../../../src/keeper/policy/role-policy.ts'
import { fingerprintOf } from '../../../src/keeper/seats/fingerprint.ts'
import { ASSUMPTIONS } from '../../../src/service/contract/assumptions.ts'
import { deployment } from '../../guard/kinds.ts'
import { SIGNER } from '../../support/workflows.ts'

/** Each role with the policy that is shipped for it. */
const shipped = (): readonly RolePolicy[] =>
  agents.map((does) => {
    const file = join('policies', `${does.role}.yaml`)
    const ground = { environment: 'production' as const, deployment, service: { assumptions: ASSUMPTIONS } }
    const agent: AgentConfig = {
      role: does.role,
      mode: 'live',
      policy: file,
      signer: { kind: 'kms', keyId: 'key', address: SIGNER, window: 4 },
    }
    return { agent, does, apart: [], ...compilePolicy(loadWithIncludes(file), does, ground) }
  })

/** Every value of a policy, with the policy in which it alone is another. */
function* changes(value: unknown, rebuild: (other: unknown) => unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) {
    yield rebuild(typeof value === 'bigint' ? value + 1n : `${String(value)} changed`)
    return
  }
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) {
    throw new TypeError(`a ${value.constructor.name} is nothing that a fingerprint sees into`)
  }
  for (const [name, member] of Object.entries(value)) {
    const replaced = (other: unknown) =>
      Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other }
    yield* changes(member, (other) => rebuild(replaced(other)))
  }
}

it('has another fingerprint for every value of a policy that changes, for another release, and for no other order', () => {
  const candidates = shipped()
  const cap = (usdMicrosMax: bigint) => {
    const spend = { usdMicrosMax, gasWeiMax: 1n }
    return { perHour: spend, perDay: spend }
  }
  const of = (some: readonly RolePolicy[], version = '1.0.0', limits?: ReturnType<typeof cap>) =>
    fingerprintOf(
      some.map((policy) => ({ agent: policy.agent, does: policy.does, policy })),
      version,
      limits,
    )
  expect(of(candidates.toReversed())).toBe(of(candidates))
  expect(of(candidates, '1.0.1')).not.toBe(of(candidates))
  expect(of(candidates, '1.0.0', cap(1n))).not.toBe(of(candidates))
  expect(of(candidates, '1.0.0', cap(1n))).not.toBe(of(candidates, '1.0.0', cap(2n)))
  expect(of(candidates.map((each) => ({ ...each, apart: [SIGNER] })))).not.toBe(of(candidates))
  for (const candidate of candidates) {
    const one = of([candidate])
    const others = [...changes(candidate.policy, (other) => other)] as RolePolicy['policy'][]
    // The shortest is that of a curator.
    expect(others.length).toBeGreaterThan(80)
    for (const policy of others) expect(of([{ ...candidate, policy }])).not.toBe(one)
  }
})

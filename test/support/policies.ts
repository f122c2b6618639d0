import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { loadWithIncludes } from '../../src/config/include.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Where a role's policy for the sandbox is. */
export function policyFileOf(role: string): string {
  const paced = `${ROOT}sandbox/policies/${role}.yaml`
  return existsSync(paced) ? paced : `${ROOT}policies/${role}.yaml`
}

const read = (file: string) =>
  z
    .looseObject({
      strategy: z.record(z.string(), z.unknown()),
      guard: z.looseObject({ views: z.array(z.string()) }),
    })
    .parse(structuredClone(loadWithIncludes(file).value))

/** A role's policy for the sandbox as YAML gives it, with what it includes: every scalar is text. */
export const policyOf = (role: string) => read(policyFileOf(role))
/** That as it is shipped, with the paces of a real day. */
export const shippedPolicyOf = (role: string) => read(`${ROOT}policies/${role}.yaml`)

/** The liquidator's for the sandbox, where nobody feeds another oracle than the markets': without second prices and sales. */
export function policyOfOneOracle(): ReturnType<typeof read> {
  const { strategy, guard, ...policy } = policyOf('liquidator')
  const nativePrice = '3,000 USD'
  return {
    ...policy,
    strategy: {
      ...strategy,
      secondPrice: 'none',
      exits: {},
      gas: Object.assign({}, strategy.gas, { nativePrice }),
    },
    guard: { ...guard, sanity: Object.assign({}, guard.sanity, { nativePrice, exits: {} }) },
  }
}

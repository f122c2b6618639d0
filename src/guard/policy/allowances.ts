import { z } from 'zod'
import type { Deployment } from '../../service/contract/deployment.ts'
import { count, milliseconds, positiveUsdMicros, settings } from '../../service/contract/yaml-scalars.ts'
import { policyError } from './policy-error.ts'
import type { Rule } from './rule.ts'
import { asAddress } from './values.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

const KINDS = ['market', 'counterparty', 'function'] as const
/** What an allowance is about. */
export type UseKind = (typeof KINDS)[number]

/** `limits.allowances` of a policy, one: what may move, or how often may be called, of one market, counterparty or function. */
export const allowancePolicy = settings({
  of: z.enum(KINDS),
  /** A name of the deployment, an address, or a function of `guard.allow`; `any`: each has one of its own. */
  named: z.string().min(1).max(100).default('any'),
  /** What may move at once, and what of it comes back in the time of `per`. */
  mostUsdMicros: positiveUsdMicros().optional(),
  refillUsdMicros: positiveUsdMicros().optional(),
  /** Calls in any time of `per`. */
  calls: count('calls', 1, 100_000).optional(),
  perMs: milliseconds(MINUTE_MS, DAY_MS),
}).superRefine(({ mostUsdMicros: most, refillUsdMicros: refill, calls, perMs }, context) => {
  const fail = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
  if ((most === undefined) !== (refill === undefined)) {
    fail(most === undefined ? 'most' : 'refill', 'expected most and refill together')
  } else if ((most === undefined) === (calls === undefined)) {
    fail('calls', 'expected either most and refill, or calls')
  } else if (most !== undefined && refill !== undefined && most * BigInt(perMs) > refill * BigInt(DAY_MS)) {
    fail('most', 'expected no more than what refill brings back in a day: it would never be whole again')
  }
})

/** An allowance, compiled. `name` is an address in lower case or a function's name; null: each has one of its own. */
export type Allowance = {
  /** Where it stands in the policy. */
  readonly path: string
  readonly of: UseKind
  readonly name: string | null
  readonly perMs: number
} & ({ readonly mostUsdMicros: bigint; readonly refillUsdMicros: bigint } | { readonly callsMax: number })

/**
 * Compile `limits.allowances` against the deployment and the rules.
 * Throws RolekeeperError `policy.guard_invalid` for a name that is nothing there. Pure.
 */
export function compileAllowances(
  stated: readonly z.output<typeof allowancePolicy>[],
  rules: Iterable<readonly Rule[]>,
  deployment: Deployment,
): readonly Allowance[] {
  const functions = new Set([...rules].flatMap((list) => list.flatMap(functionsOf)))
  return stated.map(({ of, named, mostUsdMicros, refillUsdMicros, calls, perMs }, index) => {
    const path = `limits.allowances[${index}]`
    const name = named === 'any' ? null : nameOf(of, named, `${path}.named`, functions, deployment)
    const place = { path, of, name, perMs }
    return mostUsdMicros === undefined || refillUsdMicros === undefined
      ? { ...place, callsMax: calls ?? 0 }
      : { ...place, mostUsdMicros, refillUsdMicros }
  })
}

/** The functions of a rule, and of the calls that it carries. */
const functionsOf = ({ abi, inside }: Rule): readonly string[] => [
  abi.name,
  ...(inside?.rules ?? []).flatMap(functionsOf),
]

function nameOf(
  of: UseKind,
  named: string,
  path: string,
  functions: ReadonlySet<string>,
  { markets, vaults, funds, contracts }: Deployment,
): string {
  if (of === 'function') {
    if (functions.has(named)) return named
    throw policyError(
      path,
      `"${named}" is no function of guard.allow.`,
      `name one of: ${[...functions].join(', ')}.`,
    )
  }
  const pins = of === 'market' ? markets : [...markets, ...vaults, ...funds, ...contracts]
  const found = pins.filter((pin) => 'name' in pin && pin.name === named)
  if (found.length > 1) {
    throw policyError(path, `"${named}" is the name of ${found.length} contracts.`, 'write the address.')
  }
  const address = found[0]?.address ?? asAddress(named)
  const isKnown = of === 'counterparty' || pins.some((pin) => pin.address === address)
  if (address !== undefined && isKnown) return address
  throw policyError(
    path,
    `"${named}" is no ${of} of the deployment.`,
    of === 'market'
      ? 'write a name or an address of deployment.markets.'
      : 'write a name of the deployment, or an address.',
  )
}

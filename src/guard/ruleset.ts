import type { AbiFunction, Address, Hex } from 'viem'
import { z } from 'zod'
import type { Role } from '../agent.ts'
import type { Revalidation } from '../service/assumptions.ts'
import { WORKFLOW_TYPES, type WorkflowType } from '../service/workflow-types.ts'
import type { Condition, Reference } from './conditions.ts'

/** A contract that may be talked to, by the keccak-256 of its deployed code. Addresses are lower case. */
type Pin = { readonly address: Address; readonly codeHash: Hex }

/** One market of the deployment, with what it lends, what it takes, and who prices it. */
export type PinnedMarket = Pin & {
  readonly loanAsset: Address
  readonly collateralAsset: Address
  readonly oracle: Address
  readonly oracleCodeHash: Hex
}

/** The contracts of the deployment: nothing outside of it is ever a target. */
export type Deployment = {
  readonly namespace: string
  readonly assets: readonly (Pin & { readonly symbol: string; readonly decimals: number })[]
  readonly markets: readonly PinnedMarket[]
  readonly vaults: readonly Pin[]
  readonly funds: readonly (Pin & { readonly quoteAsset: Address })[]
  /** Other contracts, by the names that policies give them. */
  readonly contracts: readonly (Pin & { readonly name: string })[]
}

const digits = (unit: string) =>
  z.string().regex(/^(0|[1-9][0-9]{0,77})$/, `expected ${unit} as quoted digits, without sign, point or unit`)
/** Base units, wei or millionths as quoted digits. */
export const amount = (unit: string) => digits(unit).transform(BigInt)
/** A small whole number as quoted digits. */
export const count = (unit: string, min: number, max: number) =>
  digits(unit)
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error: `allowed: ${min} to ${max} ${unit}` })

const spend = {
  usdMicrosMax: amount('millionths of a US dollar'),
  gasWeiMax: amount('wei'),
}
const rolling = z.strictObject({ ...spend, revertsMax: count('reverts', 1, 1_000) })

type Spend = { readonly usdMicrosMax: bigint; readonly gasWeiMax: bigint }
const within = (inner: Spend, outer: Spend) =>
  inner.usdMicrosMax <= outer.usdMicrosMax && inner.gasWeiMax <= outer.gasWeiMax

/** `limits` of a policy: what one workflow and what a rolling window may move, cost and lose. */
export const limitsPolicy = z
  .strictObject({
    /** One workflow: what it may take out, and what its gas may cost at the fee offered. */
    perWorkflow: z.strictObject(spend),
    perHour: rolling,
    perDay: rolling,
  })
  .refine((limits) => within(limits.perWorkflow, limits.perHour), {
    path: ['perWorkflow'],
    message: 'expected no limit above that of perHour',
  })
  .refine(
    (limits) =>
      within(limits.perHour, limits.perDay) && limits.perHour.revertsMax <= limits.perDay.revertsMax,
    {
      path: ['perHour'],
      message: 'expected no limit above that of perDay',
    },
  )
export type Limits = z.output<typeof limitsPolicy>

/** `freshness` of a policy: how old what we rely on may be. */
export const freshnessPolicy = z.strictObject({
  /** Oldest answer of the service, counting its own lag and the time since. */
  ageMsMax: count('milliseconds', 1, 600_000),
  /** Most blocks between the service's snapshot and our node's head, either way. */
  blockLagMax: count('blocks', 0, 10_000).transform(BigInt),
  /** Oldest head of our own node. */
  headAgeMsMax: count('milliseconds', 1, 3_600_000),
  /** Stop this long before an answer expires: what is sent then has no time to land. */
  expiryMarginMs: count('milliseconds', 0, 600_000),
  /** Longest life of an answer, whatever it says itself. */
  lifetimeMsMax: count('milliseconds', 1, 3_600_000),
})
export type Freshness = z.output<typeof freshnessPolicy>

/** `$…` refers to the request, the signer or the deployment; anything else is the value itself. */
const value = z.string().min(1).max(100)

const condition = z
  .strictObject({ eq: value.optional(), in: value.optional(), min: value.optional(), max: value.optional() })
  .refine((tests) => Object.keys(tests).length > 0, {
    message: 'expected at least one of eq, in, min and max',
  })

/** What a rule's call is sent to: a contract of the deployment, found through the request's market. */
const TARGETS = ['market', 'loanAsset'] as const
export type TargetKind = (typeof TARGETS)[number]

const signature = z.string().min(1).max(500)

const rule = z.strictObject({
  id: z.string().regex(/^[a-z0-9-]{1,40}$/, 'expected lower-case letters, digits and hyphens'),
  workflowType: z.enum(WORKFLOW_TYPES),
  target: z.enum(TARGETS),
  /** As Solidity writes it, with a name for every parameter: our own ABI, whatever the service calls it. */
  function: signature,
  /** One entry for every parameter; all tests of an entry must hold. */
  params: z.record(z.string().min(1).max(60), condition),
  valueWeiMax: amount('wei'),
  gasMax: count('gas', 21_000, 16_000_000).transform(BigInt),
})

const effects = z.strictObject({
  workflowType: z.enum(WORKFLOW_TYPES),
  /** The only tokens that may leave the signer, and how much. */
  out: z.array(z.strictObject({ token: value, assetsMax: value })).max(10),
  /** What must come in. */
  in: z.array(z.strictObject({ token: value, assetsMin: value })).max(10),
})

const sanity = z.strictObject({
  /** Oldest price, by the oracle's own source time against the block simulated. */
  priceAgeSMax: count('seconds', 1, 86_400),
  /** How far the oracle's price may be from the one that was decided on. */
  priceDivergenceBpsMax: count('basis points', 0, 10_000).transform(BigInt),
  /** Least part of our own computed seizure that the call must insist on. */
  minCollateralBps: count('basis points', 1, 10_000).transform(BigInt),
  /** What one whole native coin is taken to be worth. */
  nativePriceUsdMicros: amount('millionths of a US dollar'),
  /** Least bonus left after gas at the fee offered. */
  profitUsdMicrosMin: amount('millionths of a US dollar'),
})

/** `guard` of a policy: what may be signed. Whatever no rule allows is refused. */
export const guardPolicy = z.strictObject({
  /** Reads that stand behind our own judgement, as Solidity writes them. */
  views: z.array(signature).min(1).max(50),
  /** For each workflow type, the rules in this order are the calls it consists of: all of them, and no other. */
  allow: z.array(rule).min(1).max(50),
  effects: z.array(effects).max(50),
  sanity,
  /** Gas limit over the gas simulated; 12500 at least, because a refund is paid only after the gas was there. */
  gasHeadroomBps: count('basis points', 12_500, 50_000).transform(BigInt),
})
export type GuardPolicy = z.output<typeof guardPolicy>

/** One call that may be signed, with everything that must hold of it. */
export type Rule = {
  readonly id: string
  readonly target: TargetKind
  readonly abi: AbiFunction
  readonly selector: Hex
  readonly isApproval: boolean
  readonly params: readonly {
    readonly name: string
    readonly type: string
    readonly tests: readonly Condition[]
  }[]
  readonly valueWeiMax: bigint
  readonly gasMax: bigint
}

export type Effects = {
  readonly out: readonly { readonly token: Reference; readonly assetsMax: Reference }[]
  readonly in: readonly { readonly token: Reference; readonly assetsMin: Reference }[]
}

/** A policy and a deployment, compiled: the guard reads nothing else. `hash` names it, 64 hex digits. */
export type Ruleset = {
  readonly hash: string
  readonly role: Role
  readonly limits: Limits
  readonly freshness: Freshness
  readonly sanity: GuardPolicy['sanity']
  readonly gasHeadroomBps: bigint
  readonly deployment: Deployment
  /** Our name of a check by the service's, where they differ. */
  readonly revalidations: ReadonlyMap<string, Revalidation>
  readonly views: ReadonlyMap<string, AbiFunction>
  /** The calls of each workflow type, in order. A type without an entry is not allowed. */
  readonly rules: ReadonlyMap<WorkflowType, readonly Rule[]>
  readonly effects: ReadonlyMap<WorkflowType, Effects>
}

import { z } from 'zod'
import { hash32 } from '../../service/contract/scalars.ts'
import { nest, spend, spendNames } from '../../service/contract/spend.ts'
import { WORKFLOW_TYPES } from '../../service/contract/workflow-types.ts'
import {
  blocks,
  bps,
  count,
  gasAmount,
  milliseconds,
  positiveUsdMicros,
  settings,
  usdMicros,
  wei,
} from '../../service/contract/yaml-scalars.ts'
import { allowancePolicy } from './allowances.ts'
import { OPERATORS, type Op, valueText } from './operators.ts'

const rolling = settings({ ...spend, revertsMax: count('reverts', 1, 1_000) }, spendNames)

/** `limits` of a policy: what one workflow and what a rolling window may move, cost and lose. */
export const limitsPolicy = settings({
  /** One workflow: what it may take out, and what its gas may cost at the fee offered. */
  perWorkflow: settings(spend, spendNames),
  perHour: rolling,
  perDay: rolling,
  /** What the signer may lose of what it owned at most in a rolling window, realised and marked: past it the role halts. */
  loss: settings({ perHourUsdMicros: usdMicros(), perDayUsdMicros: usdMicros() })
    .refine((loss) => loss.perHourUsdMicros <= loss.perDayUsdMicros, {
      path: ['perHour'],
      message: 'expected no more than perDay, of which it is a part',
    })
    .optional(),
  /** What may move, or be called, of one market, counterparty or function, beside all of the above. */
  allowances: z.array(allowancePolicy).max(50).optional(),
  /** What one whole token counts as at least, by symbol: nothing without a price here may leave. */
  pricesUsdMicros: z.record(z.string().min(1).max(32), positiveUsdMicros()),
}).superRefine(({ perWorkflow, perHour, perDay }, context) => {
  nest(context, ['perWorkflow', perWorkflow], ['perHour', perHour])
  nest(context, ['perHour', perHour], ['perDay', perDay])
})
/** What may be moved, spent and lost: millionths of a dollar, wei, reverts. */
export type Limits = z.output<typeof limitsPolicy>

/** `freshness` of a policy: how old what we rely on may be. */
export const freshnessPolicy = settings({
  /** Oldest answer of the service, counting its own lag and the time since. */
  ageMsMax: milliseconds(1, 600_000),
  /** Most blocks between the service's snapshot and our node's head, either way. */
  blockLagMax: blocks(0, 10_000).transform(BigInt),
  /** Oldest head of our own node. */
  headAgeMsMax: milliseconds(1, 3_600_000),
  /** Stop this long before an answer expires: what is sent then has no time to land. */
  expiryMarginMs: milliseconds(0, 600_000),
  /** Longest life of an answer, whatever it says itself. */
  lifetimeMsMax: milliseconds(1, 3_600_000),
  /** How long the service may take to show what is final on chain: past it the workflow ends unconfirmed, with an alarm. */
  confirmationMsMax: milliseconds(1_000, 600_000).optional(),
})
/** How old what we rely on may be: milliseconds, blocks. */
export type Freshness = z.output<typeof freshnessPolicy>

/** What a parameter is compared with, by the operators of the language. */
const operands = Object.fromEntries(
  Object.entries(OPERATORS).map(([op, { schema }]) => [op, schema.optional()]),
) as { readonly [O in Op]: z.ZodOptional<(typeof OPERATORS)[O]['schema']> }

const tests = {
  ...operands,
  /** With `eq`: what each choice of the input is on chain, as an enumeration numbers it. */
  map: z.record(z.string().min(1).max(60), valueText).optional(),
}
const hasTest = ({ map: _map, ...stated }: Readonly<Record<string, unknown>>) =>
  Object.keys(stated).length > 0
const isMapped = ({ map, eq }: Readonly<Record<string, unknown>>) => map === undefined || eq !== undefined
const NO_TEST = { message: `expected at least one of ${Object.keys(OPERATORS).join(', ')} and any` }
const NO_EQ = { message: 'expected eq beside map' }

const condition = z
  .strictObject({
    ...tests,
    /** One of these must hold, beside the tests above. */
    any: z
      .array(z.strictObject(tests).refine(hasTest, NO_TEST).refine(isMapped, NO_EQ))
      .min(2)
      .max(20)
      .optional(),
  })
  .refine(hasTest, NO_TEST)
  .refine(isMapped, NO_EQ)

const signature = z.string().min(1).max(800)
const memberName = z.string().min(1).max(60)

const ruleId = z.string().regex(/^[a-z0-9-]{1,40}$/, 'expected lower-case letters, digits and hyphens')
const params = z.record(z.string().min(1).max(100), condition)

const rule = settings({
  id: ruleId,
  workflowType: z.enum(WORKFLOW_TYPES),
  /** Members of the input for which the rule is there; absent, it is always there. */
  when: z.record(memberName, z.string().max(60)).optional(),
  /** `"true"`: all optional calls of a type are there, or none of them is. */
  optional: z.enum(['true']).optional(),
  /** A reference to a contract of the deployment; `deploy` where the call creates one. */
  target: valueText,
  /** The creation code of what is deployed, without arguments: its keccak-256 and its length. */
  creation: z
    .strictObject({
      codeHash: hash32,
      codeBytes: count('bytes', 1, 49_152),
    })
    .optional(),
  /** As Solidity writes it, with a name for every parameter: our own ABI, whatever the service calls it. */
  function: signature,
  /** One entry for every parameter, by its path: `report.asset`, `supplies[].market`; all tests of an entry must hold. */
  params,
  /** Calls that it carries, as a multicall does: each is held to a rule of its own. Those rules are for nothing else. */
  calls: z
    .strictObject({
      /** Where their bytes are, what they go to and what they send, by path: `calls[].callData`. */
      data: z.string().min(1).max(100),
      target: z.string().min(1).max(100).optional(),
      value: z.string().min(1).max(100).optional(),
      /** The ids of the rules that the calls are, in order. */
      inside: z.array(z.string().min(1).max(40)).min(1).max(16),
    })
    .optional(),
  /** What the call's signature argument signs: our own EIP-712 type and domain, whatever the service asks for. */
  typedData: z
    .strictObject({
      name: z.string().min(1).max(100),
      version: z.string().min(1).max(20),
      /** As EIP-712 encodes it: "NavReport(address asset,uint256 value)". */
      type: signature,
      /** The argument that is signed, and the argument that takes the signature, by their names. */
      message: memberName,
      signature: memberName,
    })
    .optional(),
  valueWeiMax: wei(),
  gasMax: gasAmount().refine((gas) => gas >= 21_000n && gas <= 16_000_000n, {
    error: 'allowed: 21,000 gas to 16,000,000 gas',
  }),
})

const denial = z
  .strictObject({
    id: ruleId,
    /** Absent: of every type, where `$input` names nothing. */
    workflowType: z.enum(WORKFLOW_TYPES).optional(),
    /** `deploy`: creations of contracts, whose function is a constructor. No other denial is about those. */
    target: valueText.optional(),
    function: signature.optional(),
    /** What makes it refused: each entry is met by one element at least. */
    params: params.optional(),
  })
  .refine((stated) => stated.target !== undefined || stated.function !== undefined, {
    message: 'expected a target or a function',
  })

const effects = z.strictObject({
  workflowType: z.enum(WORKFLOW_TYPES),
  /** The only token that may leave the signer, and how much; the proposal's exposure is exactly that. */
  out: z.array(z.strictObject({ token: valueText, assetsMax: valueText })).max(1),
  /** What must come in. */
  in: z.array(z.strictObject({ token: valueText, assetsMin: valueText })).max(10),
  /** What of others' money it moves: counted in budgets as if it were ours. A path through a list counts its sum. */
  moves: z
    .array(z.strictObject({ token: valueText, assets: valueText }))
    .max(10)
    .optional(),
})

const metadata = z.strictObject({
  id: ruleId,
  workflowType: z.enum(WORKFLOW_TYPES),
  /** What its input must be, by member. Each address and each number has a condition; a text that has none is as it is. */
  input: params,
})

/** One thing that the guard reads or computes; `$asked` is the contract that the judgement asks, `$asked.owner` its argument. */
const fact = z.union([
  /** A value, a reference, or arithmetic: `$fact.debt * 10 ^ 18 / $fact.price`, rounded down. */
  signature,
  z.strictObject({
    target: valueText,
    function: signature,
    args: z.array(valueText).max(10),
    result: valueText.optional(),
  }),
  /** For a view that answers in parts: each of them. */
  z.strictObject({ results: z.record(memberName, signature) }),
])

/** `guard` of a policy, with the role's own `sanity`: what may be signed. Whatever no rule allows is refused. */
export const guardPolicy = (sanity: z.ZodType) =>
  settings({
    /** Reads that stand behind our own judgement, as Solidity writes them. */
    views: z.array(signature).min(1).max(100),
    /**
     * What is read otherwise here, by the name of the view that it stands for, and what conditions name as `$fact.NAME`.
     */
    facts: z.record(z.string().regex(/^[A-Za-z]\w{0,59}$/), fact).optional(),
    /** For each workflow type, the rules in this order are the calls it consists of: all of them, and no other. */
    allow: z.array(rule).min(1).max(50),
    /**
     * Types that consist of no call: what they save lives at the service, and preparing it is the effect. One that is not here
     * is refused.
     */
    metadata: z.array(metadata).max(20).optional(),
    /** Calls that are refused, whatever a rule above allows. */
    deny: z.array(denial).max(50).optional(),
    effects: z.array(effects).max(50),
    /** The limits of the role's own judgements. */
    sanity,
    /** Gas limit over the gas simulated; 12500 at least, because a refund is paid only after the gas was there. */
    gasHeadroomBps: bps(12_500, 50_000).transform(BigInt),
  })
/** What a file says under `guard`: data, not compiled. `sanity` is what the role's own schema of limits gives. */
export type GuardPolicy = z.output<ReturnType<typeof guardPolicy>>

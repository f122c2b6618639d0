import { z } from 'zod'
import {
  amount,
  bps,
  count,
  milliseconds,
  name,
  seconds,
  settings,
} from '../../src/service/contract/yaml-scalars.ts'
import { parseUintView } from '../protocol/nav.ts'

/** A value of one share. */
export const value = () => amount("units of 10^-decimals of the report's value")

/** How far a source is believed; its values are counted in units of the report's. */
const trust = {
  /** How long before the valuation time its value may be. */
  ageSMax: seconds(1, 2_592_000),
  /** Where it has its values from: sources with the same have one vote together. Absent, it is its own. */
  upstream: name.optional(),
  valueMin: value().refine((least) => least > 0n, { error: 'expected the least value to believe, above 0' }),
  valueMax: value(),
}
/** Decimals of the number that the source gives. */
const decimals = count('decimals', 0, 36)
const timeoutMs = milliseconds(1, 60_000)
/** A JSON Pointer that leads somewhere. Source: RFC 6901. */
const pointer = z.string().regex(/^(\/[^/]{1,100}){1,10}$/, 'expected a JSON Pointer, for example /nav/value')
const column = z.string().min(1).max(100)

const view = z.string().transform((signature, context) => {
  const item = parseUintView(signature)
  if (item !== null) return item
  context.addIssue({
    code: 'custom',
    message:
      'expected a view of addresses and unsigned integers that returns one unsigned integer, as in "function idleAssets() view returns (uint256)"',
  })
  return z.NEVER
})

/** Where a number of the chain stands, for one view or for several that take the same. */
const place = {
  /** A name of deployment.contracts, or `$asset` for what is reported on. */
  contract: z.union([z.literal('$asset'), name]),
  /** One for each parameter: `$asset`, or a whole number. */
  args: z.array(z.union([z.literal('$asset'), amount('a whole number')])).max(5),
  decimals,
}
type Args = z.output<typeof place.args>

const fits = (args: Args, { inputs }: z.output<typeof view>) =>
  args.length === inputs.length &&
  inputs.every(({ type }, index) => (args[index] === '$asset') === (type === 'address'))
const MISFIT = {
  path: ['args'],
  error: "expected one for each of the function's parameters, $asset for an address",
}

/** The views that say what fees are counted from. */
export const feeMark = settings({
  ...place,
  /** The value of one share up to which nothing is owed. */
  highWaterValue: view,
  /** When fees were paid out last, or began to count: Unix seconds. */
  accruesSince: view,
}).refine(
  ({ args, highWaterValue, accruesSince }) => fits(args, highWaterValue) && fits(args, accruesSince),
  MISFIT,
)

const chainSource = settings({
  kind: z.literal('chain'),
  ...place,
  function: view,
  ...trust,
}).refine((source) => fits(source.args, source.function), MISFIT)

/** JSON is read alike, wherever it comes from. */
const json = {
  source: name,
  /** Where it lists its values; the other two pointers then lead on from each of them. Absent, it states one. */
  historyPointer: pointer.optional(),
  valuePointer: pointer,
  asOfPointer: pointer,
  decimals,
  timeoutMs,
  ...trust,
}

/** One source of a report's value. Every kind states its decimals, age and bounds. */
export const sourcePolicy = z
  .discriminatedUnion('kind', [
    settings({ kind: z.literal('http'), ...json }),
    settings({ kind: z.literal('json-file'), ...json }),
    settings({
      kind: z.literal('csv-file'),
      source: name,
      valueColumn: column,
      asOfColumn: column,
      decimals,
      timeoutMs,
      ...trust,
    }),
    chainSource,
    settings({
      kind: z.literal('holdings'),
      /** Views of the fund that sum to its quote assets outside of holdings. */
      idle: z.array(view).min(1).max(5),
      /** What the recovery value of each lane is cut by. */
      haircutBps: z.record(z.string().min(1).max(40), bps().transform(BigInt)),
      shareDecimals: count('decimals', 0, 36),
      ...trust,
    }),
  ])
  .refine((one) => one.valueMin <= one.valueMax, {
    path: ['valueMin'],
    error: 'expected no more than valueMax',
  })
/** What the policy says of one source of a report. */
export type SourcePolicy = z.infer<typeof sourcePolicy>

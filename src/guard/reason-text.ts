import type { Deployment } from '../service/contract/deployment.ts'
import { baseUnits, counted, decimal, duration, native, percent, time, usd } from '../units.ts'
import type { Proposal, Reason } from '../workflow/proposal.ts'
import { figureText } from './policy/figures.ts'

/** From here on a number of seconds is a moment, not a while: 2001. */
const MOMENT_S = 1_000_000_000n

/** How a figure of a decision is written, by the end of its name; the first that fits. */
const UNITS: readonly (readonly [RegExp, (value: bigint) => string])[] = [
  [/UsdMicros$/, usd],
  [/Wei$/, native],
  [/Wad$/, (value) => decimal(value, 18)],
  [/Bps(?:After)?$/, percent],
  [/Ms$/, (value) => (value < MOMENT_S * 1_000n ? duration(value) : time(value / 1_000n))],
  [/[a-z]S$/, (value) => (value < MOMENT_S ? duration(value * 1_000n) : time(value))],
  [/^gas$|Gas$/, (value) => counted(value, 'gas')],
]

/**
 * Write the figures of a decision with their units. An amount that the request names too is of that token; what a name
 * alone does not say of another one is left in base units. Pure.
 */
export function reasonText(
  reason: Reason,
  input: Proposal['input'] | undefined,
  known: Deployment,
): readonly (readonly [string, string])[] {
  return Object.entries(reason).map(([name, value]) => [name, figureOf(name, value, input ?? {}, known)])
}

function figureOf(name: string, value: Reason[string], input: Proposal['input'], known: Deployment): string {
  if (!/^-?\d{1,78}$/.test(String(value))) return String(value)
  const figure = BigInt(value)
  const write = UNITS.find(([pattern]) => pattern.test(name))?.[1]
  if (write !== undefined) return write(figure)
  if (!/Assets$/.test(name)) return String(value)
  if (input[name] === undefined) return baseUnits(figure)
  const addressOf = (member: string) => String(input[member] ?? '').toLowerCase()
  return figureText(
    figure,
    { path: name, reference: '' },
    {
      ...{ input, self: '0x', deadlineS: 0n, vault: null, deployment: known },
      market: known.markets.find(({ address }) => address === addressOf('marketAddress')) ?? null,
      fund: known.funds.find(({ address }) => address === addressOf('fundAddress')) ?? null,
    },
  )
}

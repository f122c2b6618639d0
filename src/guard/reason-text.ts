import { native, span, usd } from '../readable.js'
import type { Deployment } from '../service/contract/deployment.ts'
import { amountText, baseUnits, counted, decimal, percent, time } from '../units.ts'
import type { Proposal, Reason } from '../workflow/proposal.ts'
import type { Subject } from './policy/conditions.ts'
import { figureText } from './policy/figures.ts'

/** From here on a number of seconds is a moment, not a while: 2001. */
const MOMENT_S = 1_000_000_000n

/** How a figure of a decision is written, by the end of its name; the first that fits. */
const UNITS: readonly (readonly [RegExp, (value: bigint) => string])[] = [
  [/UsdMicros$/, usd],
  [/Wei$/, native],
  [/Wad$/, (value) => decimal(value, 18)],
  [/Bps(?:After)?$/, percent],
  [/Ms$/, (value) => (value < MOMENT_S * 1_000n ? span(value) : time(value / 1_000n))],
  [/[a-z]S$/, (value) => (value < MOMENT_S ? span(value * 1_000n) : time(value))],
  [/^gas$|Gas$/, (value) => counted(value, 'gas')],
]

/** Amounts whose token follows from what the decision is about: a market by its collateral and loan, a fund by its quote. */
const COLLATERAL = /^(?:collateral|minCollateral|seize)Assets$/
const LOAN = /^(?:debt|positionDebt|badDebt|unpaid|repay|seizeValue|bonus|haircut|gas|profit)Assets$/
const QUOTE = /^(?:bid|holdings|idle|limit)Assets$/

/** Figures of a report of which each is of one share, in the decimals that its request names. */
const SHARE = /^(?:value|beforeFees|performanceFee|carry|bridge[A-Z][a-z]+)$/

/**
 * Write the figures of a decision with their units. An amount that the request names too is of that token; what neither names
 * nor subject say of another one is left in base units. Pure.
 */
export function reasonText(
  {
    reason,
    input = {},
    subject,
  }: Pick<Proposal, 'reason' | 'subject'> & { readonly input?: Proposal['input'] },
  known: Deployment,
): readonly (readonly [string, string])[] {
  const addresses = [...subject.split(':'), input.marketAddress, input.fundAddress].map((each) =>
    String(each).toLowerCase(),
  )
  const about = {
    input,
    market: known.markets.find(({ address }) => addresses.includes(address)) ?? null,
    fund: known.funds.find(({ address }) => addresses.includes(address)) ?? null,
  }
  return Object.entries(reason).map(([name, value]) => [name, figureOf(name, value, about, known)])
}

/** What figures are about. */
type About = Pick<Subject, 'input' | 'market' | 'fund'>

function figureOf(name: string, value: Reason[string], about: About, known: Deployment): string {
  if (!isFigure(value)) return String(value)
  const figure = BigInt(value)
  const write = UNITS.find(([pattern]) => pattern.test(name))?.[1]
  if (write !== undefined) return write(figure)
  const { input, market, fund } = about
  if (typeof input.decimals === 'number' && SHARE.test(name))
    return `${decimal(figure, input.decimals)} a share`
  if (name === 'supply') return `${baseUnits(figure)} of shares`
  if (!/Assets$/.test(name)) return String(value)
  if (input[name] !== undefined) return changeText(name, String(value), about, known)
  const token =
    market !== null && COLLATERAL.test(name)
      ? market.collateralAsset
      : market !== null && LOAN.test(name)
        ? market.loanAsset
        : QUOTE.test(name)
          ? fund?.quoteAsset
          : undefined
  return token === undefined ? baseUnits(figure) : amountText(figure, token, known)
}

const isFigure = (value: unknown): value is string | number => /^-?\d{1,78}$/.test(String(value))

/** Write what a field of a request is or becomes, with its unit. Pure. */
export const changeText = (
  field: string,
  value: string,
  { input, market, fund }: About,
  deployment: Deployment,
): string =>
  isFigure(value)
    ? figureText(
        BigInt(value),
        { path: field, reference: '' },
        { input, market, fund, deployment, self: '0x', deadlineS: 0n, vault: null },
      )
    : value

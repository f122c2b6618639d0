import { moment, native, plural, span, tokens, usd } from '../../readable.js'
import type { Deployment } from '../../service/contract/deployment.ts'
import { baseUnits, counted, decimal, percent } from '../../units.ts'
import type { Proposal, Reason } from '../../workflow/proposal.ts'
import { figureText } from '../policy/figures.ts'
import type { Subject } from '../policy/references.ts'

/** From here on a number of seconds is a moment, not a while: 2001. */
const MOMENT_S = 1_000_000_000n

/** How a figure of a decision is written, by the end of its name; the first that fits. */
const UNITS: readonly (readonly [RegExp, (value: bigint) => string])[] = [
  [/UsdMicros$/, usd],
  [/Wei$/, native],
  // Cut, not rounded: what is below 1 does not read like 1.
  [/FactorWad$/, (value) => decimal(value - (value % 10n ** 14n), 18)],
  [/Bps(?:After)?$/, percent],
  [/Ms$/, (value) => (value < MOMENT_S * 1_000n ? span(value) : moment(value / 1_000n))],
  [/[a-z]S$/, (value) => (value < MOMENT_S ? span(value * 1_000n) : moment(value))],
  [/^gas$|Gas$/, (value) => counted(value, 'gas')],
  [/^cases|Cases$/, (value) => plural(value, 'case')],
]

/** What figures are called, where their name in words would not say it; several of one name are one line. */
const LABELS = new Map(
  Object.entries({
    near: 'close to acting',
    serviceHealthFactorWad: 'health by the service',
    healthFactorWad: 'health',
    priceWad: 'oracle price',
    servicePriceWad: 'price by the service',
    secondPriceWad: 'price of the second oracle',
    loanPriceUsdMicros: 'price of the loan token',
    nativeUsdMicros: 'price of ETH',
    debtAssets: 'debt to this vault',
    positionDebtAssets: 'debt to all vaults',
    unpaidAssets: 'debt beyond the collateral',
    badDebtAssets: 'bad debt left',
    seizeValueAssets: 'value of what is seized',
    minCollateralAssets: 'least collateral to accept',
    learnedBps: 'lowered by experience',
    seizedExpectedBps: 'experience of seizures',
    seizedExpectedBy: 'experience of seizures',
    seizedCases: 'experience of seizures',
    soldExpectedBps: 'experience of sales',
    soldExpectedBy: 'experience of sales',
    soldCases: 'experience of sales',
    tipShareBps: 'tip, part of the profit',
    setGapBps: 'below the best set of liquidations by at most',
    expectedBps: 'experience',
    expectedBy: 'experience',
    casesWon: 'experience',
    cases: 'experience',
    markAssets: 'value at the oracle price',
    worthAssets: 'value',
    fairAssets: 'value to us',
    wonAssets: 'value once it is won',
    valueAssets: 'value where a rival is level',
    unrecoveredAssets: 'never recovered',
    leastAssets: 'least bid that leads',
    wantedAssets: 'wanted bid',
    nextBidAssets: 'least next bid',
    leadAssets: 'bid that would lead',
    bestAssets: 'best bid',
    limitAssets: 'our limit',
    roomAssets: 'room under the policy’s limits',
    amount: 'lot',
    assetAmount: 'lot',
    carryBps: 'cost of waiting',
    skewBps: 'less for what we hold',
    wonLimitAssets: 'limit by value once won',
    fundedLimitAssets: 'limit by idle money',
    leftS: 'time left',
    closesAtS: 'closes',
    settleableAtS: 'can be settled from',
    gainUsdMicros: 'expected gain',
    standingUsdMicros: 'earned by standing still',
    learnedUsdMicros: 'change by experience',
    costUsdMicros: 'cost of moving',
    netUsdMicros: 'gain after cost',
    horizonS: 'time reckoned with',
    turnoverAssets: 'moved',
    queuedAssets: 'queued redemptions',
    dueAssets: 'redemptions due soon',
    obligedAssets: 'to be idle for what is due',
    neededAssets: 'buffer and queue',
    shortAssets: 'missing',
    supplyRateBps: 'rate',
    supplyRateBpsAfter: 'rate after the move',
    supply: 'shares',
    value: 'value',
    accepted: 'counted',
    rejected: 'not counted',
    bridgeFees: 'moved by fees',
    bridgeHoldings: 'moved by holdings',
    bridgeIdle: 'moved by idle money',
    bridgeUnits: 'moved by shares',
    bridgeOther: 'moved by what is not known',
  }),
)

/** Words of a decision as people say them. */
const WORDS = new Map(
  Object.entries({
    prior: 'by the policy alone',
    measured: 'measured',
    true: 'yes',
    false: 'no',
    '': 'none',
  }),
)

/** What says which token amounts are of, and in which unit they are, for programs. */
const OF_UNITS = /(?:^asset|^quoteAsset|^decimals|Decimals)$/

/** Amounts whose token follows from what a decision is about: a market by its collateral and loan, a fund by its quote. */
const COLLATERAL = /^(?:collateral|minCollateral|heldCollateral|seize)Assets$/
const LOAN =
  /^(?:debt|positionDebt|badDebt|unpaid|repay|seizeValue|bonus|haircut|gas|profit|quoted|worth|held|cash|price)Assets$/
const QUOTE = /^(?:bid|holdings|idle|limit|waiting)Assets$/
const LOT = /^(?:amount|assetAmount)$/
const AMOUNT = /Assets$|^amount$|Amount$/

/** Figures of a report of which each is of one share, in the decimals that its request names. */
const SHARE = /^(?:value|beforeFees|performanceFee|carry|bridge[A-Z][a-z]+)$/

/**
 * Write the figures of a decision for people: what each is called, and its amount with its unit, rounded. What is called
 * alike is one line. An amount that neither reason, request nor subject says the token of is left in base units. Pure.
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
  const of = <T extends { readonly address: string }>(list: readonly T[]) =>
    list.find(({ address }) => addresses.includes(address)) ?? null
  // Only what is about a vault alone has all of its amounts in what that lends.
  const vault = known.vaults.find(({ address }) => address === subject) ?? null
  // Of what was left alone nothing was asked for: what it would become says which token amounts are of.
  const wanted = Object.entries(reason).flatMap(([name, value]) =>
    /[a-z]To$/.test(name) ? [[name.slice(0, -2), value]] : [],
  )
  const about = {
    reason,
    input: { ...Object.fromEntries(wanted), ...input },
    market: of(known.markets),
    fund: of(known.funds),
    vault,
  }
  const lines = new Map<string, string>()
  for (const [name, value] of Object.entries(reason)) {
    if (OF_UNITS.test(name)) continue
    const label = labelOf(name)
    const before = lines.get(label)
    const text = figureOf(name, value, about, known)
    lines.set(label, before === undefined ? text : `${before}${/[a-z]To$/.test(name) ? ' → ' : ', '}${text}`)
  }
  return [...lines]
}

/** What figures are about. */
type FigureContext = Pick<Subject, 'input' | 'market' | 'fund'> & {
  readonly reason: Reason
  readonly vault: Deployment['vaults'][number] | null
}

/** A name of several words leads with what it is of: a market by its assets and its address. */
function labelOf(name: string): string {
  const words = name.split(' ')
  const figure = (words.pop() ?? '').replace(/(?<=[a-z])(?:From|To)$/, '')
  const of = words.filter((word) => !/^0x[0-9a-f]{40}$/.test(word)).join(' ')
  const [, limit] = /^(.+)LimitAssets$/.exec(figure) ?? []
  const label =
    LABELS.get(figure) ?? (limit === undefined ? inWords(unitless(figure)) : `limit by ${inWords(limit)}`)
  return of === '' ? label : `${of}: ${label}`
}

const unitless = (name: string) =>
  name.replace(/(?<=.)(?:Assets|UsdMicros|Wei|Wad|Bps|Seconds|Timestamp|Ms|(?<=[a-z])S)$/, '')
const inWords = (name: string) =>
  name
    .replaceAll('_', ' ')
    .replace(/(?<=[a-z])[A-Z]/g, ' $&')
    .toLowerCase()

function figureOf(whole: string, value: Reason[string], about: FigureContext, known: Deployment): string {
  const name = whole.slice(whole.lastIndexOf(' ') + 1)
  if (name === 'near') return `${(Number(value) * 100).toFixed(2)} %`
  if (!isFigure(value)) return wordOf(name, String(value), known)
  const changed = /^(.+)(?:From|To)$/.exec(name)?.[1]
  if (changed !== undefined) return changeText(changed, String(value), about, known)
  const figure = BigInt(value)
  const write = UNITS.find(([pattern]) => pattern.test(name))?.[1]
  if (write !== undefined) return write(figure)
  const decimals = about.reason.decimals ?? about.input.decimals
  if (typeof decimals === 'number' && SHARE.test(name)) return `${decimal(figure, decimals)} a share`
  const { shareDecimals } = about.reason
  if (name === 'supply' && typeof shareDecimals === 'number')
    return tokens(figure, { symbol: 'shares', decimals: shareDecimals })
  if (/Wad$/.test(name))
    return tokens(figure, { symbol: assetOf('priceAssets', about, known)?.symbol ?? '', decimals: 18 }).trim()
  if (!AMOUNT.test(name)) return String(value)
  const asset = assetOf(name, about, known)
  return asset === undefined ? baseUnits(figure) : tokens(figure, asset)
}

/** Words of an agent's own are written as people say them; what else is text is as it is. */
const wordOf = (name: string, text: string, { assets }: Deployment): string =>
  WORDS.get(text) ??
  assets.find(({ address }) => address === text)?.symbol ??
  (name === 'limitedBy' || name === 'why' ? inWords(text) : text)

/** The token that an amount is of: by the reason, the market, the fund or the vault that it is about. */
function assetOf(
  name: string,
  { reason, market, fund, vault }: FigureContext,
  { assets }: Deployment,
): Deployment['assets'][number] | undefined {
  const find = (token: unknown) => assets.find(({ address }) => address === token)
  if (LOT.test(name)) return find(reason.asset)
  if (reason.quoteAsset !== undefined) return find(name === 'heldAssets' ? reason.asset : reason.quoteAsset)
  if (COLLATERAL.test(name)) return find(market?.collateralAsset)
  if (LOAN.test(name) && market !== null) return find(market.loanAsset)
  return find(QUOTE.test(name) && fund !== null ? fund.quoteAsset : vault?.asset)
}

const isFigure = (value: unknown): value is string | number => /^-?\d{1,78}$/.test(String(value))

/** Write what a field of a request is or becomes, with its unit, exactly. Pure. */
export const changeText = (
  field: string,
  value: string,
  { input, market, fund }: Pick<Subject, 'input' | 'market' | 'fund'>,
  deployment: Deployment,
): string =>
  isFigure(value)
    ? figureText(
        BigInt(value),
        { path: field, reference: '' },
        { input, market, fund, deployment, self: '0x', deadlineS: 0n, vault: null },
      )
    : value

import { type Document, isMap, isScalar, isSeq, type Pair, parseDocument, Scalar, type YAMLMap } from 'yaml'

/** The tokens that the policies of this repository are written for: what is paid with, and what is bought for it. */
const MONEY = 'sUSD'
const COLLATERALS = ['sBTC', 'sETH']
/** A collateral of another name is written like this one. */
const LIKE = 'sBTC'
const PERIODS = ['perWorkflow', 'perHour', 'perDay'] as const
/** Keys under which a contract stands by its name in `deployment.contracts`. */
const NAMING = /^(contract|oracle|venues)$/
/** Keys under which the second source of a collateral's price stands, by its name. */
const REFERENCE = /^(contract|referenceContract)$/

/** What a policy is written for: everything that differs from the one that is shipped. */
export type NewPolicy = {
  readonly money: string
  readonly collaterals: readonly NewCollateral[]
  /** What may be moved in one workflow, an hour and a day, with units; absent where nothing moves. */
  readonly moved: Readonly<Partial<Record<(typeof PERIODS)[number], string>>>
  /** Names of this deployment by those of the shipped policy, where they differ. */
  readonly contracts: Readonly<Record<string, string>>
  /** Another amount for one of `limits.loss` or `approval` that is no limit of what is moved: it goes with those. */
  readonly scaled: (amount: string) => string
  /** Lines at the top of the file. */
  readonly head: readonly string[]
}

/** One collateral, as this deployment has it. */
export type NewCollateral = {
  readonly symbol: string
  /** Most to hold, with its unit; absent where the policy does not say. */
  readonly inventory?: string
  /** The contract that prices it too; `none` where it is priced by its market's oracle alone. */
  readonly reference?: string
  /** What is said beside it. */
  readonly comment: string
}

/** What a shipped policy asks about: each answer has a place in it. */
export type Blanks = {
  readonly hasMoney: boolean
  /** Of the shipped collaterals: their inventory, with its unit; null where the policy says none. Empty: it lists none. */
  readonly inventories: ReadonlyMap<string, string | null>
  /** Whether it names second prices, and whether it can do without. */
  readonly references: 'none' | 'optional' | 'needed'
  readonly moved: NewPolicy['moved']
  /** Other contracts that it names. */
  readonly contracts: readonly string[]
}

const parse = (text: string): Document.Parsed => parseDocument(text, { schema: 'failsafe', stringKeys: true })
const textOf = (node: unknown): string | null => (isScalar(node) ? String(node.value) : null)

/** Find what a shipped policy would ask about. Pure. */
export function blanksOf(template: string): Blanks {
  const document = parse(template)
  const inventories = new Map<string, string | null>()
  const contracts = new Set<string>()
  const references = new Set<string>()
  walk(document.contents, (key, value) => {
    const text = textOf(value) ?? ''
    const collateral = COLLATERALS.find((symbol) => symbol === key)
    if (collateral !== undefined) inventories.set(collateral, inventories.get(collateral) ?? null)
    const [, symbol] = /^[0-9][0-9,.]* (\S+)$/.exec(text) ?? []
    if (symbol !== undefined && COLLATERALS.includes(symbol) && !inventories.get(symbol))
      inventories.set(symbol, text)
    if (key === 'secondPrice' || key === 'referenceContract') references.add(key)
    const [, name] = /^\$contract\.(\w+)$/.exec(text) ?? []
    if (name !== undefined) contracts.add(name)
    else if (NAMING.test(key) && /^\w+$/.test(text) && !text.endsWith('ReferenceOracle')) contracts.add(text)
  })
  const moved = PERIODS.flatMap((period) => {
    const text = textOf(document.getIn(['limits', period, 'movedMax'], true))
    return text === null || text === '0 USD' ? [] : [[period, text] as const]
  })
  return {
    hasMoney: template.includes(MONEY),
    inventories,
    references: references.has('referenceContract') ? 'needed' : references.size > 0 ? 'optional' : 'none',
    moved: Object.fromEntries(moved),
    contracts: [...contracts],
  }
}

/** Visit each scalar of a document with the key that it stands under; one of a list has the list's key. */
function walk(node: unknown, visit: (key: string, value: unknown) => void, under = ''): void {
  if (isMap(node)) {
    for (const { key, value } of node.items) {
      visit(String(textOf(key)), value)
      if (!isScalar(value)) walk(value, visit, String(textOf(key)))
    }
  } else if (isSeq(node)) {
    for (const item of node.items) isScalar(item) ? visit(under, item) : walk(item, visit, under)
  }
}

/**
 * Write a policy of a shipped one: its tokens, contracts and limits are this deployment's, all else stays with its
 * comments. An amount that is a limit of the shipped policy goes with that limit. What a policy declares to be is left out:
 * nobody has said yet what is to be. Pure.
 */
export function writePolicy(template: string, asked: NewPolicy): string {
  const [shippedHead = ''] = /^(?:#.*\n)*/.exec(template) ?? []
  const document = parse(template.slice(shippedHead.length))
  const amounts = amountsOf(document, asked)
  const declared: unknown = document.getIn(['strategy', 'declared'], true)
  if (isMap(declared)) for (const pair of declared.items) pair.value = document.createNode([], { flow: true })
  if (asked.collaterals.some(({ reference }) => reference === 'none')) {
    if (document.hasIn(['strategy', 'secondPrice'])) document.setIn(['strategy', 'secondPrice'], 'none')
  }
  priceNative(document, asked)
  scaleAmounts(document, asked, amounts)
  rewrite(document.contents, { asked, amounts, collateral: null })
  const kept = shippedHead.replace(/^# yaml-language-server: .*\n/, '')
  return `${asked.head.map((line) => `# ${line}\n`).join('')}${kept}${document.toString({ lineWidth: 0 })}`
}

/** Where the shipped oracle of native coin prices none of the collaterals, the dearest that is believed stands for it. */
function priceNative(document: Document.Parsed, { collaterals }: NewPolicy): void {
  for (const path of [
    ['strategy', 'gas'],
    ['guard', 'sanity'],
  ]) {
    const contract = textOf(document.getIn([...path, 'nativePrice', 'contract'], true))
    if (contract === null || collaterals.some(({ reference }) => reference === contract)) continue
    document.setIn([...path, 'nativePrice'], document.getIn([...path, 'nativePrice', 'priceMax'], true))
  }
}

/**
 * Let other amounts go with the limit of one workflow: what is asked about, what may be lost, and what may come together of
 * many workflows, which is more than one may move. Prices and costs are neither.
 */
function scaleAmounts(document: Document.Parsed, { scaled }: NewPolicy, amounts: Map<string, string>): void {
  const one = numberOf(textOf(document.getIn(['limits', 'perWorkflow', 'movedMax'], true)) ?? '')
  const sections = [['strategy'], ['guard', 'sanity'], ['limits', 'loss'], ['approval']]
  for (const path of sections) {
    const isAll = path.includes('loss') || path.includes('approval')
    walk(document.getIn(path, true), (_key, node) => {
      const text = textOf(node) ?? ''
      if (!/^[0-9][0-9,.]* (USD|sUSD)$/.test(text) || amounts.has(text)) return
      if (isAll || numberOf(text) > one) amounts.set(text, scaled(text))
    })
  }
}

/** Only compared: digits before the point are enough. */
const numberOf = (amount: string): number => Number.parseInt(amount.replaceAll(',', ''), 10) || 0

type Context = {
  readonly asked: NewPolicy
  /** New texts of amounts, by the shipped ones. */
  readonly amounts: ReadonlyMap<string, string>
  /** Whose entry this is, and the shipped one that it is written like. */
  readonly collateral: { readonly now: NewCollateral; readonly like: string } | null
}

/** The limits, and the same amounts of the money: `100,000 USD`, `100,000 sUSD`. */
function amountsOf(document: Document.Parsed, { moved }: NewPolicy): Map<string, string> {
  const amounts = new Map<string, string>()
  for (const period of PERIODS) {
    const shipped = textOf(document.getIn(['limits', period, 'movedMax'], true))
    const now = moved[period]
    if (shipped === null || now === undefined) continue
    amounts.set(shipped, now)
    amounts.set(shipped.replace(' USD', ` ${MONEY}`), now.replace(' USD', ` ${MONEY}`))
  }
  return amounts
}

function rewrite(node: unknown, context: Context, under = ''): void {
  if (isMap(node)) {
    node.items = expand(node, context)
    for (const { key } of node.items) {
      if (!isScalar(key)) continue
      if (key.value === MONEY) key.value = context.asked.money
      if (under === 'oracles') key.value = context.asked.contracts[String(key.value)] ?? key.value
    }
  } else if (isSeq(node)) {
    for (const item of node.items) rewrite(item, context, under)
  } else if (isScalar(node) && typeof node.value === 'string') {
    const now = rewritten(node.value, under, context)
    if (now === node.value) return
    node.value = now
    if (/^[0-9]/.test(now)) node.type = Scalar.QUOTE_DOUBLE
  }
}

/** The entries of a mapping, those of the shipped collaterals once for each of this deployment's. */
function expand(map: YAMLMap, context: Context): Pair[] {
  const keyOf = ({ key }: Pair) => String(textOf(key))
  const isOf = (symbol: string, key: string) => key === symbol || key === `${symbol}/${MONEY}`
  const shipped = map.items.filter((pair) => COLLATERALS.some((symbol) => isOf(symbol, keyOf(pair))))
  const [first] = shipped
  return map.items.flatMap((pair) => {
    if (!shipped.includes(pair)) {
      rewrite(pair.value, context, keyOf(pair))
      return [pair]
    }
    return pair !== first
      ? []
      : context.asked.collaterals.map((now) =>
          entryOf(shipped, map.flow === true ? { ...now, comment: '' } : now, context),
        )
  })
}

function entryOf(shipped: readonly Pair[], now: NewCollateral, context: Context): Pair {
  const find = (symbol: string) => shipped.find(({ key }) => String(textOf(key)).split('/')[0] === symbol)
  const like = find(now.symbol) ?? find(LIKE) ?? shipped[0]
  const pair = like?.clone() as Pair
  const [was = '', quote] = String(textOf(pair.key)).split('/')
  const key = new Scalar(quote === undefined ? now.symbol : `${now.symbol}/${context.asked.money}`)
  if (quote === undefined && now.comment !== '') key.commentBefore = ` ${now.comment}`
  pair.key = key
  rewrite(pair.value, { ...context, collateral: { now, like: was } })
  return pair
}

function rewritten(shipped: string, under: string, { asked, amounts, collateral }: Context): string {
  const text = amounts.get(shipped) ?? shipped
  if (collateral !== null) {
    const { now, like } = collateral
    if (text.endsWith(` ${like}`)) return now.inventory ?? text
    if (REFERENCE.test(under)) return now.reference ?? text
  }
  const [, name] = /^\$contract\.(\w+)$/.exec(text) ?? []
  if (name !== undefined) return `$contract.${asked.contracts[name] ?? name}`
  if (NAMING.test(under)) return asked.contracts[text] ?? text
  if (text === MONEY || text === `$asset.${MONEY}`) return text.replace(MONEY, asked.money)
  return text.endsWith(` ${MONEY}`) ? `${text.slice(0, -MONEY.length)}${asked.money}` : text
}

import { existsSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { agents } from '../../../agents/index.ts'
import { systemClock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { type Blanks, blanksOf, type NewCollateral, writePolicy } from '../../config/new-policy.ts'
import { RolekeeperError } from '../../errors.ts'
import { createReads } from '../../guard/reads/views.ts'
import { priceView } from '../../guard/sanity/price.ts'
import { createLog } from '../../ops/log.ts'
import { exactTokens, exactUsd, parseAmount, USD } from '../../units.ts'
import { openNodes, openService } from '../startup/connect.ts'
import { proveUnits } from '../startup/deployment-proof.ts'
import { provePins } from '../startup/pins.ts'
import { proveService } from '../startup/service.ts'

/** One thing that a policy is asked about. */
export type Question = {
  /** What the answer goes by: `movedMax`. */
  readonly name: string
  readonly asks: string
  /** What is taken where nothing is said; null where it has to be. */
  readonly fallback: string | null
  /** Say what is wrong with an answer; null where nothing is. */
  readonly wrong: (answer: string) => string | null
}
/** Answers a question, with one that is not wrong. */
export type Ask = (question: Question) => Promise<string>

/** A market's price as the chain has it, whole loan tokens for one whole collateral token, 18 decimals. */
type Prices = ReadonlyMap<string, bigint>
type SeenPrices = { readonly prices: Prices; readonly references: ReadonlyMap<string, readonly string[]> }

const SHIPPED = fileURLToPath(new URL('../../../policies', import.meta.url))
const WAD = 10n ** 18n
/** What is held at most of a collateral for which the shipped policy has no amount: careful, and a round number. */
const INVENTORY_USD = 500_000n
/** A contract that says so nearly the same as a market's oracle prices the same thing. */
const NEAR_PERCENT = 3n

/**
 * Write a role's policy for the deployment of a run configuration, of the one that is shipped: prove that chain and
 * service are what the configuration says, read prices, ask for the rest.
 * @param to the file that it is for. @returns its text: nothing is written.
 * @throws RolekeeperError `config.role_unknown`, `policy.no_market`, and what proving and asking throw.
 */
export async function newPolicy(
  { role, to }: { readonly role: string; readonly to: string },
  config: RunConfig,
  ask: Ask,
): Promise<string> {
  const file = `${SHIPPED}/${role}.yaml`
  if (!agents.some((agent) => agent.role === role) || !existsSync(file)) {
    const known = agents.map((agent) => agent.role).join(', ')
    throw new RolekeeperError('config.role_unknown', `This release ships no policy of the role ${role}.`, {
      fix: `name one of ${known}.`,
    })
  }
  const template = readFileSync(file, 'utf8')
  const blanks = blanksOf(template)
  const seen = await look(config)
  const money = blanks.hasMoney ? await askMoney(config, ask) : ''
  const collaterals =
    blanks.inventories.size === 0 ? [] : await askCollaterals(config, blanks, { money, seen, ask })
  const moved = await askMoved(blanks, ask)
  const contracts = await askContracts(config, blanks, ask)
  return writePolicy(template, {
    money,
    collaterals,
    moved,
    contracts,
    scaled: scalerOf(blanks, moved),
    head: [
      `yaml-language-server: $schema=${relative(dirname(resolve(to)), `${SHIPPED}/${role}.schema.json`)}`,
      `What the ${role} may do on chain ${config.chain.id} (${config.deployment.namespace}).`,
      `Written by \`rolekeeper policy new ${role}\`: read it from top to bottom before anything is signed by it.`,
      'Every value is text, and every amount has its unit. What is not asked for is as careful as it is shipped.',
    ],
  })
}

/** Read what the questions rest on, once chain and service are proven to be what the configuration says. */
async function look(config: RunConfig): Promise<SeenPrices> {
  const { deployment, chain } = config
  const client = openService(config, systemClock)
  const nodes = await openNodes(config, systemClock)
  try {
    await Promise.all([
      provePins(nodes, deployment),
      proveUnits(nodes, deployment),
      proveService(client, chain.id, createLog({ level: 'silent', secrets: [] })),
    ])
    const reads = createReads()
    const markets = deployment.markets.map((market) => ({
      market,
      price: reads.ask(priceView(market.oracle)),
    }))
    const others = deployment.contracts.map(({ name, address }) => ({
      name,
      price: reads.ask(priceView(address)),
    }))
    reads.fill(await nodes.calls(reads.calls))
    const symbol = new Map(deployment.assets.map((asset) => [asset.address, asset.symbol]))
    const prices = new Map<string, bigint>()
    for (const { market, price } of markets) {
      const found = price()
      const name = symbol.get(market.collateralAsset)
      if (found !== null && name !== undefined)
        prices.set(`${name}/${symbol.get(market.loanAsset)}`, found.priceWad)
    }
    const near = (wad: bigint) =>
      others.flatMap(({ name, price }) => {
        const other = price()?.priceWad ?? 0n
        const apart = other > wad ? other - wad : wad - other
        return other > 0n && apart * 100n <= wad * NEAR_PERCENT ? [name] : []
      })
    return { prices, references: new Map([...prices].map(([pair, wad]) => [pair, near(wad)])) }
  } finally {
    await Promise.all([client.close(), nodes.close()])
  }
}

const oneOf =
  (known: readonly string[]) =>
  (answer: string): string | null =>
    known.includes(answer) ? null : `it is none of ${known.join(', ') || 'nothing'}`

const symbolsOf = (
  { deployment: { markets, assets, funds } }: RunConfig,
  of: 'loanAsset' | 'collateralAsset',
) => {
  const used = new Set<string>([
    ...markets.map((market) => market[of]),
    ...(of === 'loanAsset' ? funds.map(({ quoteAsset }) => quoteAsset) : []),
  ])
  return assets.flatMap(({ address, symbol }) => (used.has(address) ? [symbol] : []))
}

async function askMoney(config: RunConfig, ask: Ask): Promise<string> {
  const known = symbolsOf(config, 'loanAsset')
  const asks = `the token that is paid with, and counts as a dollar (${known.join(', ')})`
  return ask({ name: 'money', asks, fallback: known[0] ?? null, wrong: oneOf(known) })
}

type AskedOf = { readonly money: string; readonly seen: SeenPrices; readonly ask: Ask }

async function askCollaterals(
  config: RunConfig,
  blanks: Blanks,
  { money, seen, ask }: AskedOf,
): Promise<readonly NewCollateral[]> {
  const known = symbolsOf(config, 'collateralAsset')
  const list = (answer: string) => answer.split(',').map((symbol) => symbol.trim())
  const answer = await ask({
    name: 'collaterals',
    asks: `the collaterals that it deals with (of ${known.join(', ')})`,
    fallback: known.join(', '),
    wrong: (answer) =>
      list(answer)
        .map(oneOf(known))
        .find((wrong) => wrong !== null) ?? null,
  })
  const found: NewCollateral[] = []
  for (const symbol of [...new Set(list(answer))]) {
    found.push(await askCollateral(symbol, config, blanks, { money, seen, ask }))
  }
  return found
}

async function askCollateral(
  symbol: string,
  { deployment }: RunConfig,
  blanks: Blanks,
  { money, seen, ask }: AskedOf,
): Promise<NewCollateral> {
  const asset = deployment.assets.find((each) => each.symbol === symbol)
  const pair = `${symbol}/${money}`
  const price = seen.prices.get(pair)
  const priced =
    price === undefined
      ? 'without a price on chain'
      : `at ${exactTokens(price, { symbol: money, decimals: 18 })}`
  const comment = `${symbol}: ${priced} by its market's oracle when this was written.`
  const shipped = blanks.inventories.get(symbol)
  const hasInventory = [...blanks.inventories.values()].some((amount) => amount !== null)
  const decimals = asset?.decimals ?? 0
  const byPrice =
    price === undefined
      ? null
      : exactTokens(twoDigits((INVENTORY_USD * 1_000n * WAD) / price), { symbol, decimals: 3 })
  const inventory = hasInventory
    ? {
        inventory: await ask({
          name: `inventory.${symbol}`,
          asks: `the most ${symbol} to hold (${priced})`,
          fallback: shipped ?? byPrice,
          wrong: wrongAmount(new Map([[symbol, 10n ** BigInt(decimals)]])),
        }),
      }
    : {}
  if (blanks.references === 'none') return { symbol, comment, ...inventory }
  const names = deployment.contracts.map(({ name }) => name)
  const [near] = seen.references.get(pair) ?? []
  const reference = await ask({
    name: `reference.${symbol}`,
    asks: `the contract that prices ${pair} too${blanks.references === 'optional' ? ', or none' : ''} (of ${names.join(', ')})`,
    fallback: near ?? null,
    wrong: oneOf(blanks.references === 'optional' ? [...names, 'none'] : names),
  })
  return { symbol, comment, ...inventory, reference }
}

/** Round down to two digits and zeros. */
function twoDigits(amount: bigint): bigint {
  const power = 10n ** BigInt(Math.max(0, String(amount).length - 2))
  return (amount / power) * power
}

const wrongAmount =
  (units: Parameters<typeof parseAmount>[1]) =>
  (answer: string): string | null => {
    const parsed = parseAmount(answer, units)
    if (!parsed.ok)
      return `${parsed.problem}; write a number, a space and one of ${[...units.keys()].join(', ')}`
    return parsed.amount > 0n ? null : 'it is nothing'
  }

const MOVED = [
  ['perWorkflow', 'movedMax', 'the most to move in one workflow'],
  ['perHour', 'movedPerHourMax', 'the most to move in an hour'],
  ['perDay', 'movedPerDayMax', 'the most to move in a day'],
] as const

const usdOf = (text: string | undefined): bigint => {
  const parsed = parseAmount(text ?? '', USD)
  return parsed.ok ? parsed.amount : 0n
}

async function askMoved(blanks: Blanks, ask: Ask): Promise<Blanks['moved']> {
  const moved: { -readonly [K in keyof Blanks['moved']]: Blanks['moved'][K] } = {}
  let least = 0n
  for (const [period, name, asks] of MOVED) {
    const shipped = blanks.moved[period]
    if (shipped === undefined) continue
    const floor = least
    const part = usdOf(moved.perWorkflow)
    const fallback = part === 0n ? shipped : scaledBy(shipped, part, usdOf(blanks.moved.perWorkflow))
    const answer = await ask({
      name,
      asks,
      fallback,
      wrong: (answer) =>
        wrongAmount(USD)(answer) ??
        (usdOf(answer) < floor
          ? `it is less than ${exactUsd(floor)}, which is asked for a shorter time`
          : null),
    })
    moved[period] = answer
    least = usdOf(answer)
  }
  return moved
}

/** An amount of dollars, so much more or less: rounded down to two digits, as people set limits. */
const scaledBy = (amount: string, now: bigint, was: bigint): string =>
  exactUsd(twoDigits((usdOf(amount) * now) / was))

/** What goes with the limit of one workflow. */
function scalerOf(blanks: Blanks, moved: Blanks['moved']): (amount: string) => string {
  const [was, now] = [usdOf(blanks.moved.perWorkflow), usdOf(moved.perWorkflow)]
  return (amount) => {
    const [number = '', unit = ''] = amount.split(' ')
    return was === 0n || now === was ? amount : scaledBy(`${number} USD`, now, was).replace('USD', unit)
  }
}

async function askContracts(
  { deployment }: RunConfig,
  blanks: Blanks,
  ask: Ask,
): Promise<Readonly<Record<string, string>>> {
  const names = deployment.contracts.map(({ name }) => name)
  const renamed: Record<string, string> = {}
  for (const name of blanks.contracts.filter((each) => !names.includes(each))) {
    renamed[name] = await ask({
      name: `contract.${name}`,
      asks: `what deployment.contracts calls the ${name} of the shipped policy (${names.join(', ') || 'none is pinned'})`,
      fallback: null,
      wrong: oneOf(names),
    })
  }
  return renamed
}

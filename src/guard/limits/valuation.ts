import { type Address, parseAbi } from 'viem'
import { z } from 'zod'
import type { Head, Nodes } from '../../chain/nodes.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import { address, balanceView, createReads, createView, type Reads, uint } from '../reads/views.ts'
import { claimView } from '../sanity/liquidator/views.ts'
import { priceView } from '../sanity/price.ts'
import { commitmentsView } from '../sanity/rfq-bidder/views.ts'
import { WAD } from '../sanity/units.ts'

/** Source: EIP-4626; open claims are assumed. Where a contract does not say it, nothing is held there. */
const view = createView(
  parseAbi([
    'function asset() view returns (address)',
    'function convertToAssets(uint256 shares) view returns (uint256)',
    'function openClaims(address liquidator) view returns (uint256[])',
  ]),
)

/** Who owns, where, and what counts for how much. */
export type WorthOptions = {
  /** What all of them own counts together. */
  readonly owners: readonly Address[]
  readonly deployment: Deployment
  /** Millionths of a dollar for one whole token, by symbol; a market's collateral counts at its oracle's price. */
  readonly pricesUsdMicros: Readonly<Record<string, bigint>>
  readonly nativePriceUsdMicros: bigint
}

/** Base units of a token, or wei where it is null. */
type HeldAmount = { readonly token: Address | null; readonly assets: bigint }
/** The same at one of the deployment's contracts. */
type HeldAt = HeldAmount & { readonly at: Address }
type AmountsOf<T = HeldAmount> = () => readonly T[]

/** What is owned at one block, and what a whole token was worth there, in millionths of a dollar. */
export type OwnedAssets = {
  readonly wallet: readonly HeldAmount[]
  /** At the deployment's contracts: in escrow, in shares of vaults, in liquidation claims that are not settled. */
  readonly positions: readonly HeldAt[]
  /** Of the native coin, where the token is null; one without a price is not there, and counts nothing. */
  readonly prices: ReadonlyMap<Address | null, bigint>
}

/** What was owned, millionths of a dollar, and the time of the block that says so, Unix milliseconds. */
export type Worth = { readonly usdMicros: bigint; readonly atMs: number }

/** Read what signers own at the newest block, in money. Throws as {@link readOwned}. */
export async function readWorth(
  options: WorthOptions,
  nodes: Pick<Nodes, 'recent' | 'calls' | 'balanceWei'>,
): Promise<Worth> {
  const head = await nodes.recent()
  const { wallet, positions, prices } = await readOwned(options, nodes, head)
  const usdMicros = [...wallet, ...positions].reduce(
    (sum, held) => sum + moneyOf(held, prices, options.deployment),
    0n,
  )
  return { usdMicros, atMs: head.timestampS * 1_000 }
}

/** What an amount is worth by these prices, millionths of a dollar. Pure. */
export function moneyOf(
  { token, assets }: HeldAmount,
  prices: OwnedAssets['prices'],
  { assets: known }: Pick<Deployment, 'assets'>,
): bigint {
  const decimals = token === null ? 18 : known.find(({ address: at }) => at === token)?.decimals
  return decimals === undefined ? 0n : (assets * (prices.get(token) ?? 0n)) / 10n ** BigInt(decimals)
}

/**
 * Read what signers own at one block: native coin, tokens, and what they have at the deployment's contracts. Throws
 * RolekeeperError `worth.not_read` where a balance or a price is not said, and `node.*`.
 */
export async function readOwned(
  options: WorthOptions,
  nodes: Pick<Nodes, 'calls' | 'balanceWei'>,
  head: Head,
): Promise<OwnedAssets> {
  const { owners, deployment } = options
  const first = createReads()
  const prices = askPrices(options, first)
  const asked = owners.map((owner) => ({
    tokens: askBalances(owner, deployment, first),
    escrow: askEscrow(owner, deployment, first),
    positions: askPositions(owner, deployment, first),
  }))
  const [, ...weis] = await Promise.all([
    fill(first, head, nodes),
    ...owners.map((owner) => nodes.balanceWei(owner, head)),
  ])
  const second = createReads()
  const rest = asked.map(({ positions }) => positions(second))
  await fill(second, head, nodes)
  return {
    wallet: [...weis.map((assets) => ({ token: null, assets })), ...asked.flatMap(({ tokens }) => tokens())],
    positions: [...asked.flatMap(({ escrow }) => escrow()), ...rest.flatMap((each) => each())],
    prices: prices(),
  }
}

/** Read what each token was worth at a block, as {@link OwnedAssets} has it. Throws as {@link readOwned} does. */
export async function readPrices(
  options: Omit<WorthOptions, 'owners'>,
  nodes: Pick<Nodes, 'calls'>,
  head: Head,
): Promise<OwnedAssets['prices']> {
  const reads = createReads()
  const prices = askPrices(options, reads)
  await fill(reads, head, nodes)
  return prices()
}

async function fill(reads: Reads, head: Head, nodes: Pick<Nodes, 'calls'>): Promise<void> {
  if (reads.calls.length > 0) reads.fill(await nodes.calls(reads.calls, head))
}

const unread = (what: string) =>
  new RolekeeperError('worth.not_read', `The chain does not say ${what}.`, { retry: 'later' })

/** Prices by token: a market's collateral by its oracle in its loan asset, all else by the policy. */
function askPrices(
  { deployment, pricesUsdMicros, nativePriceUsdMicros }: Omit<WorthOptions, 'owners'>,
  { ask }: Reads,
): () => OwnedAssets['prices'] {
  const oracles = deployment.markets.map((market) => ({ market, price: ask(priceView(market.oracle)) }))
  return () => {
    const prices = new Map<Address | null, bigint>([[null, nativePriceUsdMicros]])
    for (const { address: at, symbol } of deployment.assets) {
      const stated = pricesUsdMicros[symbol] ?? 0n
      if (stated > 0n) prices.set(at, stated)
    }
    const stated = new Map(prices)
    for (const { market, price } of oracles) {
      const loan = stated.get(market.loanAsset)
      const priceWad = price()?.priceWad ?? 0n
      if (loan === undefined) continue
      if (priceWad === 0n) throw unread(`the price of market ${market.address}`)
      prices.set(market.collateralAsset, (priceWad * loan) / WAD)
    }
    return prices
  }
}

function askBalances(owner: Address, deployment: Deployment, { ask }: Reads): AmountsOf {
  const balances = deployment.assets.map(({ address: token }) => ({
    token,
    read: ask(balanceView(token, owner)),
  }))
  return () =>
    balances.map(({ token, read }) => {
      const assets = read()
      if (assets === null) throw unread(`the balance of ${token} of ${owner}`)
      return { token, assets }
    })
}

/**
 * What is in escrow counts as what it was paid in, until it comes back or is won. A venue counts it by what is sold and paid,
 * whichever market that is of: two markets may have the same pair, and one's collateral may be paid in what another lends.
 */
function askEscrow(owner: Address, { contracts, markets }: Deployment, { ask }: Reads): AmountsOf<HeldAt> {
  const sold = [...new Set(markets.map(({ collateralAsset }) => collateralAsset))]
  const paid = [...new Set(markets.map(({ loanAsset }) => loanAsset))]
  const asked = contracts.flatMap(({ address: venue }) =>
    sold.flatMap((asset) =>
      paid.map((token) => ({ at: venue, token, read: ask(commitmentsView(venue, owner, asset, token)) })),
    ),
  )
  return () => asked.map(({ at, token, read }) => ({ at, token, assets: read()?.escrowAssets ?? 0n }))
}

/**
 * Shares of vaults and claims, which take a second read: of what the first one found. Shares of itself that a vault holds in
 * escrow belong to who asked for a redemption.
 */
function askPositions(
  owner: Address,
  deployment: Deployment,
  { ask }: Reads,
): (second: Reads) => AmountsOf<HeldAt> {
  const others = deployment.vaults.filter(({ address: vault }) => vault !== owner)
  const vaults = others.map(({ address: vault }) => ({
    vault,
    asset: ask(view('asset', vault, [], address)),
    shares: ask(balanceView(vault, owner)),
  }))
  const claims = deployment.markets.map(({ address: market, collateralAsset: token }) => ({
    market,
    token,
    ids: ask(view('openClaims', market, [owner], z.array(uint))),
  }))
  return (second) => {
    const worth = vaults.flatMap(({ vault, asset, shares }) => {
      const [token, held] = [asset(), shares()]
      if (token === null || held === 0n) return []
      if (held === null) throw unread(`the shares of vault ${vault} of ${owner}`)
      const read = second.ask(view('convertToAssets', vault, [held], uint))
      return [{ at: vault, token, read, what: `what the shares of vault ${vault} of ${owner} are worth` }]
    })
    const collateral = claims.flatMap(({ market, token, ids }) =>
      (ids() ?? []).map((id) => {
        const claim = second.ask(claimView(market, id))
        const read = () => claim()?.collateralAssets ?? null
        return { at: market, token, read, what: `what claim ${id} of market ${market} holds` }
      }),
    )
    return () =>
      [...worth, ...collateral].map(({ at, token, read, what }) => {
        const assets = read()
        if (assets === null) throw unread(what)
        return { at, token, assets }
      })
  }
}

import { type Address, parseAbi } from 'viem'
import { z } from 'zod'
import { type Refusal, refuse } from '../../errors.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import { address, createView, type Reads, uint, type View } from './views.ts'

/** Source: EIP-20 and EIP-4626; what markets, their oracles and funds say is assumed, and skipped where one does not say it. */
const view = createView(
  parseAbi([
    'function decimals() view returns (uint8)',
    'function symbol() view returns (string)',
    'function asset() view returns (address)',
    'function totalAssets() view returns (uint256)',
    'function totalSupply() view returns (uint256)',
    'function convertToAssets(uint256 shares) view returns (uint256)',
    'function loanAsset() view returns (address)',
    'function collateralAsset() view returns (address)',
    'function oracle() view returns (address)',
    'function quoteAsset() view returns (address)',
    'function appraise(address asset, uint256 amount, address market) view returns (uint256)',
    'function read() view returns (uint256, uint64, uint64, uint8)',
  ]),
)

/** What is longer is no name of anything. */
const symbolView = (of: Address): View<string> => view('symbol', of, [], z.string().min(1).max(32))
const decimalsView = (of: Address): View<bigint> => view('decimals', of, [], uint)
const addressView = (
  name: 'asset' | 'loanAsset' | 'collateralAsset' | 'oracle' | 'quoteAsset',
  of: Address,
) => view(name, of, [], address)

/** Two ways to the same figure round differently; a mistake of units is a power of ten. */
const TOLERANCE_BPS = 10n
const BPS = 10_000n
const WAD = 10n ** 18n
/** So many base units that an answer is precise, whatever the decimals are. */
const PROBE_SHARES = 10n ** 36n
const PROBE_WHOLE = 1_000_000n

const oracleRead = z.tuple([uint, uint, uint, uint]).transform(([priceWad]) => priceWad)

const agree = (one: bigint, other: bigint): boolean => {
  const apart = one > other ? one - other : other - one
  return apart * BPS <= other * TOLERANCE_BPS
}

/** What a deployment says otherwise than the chain, of which contract, and what to write. */
export type UnitDifference = Refusal & { readonly of: Address; readonly fix: string }

type Ask = Pick<Reads, 'ask'>
type Judge = () => UnitDifference | null

/**
 * Ask the chain for every unit that a deployment states: the decimals of assets, what markets, vaults and funds count in,
 * and a share price and a price, each recomputed with those decimals. The returned function judges the answers: an asset
 * that does not answer is refused, and a vault that is said to lend one; a vault, market or fund that has no such view is not
 * judged by it otherwise.
 */
export function askUnits(
  { assets, markets, vaults, funds }: Deployment,
  reads: Ask,
): () => readonly UnitDifference[] {
  const decimalsOf = new Map(assets.map((asset) => [asset.address, asset.decimals]))
  const judges = [
    ...assets.map((asset) => askAsset(asset, reads)),
    ...askSymbols(assets, reads),
    ...markets.map((market) => askMarket(market, reads)),
    ...vaults.map((vault) => askVault(vault, decimalsOf, reads)),
    ...funds.map((fund) => askFund(fund, reads)),
    ...funds.flatMap((fund) =>
      markets
        .filter(({ loanAsset }) => loanAsset === fund.quoteAsset)
        .map((market) => askPrice(fund.address, market, decimalsOf, reads)),
    ),
  ]
  return () => judges.flatMap((judge) => judge() ?? [])
}

/** What differs, of which contract, what the deployment says and the chain, where that stands, and the line to write there. */
type Differing = {
  readonly what: string
  readonly of: Address
  readonly said: unknown
  readonly real: unknown
  readonly path: string
  readonly write?: string
}

const LOOK = 'correct the deployment, or find out what answers in its place.'

const differs = ({ what, of, said, real, path, write }: Differing): UnitDifference => ({
  ...refuse(
    'units_differ',
    `${what} is ${said} by the deployment; the chain says ${real}: see deployment.${path}.`,
  ),
  of,
  fix: write === undefined ? LOOK : `write \`${write}\` there, or find out what answers in its place.`,
})

function askAsset({ address: of, symbol, decimals }: Deployment['assets'][number], { ask }: Ask): Judge {
  const answer = ask(decimalsView(of))
  return () => {
    const real = answer()
    if (real === BigInt(decimals)) return null
    const what = `The number of decimals of ${symbol}`
    const write = real === null ? {} : { write: `decimals: "${real}"` }
    return differs({ what, of, said: decimals, real: real ?? 'nothing', path: 'assets', ...write })
  }
}

/** A token may have a name of ours; not the one that another of ours has: its amounts would be taken for that one's. */
function askSymbols(assets: Deployment['assets'], { ask }: Ask): readonly Judge[] {
  const answers = assets.map(({ address: of, symbol }) => ({ of, symbol, real: ask(symbolView(of)) }))
  return answers.map(({ of, symbol, real: answer }) => () => {
    const real = answer()
    const isAnother = answers.some((each) => each.of !== of && each.symbol === real)
    if (real === null || real === symbol || !isAnother) return null
    const what = `The symbol of ${of}`
    return differs({ what, of, said: symbol, real, path: 'assets', write: `symbol: ${real}` })
  })
}

function askMarket({ address: of, ...pinned }: Deployment['markets'][number], { ask }: Ask): Judge {
  const names = ['loanAsset', 'collateralAsset', 'oracle'] as const
  const said = names.map((name) => ({ name, real: ask(addressView(name, of)) }))
  return () => {
    const wrong = said.find(({ name, real }) => ![null, pinned[name]].includes(real()))
    if (wrong === undefined) return null
    const [what, real] = [`The ${wrong.name} of market ${of}`, wrong.real()]
    const write = `${wrong.name}: "${real}"`
    return differs({ what, of, said: pinned[wrong.name], real, path: 'markets', write })
  }
}

function askFund({ address: of, quoteAsset }: Deployment['funds'][number], { ask }: Ask): Judge {
  const real = ask(addressView('quoteAsset', of))
  return () => {
    if ([null, quoteAsset].includes(real())) return null
    const what = `The quoteAsset of fund ${of}`
    const write = `quoteAsset: "${real()}"`
    return differs({ what, of, said: quoteAsset, real: real(), path: 'funds', write })
  }
}

/** A vault's whole share is worth what its assets and shares in all say, with the decimals of its asset. */
function askVault(
  { address: of, asset: said }: Deployment['vaults'][number],
  decimalsOf: ReadonlyMap<Address, number>,
  { ask }: Ask,
): Judge {
  const asset = ask(addressView('asset', of))
  const shareDecimals = ask(decimalsView(of))
  const totalAssets = ask(view('totalAssets', of, [], uint))
  const totalSupply = ask(view('totalSupply', of, [], uint))
  const worth = ask(view('convertToAssets', of, [PROBE_SHARES], uint))
  return () => {
    const at = asset()
    if (said !== undefined && said !== at) {
      const what = `The asset of vault ${of}`
      const write = at === null ? {} : { write: `asset: "${at}"` }
      return differs({ what, of, said, real: at ?? 'nothing', path: 'vaults', ...write })
    }
    if (at === null) return null
    const decimals = decimalsOf.get(at)
    if (decimals === undefined) {
      const what = `The asset of vault ${of}`
      return differs({ what, of, said: 'none of its assets', real: at, path: 'assets' })
    }
    const [supply, all, shares, real] = [totalSupply(), totalAssets(), shareDecimals(), worth()]
    if (supply === null || all === null || shares === null || real === null) {
      const message = `Vault ${of} does not say what its shares are worth, so nothing is signed.`
      return { ...refuse('read_failed', message), of, fix: LOOK }
    }
    const offset = shares - BigInt(decimals)
    if (offset < 0n) {
      const what = `The decimals of vault ${of}'s asset`
      return differs({ what, of, said: decimals, real: `${shares} for its shares`, path: 'vaults' })
    }
    // Of less than one whole share, rounding says more than units do.
    if (supply < 10n ** shares) return null
    const expected = (PROBE_SHARES * (all + 1n)) / (supply + 10n ** offset)
    const what = `What 10^36 shares of vault ${of} are worth`
    return agree(expected, real) ? null : differs({ what, of, said: expected, real, path: 'vaults' })
  }
}

/** A fund that appraises a market's collateral comes to what we do, from the oracle's price and the decimals. */
function askPrice(
  fund: Address,
  { address: market, loanAsset, collateralAsset, oracle }: Deployment['markets'][number],
  decimalsOf: ReadonlyMap<Address, number>,
  { ask }: Ask,
): Judge {
  const unit = (token: Address) => 10n ** BigInt(decimalsOf.get(token) ?? 0)
  const priceWad = ask(view('read', oracle, [], oracleRead))
  const appraised = ask(
    view('appraise', fund, [collateralAsset, PROBE_WHOLE * unit(collateralAsset), market], uint),
  )
  return () => {
    const [price, real] = [priceWad(), appraised()]
    // A market that the fund does not take, or a price that stands still: nothing is appraised, so nothing is bid.
    if (price === null || real === null) return null
    const expected = (PROBE_WHOLE * price * unit(loanAsset)) / WAD
    const what = `What ${PROBE_WHOLE} whole ${collateralAsset} are worth in market ${market}`
    const said = expected
    return agree(expected, real) ? null : differs({ what, of: market, said, real, path: 'assets' })
  }
}

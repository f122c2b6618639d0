import { z } from 'zod'
import { addr, hash32 } from './scalars.ts'
import { name, positiveUsdMicros, whole } from './yaml-scalars.ts'

/** What a proxy runs, by EIP-1967: pinned with it, because whoever may swap it swaps all that is pinned here. */
const proxy = z.strictObject({
  implementation: addr,
  codeHash: hash32,
  /** Where the proxy asks what it runs, instead of holding it. */
  beacon: z.strictObject({ address: addr, codeHash: hash32 }).optional(),
})
const pinned = z.strictObject({ address: addr, codeHash: hash32, proxy: proxy.optional() })
const asset = pinned.extend({
  symbol: z.string().min(1).max(32),
  decimals: whole(0, 36),
  /** What one whole token counts as in all accounts, millionths of a dollar, where no market's oracle prices it. */
  price: positiveUsdMicros().optional(),
})
/** What people call it; nothing is looked up by it. */
const called = { name: name.optional() }
const vault = pinned.extend({
  ...called,
  /** What it lends, one of `assets`: what its amounts are shown in; absent, they are shown in base units. */
  asset: addr.optional(),
})
const market = pinned.extend({
  ...called,
  loanAsset: addr,
  collateralAsset: addr,
  oracle: addr,
  oracleCodeHash: hash32,
})
const fund = pinned.extend({ ...called, quoteAsset: addr })

/** Two things of one name would be one thing to a person who approves. */
const distinct = (list: readonly { readonly name?: string | undefined }[]) => {
  const names = list.flatMap((each) => each.name ?? [])
  return new Set(names).size === names.length
}
const NOT_DISTINCT = { error: 'a name is there twice; expected each once' }

/** Of two tokens of one symbol, an amount would be counted in the decimals of the one and limit the other. */
const unlike = (list: readonly { readonly symbol: string; readonly address: string }[]) =>
  [list.map(({ symbol }) => symbol), list.map(({ address }) => address)].every(
    (each) => new Set(each).size === each.length,
  )

/**
 * `deployment` of a run configuration: the service's contracts that may be talked to, each with the keccak-256 of its
 * deployed code.
 */
export const deployment = z.strictObject({
  namespace: z.string().min(1).max(200),
  assets: z
    .array(asset)
    .min(1)
    .max(100)
    .refine(unlike, { error: 'a symbol or an address is there twice; expected each once' }),
  markets: z.array(market).min(1).max(100).refine(distinct, NOT_DISTINCT),
  vaults: z.array(vault).min(1).max(100).refine(distinct, NOT_DISTINCT),
  /** Recovery funds; a clone's code hash pins the implementation that it names. */
  funds: z.array(fund).max(100).default([]).refine(distinct, NOT_DISTINCT),
  /** What else a policy speaks about, by a name of its own: a desk, an auction, a factory, an oracle. */
  contracts: z.array(pinned.extend({ name })).max(100).default([]).refine(distinct, NOT_DISTINCT),
})

/** A contract that may be talked to, by the keccak-256 of its deployed code. Addresses are lower case. */
export type PinnedContract = Readonly<z.output<typeof pinned>>
/** One vault of the deployment, and what it lends where that is said. */
export type PinnedVault = Readonly<z.output<typeof vault>>
/** One market of the deployment, with what it lends, what it takes, and what prices it. */
export type PinnedMarket = Readonly<z.output<typeof market>>
/** One recovery fund of the deployment, with what it is subscribed and bids in. */
export type PinnedFund = Readonly<z.output<typeof fund>>

type Lists<T> = {
  readonly [K in keyof T]: T[K] extends readonly (infer Item)[] ? readonly Readonly<Item>[] : T[K]
}

/** The pinned deployment: no contract outside of it is ever a target, or read to judge by. */
export type Deployment = Lists<z.output<typeof deployment>>

/** The pinned deployment as agents know it: which contracts there are, without the hashes of their code. */
export type PinnedDeployment = {
  readonly [K in Exclude<keyof Deployment, 'namespace'>]: readonly Omit<
    Deployment[K][number],
    'codeHash' | 'oracleCodeHash' | 'proxy'
  >[]
}

import { type Address, encodeEventTopics, type Hex, keccak256, pad, parseAbi, toFunctionSelector } from 'viem'
import type { Deployment } from '../../../src/service/contract/deployment.ts'

const address = (byte: string): Address => `0x${byte.repeat(20)}`

/** The contracts of the model, at addresses that nobody mistakes for another. */
export const LOAN = address('a0')
export const COLLATERAL = address('c0')
export const MARKET = address('3a')
const ORACLE = address('0c')
export const VAULT = address('7a')

/** What stands at each address: its hash is what the deployment pins. */
export const CODE: ReadonlyMap<Address, Hex> = new Map(
  [LOAN, COLLATERAL, MARKET, ORACLE, VAULT].map((at, index) => [at, `0x60${String(index).padStart(2, '0')}`]),
)

const codeHash = (at: Address): Hex => keccak256(CODE.get(at) ?? '0x')

/** The model's contracts, pinned as a run configuration pins them. */
export const deployment: Deployment = {
  namespace: 'simulation',
  assets: [
    { address: LOAN, codeHash: codeHash(LOAN), symbol: 'sUSD', decimals: 6 },
    { address: COLLATERAL, codeHash: codeHash(COLLATERAL), symbol: 'sBTC', decimals: 8 },
  ],
  markets: [
    {
      address: MARKET,
      codeHash: codeHash(MARKET),
      loanAsset: LOAN,
      collateralAsset: COLLATERAL,
      oracle: ORACLE,
      oracleCodeHash: codeHash(ORACLE),
    },
  ],
  vaults: [{ address: VAULT, codeHash: codeHash(VAULT) }],
  funds: [],
  contracts: [],
}

/** Whole loan tokens for one whole collateral token, as a wad. */
export const PRICE_WAD = 60_000n * 10n ** 18n
const BONUS_BPS = 700n

/** Collateral that a repayment seizes, base units. Pure. */
export const seizedFor = (repayAssets: bigint): bigint =>
  (repayAssets * (10_000n + BONUS_BPS)) / (10_000n * 600n)

/**
 * A position. It stays liquidatable after a liquidation, and keeps its debt: whether one opportunity is taken twice is for
 * the keeper to prevent, never for the contract.
 */
export type Position = { readonly debt: bigint; readonly collateral: bigint; readonly healthWad: bigint }

type Claim = {
  readonly owner: Address
  readonly borrower: Address
  readonly assets: bigint
  readonly settled: boolean
}

/** The chain's state after a block. */
export type State = {
  readonly nonces: Map<Address, number>
  readonly wei: Map<Address, bigint>
  /** By token and owner. */
  readonly tokens: Map<string, bigint>
  /** By token, owner and spender. */
  readonly allowances: Map<string, bigint>
  readonly positions: Map<Address, Position>
  readonly claims: Map<bigint, Claim>
  paused: boolean
}

/** Pure. */
export const copyOf = (state: State): State => ({
  nonces: new Map(state.nonces),
  wei: new Map(state.wei),
  tokens: new Map(state.tokens),
  allowances: new Map(state.allowances),
  positions: new Map(state.positions),
  claims: new Map(state.claims),
  paused: state.paused,
})

export type ModelLog = { readonly address: Address; readonly topics: readonly Hex[]; readonly data: Hex }

/** What a call did; `data` is empty for a revert. */
export type Ran = {
  readonly ok: boolean
  readonly gas: bigint
  readonly data: Hex
  readonly logs: readonly ModelLog[]
}

const EVENTS = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event Approval(address indexed owner, address indexed spender, uint256 value)',
  'event Liquidated(uint256 indexed claimId, address indexed vault, address indexed borrower, address liquidator, address recipient, uint256 repayAssets, uint256 collateralSeized, uint256 badDebtAssets)',
])
const topicOf = (eventName: 'Transfer' | 'Approval' | 'Liquidated'): Hex =>
  encodeEventTopics({ abi: EVENTS, eventName })[0]
const TRANSFER = topicOf('Transfer')
const APPROVAL = topicOf('Approval')
const LIQUIDATED = topicOf('Liquidated')

const word = (value: bigint | number | Address | boolean): string =>
  typeof value === 'string' ? value.slice(2).padStart(64, '0') : BigInt(value).toString(16).padStart(64, '0')
const words = (...values: readonly (bigint | number | Address | boolean)[]): Hex =>
  `0x${values.map(word).join('')}`
const topic = (value: Address | bigint): Hex => (typeof value === 'bigint' ? `0x${word(value)}` : pad(value))

/** Argument `index` of calldata. */
const uintAt = (data: Hex, index: number): bigint =>
  BigInt(`0x${data.slice(10 + 64 * index, 74 + 64 * index) || '0'}`)
const addressAt = (data: Hex, index: number): Address => `0x${data.slice(34 + 64 * index, 74 + 64 * index)}`

export const balanceKey = (token: Address, owner: Address) => `${token}:${owner}`
const allowanceKey = (token: Address, owner: Address, spender: Address) => `${token}:${owner}:${spender}`

const done = (gas: bigint, data: Hex = '0x', logs: readonly ModelLog[] = []): Ran => ({
  ok: true,
  gas,
  data,
  logs,
})
const reverted = (gas: bigint): Ran => ({ ok: false, gas, data: '0x', logs: [] })

type Call = { readonly from: Address; readonly to: Address; readonly data: Hex; readonly timestampS: number }
type Code = (state: State, call: Call) => Ran

const VIEW_GAS = 5_000n
const view =
  (read: (state: State, call: Call) => Hex): Code =>
  (state, call) =>
    done(VIEW_GAS, read(state, call))
const position = (state: State, borrower: Address): Position =>
  state.positions.get(borrower) ?? { debt: 0n, collateral: 0n, healthWad: 2n * 10n ** 18n }

function move(state: State, token: Address, from: Address, to: Address, assets: bigint): ModelLog | null {
  const held = state.tokens.get(balanceKey(token, from)) ?? 0n
  if (held < assets) return null
  state.tokens.set(balanceKey(token, from), held - assets)
  state.tokens.set(balanceKey(token, to), (state.tokens.get(balanceKey(token, to)) ?? 0n) + assets)
  return { address: token, topics: [TRANSFER, topic(from), topic(to)], data: words(assets) }
}

const liquidate: Code = (state, { from, to, data, timestampS }) => {
  const gas = 250_000n
  const [borrower, repay, least] = [addressAt(data, 1), uintAt(data, 2), uintAt(data, 3)]
  const { collateral, healthWad } = position(state, borrower)
  const seized = seizedFor(repay)
  const key = allowanceKey(LOAN, from, to)
  const allowed = state.allowances.get(key) ?? 0n
  const isLate = uintAt(data, 5) < BigInt(timestampS)
  if (state.paused || isLate || healthWad >= 10n ** 18n || seized > collateral || seized < least)
    return reverted(60_000n)
  if (allowed < repay) return reverted(70_000n)
  const paid = move(state, LOAN, from, VAULT, repay)
  if (paid === null) return reverted(80_000n)
  state.allowances.set(key, allowed - repay)
  const claimId = BigInt(state.claims.size + 1)
  state.claims.set(claimId, { owner: from, borrower, assets: seized, settled: false })
  const opened: ModelLog = {
    address: to,
    topics: [LIQUIDATED, topic(claimId), topic(VAULT), topic(borrower)],
    data: words(from, from, repay, seized, 0n),
  }
  return done(gas, words(claimId, seized), [paid, opened])
}

const settle: Code = (state, { from, to, data }) => {
  const claim = state.claims.get(uintAt(data, 0))
  if (claim === undefined || claim.settled || claim.owner !== from) return reverted(30_000n)
  state.claims.set(uintAt(data, 0), { ...claim, settled: true })
  const paid = move(state, COLLATERAL, to, from, claim.assets)
  return paid === null ? reverted(40_000n) : done(90_000n, '0x', [paid])
}

const approve: Code = (state, { from, to, data }) => {
  const [spender, assets] = [addressAt(data, 0), uintAt(data, 1)]
  state.allowances.set(allowanceKey(to, from, spender), assets)
  const log = { address: to, topics: [APPROVAL, topic(from), topic(spender)], data: words(assets) }
  return done(46_000n, words(1n), [log])
}

const FUNCTIONS: Readonly<Record<string, Code>> = {
  'balanceOf(address)': view((state, { to, data }) =>
    words(state.tokens.get(balanceKey(to, addressAt(data, 0))) ?? 0n),
  ),
  'allowance(address,address)': view((state, { to, data }) =>
    words(state.allowances.get(allowanceKey(to, addressAt(data, 0), addressAt(data, 1))) ?? 0n),
  ),
  'decimals()': view((_state, { to }) =>
    words(deployment.assets.find(({ address }) => address === to)?.decimals ?? 0),
  ),
  'approve(address,uint256)': approve,
  'healthFactorWad(address)': view((state, { data }) => words(position(state, addressAt(data, 0)).healthWad)),
  'debtOf(address,address)': view((state, { data }) => words(position(state, addressAt(data, 1)).debt)),
  'collateralOf(address)': view((state, { data }) => words(position(state, addressAt(data, 0)).collateral)),
  'closeFactorBps()': view(() => words(10_000n)),
  'liquidationBonusBps()': view(() => words(BONUS_BPS)),
  'paused()': view((state) => words(state.paused)),
  'read()': view((_state, { timestampS }) => words(PRICE_WAD, timestampS - 1, timestampS - 1, 1)),
  'claim(uint256)': view((state, { data }) => {
    const claim = state.claims.get(uintAt(data, 0))
    if (claim === undefined) return '0x'
    return words(claim.owner, claim.owner, VAULT, claim.borrower, claim.assets, 0n, claim.settled)
  }),
  'openClaimAssets(address)': view((state, { data }) => {
    const open = [...state.claims.values()].filter(
      ({ owner, settled }) => !settled && owner === addressAt(data, 0),
    )
    return words(open.reduce((sum, { assets }) => sum + assets, 0n))
  }),
  'liquidate(address,address,uint256,uint256,address,uint256)': liquidate,
  'settleLiquidationClaim(uint256)': settle,
}

const BY_SELECTOR: ReadonlyMap<string, Code> = new Map(
  Object.entries(FUNCTIONS).map(([signature, code]) => [toFunctionSelector(signature), code]),
)

const SELECTORS = {
  liquidate: toFunctionSelector('liquidate(address,address,uint256,uint256,address,uint256)'),
  settle: toFunctionSelector('settleLiquidationClaim(uint256)'),
  approve: toFunctionSelector('approve(address,uint256)'),
} as const

/** Run a call on a state, which it changes; what reverted changes nothing. */
export function callContract(state: State, call: Call): Ran {
  if (!CODE.has(call.to)) return done(0n)
  const code = BY_SELECTOR.get(call.data.slice(0, 10))
  return code === undefined ? reverted(1_000n) : code(state, call)
}

/** The opportunity that calldata takes, in words: what a checker counts. Null for an approval or a no-op. Pure. */
export function effectOf(data: Hex): string | null {
  const selector = data.slice(0, 10)
  if (selector === SELECTORS.liquidate) return `liquidate ${addressAt(data, 1)}`
  return selector === SELECTORS.settle ? `settle ${uintAt(data, 0)}` : null
}

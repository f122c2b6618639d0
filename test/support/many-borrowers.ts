import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Address, encodeFunctionResult, erc20Abi, toFunctionSelector } from 'viem'
import { liquidationViews } from '../../agents/protocol/liquidation-views.ts'
import { SERVER_OPTIONS } from '../../sandbox/server-options.ts'
import type { Head, Nodes } from '../../src/chain/nodes.ts'
import type { PinnedDeployment } from '../../src/service/contract/deployment.ts'
import { listenOnLoopback } from './loopback.ts'

const hex = (digit: string): Address => `0x${digit.repeat(40)}`
export const SIGNER = hex('a')
const LOAN = hex('1')
const BTC = hex('2')
export const MARKET = hex('3')
const VAULT = hex('4')
const ORACLE = hex('6')
const CHAIN_ID = 31_337
/** 1 sBTC is 50,000 sUSD: with a threshold of 80 %, one carries a debt of 40,000. */
const PRICE = 50_000n * 10n ** 18n
const COLLATERAL = '100000000'
/** Debt shares from which one is under water: a share is a base unit of debt. */
export const WATERLINE = 40_000_000_000

/** A request that arrived: its path, how many wallets it names, and whether it goes on from a cursor. */
type Arrived = { readonly path: string; readonly wallets: number; readonly hasCursor: boolean }

/** A service with one market and as many borrowers as wanted, made up row by row: it holds those that changed, only. */
export type ManyBorrowers = {
  readonly url: string
  readonly arrived: Arrived[]
  readonly walletOf: (index: number) => Address
  /** Let a borrower owe so much. @returns the subject of the event that tells of it. */
  readonly owe: (index: number, debtShares: number) => string
  readonly close: () => Promise<void>
}

/** Scrambles an index, so that neighbours look alike in nothing; the index is the last word. */
const mix = (index: number) => (Math.imul(index + 1, 0x9e3779b1) ^ Math.imul(index + 7, 0x85ebca6b)) >>> 0
const word = (value: number) => (value >>> 0).toString(16).padStart(8, '0')
const walletOf = (index: number): Address =>
  `0x${word(mix(index))}${word(mix(index + 1e6))}${word(mix(index + 2e6))}${word(0)}${word(index)}`
const indexOf = (wallet: string) => Number.parseInt(wallet.slice(-8), 16)

const PAGE = 100

/** Start the service on this machine. */
export async function startManyBorrowers(count: number): Promise<ManyBorrowers> {
  const changed = new Map<number, number>()
  const arrived: Arrived[] = []
  const sharesOf = (index: number) => changed.get(index) ?? 1e10 + (mix(index + 3) % 2.9e10)
  const ids = `"marketId":"${MARKET}","chainId":${CHAIN_ID},"marketAddress":"${MARKET}"`
  const facilityIds = (index: number) =>
    `${ids},"vaultId":"${VAULT}","vaultAddress":"${VAULT}","borrowerAddress":"${walletOf(index)}"`
  const rows = {
    '/v1/positions': (index: number) =>
      `{${ids},"walletAddress":"${walletOf(index)}","collateralAssets":"${COLLATERAL}","debtAssets":"${sharesOf(index)}","debtShares":"${sharesOf(index)}","monitorState":"healthy"}`,
    '/v1/credit-facilities': (index: number) => `{${facilityIds(index)},"debtAssets":"${sharesOf(index)}"}`,
    '/v1/liquidation-recovery': (index: number) =>
      `{${facilityIds(index)},"liquidatable":true,"executable":true}`,
  }
  const isDrowning = (index: number) => sharesOf(index) > WATERLINE

  const answer = ({ url = '' }: IncomingMessage, response: ServerResponse) => {
    const { pathname: path, searchParams: query } = new URL(url, 'http://service')
    const wallets = [...query.getAll('walletAddress'), ...query.getAll('borrowerAddress')]
    const cursor = query.get('cursor')
    arrived.push({ path, wallets: wallets.length, hasCursor: cursor !== null })
    const row = rows[path as keyof typeof rows]
    const listed = path === '/v1/liquidation-recovery' ? [...changed.keys()].filter(isDrowning) : null
    let items: readonly string[] = SMALL[path] ?? []
    let next: string | null = null
    if (wallets.length > 0)
      items = wallets
        .map(indexOf)
        .filter((index) => index < count && (listed === null || listed.includes(index)))
        .map(row)
    else if (listed !== null) items = listed.map(row)
    else if (row !== undefined) {
      const from = Number(cursor ?? 0)
      const until = Math.min(from + PAGE, count)
      items = Array.from({ length: until - from }, (_, at) => row(from + at))
      next = until < count ? String(until) : null
    }
    const time = new Date(Math.floor(Date.now() / 1_000) * 1_000).toISOString()
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      `{"items":[${items.join()}],"pageInfo":{"hasMore":${next !== null},"nextCursor":${JSON.stringify(next)}},"freshness":{"status":"current","lagSeconds":0,"blockNumber":"10","blockTimestamp":"${time}"}}`,
    )
  }
  const server = createServer(SERVER_OPTIONS, answer)
  const port = await listenOnLoopback(server)
  return {
    url: `http://127.0.0.1:${port}`,
    arrived,
    walletOf,
    owe: (index, debtShares) => {
      changed.set(index, debtShares)
      return `${MARKET}:${walletOf(index)}`
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const MARKET_ROW = JSON.stringify({
  id: MARKET,
  chainId: CHAIN_ID,
  address: MARKET,
  symbol: 'sBTC/sUSD',
  oracleAddress: ORACLE,
  loanAssetAddress: LOAN,
  collateralAssetAddress: BTC,
  loanDecimals: 6,
  collateralDecimals: 8,
  loanAsset: { priceUsd: '1.00' },
  currentBorrowRatePerSecond: '0',
  liquidationThresholdBps: 8_000,
  closeFactorBps: 5_000,
  liquidationBonusBps: 500,
  oracleState: 'healthy',
  marketRegimeState: 'normal',
  marketLive: true,
  paused: false,
  collateralGateEnabled: false,
  oracle: { priceWad: String(PRICE) },
})

/** What is listed whole. */
const SMALL: Readonly<Record<string, readonly string[]>> = {
  '/v1/markets': [MARKET_ROW],
  '/v1/vaults': [JSON.stringify({ id: VAULT, chainId: CHAIN_ID, address: VAULT, baseAssetAddress: LOAN })],
}

export const deployment: PinnedDeployment = {
  funds: [],
  contracts: [],
  assets: [
    { address: LOAN, symbol: 'sUSD', decimals: 6 },
    { address: BTC, symbol: 'sBTC', decimals: 8 },
  ],
  markets: [{ address: MARKET, loanAsset: LOAN, collateralAsset: BTC, oracle: ORACLE }],
  vaults: [{ address: VAULT }],
}

const READ = toFunctionSelector('read()')
const OPEN_CLAIMS = toFunctionSelector('openClaims(address)')
const NO_CLAIMS = encodeFunctionResult({ abi: liquidationViews, functionName: 'openClaims', result: [] })
const PLENTY = encodeFunctionResult({ abi: erc20Abi, functionName: 'balanceOf', result: 10n ** 15n })

/** Our nodes of that chain, which answer at once. */
export const nodes: Pick<Nodes, 'chainId' | 'head' | 'calls' | 'balanceWei'> = {
  chainId: CHAIN_ID,
  head: async (): Promise<Head> => ({
    number: 10n,
    hash: '0x',
    parentHash: '0x',
    baseFeePerGasWei: 1_000_000_000n,
    timestampS: Math.floor(Date.now() / 1_000),
  }),
  balanceWei: async () => 10n ** 18n,
  calls: async (calls) =>
    calls.map(({ data }) => {
      if (data.startsWith(OPEN_CLAIMS)) return NO_CLAIMS
      if (!data.startsWith(READ)) return PLENTY
      const now = BigInt(Math.floor(Date.now() / 1_000))
      return encodeFunctionResult({
        abi: liquidationViews,
        functionName: 'read',
        result: [PRICE, now, now, 1],
      })
    }),
}

import { type Address, type Hex, pad, parseAbi, toHex } from 'viem'
import { z } from 'zod'
import { createNodes } from '../../chain/http-nodes.ts'
import type { Nodes } from '../../chain/nodes.ts'
import { systemClock } from '../../clock.ts'
import { RolekeeperError } from '../../errors.ts'
import { slotsOf } from '../../guard/reads/pins.ts'
import { address, createReads, createView, uint } from '../../guard/reads/views.ts'
import { createServiceClient, type ServiceClient } from '../../service/client.ts'
import { SERVICE_TIMEOUTS } from '../../service/http.ts'

/** Where a deployment is looked for. */
type Where = {
  readonly serviceUrl: string
  readonly secretKey: string | undefined
  readonly nodes: readonly string[]
  /** Which chain, where the service serves several. */
  readonly chainId: number | undefined
}

/** A contract that was found, with what it runs. */
export type FoundContract = {
  readonly name: string
  readonly address: Address
  readonly codeHash: Hex
  readonly proxy?: { readonly implementation: Address; readonly codeHash: Hex }
}
/** What service and chain say of a deployment: each contract by the code that it runs now. */
export type FoundDeployment = {
  readonly chainId: number
  readonly namespace: string
  readonly assets: readonly (FoundContract & { readonly decimals: number })[]
  readonly markets: readonly (FoundContract & {
    readonly loanAsset: Address
    readonly collateralAsset: Address
    readonly oracle: Address
    readonly oracleCodeHash: Hex
  })[]
  readonly vaults: readonly FoundContract[]
  /** `manager` is null where the service does not say who manages it. */
  readonly funds: readonly (FoundContract & {
    readonly quoteAsset: Address
    readonly manager: Address | null
  })[]
  readonly contracts: readonly FoundContract[]
}

const view = createView(
  parseAbi([
    'function symbol() view returns (string)',
    'function decimals() view returns (uint8)',
    'function loanAsset() view returns (address)',
    'function collateralAsset() view returns (address)',
    'function oracle() view returns (address)',
  ]),
)
const NODE_TIMEOUT_MS = 10_000
const lower = (of: string): Address => `0x${of.slice(2).toLowerCase()}`

/**
 * Read a deployment from the service, and from the chain what it may not say otherwise: code, proxies, symbols, decimals, what a
 * market lends and takes. Throws `service.*`, `node.*`, and RolekeeperError `init.differs` where the two contradict each other.
 */
export async function discover(where: Where): Promise<FoundDeployment> {
  const { serviceUrl: baseUrl, secretKey, nodes: read } = where
  const keys = secretKey === undefined ? {} : { secretKey }
  const client = createServiceClient({ baseUrl, ...keys, timeouts: SERVICE_TIMEOUTS }, systemClock)
  try {
    const served = (await client.listDeployments()).items
    const ours = served.filter((each) => where.chainId === undefined || each.chainId === where.chainId)
    const [one, another] = ours
    if (one === undefined || another !== undefined) throw notOne(served.map(({ chainId }) => chainId))
    const options = { chainId: one.chainId, read, send: read, agree: Math.min(2, read.length) }
    const nodes = await createNodes({
      ...options,
      finality: 'finalized',
      timeoutMs: NODE_TIMEOUT_MS,
      pollMs: 100,
      clock: systemClock,
    })
    try {
      const { deploymentNamespace, contracts, chainId } = one
      const named = z.record(z.string(), z.unknown()).parse(contracts ?? {})
      const rows = await readRows(client, chainId, named, secretKey !== undefined)
      return { chainId, namespace: deploymentNamespace ?? 'production', ...(await readChain(rows, nodes)) }
    } finally {
      await nodes.close()
    }
  } finally {
    await client.close()
  }
}

const notOne = (chains: readonly number[]) =>
  new RolekeeperError(
    'init.not_one',
    `The service serves ${chains.length} deployments, on the chains ${chains.join(', ') || 'none'}.`,
    {
      fix: 'say which with chain=ID.',
    },
  )

type Row = { readonly name: string; readonly address: Address }
type Rows = {
  readonly assets: readonly (Row & { readonly decimals: number })[]
  readonly markets: readonly (Row & Record<'loanAsset' | 'collateralAsset' | 'oracle', Address>)[]
  readonly vaults: readonly Row[]
  readonly funds: readonly (Row & { readonly quoteAsset: Address; readonly manager: Address | null })[]
  readonly others: readonly Row[]
}

/** What the service names a contract is an address, or has one. */
const located = z.union([address, z.object({ address }).transform((each) => each.address)])
const NAME = /^[A-Za-z][A-Za-z0-9]{0,59}$/

async function readRows(
  client: ServiceClient,
  chainId: number,
  named: Readonly<Record<string, unknown>>,
  hasKey: boolean,
): Promise<Rows> {
  const [assets, markets, vaults, funds] = await Promise.all([
    client.listAssets(),
    client.listMarkets(),
    client.listVaults(),
    hasKey ? client.listFunds() : { items: [] },
  ])
  const entries = Object.entries(named).flatMap(([name, value]) => {
    const found = located.safeParse(value)
    return found.success && NAME.test(name) ? [{ name, address: found.data }] : []
  })
  const called = (of: string, otherwise: string) => ({
    address: lower(of),
    name: entries.find((each) => each.address === lower(of))?.name ?? otherwise,
  })
  const onChain = <T extends { readonly chainId: number }>(items: readonly T[]) =>
    items.filter((each) => each.chainId === chainId)
  const rows = {
    assets: onChain(assets.items).map((row) => ({
      address: lower(row.address),
      name: row.symbol,
      decimals: row.decimals,
    })),
    markets: onChain(markets.items).flatMap((row, index) => {
      const { loanAssetAddress: loan, collateralAssetAddress: collateral, oracleAddress: oracle } = row
      return oracle == null || loan == null || collateral == null
        ? []
        : [
            {
              ...called(row.address, `market${index + 1}`),
              loanAsset: lower(loan),
              collateralAsset: lower(collateral),
              oracle: lower(oracle),
            },
          ]
    }),
    vaults: onChain(vaults.items).map((row, index) => called(row.address, `vault${index + 1}`)),
    funds: onChain(funds.items).flatMap((row, index) =>
      row.quoteAssetAddress == null
        ? []
        : [
            {
              ...called(row.address, `fund${index + 1}`),
              quoteAsset: lower(row.quoteAssetAddress),
              manager: row.managerAddress == null ? null : lower(row.managerAddress),
            },
          ],
    ),
  }
  const taken = new Set(
    [...Object.values(rows).flat(), ...rows.markets.map(({ oracle }) => ({ address: oracle }))].map(
      (each) => each.address,
    ),
  )
  return { ...rows, others: entries.filter((each) => !taken.has(each.address)) }
}

async function readChain(rows: Rows, nodes: Nodes): Promise<Omit<FoundDeployment, 'chainId' | 'namespace'>> {
  const all = [...rows.assets, ...rows.markets, ...rows.vaults, ...rows.funds, ...rows.others]
  const addresses = [
    ...new Set([...all.map((each) => each.address), ...rows.markets.map(({ oracle }) => oracle)]),
  ]
  const reads = createReads()
  const tokens = rows.assets.map(({ address: of }) => ({
    symbol: reads.ask(view('symbol', of, [], z.string())),
    decimals: reads.ask(view('decimals', of, [], uint)),
  }))
  const names = ['loanAsset', 'collateralAsset', 'oracle'] as const
  const terms = rows.markets.map((market) =>
    names.map((name) => ({ name, market, real: reads.ask(view(name, market.address, [], address)) })),
  )
  const [hashes, { before, words }] = await Promise.all([
    nodes.codeHashes(addresses),
    nodes.simulate({
      pending: [],
      before: reads.calls,
      bundle: [],
      after: [],
      slots: addresses.flatMap(slotsOf),
    }),
  ])
  reads.fill(before)
  for (const { name, market, real } of terms.flat()) {
    const found = real()
    if (found !== null && found !== market[name])
      throw differs(`${name} of ${market.name}`, market[name], found)
  }
  const behind = addresses
    .map((_, index) => words[2 * index] ?? 0n)
    .map((word) => lower(pad(toHex(word), { size: 20 })))
  const behindHashes = await nodes.codeHashes(behind)
  const pin = ({ name, address: of }: Row): FoundContract => {
    const index = addresses.indexOf(of)
    const [codeHash, implementation, inner] = [hashes[index], behind[index], behindHashes[index]]
    if (codeHash == null) throw differs(`code of ${name}`, of, 'no contract there')
    const isProxy = (words[2 * index] ?? 0n) !== 0n && implementation !== undefined && inner != null
    return { name, address: of, codeHash, ...(isProxy ? { proxy: { implementation, codeHash: inner } } : {}) }
  }
  return {
    assets: rows.assets.map((row, index) => {
      const [symbol, decimals] = [tokens[index]?.symbol() ?? row.name, tokens[index]?.decimals() ?? null]
      if (symbol !== row.name) throw differs(`symbol of ${row.address}`, row.name, symbol)
      if (decimals !== BigInt(row.decimals)) throw differs(`decimals of ${row.name}`, row.decimals, decimals)
      return { ...pin(row), decimals: row.decimals }
    }),
    markets: rows.markets.map(({ name, address: of, ...market }) => {
      const oracle = pin({ name: `the oracle of ${name}`, address: market.oracle })
      return { ...pin({ name, address: of }), ...market, oracleCodeHash: oracle.codeHash }
    }),
    vaults: rows.vaults.map(pin),
    funds: rows.funds.map(({ quoteAsset, manager, ...row }) => ({ ...pin(row), quoteAsset, manager })),
    contracts: rows.others.map(pin),
  }
}

const differs = (what: string, claim: unknown, real: unknown) =>
  new RolekeeperError('init.differs', `The ${what} is ${claim} by the service; the chain says ${real}.`, {
    fix: 'ask the operator of the service which is right, and write the configuration by hand from config/example.yaml.',
  })

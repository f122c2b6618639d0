import { type Address, keccak256, parseAbi, stringToHex } from 'viem'
import { z } from 'zod'
import { DATA_FEE_ORACLE } from '../../chain/data-fee.ts'
import type { Head, Nodes } from '../../chain/nodes.ts'
import type { RunConfig } from '../../config/config.ts'
import { address, balanceView, createReads, createView, type Reads, uint } from '../../guard/reads/views.ts'
import { isHealthy, type PriceRead, priceView } from '../../guard/sanity/price.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'

/** What the chain says of a deployment and of those who sign there, as far as settings are judged by it. */
export type World = {
  readonly head: Head
  /** What one whole token is worth, millionths of a dollar, by its symbol; what no healthy oracle prices is absent. */
  readonly prices: ReadonlyMap<string, bigint>
  /** What contracts that are oracles say, by their names in `deployment.contracts`. */
  readonly references: ReadonlyMap<string, PriceRead>
  readonly oracles: readonly { readonly market: string; readonly read: PriceRead | null }[]
  /** What all vaults hold, millionths of a dollar; null where that is not known, or nothing. */
  readonly sizeUsdMicros: bigint | null
  /** What each signer holds of each token, base units. */
  readonly balanceOf: (signer: Address, token: Address) => bigint | null
  readonly nativeWeiOf: (signer: Address) => bigint
  /** What the operator of an OP stack chain takes for a million gas, beside it; null where nobody says that it does. */
  readonly operatorFeeWei: bigint | null
  /** Whether it is a chain of Arbitrum's kind. */
  readonly isArbitrum: boolean
  /** Where a signer may do workflows of these types, by the contracts' own word. */
  readonly mayOf: (types: readonly WorkflowType[], signer: Address) => readonly May[]
}

/** Whether a signer may act at a place, and what it needs there; null where the chain does not say. */
type May = { readonly at: string; readonly may: boolean | null; readonly needs: string }

const USD_MICROS = 1_000_000n
const WAD = 10n ** 18n

/** Source: ERC-4626, AccessControl of OpenZeppelin; OP stack, GasPriceOracle; Nitro, ArbSys; gates, registries and managers are assumed, and nothing where one has none. */
const view = createView(
  parseAbi([
    'function asset() view returns (address)',
    'function totalAssets() view returns (uint256)',
    'function hasRole(bytes32 role, address account) view returns (bool)',
    'function ALLOCATOR_ROLE() view returns (bytes32)',
    'function REPORTER_ROLE() view returns (bytes32)',
    'function manager() view returns (address)',
    'function liquidatorGate() view returns (bool)',
    'function isAuthorized(address wallet, bytes32 action, address scope) view returns (bool)',
    'function getOperatorFee(uint256 gasUsed) view returns (uint256)',
    'function arbChainID() view returns (uint256)',
  ]),
)
/** What each chain of Arbitrum's kind has, and no other. Source: Nitro, precompiles. */
const ARB_SYS: Address = '0x0000000000000000000000000000000000000064'
const LIQUIDATE = stringToHex('liquidate', { size: 32 })

/** Create what reads a world; roles that ask while one is read share it, as each asks of every signer. Throws as {@link readWorld}. */
export function createWorldReader(...of: Parameters<typeof readWorld>): () => Promise<World> {
  let reading: Promise<World> | undefined
  return () => {
    reading ??= readWorld(...of).finally(() => {
      reading = undefined
    })
    return reading
  }
}

/** Read a world, in one round trip. Throws `node.*` when too few nodes answer. */
export async function readWorld(
  nodes: Pick<Nodes, 'calls' | 'head' | 'balanceWei'>,
  { deployment, agents }: Pick<RunConfig, 'deployment' | 'agents'>,
): Promise<World> {
  const reads = createReads()
  const signers = [...new Set(agents.map(({ signer }) => signer.address))]
  const oracles = deployment.markets.map((market) => ({ market, read: reads.ask(priceView(market.oracle)) }))
  const others = deployment.contracts.map(({ name, address: of }) => ({
    name,
    read: reads.ask(priceView(of)),
  }))
  const vaults = deployment.vaults.map(({ address: of }) => ({
    asset: reads.ask(view('asset', of, [], address)),
    assets: reads.ask(view('totalAssets', of, [], uint)),
  }))
  const balances = new Map(
    signers.flatMap((signer) =>
      deployment.assets.map((token) => [
        `${signer} ${token.address}`,
        reads.ask(balanceView(token.address, signer)),
      ]),
    ),
  )
  const operatorFee = reads.ask(view('getOperatorFee', DATA_FEE_ORACLE, [1_000_000n], uint))
  const places = new Map(signers.map((signer) => [signer, askPlaces(signer, deployment, reads)]))
  const arbChainId = reads.ask(view('arbChainID', ARB_SYS, [], uint))
  const [head, answers, wei] = await Promise.all([
    nodes.head(),
    nodes.calls(reads.calls),
    Promise.all(signers.map((signer) => nodes.balanceWei(signer))),
  ])
  reads.fill(answers)
  const prices = pricesOf(
    deployment,
    oracles.map(({ read }) => read()),
  )
  return {
    head,
    prices,
    references: new Map(
      others.flatMap(({ name, read }) => {
        const answer = read()
        return answer === null ? [] : [[name, answer] as const]
      }),
    ),
    oracles: oracles.map(({ market, read }) => ({ market: market.name ?? market.address, read: read() })),
    sizeUsdMicros: sizeOf(
      deployment,
      prices,
      vaults.map(({ asset, assets }) => ({ asset: asset(), assets: assets() })),
    ),
    balanceOf: (signer, token) => balances.get(`${signer} ${token}`)?.() ?? null,
    nativeWeiOf: (signer) => wei[signers.indexOf(signer)] ?? 0n,
    operatorFeeWei: operatorFee(),
    isArbitrum: arbChainId() !== null,
    mayOf: (types, signer) => places.get(signer)?.(types) ?? [],
  }
}

/** What paid tokens are worth is said by the deployment; what markets take is worth what their oracles say in those. */
function pricesOf(
  { assets, markets }: Deployment,
  reads: readonly (PriceRead | null)[],
): ReadonlyMap<string, bigint> {
  const stated = assets.flatMap(({ address: of, price }) =>
    price === undefined ? [] : [[of, price] as const],
  )
  const byAddress = new Map<string, bigint>(stated)
  for (const [index, { loanAsset, collateralAsset }] of markets.entries()) {
    const [read, loan] = [reads[index] ?? null, byAddress.get(loanAsset)]
    if (read === null || loan === undefined || !isHealthy(read) || byAddress.has(collateralAsset)) continue
    byAddress.set(collateralAsset, (read.priceWad * loan) / WAD)
  }
  return new Map(
    assets.flatMap(({ address: of, symbol }) => {
      const price = byAddress.get(of)
      return price === undefined ? [] : [[symbol, price] as const]
    }),
  )
}

function sizeOf(
  { assets }: Deployment,
  prices: ReadonlyMap<string, bigint>,
  vaults: readonly { readonly asset: Address | null; readonly assets: bigint | null }[],
): bigint | null {
  const worths = vaults.map(({ asset: of, assets: held }) => {
    const asset = assets.find(({ address: at }) => at === of)
    const price = asset === undefined ? undefined : prices.get(asset.symbol)
    return asset === undefined || price === undefined || held === null
      ? null
      : (held * price) / 10n ** BigInt(asset.decimals)
  })
  // One that is not known could be as large as any.
  if (worths.includes(null)) return null
  const sum = worths.reduce<bigint>((all, worth) => all + (worth ?? 0n), 0n)
  return sum < USD_MICROS ? null : sum
}

/** Ask where a signer may act. What a contract does not have, it does not say. */
function askPlaces(
  signer: Address,
  { vaults, contracts, funds, markets }: Deployment,
  { ask }: Reads,
): (types: readonly WorkflowType[]) => readonly May[] {
  const holders = (role: 'ALLOCATOR_ROLE' | 'REPORTER_ROLE', list: readonly NamedAddress[]) => {
    const hash = keccak256(stringToHex(role))
    return list.map((each) => {
      const named = ask(view(role, each.address, [], z.string()))
      const has = ask(view('hasRole', each.address, [hash, signer], z.boolean()))
      return () => ({ at: nameOf(each), may: named() === hash ? has() : null, needs: role })
    })
  }
  const gates = markets.map((market) => {
    const gate = ask(view('liquidatorGate', market.address, [], z.boolean()))
    const words = contracts.map((each) =>
      ask(view('isAuthorized', each.address, [signer, LIQUIDATE, market.address], z.boolean())),
    )
    return (): May => {
      const answers = words.flatMap((word) => word() ?? [])
      const byRegistry = answers.length === 0 ? null : answers.includes(true)
      const may = gate() === false ? true : gate() === null ? null : byRegistry
      return { at: nameOf(market), may, needs: 'the authorization "liquidate" of its registry' }
    }
  })
  const managed = funds.map((fund) => {
    const manager = ask(view('manager', fund.address, [], address))
    return (): May => {
      const found = manager()
      return {
        at: nameOf(fund),
        may: found === null ? null : found === signer,
        needs: `to be its manager, ${found}`,
      }
    }
  })
  const byType = new Map<WorkflowType, readonly (() => May)[]>([
    ['role.liquidator.liquidate', gates],
    ['role.allocator.vaultAllocate', holders('ALLOCATOR_ROLE', vaults)],
    ['role.nav_reporter.navReportSignAndSubmit', holders('REPORTER_ROLE', contracts)],
    ['role.asset_manager.distressedRecoveryFundV3ChannelPolicySet', managed],
  ])
  return (types) => types.flatMap((type) => (byType.get(type) ?? []).map((may) => may()))
}

type NamedAddress = { readonly address: Address; readonly name?: string | undefined }
const nameOf = ({ name, address: of }: NamedAddress): string => name ?? of

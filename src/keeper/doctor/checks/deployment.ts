import type { Address } from 'viem'
import type { Nodes } from '../../../chain/nodes.ts'
import { pinsOf } from '../../../guard/policy/deployment.ts'
import { isHealthy } from '../../../guard/sanity/price.ts'
import { span } from '../../../readable.js'
import type { Deployment } from '../../../service/contract/deployment.ts'
import type { AssetResource } from '../../../service/contract/resources.ts'
import { unitDifferences } from '../../startup/deployment-proof.ts'
import { pinDifferences } from '../../startup/pins.ts'
import { type Finding, failed, failedBy, passed, warned } from '../finding.ts'
import type { World } from '../world.ts'

/** Name a contract of a deployment as its file does: `deployment.markets[0] (btcMarket)`. Pure. */
function placeOf(of: Address, deployment: Deployment): string {
  const lists = ['assets', 'markets', 'vaults', 'funds', 'contracts'] as const
  for (const list of lists) {
    const index = deployment[list].findIndex(({ address }) => address === of)
    const entry = deployment[list][index]
    if (entry !== undefined)
      return `deployment.${list}[${index}] (${'symbol' in entry ? entry.symbol : (entry.name ?? of)})`
  }
  const market = deployment.markets.find(({ oracle }) => oracle === of)
  return market === undefined ? of : `the oracle of ${market.name ?? market.address}`
}

/** Look at every contract that is pinned: its code, what a proxy runs, and every unit that the file states. */
export async function examineDeployment(
  nodes: Pick<Nodes, 'codeHashes' | 'simulate' | 'calls'>,
  deployment: Deployment,
): Promise<readonly Finding[]> {
  const [pins, units] = await Promise.all([
    pinDifferences(nodes, deployment),
    unitDifferences(nodes, deployment),
  ])
  const count = new Set(pinsOf(deployment).map(({ address }) => address)).size
  const codes = pins.map(({ of, error }) => failedBy('code', placeOf(of, deployment), error))
  const unlike = units.map(({ of, message, fix }) =>
    failed(message.startsWith('The symbol') ? 'symbol' : 'units', placeOf(of, deployment), {
      code: 'deployment.units_differ',
      message,
      fix,
    }),
  )
  return [
    ...(codes.length > 0 ? codes : [passed('code', '', `${count} contracts run what is pinned.`)]),
    ...(unlike.length > 0
      ? unlike
      : [passed('units', '', 'decimals, symbols and what markets take are the chain’s.')]),
  ]
}

/** A market's oracle that nobody feeds stops what is decided by it. */
const PRICE_AGE_MS_MAX = 3_600_000

/** Judge the oracle of each market. Pure. */
export const judgeOracles = ({ oracles, head }: Pick<World, 'oracles' | 'head'>): readonly Finding[] =>
  oracles.map(({ market, read }) => {
    if (read === null) return passed('oracle', market, 'it has no `read()`; the service says what it says.')
    const ageMs = (BigInt(head.timestampS) - read.sourceAsOfS) * 1_000n
    if (isHealthy(read) && ageMs <= BigInt(PRICE_AGE_MS_MAX))
      return passed('oracle', market, `it vouches for a price of ${span(ageMs < 0n ? 0n : ageMs)} ago.`)
    const message = isHealthy(read)
      ? `The price of ${market} is ${span(ageMs)} old; ${span(PRICE_AGE_MS_MAX)} is the limit.`
      : `The oracle of ${market} does not vouch for its price: state ${read.state}, 1 is healthy.`
    const fix = `ask who feeds it; nothing is done in ${market} until then.`
    return warned('oracle', market, { code: 'oracle.not_usable', message, fix })
  })

/** Judge what a service says of tokens against what the file calls them. Pure. */
export function judgeTokens(rows: readonly AssetResource[], { assets }: Deployment): readonly Finding[] {
  return assets.flatMap(({ address, symbol, decimals }, index) => {
    const row = rows.find((each) => each.address.toLowerCase() === address)
    if (row === undefined || (row.symbol === symbol && row.decimals === decimals)) return []
    const wrong =
      row.decimals === decimals
        ? (['symbol', symbol, row.symbol] as const)
        : (['decimals', decimals, row.decimals] as const)
    const [name, pinnedValue, real] = wrong
    const message = `deployment.assets[${index}].${name} is ${pinnedValue}, and the service says ${real} for ${address}.`
    const fix = `write \`${name}: "${real}"\` there if the chain says so too.`
    return [
      warned(name === 'symbol' ? 'symbol' : 'units', symbol, {
        code: 'deployment.service_differs',
        message,
        fix,
      }),
    ]
  })
}

import type { Address } from 'viem'
import type {
  Agent,
  Around,
  LiquidatorSeen,
  MarketSeen,
  Moment,
  Observation,
  PinnedDeployment,
} from '../../agents/agent.ts'
import type { Nodes } from '../chain/nodes.ts'
import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import type { Collections } from './collections.ts'
import type { FreshnessLimits } from './freshness.ts'
import { armMarkets } from './liquidator/arming.ts'
import { observeLiquidator } from './liquidator/observe.ts'
import { createRiskBook } from './liquidator/risk-book.ts'
import { type AskingDeps, observeByAsking } from './observe.ts'

/** What a sight is joined from. */
export type SightDeps = {
  readonly collections: Collections
  readonly nodes: Nodes
  readonly clock: Clock
  readonly deployment: PinnedDeployment
  readonly limits: FreshnessLimits
  readonly priorityFeePerGasWei: bigint
  readonly signer: Address
  /** Every signer of this keeper. */
  readonly ours: readonly Address[]
  readonly outside: AskingDeps['outside']
  /** Told of each market whose arming changed. */
  readonly onArmed: (market: Address, armed: MarketSeen['armed']) => void
}

/** How a role sees. */
export type Sight = {
  readonly observe: (around: Around) => Promise<Moment>
  /** How many markets are armed and not; null for a role that arms none. */
  readonly arming: () => { readonly armed: number; readonly unarmed: number } | null
}

/** Create the sight of an agent that asks for what it needs. */
export function createAskingSight(agent: Agent, policy: unknown, deps: SightDeps): Sight {
  const { nodes, signer, ours, deployment, limits, priorityFeePerGasWei } = deps
  const known = { chainId: nodes.chainId, signer, ours, deployment, limits, priorityFeePerGasWei }
  let previous: unknown = null
  return {
    observe: async (around) => {
      const seen = await observeByAsking(agent, policy, previous, deps, { ...known, ...around })
      previous = seen
      return seen
    },
    arming: () => null,
  }
}

/** A disarmed market is proven again soon: its trouble may have been a moment's. */
const REARM_MS = 10_000
const PROVE_EVERY_MS = 300_000

/**
 * Create the liquidator's sight: it proves the units of each market, and observes. The first observation waits for the
 * first proof of units; later proofs run beside. Throws RolekeeperError `policy.contract_unknown` when the policy names
 * a second price that the deployment does not pin.
 */
export function createLiquidatorSight(secondPrices: readonly string[], deps: SightDeps): Sight {
  const { collections, nodes, clock, deployment: pins, signer, ours } = deps
  const service = {
    listMarkets: collections.markets,
    listCreditFacilities: collections['credit-facilities'],
    listPositions: collections.positions,
    listLiquidationRecovery: collections['liquidation-recovery'],
    listEligibility: collections.eligibility,
  }
  const book = createRiskBook(nodes.chainId)
  const references = referencesOf(secondPrices, pins)
  let previous: Observation<LiquidatorSeen> | null = null
  let armed: ReadonlyMap<Address, MarketSeen['armed']> = new Map()
  let provenAtMs: number | null = null
  let proving: Promise<void> | undefined

  const prove = async () => {
    const next = await armMarkets({ service, nodes, pins }, nodes.chainId)
    for (const [market, verdict] of next) {
      if (armed.get(market)?.ok !== verdict.ok) deps.onArmed(market, verdict)
    }
    armed = next
    provenAtMs = clock.nowMs()
  }

  const proveWhenDue = (): Promise<void> | undefined => {
    const everyMs = [...armed.values()].every(({ ok }) => ok) ? PROVE_EVERY_MS : REARM_MS
    if (provenAtMs !== null && Math.abs(clock.nowMs() - provenAtMs) < everyMs) return undefined
    proving ??= prove().finally(() => {
      proving = undefined
    })
    // Beside a decision it must not delay it; a failure leaves what was proven, and is tried again.
    return provenAtMs === null ? proving : void proving.catch(() => undefined)
  }

  return {
    observe: async (around) => {
      await proveWhenDue()
      const { limits, priorityFeePerGasWei } = deps
      const known = { signer, ours, chainId: nodes.chainId, armed, limits, priorityFeePerGasWei, previous }
      previous = await observeLiquidator(
        { service, nodes, pins, clock, book, references },
        { ...known, ...around },
      )
      return previous
    },
    arming: () => {
      const markets = previous?.markets ?? []
      const count = markets.filter(({ armed: each }) => each.ok).length
      return { armed: count, unarmed: markets.length - count }
    },
  }
}

/** The contracts that the policy takes second prices from. */
const referencesOf = (names: readonly string[], { contracts }: PinnedDeployment) =>
  names.map((name) => {
    const pinned = contracts.find((contract) => contract.name === name)
    if (pinned !== undefined) return { name, address: pinned.address }
    const known = contracts.map((contract) => contract.name).join(', ')
    throw new RolekeeperError(
      'policy.contract_unknown',
      `strategy.secondPrice names ${name}, which deployment.contracts does not pin.`,
      { fix: `pin it in the run configuration; pinned are: ${known || 'none'}.` },
    )
  })

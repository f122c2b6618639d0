import type { Address } from 'viem'
import type { InFlight, MarketSeen, Observation } from './agent.ts'
import type { Nodes } from './chain/nodes.ts'
import type { Clock } from './clock.ts'
import { RolekeeperError } from './errors.ts'
import { armMarkets } from './observe/arming.ts'
import type { FreshnessLimits } from './observe/freshness.ts'
import { observeLiquidator } from './observe/liquidator.ts'
import type { Pins } from './observe/pins.ts'
import { eligibilityInOurWords, marketInOurWords } from './observe/words.ts'
import type { Assumptions } from './service/assumptions.ts'
import type { ServiceClient } from './service/client.ts'
import type { WalletSession } from './service/session.ts'

/** What the liquidator's sight is joined from. */
type SightDeps = {
  readonly client: ServiceClient
  readonly nodes: Nodes
  readonly clock: Clock
  readonly pins: Pins
  readonly limits: FreshnessLimits
  readonly priorityFeePerGasWei: bigint
  readonly session: WalletSession
  readonly assumptions: Assumptions
  readonly signer: Address
  /** Told of each market whose arming changed. */
  readonly onArmed: (market: Address, armed: MarketSeen['armed']) => void
}

/** How the liquidator sees: it proves the units of each market, and observes. */
type Sight = {
  readonly observe: (inFlight: readonly InFlight[], previous: Observation | null) => Promise<Observation>
}

/** A disarmed market is proven again soon: its trouble may have been a moment's. */
const REARM_MS = 10_000
const PROVE_EVERY_MS = 300_000

/** Create the liquidator's sight. The first observation waits for the first proof of units; later proofs run beside. */
export function createSight(deps: SightDeps): Sight {
  const { client, nodes, clock, pins, session, signer, assumptions } = deps
  const service = {
    listMarkets: async () => {
      const listed = await client.listMarkets()
      return { ...listed, items: listed.items.map((market) => marketInOurWords(market, assumptions)) }
    },
    listCreditFacilities: client.listCreditFacilities,
    listPositions: client.listPositions,
    listLiquidationRecovery: client.listLiquidationRecovery,
    listEligibility: async () => {
      const listed = await session.use((token) => client.listEligibility({ session: token }))
      if (listed.ok) {
        const items = listed.value.items.map((row) => eligibilityInOurWords(row, assumptions))
        return { ...listed.value, items }
      }
      throw new RolekeeperError('session.refused', listed.message, {
        facts: { check: listed.check },
        retry: 'later',
      })
    },
  }
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
    if (provenAtMs !== null && clock.nowMs() - provenAtMs < everyMs) return undefined
    proving ??= prove().finally(() => {
      proving = undefined
    })
    // Beside a decision it must not delay it; a failure leaves what was proven, and is tried again.
    return provenAtMs === null ? proving : void proving.catch(() => undefined)
  }

  return {
    observe: async (inFlight, previous) => {
      await proveWhenDue()
      return observeLiquidator(
        { service, nodes, pins, clock },
        {
          signer,
          chainId: nodes.chainId,
          inFlight,
          armed,
          limits: deps.limits,
          priorityFeePerGasWei: deps.priorityFeePerGasWei,
          previous,
        },
      )
    },
  }
}

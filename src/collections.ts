import type { Rows, WatchedCollection } from './agent.ts'
import { RolekeeperError } from './errors.ts'
import type { List, Listed } from './observe/listed.ts'
import { eligibilityInOurWords, marketInOurWords } from './observe/words.ts'
import type { Assumptions } from './service/assumptions.ts'
import type { ServiceClient } from './service/client.ts'
import type { WalletSession } from './service/session.ts'
import { createTrades } from './service/trades.ts'

/** The read of every collection that agents watch, in the words that agents judge by. */
export type Collections = { readonly [C in WatchedCollection]: List<Rows[C][number]> }

/**
 * Join the collections to the service. Those that take a wallet session throw RolekeeperError `session.absent` (retry
 * later) without one, and `session.refused` where the service's challenge was not signed.
 */
export function createCollections(
  client: ServiceClient,
  session: WalletSession | null,
  assumptions: Assumptions,
): Collections {
  const trades = createTrades(client)
  const withSession = async <T>(read: (token: string) => Promise<Listed<T>>): Promise<Listed<T>> => {
    if (session === null)
      throw new RolekeeperError('session.absent', 'This read takes a wallet session, and there is none.', {
        retry: 'later',
      })
    const listed = await session.use(read)
    if (listed.ok) return listed.value
    throw new RolekeeperError('session.refused', listed.message, {
      facts: { check: listed.check },
      retry: 'later',
    })
  }
  return {
    markets: async () => {
      const listed = await client.listMarkets()
      return { ...listed, items: listed.items.map((market) => marketInOurWords(market, assumptions)) }
    },
    'credit-facilities': client.listCreditFacilities,
    positions: client.listPositions,
    'liquidation-recovery': client.listLiquidationRecovery,
    eligibility: async () => {
      const listed = await withSession((token) => client.listEligibility({ session: token }))
      return { ...listed, items: listed.items.map((row) => eligibilityInOurWords(row, assumptions)) }
    },
    assets: client.listAssets,
    vaults: client.listVaults,
    'allocation-intelligence': () =>
      withSession((token) => client.listAllocationIntelligence({ session: token })),
    funds: client.listFunds,
    'nav-reports': client.listNavReports,
    rfqs: async () => {
      const listed = await trades.listRfqs()
      return { ...listed, items: listed.items.map((rfq) => ({ ...rfq, terms: assumptions.rfq })) }
    },
    auctions: trades.listAuctions,
    acquisitions: trades.listAcquisitions,
  }
}

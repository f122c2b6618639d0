import type { Rows, WatchedCollection } from '../../agents/rows.ts'
import { printable, RolekeeperError } from '../errors.ts'
import type { ServiceClient } from '../service/client.ts'
import {
  type Assumptions,
  ELIGIBILITY,
  HEALTHY_ORACLE_STATE,
  NORMAL_MARKET_REGIME,
  PRICE_SCALE,
} from '../service/contract/assumptions.ts'
import type { EligibilityResource, Freshness, MarketResource } from '../service/contract/resources.ts'
import type { WalletSession } from '../service/session.ts'
import { createTrades } from '../service/trades.ts'

/** A whole collection as the client gives it: `dropped` rows could not be read and are not among the items. */
export type ListedRows<T> = {
  readonly items: readonly T[]
  readonly freshness: Freshness
  readonly dropped: number
}

/** A collection's read. */
export type List<T> = () => Promise<ListedRows<T>>

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
  const withSession = async <T>(read: (token: string) => Promise<ListedRows<T>>): Promise<ListedRows<T>> => {
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
      return { ...listed, items: listed.items.map((market) => normalizeMarket(market, assumptions)) }
    },
    'credit-facilities': client.listCreditFacilities,
    positions: client.listPositions,
    'liquidation-recovery': client.listLiquidationRecovery,
    eligibility: async () => {
      const listed = await withSession((token) => client.listEligibility({ session: token }))
      return { ...listed, items: listed.items.map((row) => normalizeEligibility(row, assumptions)) }
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
    wrappers: client.listWrappers,
  }
}

/** Our word where the service says its own for it; our word from its mouth means something else there, or nothing. */
const ourWord = <T extends string | null | undefined>(word: T, theirs: string, ours: string) =>
  word === theirs ? ours : word === ours ? `${ours} (by another word)` : word

const shown = (word: string | null | undefined) => (word == null ? word : printable(word))

/** Say a market in the words and scales that agents judge by, safe to show. Pure. */
export function normalizeMarket(market: MarketResource, assumed: Assumptions): MarketResource {
  const oracleWord = (word: string | null | undefined) =>
    shown(ourWord(word, assumed.healthyOracleState, HEALTHY_ORACLE_STATE))
  const { oracle } = market
  return {
    ...market,
    oracleState: oracleWord(market.oracleState),
    ...(market.symbol == null ? {} : { symbol: printable(market.symbol) }),
    id: printable(market.id),
    marketRegimeState: shown(
      ourWord(market.marketRegimeState, assumed.normalMarketRegime, NORMAL_MARKET_REGIME),
    ),
    oracle:
      oracle == null
        ? oracle
        : {
            ...oracle,
            state: oracleWord(oracle.state),
            priceWad:
              oracle.priceWad == null
                ? oracle.priceWad
                : String((BigInt(oracle.priceWad) * PRICE_SCALE) / assumed.priceScale),
          },
  }
}

/** Say what a wallet may do in the words that agents judge by. Pure. */
export const normalizeEligibility = (
  row: EligibilityResource,
  { eligibility }: Assumptions,
): EligibilityResource => ({
  ...row,
  actionType: ourWord(row.actionType, eligibility.liquidate, ELIGIBILITY.liquidate),
  authorizationStatus: ourWord(row.authorizationStatus, eligibility.authorized, ELIGIBILITY.authorized),
})

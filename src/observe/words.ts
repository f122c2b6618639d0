import {
  type Assumptions,
  ELIGIBILITY,
  HEALTHY_ORACLE_STATE,
  NORMAL_MARKET_REGIME,
  PRICE_SCALE,
} from '../service/assumptions.ts'
import type { EligibilityResource, MarketResource } from '../service/resources.ts'

/** Our word where the service says its own for it; our word from its mouth means something else there, or nothing. */
const ourWord = <T extends string | null | undefined>(said: T, theirs: string, ours: string) =>
  said === theirs ? ours : said === ours ? `${ours} (by another word)` : said

/** Say a market in the words and scales that agents judge by. Pure. */
export function marketInOurWords(market: MarketResource, assumed: Assumptions): MarketResource {
  const oracleWord = (said: string | null | undefined) =>
    ourWord(said, assumed.healthyOracleState, HEALTHY_ORACLE_STATE)
  const { oracle } = market
  return {
    ...market,
    oracleState: oracleWord(market.oracleState),
    marketRegimeState: ourWord(market.marketRegimeState, assumed.normalMarketRegime, NORMAL_MARKET_REGIME),
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
export const eligibilityInOurWords = (
  row: EligibilityResource,
  { eligibility }: Assumptions,
): EligibilityResource => ({
  ...row,
  actionType: ourWord(row.actionType, eligibility.liquidate, ELIGIBILITY.liquidate),
  authorizationStatus: ourWord(row.authorizationStatus, eligibility.authorized, ELIGIBILITY.authorized),
})

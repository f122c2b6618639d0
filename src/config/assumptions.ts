import { z } from 'zod'
import { ASSUMPTIONS, type Assumptions, REVALIDATIONS } from '../service/contract/assumptions.ts'

const queryName = z.string().regex(/^[A-Za-z0-9_.[\]-]{1,64}$/, 'expected the name of a query parameter')
const header = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, 'expected the name of a header')
  .transform((name) => name.toLowerCase())
const word = z.string().min(1).max(200)
const {
  query,
  streamQuery,
  credentialHeaders,
  rateLimitHeaders,
  webhookHeaders,
  eligibility,
  rfq,
  challenge,
} = ASSUMPTIONS

/**
 * `service.assumptions` of a run configuration: what a deployment does otherwise than we assume of what the service's
 * document does not show. Data only; a shape that differs takes a change of the catalogue.
 */
export const assumptions = z
  .strictObject({
    /** Query parameters of collections and details. */
    query: z
      .strictObject({
        cursor: queryName.default(query.cursor),
        pageSize: queryName.default(query.pageSize),
        fields: queryName.default(query.fields),
        wallet: queryName.default(query.wallet),
        borrower: queryName.default(query.borrower),
      })
      .prefault({}),
    /** Query parameters of the stream. */
    streamQuery: z
      .strictObject({
        token: queryName.default(streamQuery.token),
        cursor: queryName.default(streamQuery.cursor),
        types: queryName.default(streamQuery.types),
      })
      .prefault({}),
    /** Documented with the word `svc` in the place of the operator's brand. */
    credentialHeaders: z
      .strictObject({
        publishableKey: header.default(credentialHeaders.publishableKey),
        walletSession: header.default(credentialHeaders.walletSession),
      })
      .prefault({}),
    /** The same. */
    webhookHeaders: z
      .strictObject({
        signature: header.default(webhookHeaders.signature),
        deliveryId: header.default(webhookHeaders.deliveryId),
      })
      .prefault({}),
    /** Both are integers; the reset is in seconds from now. */
    rateLimitHeaders: z
      .strictObject({
        remaining: header.default(rateLimitHeaders.remaining),
        resetSeconds: header.default(rateLimitHeaders.resetSeconds),
      })
      .prefault({}),
    /** The action of a liquidator on a gated market, and the status that permits it. */
    eligibility: z
      .strictObject({
        liquidate: word.default(eligibility.liquidate),
        authorized: word.default(eligibility.authorized),
      })
      .prefault({}),
    /** The word for an oracle whose price may be used. */
    healthyOracleState: word.default(ASSUMPTIONS.healthyOracleState),
    /** The word for a market in which one may act. */
    normalMarketRegime: word.default(ASSUMPTIONS.normalMarketRegime),
    /** What `priceWad` is for a price of one whole loan token for one whole collateral token. */
    priceScale: z
      .string()
      .regex(/^10{0,36}$/, 'expected a power of ten in digits, for example "1000000000000000000"')
      .transform(BigInt)
      .default(ASSUMPTIONS.priceScale),
    /** The stream says something at least this often, milliseconds. */
    streamHeartbeatMs: z
      .string()
      .regex(/^[1-9][0-9]{2,5}$/, 'expected 100 to 999999 milliseconds')
      .transform(Number)
      .default(ASSUMPTIONS.streamHeartbeatMs),
    /** What a wallet challenge says beside what is ours anyway: nothing else is signed. */
    challenge: z
      .strictObject({
        statement: z
          .string()
          .regex(/^[\x20-\x7e]{0,200}$/, 'expected at most 200 characters of plain ASCII, in one line')
          .default(challenge.statement),
        path: z
          .string()
          .regex(/^(\/[A-Za-z0-9._~/-]{0,200})?$/, 'expected a path, for example /login')
          .default(challenge.path),
      })
      .prefault({}),
    /** How an RFQ is traded; the RFQ bidder passes over what it cannot trade. */
    rfq: z
      .strictObject({
        side: z.enum(['bidder_buys', 'bidder_sells']).default(rfq.side),
        book: z.enum(['open', 'sealed']).default(rfq.book),
        ties: z.enum(['earliest', 'latest']).default(rfq.ties),
        escrow: z.enum(['whole_bid', 'none']).default(rfq.escrow),
        finalizer: z.enum(['anyone', 'winner', 'seller']).default(rfq.finalizer),
      })
      .prefault({}),
    /** The service's names of what is to be looked at again before a broadcast, each with our name of that check. */
    revalidations: z.record(word, z.enum(REVALIDATIONS)).default({}),
  })
  .prefault({}) satisfies z.ZodType<Assumptions>

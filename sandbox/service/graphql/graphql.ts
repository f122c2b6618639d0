import {
  execute,
  GraphQLError,
  type GraphQLFieldConfig,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  getNullableType,
  isInputType,
  parse,
  validate,
} from 'graphql'
import { z } from 'zod'
import { QUERY } from '../../../src/service/contract/assumptions.ts'
import { OPERATIONS } from '../../../src/service/contract/operations.ts'
import { freshness } from '../../../src/service/contract/resources.ts'
import {
  acquisitionResource,
  auctionResource,
  rfqResource,
} from '../../../src/service/contract/trade-resources.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
import { authorise } from '../http/access.ts'
import { ApiError } from '../http/api-error.ts'
import type { AnyCall, Handler } from '../http/handler.ts'
import { collection, idOf, type Source } from '../reads/rows.ts'
import { checkLimits } from './graphql-limits.ts'
import { createTypes, type TypeMaker } from './graphql-types.ts'

/** Collections by the name of their field: the operation whose rows they are, and the rows' type. */
const COLLECTIONS = {
  markets: { operation: 'listMarkets', type: 'Market' },
  vaults: { operation: 'listVaults', type: 'Vault' },
  positions: { operation: 'listPositions', type: 'Position' },
  creditFacilities: { operation: 'listCreditFacilities', type: 'CreditFacility' },
  liquidationRecovery: { operation: 'listLiquidationRecovery', type: 'LiquidationRecovery' },
  funds: { operation: 'listFunds', type: 'Fund' },
  navReports: { operation: 'listNavReports', type: 'NavReport' },
  activity: { operation: 'listActivity', type: 'Activity' },
  oracles: { operation: 'listOracles', type: 'Oracle' },
  assets: { operation: 'listAssets', type: 'Asset' },
  eligibility: { operation: 'listEligibility', type: 'Eligibility' },
} as const

/** Single resources by the name of their field. */
const DETAILS = {
  market: { operation: 'getMarket', type: 'Market' },
  vault: { operation: 'getVault', type: 'Vault' },
  fund: { operation: 'getFund', type: 'Fund' },
  asset: { operation: 'getAsset', type: 'Asset' },
} as const

/** What is on offer: read nowhere else, an assumption. */
const OFFERS = {
  rfqs: { type: 'Rfq', schema: rfqResource, rows: ({ rfqs }: Snapshot) => rfqs },
  auctions: { type: 'Auction', schema: auctionResource, rows: ({ auctions }: Snapshot) => auctions },
  acquisitions: {
    type: 'Acquisition',
    schema: acquisitionResource,
    rows: ({ acquisitions }: Snapshot) => acquisitions,
  },
} as const

type ReadId =
  | (typeof COLLECTIONS)[keyof typeof COLLECTIONS]['operation']
  | (typeof DETAILS)[keyof typeof DETAILS]['operation']

/** The REST reads that the query answers from: the same rows, cursors and scoping by wallet. */
type GraphqlReads = Readonly<Record<ReadId, (call: AnyCall) => unknown>>

type Field = GraphQLFieldConfig<unknown, AnyCall>

/** A document of more tokens is not parsed; the largest that a tool sends has about 500. */
const TOKENS_MAX = 2_000
const EXECUTION_MS_MAX = 2_000

/**
 * POST /graphql over the canonical rows; only queries. A query that does not parse or validate is answered 200 with
 * `errors` and no data, as GraphQL over HTTP has it for `application/json`; one over the limits is refused with 400.
 * An error of a field carries its code under `extensions`.
 * Source: GraphQL, October 2021; GraphQL over HTTP, "application/json".
 */
export function graphqlQuery(
  source: Source,
  reads: GraphqlReads,
  onCrash: (error: unknown) => void,
): Handler<'queryGraphql'> {
  const schema = schemaOf(source, reads, onCrash)
  return async ({ body: { query, operationName, variables }, ...call }) => {
    const document = settled(() => parse(query, { maxTokens: TOKENS_MAX }))
    if (document instanceof GraphQLError) return { errors: [document] }
    checkLimits(schema, document, variables ?? {})
    const errors = validate(schema, document, undefined, { maxErrors: 10 })
    if (errors.length > 0) return { errors }
    return execute({
      schema,
      document,
      contextValue: call,
      variableValues: variables,
      operationName,
      abortSignal: AbortSignal.timeout(EXECUTION_MS_MAX),
    })
  }
}

function settled<T>(work: () => T): T | GraphQLError {
  try {
    return work()
  } catch (error) {
    if (error instanceof GraphQLError) return error
    throw error
  }
}

function schemaOf(source: Source, reads: GraphqlReads, onCrash: (error: unknown) => void): GraphQLSchema {
  const make = createTypes()
  const resolve =
    (read: (call: AnyCall, args: Readonly<Record<string, unknown>>) => unknown): Field['resolve'] =>
    async (_root, args, call) => {
      try {
        return await read(call, args)
      } catch (error) {
        throw toGraphqlError(error, onCrash)
      }
    }
  const collections = Object.entries(COLLECTIONS).map(([name, { operation, type }]): [string, Field] => [
    name,
    {
      type: pageType(make, type, OPERATIONS[operation].answer.schema),
      args: PAGE_ARGS,
      resolve: resolve((call, args) => {
        authorise(call.caller, OPERATIONS[operation])
        return reads[operation]({ ...call, params: {}, query: pageQuery(args) })
      }),
    },
  ])
  const details = Object.entries(DETAILS).map(([name, { operation, type }]): [string, Field] => [
    name,
    {
      type: make(type, OPERATIONS[operation].answer.schema),
      args: { id: { type: new GraphQLNonNull(GraphQLString) } },
      resolve: resolve((call, { id }) =>
        reads[operation]({ ...call, params: { resourceId: String(id) }, query: {} }),
      ),
    },
  ])
  const offers = Object.entries(OFFERS).map(([name, { type, schema, rows }]): [string, Field] => {
    const status = getNullableType(make(type, schema).getFields().status?.type)
    return [
      name,
      {
        type: pageType(make, type, schema),
        args: { ...PAGE_ARGS, ...(isInputType(status) ? { status: { type: status } } : {}) },
        resolve: resolve((call, args) => {
          const wanted = () =>
            rows(source.canonical.snapshot()).filter(
              (row) => args.status == null || row.status === args.status,
            )
          return collection(source, name, wanted, idOf)({ ...call, params: {}, query: pageQuery(args) })
        }),
      },
    ]
  })
  const fields = Object.fromEntries([...collections, ...details, ...offers])
  return new GraphQLSchema({ query: new GraphQLObjectType({ name: 'Query', fields }) })
}

const PAGE_ARGS = { first: { type: GraphQLInt }, after: { type: GraphQLString } }

const pageQuery = ({ first, after }: Readonly<Record<string, unknown>>): AnyCall['query'] => ({
  ...(first == null ? {} : { [QUERY.pageSize]: [String(first)] }),
  ...(after == null ? {} : { [QUERY.cursor]: [String(after)] }),
})

const pageInfo = z.object({ hasMore: z.boolean(), nextCursor: z.string().nullable() })

const pageType = (make: TypeMaker, type: string, schema: z.ZodObject) =>
  new GraphQLNonNull(
    new GraphQLObjectType({
      name: `${type}Page`,
      fields: {
        items: { type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(make(type, schema)))) },
        pageInfo: { type: new GraphQLNonNull(make('PageInfo', pageInfo)) },
        freshness: { type: new GraphQLNonNull(make('Freshness', freshness)) },
      },
    }),
  )

/** What a field's failure may show: the service's own sentence and code, and nothing of a crash. */
function toGraphqlError(error: unknown, onCrash: (error: unknown) => void): GraphQLError {
  if (error instanceof ApiError) {
    return new GraphQLError(error.shortMessage, { extensions: { code: error.apiCode } })
  }
  onCrash(error)
  return new GraphQLError('The service failed inside.', { extensions: { code: 'internal' } })
}

import {
  GraphQLBoolean,
  GraphQLEnumType,
  GraphQLError,
  GraphQLFloat,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLScalarType,
  GraphQLString,
} from 'graphql'
import { z } from 'zod'
import { fundEpoch, fundHolding } from '../../../src/service/contract/fund-resources.ts'
import {
  assetProfile,
  freshness,
  marketAllocator,
  marketHistory,
} from '../../../src/service/contract/resources.ts'
import { rfqBidResource } from '../../../src/service/contract/trade-resources.ts'
import {
  vaultAllocation,
  vaultHistory,
  vaultLiquidity,
  vaultShareMobility,
} from '../../../src/service/contract/vault-resources.ts'

/** Chain ids and times in milliseconds are over the 32 bits of `Int`. */
const long = new GraphQLScalarType<number, number>({
  name: 'Long',
  description: 'An integer of up to 53 bits.',
  coerceOutputValue: (value) => {
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value
    throw new GraphQLError('A value is not an integer of up to 53 bits.')
  },
})

const json = new GraphQLScalarType<unknown, unknown>({
  name: 'JSON',
  description: 'An object whose members the API does not name.',
  coerceOutputValue: (value) => value,
})

/** Nested objects that have a name of their own; any other is named for where it is. */
const NAMES = new Map<unknown, string>([
  [freshness, 'Freshness'],
  [assetProfile, 'AssetProfile'],
  [marketAllocator, 'MarketAllocator'],
  [marketHistory, 'MarketHistory'],
  [vaultAllocation, 'VaultAllocation'],
  [vaultLiquidity, 'VaultLiquidity'],
  [vaultShareMobility, 'VaultShareMobility'],
  [vaultHistory, 'VaultHistory'],
  [fundEpoch, 'FundEpoch'],
  [fundHolding, 'FundHolding'],
  [rfqBidResource, 'RfqBid'],
])

/** Serial resources' schemas into GraphQL types, each once. */
export type TypeMaker = (name: string, schema: z.ZodObject) => GraphQLObjectType

/**
 * Make GraphQL types of the resources' own schemas, so that the two cannot differ: fields as in the REST API, amounts
 * as strings, what may be absent or null nullable.
 */
export function createTypes(): TypeMaker {
  const made = new Map<unknown, GraphQLObjectType>()

  const objectType: TypeMaker = (name, schema) => {
    const known = made.get(schema)
    if (known !== undefined) return known
    const type = new GraphQLObjectType({
      name,
      fields: () =>
        Object.fromEntries(
          Object.entries(schema.shape).map(([field, inner]) => [
            field,
            { type: outputType(`${name}${field.charAt(0).toUpperCase()}${field.slice(1)}`, inner) },
          ]),
        ),
    })
    made.set(schema, type)
    return type
  }

  const outputType = (name: string, schema: unknown): GraphQLOutputType => {
    if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
      const inner = outputType(name, schema.unwrap())
      return inner instanceof GraphQLNonNull ? inner.ofType : inner
    }
    if (schema instanceof z.ZodPipe) return outputType(name, schema.in)
    if (schema instanceof z.ZodArray)
      return new GraphQLNonNull(new GraphQLList(outputType(name, schema.element)))
    if (schema instanceof z.ZodObject)
      return new GraphQLNonNull(objectType(NAMES.get(schema) ?? name, schema))
    return new GraphQLNonNull(leafType(name, schema))
  }
  return objectType
}

function leafType(name: string, schema: unknown) {
  if (schema instanceof z.ZodNumber) return schema.isInt ? long : GraphQLFloat
  if (schema instanceof z.ZodBoolean) return GraphQLBoolean
  if (schema instanceof z.ZodEnum) {
    const values = Object.fromEntries(schema.options.map((value) => [String(value), { value }]))
    return new GraphQLEnumType({ name, values })
  }
  return schema instanceof z.ZodRecord ? json : GraphQLString
}

import {
  type AbiFunction,
  type AbiParameter,
  type Address,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  parseAbi,
} from 'viem'
import { z } from 'zod'
import type { Call } from '../chain/nodes.ts'
import { invariant } from '../errors.ts'

/** One read, and what its answer means; null when it failed or says something else. */
export type View<T> = { readonly call: Call; readonly decode: (data: Hex | null | undefined) => T | null }

/** An unsigned integer, as a view answers it. */
export const uint = z.union([z.bigint(), z.number().int().transform(BigInt)])

/** An address, as a view answers it. */
export const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .transform((text): Address => `0x${text.slice(2).toLowerCase()}`)

/** Build reads of these functions; each has a name of its own here. Pure. */
export const createView =
  <const A extends readonly AbiFunction[]>(items: A) =>
  <T>(name: A[number]['name'], to: Address, args: readonly unknown[], schema: z.ZodType<T>): View<T> => {
    const item: AbiFunction | undefined = items.find((each) => each.name === name)
    invariant(item !== undefined, `the guard's views list ${name}`)
    const functionName: string = name
    return {
      call: { to, data: encodeFunctionData({ abi: [item], functionName, args }) },
      decode: (data) => {
        try {
          // A read that failed is no bytes at all, which no view's answer is.
          const result: unknown = decodeFunctionResult({ abi: [item], functionName, data: data ?? '0x' })
          const checked = schema.safeParse(result)
          return checked.success ? checked.data : null
        } catch {
          return null
        }
      },
    }
  }

/** The reads that frame every bundle. Source: EIP-20. */
export const TOKEN_VIEWS = parseAbi([
  'function balanceOf(address owner) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
])
const tokenView = createView(TOKEN_VIEWS)

/** Read a balance, base units. */
export const balanceView = (token: Address, owner: Address): View<bigint> =>
  tokenView('balanceOf', token, [owner], uint)

/** Read what a spender may take, base units. */
export const allowanceView = (token: Address, owner: Address, spender: Address): View<bigint> =>
  tokenView('allowance', token, [owner, spender], uint)

/** Write a view by its name and types alone; a policy must list each that its role is judged by. Pure. */
export const viewShape = ({ name, inputs, stateMutability, outputs }: AbiFunction): string =>
  `${name}(${typesOf(inputs)}) ${stateMutability} returns (${typesOf(outputs)})`

const typesOf = (parameters: readonly AbiParameter[]): string => parameters.map(typeOf).join(',')
const typeOf = (parameter: AbiParameter): string =>
  'components' in parameter
    ? `(${typesOf(parameter.components)})${parameter.type.slice('tuple'.length)}`
    : parameter.type

/** Reads that go to a node together. */
export type Reads = {
  /** Add a read; the returned function gives its answer once `fill` was called, null when it failed. */
  readonly ask: <T>(view: View<T>) => () => T | null
  readonly calls: readonly Call[]
  readonly fill: (answers: readonly (Hex | null)[]) => void
}

/** Create an empty set of reads. */
export function createReads(): Reads {
  const calls: Call[] = []
  let answers: readonly (Hex | null)[] = []
  return {
    ask: (view) => {
      const index = calls.push(view.call) - 1
      return () => view.decode(answers[index])
    },
    calls,
    fill: (given) => {
      answers = given
    },
  }
}

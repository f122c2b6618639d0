import {
  type AbiFunction,
  type AbiParameter,
  type Address,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  parseAbi,
  toFunctionSelector,
} from 'viem'
import { z } from 'zod'
import type { Call } from '../../chain/nodes.ts'
import { invariant } from '../../errors.ts'

/** One read, and what its answer means; null when it failed or says something else. */
export type View<T> = {
  readonly call: Call
  readonly decode: (data: Hex | null | undefined) => T | null
  /** The same without its encoding: for a deployment that is asked otherwise. */
  readonly asked: {
    readonly name: string
    readonly to: Address
    readonly args: Readonly<Record<string, unknown>>
    /** Read an answer that was decoded; null when it says something else. */
    readonly parse: (answer: unknown) => T | null
  }
}

/** An unsigned integer, as a view answers it. */
export const uint = z.union([z.bigint(), z.number().int().transform(BigInt)])

/** An address, as a view answers it. */
export const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .transform((text): Address => `0x${text.slice(2).toLowerCase()}`)

/** Hashed once: of a read that is asked at each look nothing else costs as much. */
const selectors = new WeakMap<AbiFunction, Hex>()

function selectorOf(item: AbiFunction): Hex {
  const selector = selectors.get(item) ?? toFunctionSelector(item)
  selectors.set(item, selector)
  return selector
}

/** Build reads of these functions; each has a name of its own here. Pure. */
export const createView =
  <const A extends readonly AbiFunction[]>(items: A) =>
  <T>(name: A[number]['name'], to: Address, args: readonly unknown[], schema: z.ZodType<T>): View<T> => {
    const item: AbiFunction | undefined = items.find((each) => each.name === name)
    invariant(item !== undefined, `the guard's views list ${name}`)
    const functionName: string = name
    const parse = (answer: unknown): T | null => {
      const checked = schema.safeParse(answer)
      return checked.success ? checked.data : null
    }
    const named = item.inputs.map((input, index) => [input.name ?? '', args[index]] as const)
    return {
      asked: { name, to, args: Object.fromEntries(named), parse },
      call: { to, data: encodeFunctionData({ abi: [item], functionName: selectorOf(item), args }) },
      decode: (data) => {
        try {
          // A read that failed is no bytes at all, which no view's answer is.
          return parse(decodeFunctionResult({ abi: [item], functionName, data: data ?? '0x' }))
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
      const { to, data } = view.call
      const known = calls.findIndex((call) => call.to === to && call.data === data)
      const index = known < 0 ? calls.push(view.call) - 1 : known
      return () => view.decode(answers[index])
    },
    calls,
    fill: (given) => {
      answers = given
    },
  }
}

import {
  type AbiFunction,
  type Address,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  parseAbi,
  toFunctionSignature,
} from 'viem'
import { z } from 'zod'
import type { Call } from '../chain/nodes.ts'
import { invariant } from '../errors.ts'
import type { Ruleset } from './ruleset.ts'

/** The reads that the guard's own judgement needs; a policy must list each with these types. */
export const VIEWS_NEEDED = parseAbi([
  'function balanceOf(address owner) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
  'function read() view returns (uint256 priceWad, uint64 sourceAsOf, uint64 updatedAt, uint8 state)',
  'function healthFactorWad(address borrower) view returns (uint256)',
  'function debtOf(address vault, address borrower) view returns (uint256)',
  'function collateralOf(address borrower) view returns (uint256)',
  'function closeFactorBps() view returns (uint16)',
  'function liquidationBonusBps() view returns (uint16)',
  'function paused() view returns (bool)',
  'function claim(uint256 claimId) view returns (address liquidator, address recipient, address vault, address borrower, uint256 collateralAssets, uint64 settleableAt, bool settled)',
])
type ViewName = (typeof VIEWS_NEEDED)[number]['name']

/** Write a view by its name and types alone. Pure. */
export const viewShape = (item: AbiFunction): string =>
  `${toFunctionSignature(item)} ${item.stateMutability} returns (${item.outputs.map(({ type }) => type).join(',')})`

/** One read, and what its answer means; null when it failed or says something else. */
type View<T> = { readonly call: Call; readonly decode: (data: Hex | null | undefined) => T | null }

const uint = z.union([z.bigint(), z.number().int().transform(BigInt)])

/** Build a read from the policy's own signature. */
function view<T>(
  ruleset: Pick<Ruleset, 'views'>,
  name: ViewName,
  to: Address,
  args: readonly (Address | bigint)[],
  schema: z.ZodType<T>,
): View<T> {
  const item = ruleset.views.get(name)
  invariant(item !== undefined, `a compiled ruleset lists the view ${name}`)
  return {
    call: { to, data: encodeFunctionData({ abi: [item], functionName: name, args }) },
    decode: (data) => {
      try {
        // A read that failed is no bytes at all, which no view's answer is.
        const result: unknown = decodeFunctionResult({ abi: [item], functionName: name, data: data ?? '0x' })
        const checked = schema.safeParse(result)
        return checked.success ? checked.data : null
      } catch {
        return null
      }
    },
  }
}

type Views = Pick<Ruleset, 'views'>

/** Read a balance, base units. */
export const balanceView = (views: Views, token: Address, owner: Address): View<bigint> =>
  view(views, 'balanceOf', token, [owner], uint)

/** Read what a spender may take, base units. */
export const allowanceView = (views: Views, token: Address, owner: Address, spender: Address): View<bigint> =>
  view(views, 'allowance', token, [owner, spender], uint)

/** A price by an oracle: whole loan tokens for one whole collateral token as a wad; `state` 1 is healthy. */
type PriceRead = { readonly priceWad: bigint; readonly sourceAsOfS: bigint; readonly state: bigint }

/** Read an oracle. */
export const oracleView = (views: Views, oracle: Address): View<PriceRead> =>
  view(
    views,
    'read',
    oracle,
    [],
    z
      .tuple([uint, uint, uint, uint])
      .transform(([priceWad, sourceAsOfS, , state]) => ({ priceWad, sourceAsOfS, state })),
  )

/** Read a borrower's health factor as a wad. */
export const healthView = (views: Views, market: Address, borrower: Address): View<bigint> =>
  view(views, 'healthFactorWad', market, [borrower], uint)

/** Read a borrower's debt to one vault, base units of the loan asset. */
export const debtView = (views: Views, market: Address, vault: Address, borrower: Address): View<bigint> =>
  view(views, 'debtOf', market, [vault, borrower], uint)

/** Read a borrower's collateral, base units. */
export const collateralView = (views: Views, market: Address, borrower: Address): View<bigint> =>
  view(views, 'collateralOf', market, [borrower], uint)

/** Read the part of a debt that one liquidation may repay, basis points. */
export const closeFactorView = (views: Views, market: Address): View<bigint> =>
  view(views, 'closeFactorBps', market, [], uint)

/** Read a liquidation's bonus, basis points. */
export const bonusView = (views: Views, market: Address): View<bigint> =>
  view(views, 'liquidationBonusBps', market, [], uint)

/** Read whether a market is paused. */
export const pausedView = (views: Views, market: Address): View<boolean> =>
  view(views, 'paused', market, [], z.boolean())

/** A liquidation claim: who may settle it, into whose hands, from which chain second. */
type ClaimRead = {
  readonly liquidator: Address
  readonly recipient: Address
  readonly collateralAssets: bigint
  readonly settleableAtS: bigint
  readonly settled: boolean
}

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

const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .transform((text): Address => `0x${text.slice(2).toLowerCase()}`)

/** Read a claim. */
export const claimView = (views: Views, market: Address, claimId: bigint): View<ClaimRead> =>
  view(
    views,
    'claim',
    market,
    [claimId],
    z
      .tuple([address, address, address, address, uint, uint, z.boolean()])
      .transform(([liquidator, recipient, , , collateralAssets, settleableAtS, settled]) => ({
        liquidator,
        recipient,
        collateralAssets,
        settleableAtS,
        settled,
      })),
  )

import { type Abi, type Address, encodeFunctionData, erc20Abi, type Hex } from 'viem'
import type { TransactionIntent } from '../../../src/service/contract/prepared-workflow.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { LOAN, MARKET, NOW_MS, OTHER_MARKET } from '../../guard/fixtures.ts'
import type { Expected } from '../../guard/kind.ts'
import type { Dice } from '../judgement/dice.ts'
import { pickFrom, whole } from './dice.ts'

/** When everything here happens, Unix seconds. */
export const NOW_S = NOW_MS / 1_000

/** What a valid workflow asks for, and the calls that are then due: target null creates. */
export type Valid = {
  readonly input: Proposal['input']
  readonly calls: readonly { readonly target: Address | null | undefined; readonly calldata: Hex }[]
  /** What the service expects to see of it, where its type alone does not say. */
  readonly expected?: readonly Expected[]
  /** What is signed inside of its call. */
  readonly signed?: { readonly signing: NonNullable<TransactionIntent['signing']>; readonly digest: Hex }
}

/** One call of an honest service. */
export const call = (
  target: Address | undefined,
  abi: Abi,
  functionName: string,
  args: readonly unknown[],
) => ({
  target,
  calldata: encodeFunctionData({ abi, functionName, args }),
})
/** The approval before a payment in sUSD. */
export const approve = (spender: Address | undefined, assets: bigint) =>
  call(LOAN, erc20Abi, 'approve', [spender, assets])

/** Any address. */
export const anybody = (dice: Dice): Address =>
  `0x${Array.from({ length: 40 }, () => pickFrom(dice, [...'0123456789abcdef'])).join('')}`
/** Up to $50,000, which every policy of ours allows in one workflow. */
export const dollars = (dice: Dice): bigint =>
  BigInt(1 + whole(dice, 50_000)) * 1_000_000n - BigInt(whole(dice, 1_000_000))
/** Any number that names something. */
export const id = (dice: Dice): bigint =>
  pickFrom(dice, [0n, 1n, 7n, BigInt(whole(dice, 2 ** 31)), 2n ** 64n, 2n ** 256n - 1n])
/** Any part of a whole. */
export const bps = (dice: Dice): number => pickFrom(dice, [0, 1, 9_999, 10_000, whole(dice, 10_001)])
/** Any text that a name may be. */
export const words = (dice: Dice): string =>
  pickFrom(dice, [
    'Recovery Two',
    'x',
    'Ünïcode 名',
    'a \'quoted\' "name"',
    'n'.repeat(64),
    'with\\backslash',
  ])
/** Any symbol. */
export const symbol = (dice: Dice): string => pickFrom(dice, ['R', 'REC2', 'abcdefghijkl1234'])
/** Any length of time. */
export const seconds = (dice: Dice): bigint =>
  BigInt(pickFrom(dice, [0, 1, 86_400, 604_800, whole(dice, 2 ** 31)]))
/** A moment after now, Unix seconds. */
export const later = (dice: Dice): bigint => BigInt(NOW_S + 1 + whole(dice, 1_000_000))
/** One of the pinned markets. */
export const market = (dice: Dice): Address => pickFrom(dice, [MARKET, OTHER_MARKET])
/** Assets to one of the markets, or from it. */
export const move = (dice: Dice) => ({ market: market(dice), assets: dollars(dice) })
/** The same as an input writes it. */
export const asInput = ({ market: marketAddress, assets }: ReturnType<typeof move>) => ({
  marketAddress,
  assets: String(assets),
})

/** A figure of the service's own that grew. */
export const least = (value: unknown) => ({ op: 'gte', value: String(value) })
/** A name of an entity. */
export const joined = (...ids: readonly unknown[]): string =>
  ids.map((each) => String(each).toLowerCase()).join(':')

import { type Address, encodeFunctionData } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { LiquidationRecoveryResource } from '../../src/service/contract/resources.ts'
import type { SandboxKeys } from '../cast/keys.ts'
import type { Call, Transactions } from '../chain/transactions.ts'
import { lendingMarketAbi } from '../contracts/abis.ts'
import type { Canonical, Snapshot } from '../indexer/canonical.ts'
import { lower } from '../indexer/logs.ts'
import { roll } from './story.ts'

/** What a rival liquidator works with. */
type RivalOptions = {
  readonly canonical: Pick<Canonical, 'onSnapshot'>
  readonly keys: Pick<SandboxKeys, 'rivalLiquidator' | 'borrowers'>
  readonly transactions: Pick<Transactions, 'send'>
  readonly seed: number
  /** Of the times that a borrower of the story goes under water, how many it goes for. */
  readonly share: number
  /** It rests while the weather does. */
  readonly isPaused: () => boolean
  /** Gets why nothing could be sent, such as a node that does not answer. */
  readonly onTrouble: (cause: unknown) => void
}

/** The rival takes nothing that would pay less than this: dust is left alone. In base units of the loan asset. */
const REPAY_ASSETS_MIN = 50_000_000n
/** It offers up to this much for its place in a block; the keeper's policy offers 1 gwei. */
const TIP_WEI_MAX = 2_000_000_000
/** A transaction that is not in a block after so many seconds is not waited for. */
const FORGET_S = 10

/** Under water from one health factor above 1 to the next: what the rival does about it is decided once. */
type Spell = { readonly goes: boolean; readonly tip: number }

/**
 * Start the rival liquidator: as soon as a block is indexed it goes for a share of the story's borrowers that are
 * under water, for a tip of its own, and settles its claims. Which it goes for follows from the seed, the borrower
 * and how often that one was under water before. A position of anybody else it leaves alone, so that a program that
 * tries the service out has its own to itself.
 */
export function startRivalLiquidator(options: RivalOptions): { readonly stop: () => Promise<void> } {
  const { canonical, keys, transactions, seed, share, isPaused, onTrouble } = options
  const self = lower(privateKeyToAddress(keys.rivalLiquidator))
  const seats = new Map(keys.borrowers.map((key, seat) => [lower(privateKeyToAddress(key)), seat]))
  const spells = createSpells((what, seat, number) => roll(seed, 'rival', what, seat, number), share)
  const tried = new Map<string, number>()
  let sending: Promise<unknown> = Promise.resolve()

  const once = (key: string, nowS: number): boolean => {
    if (tried.has(key)) return false
    tried.set(key, nowS)
    return true
  }
  const call = (to: Address, data: Call['data'], tip: number): Call => ({
    from: keys.rivalLiquidator,
    to,
    data,
    priorityFeePerGasWei: BigInt(Math.round(TIP_WEI_MAX * tip)),
  })

  const look = ({ block, recoveries, claims }: Snapshot) => {
    if (isPaused()) return
    const nowS = block.timestampS
    for (const [key, triedS] of tried) if (nowS - triedS > FORGET_S) tried.delete(key)
    spells.follow(recoveries.map(nameOf))
    const liquidations = recoveries.flatMap((row): readonly Call[] => {
      const { marketAddress, vaultAddress, borrowerAddress } = row
      const seat = seats.get(borrowerAddress)
      const repayAssets = BigInt(row.repayAssets ?? 0)
      if (seat === undefined) return []
      const { goes, tip } = spells.of(nameOf(row), seat)
      if (!goes || row.executable !== true || repayAssets < REPAY_ASSETS_MIN) return []
      if (!once(nameOf(row), nowS)) return []
      const args = [vaultAddress, borrowerAddress, repayAssets, 1n, self, BigInt(nowS + FORGET_S)] as const
      const data = encodeFunctionData({ abi: lendingMarketAbi, functionName: 'liquidate', args })
      return [call(marketAddress, data, tip)]
    })
    const settlements = claims.flatMap((claim): readonly Call[] => {
      const { marketAddress, claimId } = claim
      if (claim.settled || claim.liquidator !== self || claim.settleableAtS > nowS) return []
      if (!once(`${marketAddress}:${claimId}`, nowS)) return []
      const args = [BigInt(claimId)] as const
      const data = encodeFunctionData({ abi: lendingMarketAbi, functionName: 'settleLiquidationClaim', args })
      return [call(marketAddress, data, 0)]
    })
    const calls = [...liquidations, ...settlements]
    if (calls.length > 0) sending = transactions.send(calls).catch(onTrouble)
  }
  const unsubscribe = canonical.onSnapshot(look)
  return {
    stop: async () => {
      unsubscribe()
      await sending
    },
  }
}

const nameOf = (row: LiquidationRecoveryResource) =>
  `${row.marketAddress}:${row.vaultAddress}:${row.borrowerAddress}`

type Chance = (what: 'goes' | 'tip', seat: number, number: number) => number

/** Remember which debts are under water, and what was decided when they went there. */
function createSpells(chance: Chance, share: number) {
  const current = new Map<string, Spell>()
  const counts = new Map<string, number>()
  return {
    /** Forget what is under water no more: the next time is decided anew. */
    follow: (names: readonly string[]) => {
      for (const name of current.keys()) if (!names.includes(name)) current.delete(name)
    },
    of: (name: string, seat: number): Spell => {
      const known = current.get(name)
      if (known !== undefined) return known
      const number = counts.get(name) ?? 0
      counts.set(name, number + 1)
      const spell = { goes: chance('goes', seat, number) < share, tip: chance('tip', seat, number) }
      current.set(name, spell)
      return spell
    },
  }
}

import type { Address } from 'viem'
import type { z } from 'zod'
import { type Refusal, refuse } from '../../../errors.ts'
import { bps, seconds } from '../../../service/contract/yaml-scalars.ts'
import { askBadDebt } from '../bad-debt.ts'
import { type JudgedCase, unread } from '../judgement.ts'
import { isHealthy, priceView } from '../price.ts'
import { allocatedView } from './views.ts'

/** Members of the asset manager's `guard.sanity` that its pauses keep. */
export const pauseLimits = {
  /** Longest pause of a vault's shares. */
  pauseSecondsMax: seconds(1, 2_592_000).transform(BigInt),
  /** Bad debt of a market that the vault lends to, of what is supplied there: up to this nothing is paused for it. */
  badDebtBpsMax: bps().transform(BigInt),
}
type PauseLimits = Readonly<z.output<z.ZodObject<typeof pauseLimits>>>

/**
 * Ask the pinned markets whether one that a vault lends to is in trouble: its bad debt is past the limit, or its oracle
 * does not vouch for its price. The answer is null where one could not be read.
 */
export function askTrouble({ badDebtBpsMax }: PauseLimits, { subject, before }: JudgedCase, vault: Address) {
  const asked = subject.deployment.markets.map(({ address, oracle }) => ({
    allocated: before.ask(allocatedView(address, vault)),
    isBadDebt: askBadDebt(before, address, badDebtBpsMax),
    price: before.ask(priceView(oracle)),
  }))
  const isInTrouble = (market: (typeof asked)[number]): boolean | null => {
    const [allocated, isBadDebt] = [market.allocated(), market.isBadDebt()]
    if (allocated === null || isBadDebt === null) return null
    if (allocated === 0n) return false
    if (isBadDebt) return true
    const price = market.price()
    return price === null ? null : !isHealthy(price)
  }
  return (): boolean | null => {
    const found = asked.map(isInTrouble)
    return found.includes(true) ? true : found.includes(null) ? null : false
  }
}

/**
 * Demand that the chain shows what a pause is for, and that it is gone before we end one. What a person orders is a
 * person's to know. Pure.
 */
export function checkTrouble(
  trouble: () => boolean | null,
  { input }: JudgedCase['subject'],
  { kind }: JudgedCase['proposal'],
): Refusal | null {
  if (kind === 'order' || (input.action !== 'pause' && input.action !== 'restore')) return null
  const found = trouble()
  if (found === null) return unread('the markets of the vault')
  if (input.action === 'restore') {
    return found ? refuse('trouble_stands', 'A market that the vault lends to is in trouble on chain.') : null
  }
  return found
    ? null
    : refuse(
        'no_trouble',
        'No market that the vault lends to is in trouble on chain: nothing is paused for it.',
      )
}

import type { Address } from 'viem'
import { type Checked, type Refusal, refuse } from '../../errors.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import { amountText } from '../../units.ts'
import type { Brief } from '../../workflow/brief.ts'
import type { Holding } from '../../workflow/holding.ts'

/** What one key has of a sum. */
type Part = Holding['byKey'][number]

/** An answer about one key. */
type KeyAnswer<Answer> = { readonly signer: Address; readonly answer: Answer }

/** Every answer of the chain, beside what it was asked of; null where one is missing. */
export function readAll<Asked extends object, Answer>(
  asked: readonly (Asked & { readonly read: () => Answer | null })[],
): readonly (Asked & { readonly answer: Answer })[] | null {
  const known: (Asked & { readonly answer: Answer })[] = []
  for (const each of asked) {
    const answer = each.read()
    if (answer === null) return null
    known.push({ ...each, answer })
  }
  return known
}

/** What of each answer counts. Pure. */
export const partsOf = <Answer>(
  known: readonly KeyAnswer<Answer>[],
  count: (answer: Answer) => bigint,
): readonly Part[] => known.map(({ signer, answer }) => ({ signer, assets: count(answer) }))

/** Add up by key what a limit counts. Pure. */
export const holdingOf = (
  limit: Omit<Holding, 'byKey'>,
  keys: readonly Address[],
  parts: readonly Part[],
): Holding => ({
  ...limit,
  byKey: keys.map((signer) => ({
    signer,
    assets: parts.reduce((sum, part) => (part.signer === signer ? sum + part.assets : sum), 0n),
  })),
})

/** Judge sums by what the chain shows of them alone, and say what they are. */
export const judgeHoldings = (
  count: () => Checked<{ readonly holdings: readonly Holding[] }>,
  deployment: Deployment,
) => ({
  check: (): Refusal | null => {
    const counted = count()
    return counted.ok ? checkHoldings(counted.holdings, [], deployment) : counted
  },
  holdings: (): readonly Holding[] => {
    const counted = count()
    return counted.ok ? counted.holdings : []
  },
})

/**
 * Refuse a sum above its limit. What another key has under way counts as what it has there once that landed: the chain may
 * not show it yet. Pure.
 */
export function checkHoldings(
  holdings: readonly Holding[],
  underWay: readonly Pick<Brief, 'signer' | 'holdings'>[],
  deployment: Deployment,
): Refusal | null {
  for (const { check, of, token, assetsMax, byKey } of holdings) {
    const claimed = underWay.flatMap((each) => {
      const same = each.holdings?.find((other) => other.of === of && other.token === token)
      return same?.byKey.filter(({ signer }) => signer === each.signer.toLowerCase()) ?? []
    })
    const assets = byKey.reduce((sum, key) => sum + mostOf(key, claimed), 0n)
    if (assets <= assetsMax) continue
    return refuse(
      check,
      `With this ${amountText(assets, token, deployment)} would be ${of}, as the chain counts it of every key that shares this policy; the policy allows ${amountText(assetsMax, token, deployment)}.`,
    )
  }
  return null
}

const mostOf = (key: Holding['byKey'][number], claimed: Holding['byKey']): bigint =>
  claimed.reduce(
    (most, { signer, assets }) => (signer === key.signer && assets > most ? assets : most),
    key.assets,
  )

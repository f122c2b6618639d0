import { type Denomination, exactTokens, exactUsd } from '../../units.ts'
import type { Limits } from './policy.ts'
import { policyError } from './policy-error.ts'

/** The most that one workflow sends to somebody who is named at a place of `guard.sanity`, and who keeps it if they lie. */
export type SentAtOnce = {
  /** `exits.sBTC/sUSD.saleMax` */
  readonly place: string
  readonly symbol: string
  /** Base units. */
  readonly assets: bigint
}

/**
 * Refuse a policy under which those who lie would keep more, before anybody knows, than an hour may lose: each of them once
 * from each key. Throws RolekeeperError `policy.guard_invalid`. Pure.
 * @param keys how many live keys share the policy.
 */
export function checkSentAtOnce(
  sent: readonly SentAtOnce[],
  { loss, pricesUsdMicros }: Pick<Limits, 'loss' | 'pricesUsdMicros'>,
  assets: readonly Denomination[],
  keys: number,
): void {
  if (sent.length === 0) return
  const each = sent.map(({ place, symbol, assets: amount }) => {
    const asset = assets.find((one) => one.symbol === symbol)
    const price = pricesUsdMicros[symbol]
    if (asset === undefined || price === undefined) {
      throw policyError(
        `guard.sanity.${place}`,
        `limits.prices has no ${symbol}, so nobody can say what a sale may lose.`,
        `write there what one whole ${symbol} is worth.`,
      )
    }
    const usdMicros = (amount * price) / 10n ** BigInt(asset.decimals)
    return { usdMicros, said: `${place} is ${exactTokens(amount, asset)}, ${exactUsd(usdMicros)}` }
  })
  if (loss === undefined) {
    throw policyError(
      'guard.sanity.exits',
      'limits.loss is missing, and what a venue keeps that lies counts in it.',
      'write limits.loss with perHour and perDay.',
    )
  }
  const sum = BigInt(keys) * each.reduce((total, { usdMicros }) => total + usdMicros, 0n)
  const limit = loss.perHourUsdMicros
  if (sum <= limit) return
  throw policyError(
    'guard.sanity.exits',
    `venues that lie would keep ${exactUsd(sum)} at once${keys === 1 ? '' : ` from ${keys} keys`}, and limits.loss.perHour is ${exactUsd(limit)}: ${each.map(({ said }) => said).join('; ')}.`,
    'lower saleMax, in strategy.exits too, or raise limits.loss.perHour to what you can lose.',
  )
}

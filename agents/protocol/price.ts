import type { Address } from 'viem'
import { span } from '../../src/readable.js'
import { ORACLE_HEALTHY, oracleViews } from './lending-views.ts'
import type { Wave } from './reading.ts'
import { priceText } from './text.ts'

/** A price as a source says it: whole loan tokens for one whole collateral token × 10^18, and the source's own time. */
export type PriceRead = {
  readonly priceWad: bigint
  readonly sourceAsOfS: number
  /** The feeder's word; {@link ORACLE_HEALTHY} or not. */
  readonly state: number
}

/** How a price that was asked for is found among the answers; null when the read failed. */
type AskedPrice = (answers: Parameters<ReturnType<Wave['ask']>>[0]) => PriceRead | null

/** Ask a source for its price. */
export function askPrice(wave: Wave, source: Address): AskedPrice {
  const read = wave.ask(oracleViews, source, 'read', [])
  return (answers) => {
    const [priceWad, sourceAsOf, , state] = read(answers) ?? []
    return priceWad === undefined || sourceAsOf === undefined || state === undefined
      ? null
      : { priceWad, sourceAsOfS: Number(sourceAsOf), state }
  }
}

/**
 * Ask the second source of a market's price; null also where the policy names none that is pinned, or the market's own
 * oracle: the same contract twice is one source.
 * @param name of a contract of the deployment.
 */
export function askSecondPrice(
  wave: Wave,
  oracle: Address,
  name: string | undefined,
  { contracts }: { readonly contracts: readonly { readonly name: string; readonly address: Address }[] },
): AskedPrice {
  const second = contracts.find((contract) => contract.name === name)?.address
  return second === undefined || second === oracle ? () => null : askPrice(wave, second)
}

/** What keeps a price from being acted on; null when nothing does. Pure. */
export function priceStop(
  read: PriceRead | null,
  name: string,
  { chain }: { readonly chain: { readonly timestampS: number } },
  { priceAgeSMax }: { readonly priceAgeSMax: number },
): {
  readonly check: string
  readonly message: string
  readonly reason?: { readonly priceAgeS: number }
} | null {
  if (read === null) {
    const message = `Our read of the ${name} failed, or the policy's assets name none that is pinned.`
    return { check: 'price_unknown', message }
  }
  if (read.state !== ORACLE_HEALTHY || read.priceWad <= 0n) {
    const message = `The ${name} reads state ${read.state}, price ${priceText(read.priceWad)}; state ${ORACLE_HEALTHY} and a price are needed.`
    return { check: 'oracle_not_healthy', message }
  }
  // Read beside the head, a price may be a block newer than it; one that lies further ahead is as wrong as an old one.
  const ageS = Math.abs(chain.timestampS - read.sourceAsOfS)
  if (ageS <= priceAgeSMax) return null
  const message = `The ${name} is ${span(ageS * 1_000)} from the head's time; the policy allows ${span(priceAgeSMax * 1_000)}.`
  return { check: 'price_too_old', message, reason: { priceAgeS: ageS } }
}

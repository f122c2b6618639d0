import type { NativePrice } from '../../service/contract/native-price.ts'
import type { JudgedCase } from './judgement.ts'
import { isHealthy, priceView } from './price.ts'
import { WAD } from './units.ts'

const USD_MICROS = 1_000_000n

/**
 * Ask what one whole native coin is worth, millionths of a US dollar at a block's time. What is not read, too old, or not
 * within the policy's bounds counts as the dearest that it believes: gas is never taken for cheaper than it is.
 */
export function askNativePrice(
  nativePrice: NativePrice,
  { subject: { deployment }, before }: JudgedCase,
): (timestampS: number) => bigint {
  if (typeof nativePrice === 'bigint') return () => nativePrice
  const { contract, ageSMax, priceUsdMicrosMin, priceUsdMicrosMax } = nativePrice
  const pinned = deployment.contracts.find(({ name }) => name === contract)
  const read = pinned === undefined ? null : before.ask(priceView(pinned.address))
  return (timestampS) => {
    const price = read?.() ?? null
    if (price === null || !isHealthy(price)) return priceUsdMicrosMax
    const ageS = BigInt(timestampS) - price.sourceAsOfS
    const usdMicros = (price.priceWad * USD_MICROS) / WAD
    const isBelieved =
      ageS >= 0n &&
      ageS <= BigInt(ageSMax) &&
      usdMicros >= priceUsdMicrosMin &&
      usdMicros <= priceUsdMicrosMax
    return isBelieved ? usdMicros : priceUsdMicrosMax
  }
}

import { type Address, decodeEventLog, encodeEventTopics, type Hex, parseAbi } from 'viem'
import type { MinedLog, Receipt } from '../../chain/nodes.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import { amountText } from '../../units.ts'
import type { TokenChange } from '../../workflow/slot.ts'

/** Assumed: what a market logs when it opens a liquidation claim. For our accounts and tips only; the guard reads no logs. */
const LIQUIDATED = parseAbi([
  'event Liquidated(uint256 indexed claimId, address indexed vault, address indexed borrower, address who, address recipient, uint256 repayAssets, uint256 collateralSeized, uint256 badDebtAssets)',
])
export const [LIQUIDATED_TOPIC] = encodeEventTopics({ abi: LIQUIDATED, eventName: 'Liquidated' })

/** The number of the claim that our liquidation opened, or null when the receipt holds none. Pure. */
export function openedClaim({ logs }: Pick<Receipt, 'logs'>): bigint | null {
  const log = logs.find(({ topics }) => topics[0] === LIQUIDATED_TOPIC)
  const claimId = log?.topics[1]
  return claimId === undefined ? null : BigInt(claimId)
}

/** Who liquidated whom, by a log under {@link LIQUIDATED_TOPIC}; addresses in lower case, `repayAssets` in base units. Pure. */
export function liquidationOf({ topics, data }: Pick<MinedLog, 'topics' | 'data'>) {
  const event = { abi: LIQUIDATED, eventName: 'Liquidated' } as const
  const { args } = decodeEventLog({ ...event, topics: topics as [Hex, ...Hex[]], data })
  const lower = (address: Address) => address.toLowerCase() as Address
  return { who: lower(args.who), borrower: lower(args.borrower), repayAssets: args.repayAssets }
}

/**
 * Compare what happened with what simulation predicted: nothing may leave that was not predicted, or more of it, and
 * nothing that was to come in may be missing, but a hundredth: prices move on the way to a block. Less out and more in are
 * fine. Pure.
 * @param insisted what the calls insist on, where they say so: others decide how much more comes, and nobody pays less.
 * @returns one sentence for each difference; empty when it went as predicted.
 */
export function differences(
  predicted: readonly TokenChange[],
  real: readonly TokenChange[],
  deployment: Pick<Deployment, 'assets'>,
  insisted?: bigint,
): readonly string[] {
  const realOf = new Map(real.map((change) => [change.token.toLowerCase(), change.assets]))
  const predictedOf = new Map(predicted.map((change) => [change.token.toLowerCase(), change.assets]))
  const tokens = new Set([...realOf.keys(), ...predictedOf.keys()])
  return [...tokens].flatMap((token) => {
    const is = realOf.get(token) ?? 0n
    const was = predictedOf.get(token) ?? 0n
    const say = (assets: bigint) => amountText(assets, token, deployment)
    if (was > 0n && insisted !== undefined)
      return is < insisted
        ? [
            `our balance changed by ${say(is)}; the calls insist on ${say(insisted)}, and the simulation paid it`,
          ]
        : []
    const least = was > 0n ? (was * 99n) / 100n : was
    return is < least ? [`our balance changed by ${say(is)}; the simulation predicted ${say(was)}`] : []
  })
}

import { type Address, decodeEventLog, encodeEventTopics, getAddress, type Hex, parseAbi, size } from 'viem'
import type { Receipt } from '../../chain/nodes.ts'
import type { TokenChange } from '../../workflow/slot.ts'

/** Source: ERC-20. */
const TRANSFER = parseAbi(['event Transfer(address indexed from, address indexed to, uint256 value)'])
/** keccak-256 of `Transfer(address,address,uint256)`. */
const TRANSFER_TOPIC: Hex = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** Add up changes by token; tokens that net to zero are left out. Pure. */
export function sumChanges(changes: readonly TokenChange[]): readonly TokenChange[] {
  const sums = new Map<Address, bigint>()
  for (const { token, assets } of changes) sums.set(token, (sums.get(token) ?? 0n) + assets)
  return [...sums].filter(([, assets]) => assets !== 0n).map(([token, assets]) => ({ token, assets }))
}

/** Sum what a receipt's logs say moved to and from an account, by token; tokens that net to zero are left out. Pure. */
export function tokenChanges(account: Address, { logs }: Pick<Receipt, 'logs'>): readonly TokenChange[] {
  const own = getAddress(account)
  return sumChanges(
    logs.flatMap((log) => {
      // Four topics would be an ERC-721 transfer: its third argument is an id, not an amount.
      if (log.topics[0] !== TRANSFER_TOPIC || log.topics.length !== 3 || size(log.data) !== 32) return []
      const { args } = decodeEventLog({
        abi: TRANSFER,
        topics: [TRANSFER_TOPIC, ...log.topics.slice(1)],
        data: log.data,
      })
      const assets = (args.to === own ? args.value : 0n) - (args.from === own ? args.value : 0n)
      return [{ token: log.address, assets }]
    }),
  )
}

/** Assumed: what a market logs when it opens a liquidation claim. For our accounts only; the guard reads no logs. */
const LIQUIDATED = parseAbi([
  'event Liquidated(uint256 indexed claimId, address indexed vault, address indexed borrower, address liquidator, address recipient, uint256 repayAssets, uint256 collateralSeized, uint256 badDebtAssets)',
])
const [LIQUIDATED_TOPIC] = encodeEventTopics({ abi: LIQUIDATED, eventName: 'Liquidated' })

/** The number of the claim that our liquidation opened, or null when the receipt holds none. Pure. */
export function openedClaim({ logs }: Pick<Receipt, 'logs'>): bigint | null {
  const log = logs.find(({ topics }) => topics[0] === LIQUIDATED_TOPIC)
  const claimId = log?.topics[1]
  return claimId === undefined ? null : BigInt(claimId)
}

/**
 * Compare what happened with what simulation predicted: nothing may leave that was not predicted, or more of it, and
 * nothing that was to come in may be missing. Less out and more in are fine. Pure.
 * @returns one sentence for each difference; empty when it went as predicted.
 */
export function differences(
  predicted: readonly TokenChange[],
  real: readonly TokenChange[],
): readonly string[] {
  const realOf = new Map(real.map((change) => [change.token.toLowerCase(), change.assets]))
  const predictedOf = new Map(predicted.map((change) => [change.token.toLowerCase(), change.assets]))
  const tokens = new Set([...realOf.keys(), ...predictedOf.keys()])
  return [...tokens].flatMap((token) => {
    const is = realOf.get(token) ?? 0n
    const was = predictedOf.get(token) ?? 0n
    return is < was ? [`token ${token} changed by ${is} base units; the simulation predicted ${was}`] : []
  })
}

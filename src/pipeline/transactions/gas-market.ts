import type { Address } from 'viem'
import type { Nodes } from '../../chain/nodes.ts'
import { NOOP_GAS } from './reservation.ts'

/** What gas costs besides the base fee, as nodes say it. */
export type GasMarket = {
  /** What others tip of late, wei for one unit of gas; null while no node says. */
  readonly tipWei: () => bigint | null
  /** What a no-op of a signer needs: 21,000, or more on chains that charge more. */
  readonly noopGas: (signer: Address) => bigint
}

/** Tips move with the blocks; what a no-op needs moves slowly, where it moves at all. */
const TIP_AGE_MS_MAX = 10_000
const NOOP_AGE_MS_MAX = 600_000

/** What nobody has said anew for this long is not known any more. */
const FORGOTTEN_MS = 300_000

/** Keep what was read last; once it is older than `ageMsMax` it is read again in the background, and nobody waits. */
function remembered<T>(read: () => Promise<T>, ageMsMax: number, nowMs: () => number): () => T | null {
  let known: { readonly value: T; readonly atMs: number } | null = null
  let askedAtMs = Number.NEGATIVE_INFINITY
  return () => {
    const now = nowMs()
    // Either way: a clock that was put back is no reason to stop reading.
    if (Math.abs(now - askedAtMs) >= ageMsMax) {
      askedAtMs = now
      read().then(
        (value) => {
          known = { value, atMs: now }
        },
        // Nodes that do not answer are counted where they are asked; the last word stands meanwhile.
        () => undefined,
      )
    }
    return known !== null && now - known.atMs < ageMsMax + FORGOTTEN_MS ? known.value : null
  }
}

/** The middle of what others tipped; null when nobody tipped anything. Pure. */
const middleOf = (tipsWei: readonly bigint[]): bigint | null => {
  const paid = tipsWei.filter((tip) => tip > 0n).toSorted((a, b) => (a < b ? -1 : 1))
  return paid[Math.floor(paid.length / 2)] ?? null
}

/** Create a keeper's view of the market. Nobody waits for it: a first offer is not held up by a slow node. */
export function createGasMarket({
  nodes,
  nowMs,
}: {
  readonly nodes: Pick<Nodes, 'feeHistory' | 'estimateNoopGas'>
  readonly nowMs: () => number
}): GasMarket {
  const tipWei = remembered(async () => middleOf((await nodes.feeHistory()).tipsWei), TIP_AGE_MS_MAX, nowMs)
  // Before the first offer needs it.
  tipWei()
  const noopGas = new Map<Address, () => bigint | null>()
  return {
    tipWei,
    noopGas: (signer) => {
      const known =
        noopGas.get(signer) ?? remembered(() => nodes.estimateNoopGas(signer), NOOP_AGE_MS_MAX, nowMs)
      noopGas.set(signer, known)
      const gas = known() ?? NOOP_GAS
      return gas > NOOP_GAS ? gas : NOOP_GAS
    },
  }
}

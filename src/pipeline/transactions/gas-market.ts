import { type Address, bytesToHex, type Hex } from 'viem'
import { dataFeeCall, dataFeeWei } from '../../chain/data-fee.ts'
import type { Nodes } from '../../chain/nodes.ts'
import { NOOP_GAS } from './reservation.ts'

/** What gas costs besides the base fee, as nodes say it. */
export type GasMarket = {
  /** What others tip of late, wei for one unit of gas; null while no node says. */
  readonly tipWei: () => bigint | null
  /** What a no-op of a signer needs: 21,000, or more on chains that charge more. */
  readonly noopGas: (signer: Address) => bigint
  /** What a usual transaction pays for its bytes beside gas, wei: 0 where the chain charges nothing; null while no node says. */
  readonly dataFeeWei: () => bigint | null
  /** What reads the same of transactions by their unsigned bytes; undefined where the chain charges nothing. */
  readonly dataFees: () => ((unsigned: readonly Hex[]) => Promise<readonly (bigint | null)[]>) | undefined
}

/** Tips move with the blocks; what a no-op needs, and whether bytes cost anything, goes by the kind of chain. */
const TIP_AGE_MS_MAX = 10_000
const KIND_AGE_MS_MAX = 600_000
/** As many bytes, none of which can be packed, as a call of ours has once it is packed. */
const USUAL_BYTES = 256
const USUAL = bytesToHex(Uint8Array.from({ length: USUAL_BYTES }, (_, index) => index))

/** What nobody has said anew for this long is not known any more. */
const FORGOTTEN_MS = 300_000

/** Keep what was read last; once it is older than it may be, it is read again in the background, and nobody waits. */
function remembered<T>(
  read: () => Promise<T>,
  ageMsMaxOf: (known: T | undefined) => number,
  monotonicMs: () => number,
): () => T | null {
  let known: { readonly value: T; readonly atMs: number } | null = null
  let askedAtMs = Number.NEGATIVE_INFINITY
  return () => {
    const now = monotonicMs()
    const ageMsMax = ageMsMaxOf(known?.value)
    if (now - askedAtMs >= ageMsMax) {
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
  monotonicMs,
}: {
  readonly nodes: Pick<Nodes, 'feeHistory' | 'estimateNoopGas' | 'calls'>
  readonly monotonicMs: () => number
}): GasMarket {
  const tipWei = remembered(
    async () => middleOf((await nodes.feeHistory()).tipsWei),
    () => TIP_AGE_MS_MAX,
    monotonicMs,
  )
  const dataFees = async (unsigned: readonly Hex[]) =>
    (await nodes.calls(unsigned.map(dataFeeCall))).map(dataFeeWei)
  const dataFee = remembered(
    async () => (await dataFees([USUAL]))[0] ?? null,
    (wei) => (wei === 0n ? KIND_AGE_MS_MAX : TIP_AGE_MS_MAX),
    monotonicMs,
  )
  // Before the first offer needs them.
  tipWei()
  dataFee()
  const noopGas = new Map<Address, () => bigint | null>()
  return {
    tipWei,
    dataFeeWei: dataFee,
    // Until a node has said so, it may charge.
    dataFees: () => (dataFee() === 0n ? undefined : dataFees),
    noopGas: (signer) => {
      const known =
        noopGas.get(signer) ??
        remembered(
          () => nodes.estimateNoopGas(signer),
          () => KIND_AGE_MS_MAX,
          monotonicMs,
        )
      noopGas.set(signer, known)
      const gas = known() ?? NOOP_GAS
      return gas > NOOP_GAS ? gas : NOOP_GAS
    },
  }
}

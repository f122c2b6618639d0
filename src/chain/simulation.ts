import { randomBytes } from 'node:crypto'
import { type Address, bytesToHex, concatHex, type Hex, keccak256, padHex } from 'viem'
import type { z } from 'zod'
import { quantity } from './endpoint.ts'
import type {
  Call,
  Frame,
  FrameResult,
  SimulatedTransaction,
  SimulationRequest,
  SimulationResult,
  StorageSlot,
} from './nodes.ts'
import type { Header, wireSimulation } from './wire.ts'

/**
 * Who the framing reads come from: an account without a key, code or history, funded by override for this one
 * simulation. It is the last 20 bytes of keccak-256("rolekeeper.simulation.reader").
 */
const READER: Address = '0x5542e4961f5331c23be47c702446f65ade368723'

/**
 * Where the code of `codeAt` is hashed: an address like the reader's, from "rolekeeper.simulation.hasher", that carries
 * this program by override. It answers each 32-byte word of its input, an address, with that address's EXTCODEHASH:
 * `i = 0; while (i < calldatasize) { mstore(i, extcodehash(calldataload(i))); i += 32 } return(0, i)`.
 */
const HASHER: Address = '0xcacc5b68b345665a746c84fbdfaec9607c071179'
const HASHER_CODE: Hex = '0x60005b3681101560155780353f81526020016002565b6000f3'

/** Enough for a view over eight vaults, and far below any block's limit. */
const READ_GAS = 1_000_000n

/** Covers every read at any base fee. */
const READER_BALANCE_WEI = 10n ** 30n

/** The next block's time, Unix seconds: after its parent's, and now. Pure. */
export const nextTimestampS = (parent: Header, nowMs: number): number =>
  Math.max(parent.timestampS + 1, Math.floor(nowMs / 1_000))

/** Work out the next block's base fee. Pure. Source: EIP-1559, "Specification". */
export function nextBaseFeeWei(parent: Pick<Header, 'gasUsed' | 'gasLimit' | 'baseFeePerGasWei'>): bigint {
  const target = parent.gasLimit / 2n
  const base = parent.baseFeePerGasWei
  if (target === 0n || parent.gasUsed === target) return base
  if (parent.gasUsed > target) {
    const rise = (base * (parent.gasUsed - target)) / target / 8n
    return base + (rise > 0n ? rise : 1n)
  }
  return base - (base * (target - parent.gasUsed)) / target / 8n
}

const transaction = (item: SimulatedTransaction, chainId: number) => ({
  type: '0x2',
  chainId: quantity(chainId),
  from: item.from,
  ...(item.to === null ? {} : { to: item.to }),
  input: item.data,
  value: quantity(item.valueWei),
  gas: quantity(item.gasLimit),
  nonce: quantity(item.nonce),
  maxFeePerGas: quantity(item.maxFeePerGasWei),
  maxPriorityFeePerGas: quantity(item.maxPriorityFeePerGasWei),
})

const framesOf = (request: SimulationRequest): readonly Frame[] => [request, ...(request.following ?? [])]

/**
 * Build the one eth_simulateV1 request: our pending transactions, then of each frame the reads before, the bundle, the
 * reads after, all in a block that looks like the real next one, so that a strict node accepts it and a contract cannot see the difference.
 * Source: execution-apis, eth_simulateV1.
 */
export function simulationParams(
  request: SimulationRequest,
  parent: Header,
  chainId: number,
  timestampS: number,
): readonly unknown[] {
  const baseFeeWei = nextBaseFeeWei(parent)
  let readerNonce = 0
  const read = (call: Call) =>
    transaction(
      {
        from: READER,
        to: call.to,
        data: call.data,
        valueWei: 0n,
        gasLimit: READ_GAS,
        nonce: readerNonce++,
        maxFeePerGasWei: baseFeeWei,
        maxPriorityFeePerGasWei: 0n,
      },
      chainId,
    )
  const frames = framesOf(request)
  const callsOf = ({ codeAt = [], before, bundle, after }: Frame) => [
    ...(codeAt.length === 0
      ? []
      : [read({ to: HASHER, data: concatHex(codeAt.map((address) => padHex(address))) })]),
    ...before.map(read),
    ...bundle.map((item) => transaction(item, chainId)),
    ...after.map(read),
  ]
  // A pending transaction below the base fee waits or is bumped; what matters here is what it does when it lands.
  const pending = request.pending.map((item) =>
    transaction(item.maxFeePerGasWei < baseFeeWei ? { ...item, maxFeePerGasWei: baseFeeWei } : item, chainId),
  )
  const block = {
    blockOverrides: {
      number: quantity(parent.number + 1n),
      time: quantity(timestampS),
      baseFeePerGas: quantity(baseFeeWei),
      feeRecipient: parent.feeRecipient,
      prevRandao: bytesToHex(randomBytes(32)),
    },
    stateOverrides: {
      [READER]: { balance: quantity(READER_BALANCE_WEI), nonce: '0x0' },
      ...(frames.every(({ codeAt = [] }) => codeAt.length === 0) ? {} : { [HASHER]: { code: HASHER_CODE } }),
    },
    calls: [...pending, ...frames.flatMap(callsOf)],
  }
  return [
    { blockStateCalls: [block], validation: true, traceTransfers: false },
    { blockHash: parent.hash, requireCanonical: true },
  ]
}

/** What a node says to a simulation: what it ran, and the words of all slots. */
type Simulated = { readonly wire: z.infer<typeof wireSimulation>; readonly words: readonly bigint[] }

/** Take a simulation's answer apart; null when it does not hold one outcome for each call. Pure. */
export function simulationResult(
  request: SimulationRequest,
  parent: Header,
  timestampS: number,
  { wire, words }: Simulated,
): SimulationResult | null {
  const calls = wire[0]?.calls ?? []
  const pending = calls.slice(0, request.pending.length)
  let from = pending.length
  let wordsFrom = 0
  const shown = framesOf(request).map((frame) => {
    const own = calls.slice(from, from + callCount(frame))
    from += callCount(frame)
    const read = shownBy(frame, own)
    const { slots = [] } = frame
    wordsFrom += slots.length
    return read === null ? null : { ...read, words: words.slice(wordsFrom - slots.length, wordsFrom) }
  })
  const [first, ...following] = shown.filter((each) => each !== null)
  if (first === undefined || following.length + 1 < shown.length || from !== calls.length) return null
  return { block: parent, timestampS, pending: pending.map((item) => item.status), ...first, following }
}

const callCount = ({ codeAt = [], before, bundle, after }: Frame): number =>
  (codeAt.length === 0 ? 0 : 1) + before.length + bundle.length + after.length

type WireCalls = z.infer<typeof wireSimulation>[number]['calls']

/** What one frame's own calls showed; null when they are too few. */
function shownBy(frame: Frame, calls: WireCalls): Omit<FrameResult, 'words'> | null {
  const { codeAt = [], before, bundle } = frame
  if (calls.length !== callCount(frame)) return null
  const hashed = codeAt.length === 0 ? 0 : 1
  const codeHashes = hashed === 0 ? [] : hashesIn(calls[0]?.returnData ?? '0x')
  if (codeHashes.length !== codeAt.length) return null
  const values = (reads: WireCalls): (Hex | null)[] =>
    reads.map((read) => (read.status === 'success' ? read.returnData : null))
  const bundleFrom = hashed + before.length
  return {
    before: values(calls.slice(hashed, bundleFrom)),
    bundle: calls.slice(bundleFrom, bundleFrom + bundle.length),
    after: values(calls.slice(bundleFrom + bundle.length)),
    codeHashes,
  }
}

const WORD_CHARS = 64

/** What EXTCODEHASH says of an account without code: nothing there (EIP-1052), or keccak-256 of no bytes. */
const NO_CODE = [`0x${'0'.repeat(WORD_CHARS)}`, keccak256('0x')]

const hashesIn = (words: Hex): (Hex | null)[] =>
  Array.from({ length: (words.length - 2) / WORD_CHARS }, (_, index): Hex | null => {
    const hash: Hex = `0x${words.slice(2 + index * WORD_CHARS, 2 + (index + 1) * WORD_CHARS)}`
    return NO_CODE.includes(hash) ? null : hash
  })

/** One simulation, the same for every node that is asked. */
export type SimulationOrder = {
  readonly parentHash: Hex
  readonly params: readonly unknown[]
  /** To be read at the parent. */
  readonly slots: readonly StorageSlot[]
  readonly result: (simulated: Simulated) => SimulationResult | null
}

/** Order a simulation in the block after `parent`. */
export function orderSimulation(
  request: SimulationRequest,
  parent: Header,
  chainId: number,
  nowMs: number,
): SimulationOrder {
  const timestampS = nextTimestampS(parent, nowMs)
  return {
    parentHash: parent.hash,
    params: simulationParams(request, parent, chainId, timestampS),
    slots: framesOf(request).flatMap(({ slots = [] }) => slots),
    result: (simulated) => simulationResult(request, parent, timestampS, simulated),
  }
}

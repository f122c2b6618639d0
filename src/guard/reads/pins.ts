import { type Address, type Hex, parseAbi } from 'viem'
import type { FrameResult, StorageSlot } from '../../chain/nodes.ts'
import { type Refusal, refuse } from '../../errors.ts'
import type { PinnedContract } from '../../service/contract/deployment.ts'
import { address, createView, type Reads } from './views.ts'

/** Where a proxy keeps what it runs, or who says what it runs. Source: EIP-1967. */
const IMPLEMENTATION: Hex = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'
const BEACON: Hex = '0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50'

const view = createView(parseAbi(['function implementation() view returns (address)']))

/** What is read of pinned contracts, and the judgement of the answers. */
export type PinReads = {
  readonly codeAt: readonly Address[]
  readonly slots: readonly StorageSlot[]
  /** Refuse other code than is pinned, at a contract or behind it. */
  readonly check: (shown: Pick<FrameResult, 'codeHashes' | 'words'>) => Refusal | null
}

/** The two words of a proxy: what it runs, and its beacon. Pure. */
export const slotsOf = (of: Address): readonly StorageSlot[] => [
  { of, slot: IMPLEMENTATION },
  { of, slot: BEACON },
]

type Proxy = PinnedContract & { readonly proxy: NonNullable<PinnedContract['proxy']> }

/** The codes that a contract runs: its own, and of a proxy what it delegates to, and its beacon's. */
const codesOf = ({ address: at, codeHash, proxy }: PinnedContract) => [
  { address: at, codeHash },
  ...(proxy === undefined ? [] : [{ address: proxy.implementation, codeHash: proxy.codeHash }]),
  ...(proxy?.beacon === undefined ? [] : [proxy.beacon]),
]

/** Ask for the code of contracts, and for what their proxies run; a beacon is called for it. */
export function askPins(pins: readonly PinnedContract[], { ask }: Pick<Reads, 'ask'>): PinReads {
  const codes = pins.flatMap(codesOf)
  const proxies = pins.filter((pin): pin is Proxy => pin.proxy !== undefined)
  const runs = proxies.map((pin, index) => {
    const { implementation, beacon } = pin.proxy
    if (beacon === undefined) return { pin, at: 2 * index, wanted: implementation, isSo: () => true }
    const answer = ask(view('implementation', beacon.address, [], address))
    return { pin, at: 2 * index + 1, wanted: beacon.address, isSo: () => answer() === implementation }
  })
  return {
    codeAt: codes.map(({ address: at }) => at),
    slots: proxies.flatMap((pin) => slotsOf(pin.address)),
    check: ({ codeHashes, words }) => {
      const index = codes.findIndex(({ codeHash }, at) => codeHashes[at] !== codeHash)
      const code = codes[index]
      if (code !== undefined) return codeChanged(code, codeHashes[index] ?? null)
      const other = runs.find(({ at, wanted, isSo }) => words[at] !== BigInt(wanted) || !isSo())
      return other === undefined ? null : implementationChanged(other.pin)
    },
  }
}

const FIX = 'Fix: find out what was deployed there before pinning it.'

const codeChanged = ({ address: at, codeHash }: PinnedContract, found: Hex | null): Refusal =>
  refuse('code_changed', `The code at ${at} hashes to ${found ?? 'nothing'}; ${codeHash} is pinned. ${FIX}`)

const implementationChanged = ({ address: at, proxy }: Proxy): Refusal =>
  refuse(
    'implementation_changed',
    `The proxy ${at} does not run ${proxy.implementation}${proxy.beacon === undefined ? '' : ` by its beacon ${proxy.beacon.address}`} any more, which is pinned. ${FIX}`,
  )

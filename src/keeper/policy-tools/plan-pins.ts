import { type Address, getContractAddress, type Hex } from 'viem'
import type { Pin } from '../../../agents/agent.ts'
import type { Nodes } from '../../chain/nodes.ts'

/** What a run configuration is to name before any rule lets us talk to a contract that a declaration is about. */
export type MissingPin = Pin & {
  /** keccak-256 of its code now. */
  readonly codeHash: Hex
  /** Whether a transaction of our signer created it: nobody else's could have this address. */
  readonly isOurs: boolean
}

/** More transactions than a signer of settings sends in years; each is one hash. */
const NONCES_MAX = 100_000

/**
 * Say what to pin for what waits for it: the entry with the code that is there, and whether our own signer made the
 * contract. Null where there is no code. Throws what reading the nodes throws.
 */
export async function missingPin(
  pin: Pin,
  signer: Address,
  nodes: Pick<Nodes, 'codeHashes' | 'transactionCount'>,
): Promise<MissingPin | null> {
  const [[codeHash], count] = await Promise.all([
    nodes.codeHashes([pin.address]),
    nodes.transactionCount(signer, 'finalized'),
  ])
  if (codeHash == null) return null
  return { ...pin, codeHash, isOurs: isCreatedBy(signer, pin.address, Math.min(count, NONCES_MAX)) }
}

/** Whether a contract is where a transaction of a signer with one of its first nonces creates one. Pure. */
function isCreatedBy(signer: Address, address: Address, count: number): boolean {
  for (let nonce = count - 1; nonce >= 0; nonce -= 1) {
    if (getContractAddress({ from: signer, nonce: BigInt(nonce) }).toLowerCase() === address) return true
  }
  return false
}

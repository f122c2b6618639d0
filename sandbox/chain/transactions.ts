import { type Address, createPublicClient, createTestClient, type Hex, http, parseGwei } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { RolekeeperError } from '../../src/errors.ts'
import { TO_CHAIN } from './to-chain.ts'

/** One call of an account that the sandbox plays. */
export type Call = {
  readonly from: Hex
  readonly to: Address
  readonly data: Hex
  /** In wei; absent, nothing. */
  readonly value?: bigint
  /** In wei; absent, one. */
  readonly priorityFeePerGasWei?: bigint
}

/** Sends the sandbox's own transactions. */
export type Transactions = {
  /**
   * Send calls, each account's in the order given, without waiting for a block. Nonces are explicit, from the chain's
   * own count with what is pending, so that a restart or a reorg needs no repair; sends wait for each other.
   * @param keep gets the signed bytes before any of them leaves.
   * @returns the transactions' hashes. Rejects with viem's error when the node does not take one.
   */
  readonly send: (calls: readonly Call[], keep?: (signed: readonly Hex[]) => void) => Promise<readonly Hex[]>
  /** Send calls and mine them at once, in one block. Throws `sandbox.setup_reverted` when one fails. */
  readonly mine: (calls: readonly Call[]) => Promise<void>
}

/** Above what any call of the sandbox takes, so that nothing has to be estimated. */
const GAS = 1_000_000n

/** Create the sender of one node. It keeps derived accounts, so that a key is expanded once. */
export function createTransactions(rpcUrl: string, chainId: number): Transactions {
  // A retried send would come back as "already known". One turn's requests travel together.
  const transport = http(rpcUrl, { ...TO_CHAIN, batch: true })
  const reader = createPublicClient({ transport, cacheTime: 0 })
  const accounts = new Map<Hex, PrivateKeyAccount>()
  const accountOf = (key: Hex): PrivateKeyAccount => {
    const account = accounts.get(key) ?? privateKeyToAccount(key)
    accounts.set(key, account)
    return account
  }

  const sendNow: Transactions['send'] = async (calls, keep) => {
    const keys = [...new Set(calls.map(({ from }) => from))]
    const counts = await Promise.all(
      keys.map((key) => reader.getTransactionCount({ address: accountOf(key).address, blockTag: 'pending' })),
    )
    const nonces = new Map(keys.map((key, index) => [key, counts[index] ?? 0]))
    const signed: Hex[] = []
    for (const { from, to, data, value, priorityFeePerGasWei = 1n } of calls) {
      const nonce = nonces.get(from) ?? 0
      nonces.set(from, nonce + 1)
      const fees = { maxFeePerGas: parseGwei('100'), maxPriorityFeePerGas: priorityFeePerGasWei }
      signed.push(
        await accountOf(from).signTransaction({
          type: 'eip1559',
          chainId,
          nonce,
          gas: GAS,
          ...fees,
          to,
          data,
          value,
        }),
      )
    }
    keep?.(signed)
    return Promise.all(
      signed.map((serializedTransaction) => reader.sendRawTransaction({ serializedTransaction })),
    )
  }

  let last: Promise<unknown> = Promise.resolve()
  // Two sends at once would count the same pending transactions and take the same nonces.
  const send: Transactions['send'] = (calls, keep) => {
    const sent = last.then(() => sendNow(calls, keep))
    last = sent.catch(() => undefined)
    return sent
  }

  const mine = async (calls: readonly Call[]) => {
    const tester = createTestClient({ mode: 'anvil', transport })
    await tester.setAutomine(false)
    const hashes = await send(calls)
    await tester.mine({ blocks: 1 })
    const receipts = await Promise.all(hashes.map((hash) => reader.getTransactionReceipt({ hash })))
    const failed = receipts.filter(({ status }) => status !== 'success').length
    if (failed === 0) return
    throw new RolekeeperError(
      'sandbox.setup_reverted',
      `${failed} of ${calls.length} first transactions failed.`,
      {
        fix: 'start over with `--fresh`; if it fails again, the contracts and this setup disagree.',
      },
    )
  }
  return { send, mine }
}

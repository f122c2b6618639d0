import {
  createPublicClient,
  type Hex,
  http,
  keccak256,
  parseTransaction,
  TransactionReceiptNotFoundError,
} from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { TO_CHAIN } from '../../chain/to-chain.ts'
import type { Transactions } from '../../chain/transactions.ts'
import type { Donor } from './grants.ts'

/** Create the donor of a sandbox: the deployer, who owns assets and registry, through the sandbox's own sender. */
export function createDonor(rpcUrl: string, deployerKey: Hex, transactions: Transactions): Donor {
  const reader = createPublicClient({
    transport: http(rpcUrl, TO_CHAIN),
    cacheTime: 0,
  })
  const address = privateKeyToAddress(deployerKey)
  const isMined = async (hash: Hex) => {
    try {
      await reader.getTransactionReceipt({ hash })
      return true
    } catch (error) {
      if (error instanceof TransactionReceiptNotFoundError) return false
      throw error
    }
  }
  return {
    send: (calls, keep) =>
      transactions.send(
        calls.map((call) => ({ ...call, from: deployerKey })),
        keep,
      ),
    resend: async (signed) => {
      // The count is read first: a transaction that is mined in between has its receipt by then.
      const count = await reader.getTransactionCount({ address })
      if (await isMined(keccak256(signed))) return true
      if ((parseTransaction(signed).nonce ?? 0) < count) return false
      // Refused because it is pending already, or for a reason that the next look finds again.
      await reader.sendRawTransaction({ serializedTransaction: signed }).catch(() => undefined)
      return true
    },
  }
}

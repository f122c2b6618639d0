import type { Client, PublicActions } from 'viem'
import { getTransactionReceipt } from 'viem/actions'
import { until } from './until.ts'

/**
 * Wait for the receipt itself, as a client's action: `client.extend(receiptActions)`, before `walletActions`.
 * Viem asks for it once a block. Anvil tells of a block before its receipts, and where each transaction is mined at
 * once no other block follows: one wait in 450 of a busy machine never ended.
 */
export const receiptActions = (client: Client): Pick<PublicActions, 'waitForTransactionReceipt'> => ({
  // Anvil's receipts have no chain's own fields.
  waitForTransactionReceipt: ({ hash }) =>
    until(() => getTransactionReceipt(client, { hash })) as Promise<never>,
})

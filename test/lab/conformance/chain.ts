import {
  type Address,
  createPublicClient,
  erc20Abi,
  type Hex,
  http,
  isAddressEqual,
  type PublicClient,
  parseAbi,
  parseEventLogs,
  type TransactionReceipt,
} from 'viem'
import { WAIT_MS_MAX } from './eventually.ts'
import type { SandboxInfo } from './sandbox-under-test.ts'
import type { Wallet } from './wallet.ts'

/** One transaction, as the service asks for it. */
export type Intent = {
  readonly target: Address | null
  readonly calldata: Hex
  readonly value: bigint
}

/** The sandbox's chain, read and written over JSON-RPC. */
export type Chain = {
  readonly client: PublicClient
  readonly id: number
  /** Call a view that gives one unsigned number, by its Solidity signature: `balanceOf(address)`. */
  readonly number: (contract: Address, view: string, ...args: readonly unknown[]) => Promise<bigint>
  /** Sign intents with consecutive nonces, send them and wait until all are mined, reverted or not. */
  readonly mined: (wallet: Wallet, intents: readonly Intent[]) => Promise<readonly TransactionReceipt[]>
  /** As `mined`; throws when one reverted. */
  readonly send: (wallet: Wallet, intents: readonly Intent[]) => Promise<readonly TransactionReceipt[]>
}

/** Room for the largest call, and for the creation of a contract near the size limit. */
const GAS = { call: 3_000_000n, creation: 8_000_000n } as const

/** A move of a token that is judged by what its own transactions moved, in base units: others may move some beside it. */
export const byTransfer = (token: Address, from: Address, to: Address, amount: bigint) => ({
  read: async (receipts: readonly TransactionReceipt[]) => {
    const logs = receipts
      .flatMap((receipt) => receipt.logs)
      .filter(({ address }) => isAddressEqual(address, token))
    return parseEventLogs({ abi: erc20Abi, eventName: 'Transfer', logs, args: { from, to } }).reduce(
      (sum, { args }) => sum + args.value,
      0n,
    )
  },
  moved: (_before: bigint, after: bigint) => after === amount,
})

/** Speak to the sandbox's chain. */
export function createChain(info: SandboxInfo): Chain {
  const client = createPublicClient({
    transport: http(info.rpcUrl, { retryCount: 0, timeout: WAIT_MS_MAX }),
    pollingInterval: 250,
  })
  const broadcast = async (wallet: Wallet, intents: readonly Intent[]): Promise<readonly Hex[]> => {
    const [nonce, { maxFeePerGas, maxPriorityFeePerGas }] = await Promise.all([
      client.getTransactionCount({ address: wallet.address, blockTag: 'pending' }),
      client.estimateFeesPerGas(),
    ])
    const signed = await Promise.all(
      intents.map(({ target, calldata, value }, index) =>
        wallet.signTransaction({
          type: 'eip1559',
          chainId: info.chainId,
          nonce: nonce + index,
          gas: target === null ? GAS.creation : GAS.call,
          maxFeePerGas: 2n * maxFeePerGas,
          maxPriorityFeePerGas,
          ...(target === null ? {} : { to: target }),
          data: calldata,
          value,
        }),
      ),
    )
    const hashes: Hex[] = []
    for (const serializedTransaction of signed)
      hashes.push(await client.sendRawTransaction({ serializedTransaction }))
    return hashes
  }
  // A wallet's nonces are given out one call after another; what was sent is then waited for side by side.
  const turns = new Map<Address, Promise<unknown>>()
  const mined: Chain['mined'] = async (wallet, intents) => {
    const turn = (turns.get(wallet.address) ?? Promise.resolve()).then(() => broadcast(wallet, intents))
    turns.set(
      wallet.address,
      turn.catch(() => {}),
    )
    const hashes = await turn
    return Promise.all(hashes.map((hash) => client.waitForTransactionReceipt({ hash, timeout: WAIT_MS_MAX })))
  }
  return {
    client,
    id: info.chainId,
    number: async (address, view, ...args) => {
      const abi = parseAbi([`function ${view} view returns (uint256)` as string])
      const functionName = view.slice(0, view.indexOf('('))
      return BigInt(String(await client.readContract({ address, abi, functionName, args })))
    },
    mined,
    send: async (wallet, intents) => {
      const receipts = await mined(wallet, intents)
      for (const [index, { status, blockNumber }] of receipts.entries()) {
        const intent = intents[index]
        if (status === 'success' || intent === undefined) continue
        throw new Error(
          `transaction ${index} reverted: ${await reasonOf(client, wallet, intent, blockNumber)}`,
        )
      }
      return receipts
    },
  }
}

/** What a call that reverted says at the end of the block that it is in. */
async function reasonOf(
  client: PublicClient,
  { address: account }: Wallet,
  { target: to, calldata: data, value }: Intent,
  blockNumber: bigint,
): Promise<string> {
  const again = client.call({ account, to, data, value, blockNumber })
  return again.then(
    () => 'it goes through later in its block',
    (error: unknown) => String(error),
  )
}

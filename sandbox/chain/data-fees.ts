import {
  type Address,
  createTestClient,
  encodeFunctionData,
  type Hex,
  http,
  numberToHex,
  pad,
  publicActions,
  toHex,
  zeroAddress,
} from 'viem'
import { z } from 'zod'
import { dataFeeOracleAbi } from '../contracts/abis.ts'
import { type ContractName, loadArtifacts } from '../contracts/artifacts.ts'
import type { Ask, RpcAnswer } from './node-front-rules.ts'
import { TO_CHAIN } from './to-chain.ts'

/** Where the chain itself reads what its data costs, and where it says so. Source: OP stack, predeploys. */
const L1_BLOCK: Address = '0x4200000000000000000000000000000000000015'
const ORACLE: Address = '0x420000000000000000000000000000000000000F'

/** A byte, once packed, costs about 2,000 gwei: a call of ours some times what its gas does. It stands still. */
const L1_BASE_FEE_WEI = 40_000_000_000n
const BASE_FEE_SCALAR = 3_000_000n
/** By the layout of L1Block.sol: the base fee, and both scalars beside the sequence number. */
const SLOTS = [
  [1n, L1_BASE_FEE_WEI],
  [3n, BASE_FEE_SCALAR << 96n],
] as const

/**
 * Have a chain of anvil's OP network charge for the bytes of transactions, by the oracle that says how much. One that charges
 * already charges on.
 */
export async function chargeForBytes(rpcUrl: string): Promise<void> {
  const client = createTestClient({ mode: 'anvil', transport: http(rpcUrl, TO_CHAIN) }).extend(publicActions)
  // Anvil charges reads as well, as if they were to be kept: they are asked in nobody's name, which holds enough.
  await client.setBalance({ address: zeroAddress, value: 2n ** 128n })
  const artifacts = loadArtifacts()
  /** What is left of a contract once it is created. */
  const codeOf = async (name: ContractName): Promise<Hex> =>
    (await client.call({ data: artifacts[name].bytecode })).data ?? '0x'
  await client.setCode({ address: L1_BLOCK, bytecode: await codeOf('L1Block') })
  await client.setCode({ address: ORACLE, bytecode: await codeOf('DataFeeOracle') })
  for (const [slot, value] of SLOTS)
    await client.setStorageAt({
      address: L1_BLOCK,
      index: pad(toHex(slot)),
      value: numberToHex(value, { size: 32 }),
    })
}

const receipts = z.array(z.looseObject({ transactionHash: z.string() }))
const paid = z.object({ result: z.string() })

/** Answer with receipts as nodes of the OP stack do, each with what its transaction paid for its bytes: anvil leaves that out. */
export const withDataFees =
  (method: string) =>
  async (params: readonly unknown[], ask: Ask): Promise<RpcAnswer> => {
    const answer = await ask(method, params)
    if ('error' in answer || answer.result === null) return answer
    const { result } = answer
    const found = await Promise.all(
      receipts.parse(Array.isArray(result) ? result : [result]).map(async (receipt) => {
        const { result: raw } = paid.parse(
          await ask('eth_getRawTransactionByHash', [receipt.transactionHash]),
        )
        const args = [z.templateLiteral(['0x', z.string()]).parse(raw)] as const
        const data = encodeFunctionData({ abi: dataFeeOracleAbi, functionName: 'paidFor', args })
        const { result: l1Fee } = paid.parse(await ask('eth_call', [{ to: ORACLE, data }, 'latest']))
        return { ...receipt, l1Fee: numberToHex(BigInt(l1Fee)) }
      }),
    )
    return { result: Array.isArray(result) ? found : found[0] }
  }

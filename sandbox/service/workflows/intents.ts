import { type Address, encodeFunctionData, erc20Abi, getAddress, type Hex } from 'viem'
import type { TransactionIntent } from '../../../src/service/contract/prepared-workflow.ts'

/** One intent before it has its place and chain. */
export type IntentDraft = {
  /** Null deploys a contract; `calldata` is then its creation code with its arguments. */
  readonly target: Address | null
  readonly calldata: Hex
  readonly label: string
  readonly signing?: TransactionIntent['signing']
}

/** Put intents in the order in which they are to be mined. Pure. */
export const intents = (chainId: number, drafts: readonly IntentDraft[]): readonly TransactionIntent[] =>
  drafts.map(({ target, calldata, label, signing }, order) => ({
    order,
    chainId,
    transactionKind: target === null ? 'contract_deployment' : 'contract_call',
    target: target === null ? null : getAddress(target),
    calldata,
    value: '0',
    label,
    simulationRequired: true,
    ...(signing === undefined ? {} : { signing }),
  }))

/** Allow `spender` exactly what the next intent takes. Pure. */
export const approval = (token: Address, spender: Address, assets: bigint): IntentDraft => ({
  target: token,
  calldata: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, assets] }),
  label: `Approve exactly ${assets} base units`,
})

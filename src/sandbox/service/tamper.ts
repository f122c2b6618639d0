import {
  type Address,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  maxUint256,
  pad,
  toFunctionSelector,
} from 'viem'
import type { TransactionIntent } from '../../service/workflows.ts'
import type { Hostility } from './faults.ts'

/** Where a tampered intent points: an address that nobody deployed to and nobody trades with. */
const FOREIGN: Address = '0xbad0bad0bad0bad0bad0bad0bad0bad0bad0bad0'
const APPROVE = toFunctionSelector('approve(address,uint256)')

/** Turn honest intents into what a service that turned hostile would have signed; undefined leaves them. Pure. */
export function tamper(
  transactions: readonly TransactionIntent[],
  principal: Address | null,
  hostile: Hostility | undefined,
): readonly TransactionIntent[] {
  const last = transactions.length - 1
  return transactions.map((intent, order) => {
    if (hostile === 'foreign_target' && order === last) return { ...intent, target: FOREIGN }
    if (hostile === 'larger_approval' && intent.calldata.startsWith(APPROVE)) {
      return { ...intent, calldata: approveAll(intent.calldata) }
    }
    if (hostile === 'changed_recipient' && order === last && principal !== null) {
      return { ...intent, calldata: withRecipient(intent.calldata, principal) }
    }
    return intent
  })
}

function approveAll(calldata: Hex): Hex {
  // Behind the selector and twelve bytes of padding.
  const spender: Address = `0x${calldata.slice(34, 74)}`
  return encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, maxUint256] })
}

/** Every whole word that is the principal becomes the foreign address. */
function withRecipient(calldata: Hex, principal: Address): Hex {
  const [mine, foreign] = [pad(principal), pad(FOREIGN)].map((word) => word.slice(2).toLowerCase())
  const words = calldata.slice(10).match(/.{1,64}/g) ?? []
  const changed = words.map((word) => (word === mine ? foreign : word)).join('')
  return `0x${calldata.slice(2, 10)}${changed}`
}

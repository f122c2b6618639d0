import {
  type Address,
  decodeFunctionData,
  encodeFunctionData,
  erc20Abi,
  maxUint256,
  pad,
  toFunctionSelector,
} from 'viem'
import type { TransactionIntent } from '../../../src/service/contract/prepared-workflow.ts'
import type { Hostility } from './faults.ts'

/** Where a tampered intent points: an address that nobody deployed to and nobody trades with. */
const ATTACKER: Address = '0xbad0bad0bad0bad0bad0bad0bad0bad0bad0bad0'
const APPROVE = toFunctionSelector('approve(address,uint256)')

/** Turn honest intents into what a service that turned hostile would have signed; undefined leaves them. Pure. */
export function tamper(
  transactions: readonly TransactionIntent[],
  principal: Address | null,
  hostile: Hostility | undefined,
): readonly TransactionIntent[] {
  const final = transactions.at(-1)
  if (hostile === undefined || final === undefined) return transactions
  const ahead = transactions.slice(0, -1)
  switch (hostile) {
    case 'foreign_target':
      return [...ahead, { ...final, target: ATTACKER }]
    case 'larger_approval':
      return transactions.map((intent) => withApproval(intent, (spender) => [spender, maxUint256]))
    case 'foreign_spender':
      return transactions.map((intent) => withApproval(intent, (_spender, amount) => [ATTACKER, amount]))
    case 'changed_recipient':
      return [...ahead, principal === null ? final : withRecipient(final, principal)]
    case 'native_value':
      return [...ahead, { ...final, value: String(10n ** 18n) }]
    case 'trailing_bytes':
      return [...ahead, { ...final, calldata: `${final.calldata}00` }]
    case 'extra_intent':
      return [...transactions, { ...final, order: transactions.length, target: ATTACKER }]
    case 'foreign_domain':
      return transactions.map(withForeignDomain)
  }
}

function withApproval(
  intent: TransactionIntent,
  change: (spender: Address, amount: bigint) => readonly [Address, bigint],
): TransactionIntent {
  if (!intent.calldata.startsWith(APPROVE)) return intent
  const { args } = decodeFunctionData({ abi: erc20Abi, data: intent.calldata })
  const [spender, amount] = args as readonly [Address, bigint]
  const changed = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'approve',
    args: change(spender, amount),
  })
  return { ...intent, calldata: changed }
}

/** A signature over another contract's domain is one for that contract. */
function withForeignDomain(intent: TransactionIntent): TransactionIntent {
  if (intent.signing === undefined) return intent
  const { typedData } = intent.signing
  const domain = { ...Object(typedData.domain), verifyingContract: ATTACKER }
  return { ...intent, signing: { ...intent.signing, typedData: { ...typedData, domain } } }
}

/** Every whole word that is the principal becomes the attacker's address. */
function withRecipient(intent: TransactionIntent, principal: Address): TransactionIntent {
  const { calldata } = intent
  const [mine, theirs] = [pad(principal), pad(ATTACKER)].map((word) => word.slice(2).toLowerCase())
  const words = calldata.slice(10).match(/.{1,64}/g) ?? []
  const changed = words.map((word) => (word === mine ? theirs : word)).join('')
  return { ...intent, calldata: `0x${calldata.slice(2, 10)}${changed}` }
}

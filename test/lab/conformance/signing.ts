import { type Hex, slice, type TypedDataDefinition } from 'viem'
import type { Json } from './shape-check.ts'
import type { Wallet } from './wallet.ts'

const SIGNATURE_BYTES = 65

/**
 * Sign the typed data that an intent asks for, and put the 65 bytes where its calldata holds as many zeros.
 * Assumed: `signaturePlacement` is `argument:N`, and that argument is `bytes`. Source: EIP-712, Solidity's ABI.
 */
export async function placeSignature(wallet: Wallet, calldata: Hex, signing: Json): Promise<Hex> {
  const argument = /^argument:(\d+)$/.exec(String(signing.signaturePlacement))?.[1]
  if (argument === undefined) throw new Error(`the signature goes to ${String(signing.signaturePlacement)}`)
  const signature = await wallet.signTypedData(signing.typedData as TypedDataDefinition)
  const head = 4 + 32 * Number(argument)
  const offset = 4 + Number(BigInt(slice(calldata, head, head + 32)))
  const length = Number(BigInt(slice(calldata, offset, offset + 32)))
  if (length !== SIGNATURE_BYTES) throw new Error(`argument ${argument} has room for ${length} bytes`)
  const start = 2 + 2 * (offset + 32)
  return `0x${calldata.slice(2, start)}${signature.slice(2)}${calldata.slice(start + 2 * SIGNATURE_BYTES)}`
}

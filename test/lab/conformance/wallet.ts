import { KMSClient, SignCommand } from '@aws-sdk/client-kms'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import {
  type Address,
  concatHex,
  type Hex,
  hashMessage,
  hashTypedData,
  hexToBytes,
  keccak256,
  numberToHex,
  parseSignature,
  recoverAddress,
  serializeTransaction,
  type TransactionSerializableEIP1559,
  type TypedDataDefinition,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount, sign } from 'viem/accounts'
import type { SandboxInfo } from './sandbox-under-test.ts'

/** A signer: a fresh key of ours, or a role's key in the KMS. */
export type Wallet = {
  readonly address: Address
  readonly signMessage: (message: string) => Promise<Hex>
  readonly signTypedData: (data: TypedDataDefinition) => Promise<Hex>
  readonly signTransaction: (transaction: TransactionSerializableEIP1559) => Promise<Hex>
}

/** Make a wallet of a fresh random key. */
export function createWallet(): Wallet {
  const privateKey = generatePrivateKey()
  const { address } = privateKeyToAccount(privateKey)
  return walletOf(address, (hash) => sign({ hash, privateKey, to: 'hex' }))
}

/** Make the wallet of a role: its key signs digests over AWS's protocol and never leaves the KMS. */
export function createKmsWallet(info: SandboxInfo, role: string): Wallet {
  const signer = info.signers[role]
  if (signer === undefined) throw new RangeError(`sandbox.json names no signer for ${role}`)
  const client = new KMSClient({
    region: info.kmsRegion,
    endpoint: info.kmsUrl,
    credentials: { accessKeyId: info.kmsAccessKeyId, secretAccessKey: info.kmsSecretAccessKey },
  })
  return walletOf(signer.address, async (hash) => {
    const { Signature: der } = await client.send(
      new SignCommand({
        KeyId: signer.keyId,
        Message: hexToBytes(hash),
        MessageType: 'DIGEST',
        SigningAlgorithm: 'ECDSA_SHA_256',
      }),
    )
    if (der === undefined) throw new Error('the KMS answered without a signature')
    return recoverable(der, hash, signer.address)
  })
}

/** Turn a DER signature into 65 bytes with the low s that a chain accepts, and the parity that names the signer. */
async function recoverable(der: Uint8Array, hash: Hex, address: Address): Promise<Hex> {
  const { r, s } = secp256k1.Signature.fromBytes(der, 'der')
  const { n } = secp256k1.Point.CURVE()
  const low = s > n / 2n ? n - s : s
  const halves = concatHex([numberToHex(r, { size: 32 }), numberToHex(low, { size: 32 })])
  for (const parity of ['0x1b', '0x1c'] as const) {
    const signature = concatHex([halves, parity])
    if ((await recoverAddress({ hash, signature })) === address) return signature
  }
  throw new Error(`the KMS signed for another key than ${address}`)
}

function walletOf(address: Address, signDigest: (hash: Hex) => Promise<Hex>): Wallet {
  return {
    address,
    signMessage: (message) => signDigest(hashMessage(message)),
    signTypedData: (data) => signDigest(hashTypedData(data)),
    signTransaction: async (transaction) => {
      const digest = keccak256(serializeTransaction(transaction))
      return serializeTransaction(transaction, parseSignature(await signDigest(digest)))
    },
  }
}

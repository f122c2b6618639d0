import { type Address, encodeFunctionData, type Hex, maxUint256 } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { Call } from '../chain/transactions.ts'
import { assetAbi } from '../contracts/abis.ts'
import type { SandboxKeys } from './keys.ts'

type Minter = Pick<SandboxKeys, 'deployer'>

/** Give so many base units of a token to the account of a key. The deployer owns every token. Pure. */
export const mint = (keys: Minter, token: Address, toKey: Hex, assets: bigint): Call =>
  mintTo(keys, token, privateKeyToAddress(toKey), assets)

/** Give so many base units of a token to an account. Pure. */
export const mintTo = ({ deployer }: Minter, token: Address, to: Address, assets: bigint): Call => ({
  from: deployer,
  to: token,
  data: encodeFunctionData({ abi: assetAbi, functionName: 'mint', args: [to, assets] }),
})

/** Let a spender take so many base units of a token from a key's account; absent, all there ever is. Pure. */
export const approve = (from: Hex, token: Address, spender: Address, assets = maxUint256): Call => ({
  from,
  to: token,
  data: encodeFunctionData({ abi: assetAbi, functionName: 'approve', args: [spender, assets] }),
})

import { readFileSync } from 'node:fs'
import solc from 'solc'
import type { Abi, Address, Hex } from 'viem'
import { by, type World } from './world.ts'

type Compiled = { readonly abi: Abi; readonly evm: { readonly bytecode: { readonly object: string } } }

/** Compile a contract that stands beside the tests, in the file of its name, and deploy it. */
export async function deployHelper(
  { client, admin }: World,
  name: 'ShyMarket' | 'Visitor',
  args: readonly unknown[] = [],
): Promise<Address> {
  const { abi, evm } = compile(name)
  const bytecode: Hex = `0x${evm.bytecode.object}`
  const hash = await client.deployContract({ ...by(admin), abi, bytecode, args })
  const { contractAddress } = await client.getTransactionReceipt({ hash })
  if (typeof contractAddress !== 'string') throw new TypeError('The deployment created no contract.')
  return contractAddress
}

function compile(name: string): Compiled {
  const content = readFileSync(`${import.meta.dirname}/${name}.sol`, 'utf8')
  const output: { contracts: Record<string, Record<string, Compiled>> } = JSON.parse(
    solc.compile(
      JSON.stringify({
        language: 'Solidity',
        sources: { helper: { content } },
        settings: { evmVersion: 'cancun', outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } },
      }),
    ),
  )
  const compiled = output.contracts.helper?.[name]
  if (compiled === undefined) throw new TypeError(`${name}.sol holds no contract ${name}.`)
  return compiled
}

import {
  type Address,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  keccak256,
  toHex,
} from 'viem'
import { assetAbi, lendingVaultAbi } from '../contracts/abis.ts'
import { type ContractName, loadArtifacts } from '../contracts/artifacts.ts'

/** One deployed contract: which of our contracts it is an instance of, and where it is. */
export type DeployedContract = { readonly contractName: ContractName; readonly address: Address }

/** One transaction of the deployer; without `to` it creates a contract. */
export type DeployStep = { readonly name: string; readonly to: Address | null; readonly data: Hex }

/** Writes down the deployer's transactions. */
export type Planner = ReturnType<typeof createPlanner>

/** Write down the deployer's transactions, `nonce` being that of the first; a contract's address follows from it. */
export function createPlanner(admin: Address, nonce: number) {
  const artifacts = loadArtifacts()
  const steps: DeployStep[] = []
  const create = (contractName: ContractName, encode: (bytecode: Hex) => Hex): DeployedContract => {
    const address = getContractAddress({ from: admin, nonce: BigInt(nonce + steps.length) })
    steps.push({
      name: `create ${contractName}`,
      to: null,
      data: encode(artifacts[contractName].bytecode),
    })
    return { contractName, address }
  }
  return {
    steps,
    create,
    createAsset: (symbol: string, name: string, decimals: number) =>
      create('Asset', (bytecode) =>
        encodeDeployData({ abi: assetAbi, bytecode, args: [name, symbol, decimals] }),
      ),
    call: (name: string, to: DeployedContract, data: Hex) => {
      steps.push({ name, to: to.address, data })
    },
  }
}

/** Encode the grant of a role of OpenZeppelin's AccessControl, which every contract with roles shares. Pure. */
export function grantRole(role: string, account: Address): Hex {
  const args = [keccak256(toHex(role)), account] as const
  return encodeFunctionData({ abi: lendingVaultAbi, functionName: 'grantRole', args })
}

import type { Abi, Address } from 'viem'
import type { Canonical } from '../indexer/canonical.ts'
import { notFound } from './api-error.ts'
import type { ReadOperation } from './operation.ts'
import { type Cursors, PAGE_QUERY, page } from './page.ts'

/** One deployed contract: its name in the deployment, the artifact it is an instance of, and where it is. */
export type DeployedContract = {
  readonly name: string
  readonly contractName: string
  readonly address: Address
  readonly abi: Abi
}

/** What the service says of the deployment it serves. */
export type ServedDeployment = {
  readonly chainId: number
  readonly namespace: string
  readonly startBlock: number
  readonly contracts: readonly DeployedContract[]
}

const NETWORK = 'sandbox'
/** Source: service API, "Versioning", rule 4. */
const PROTOCOL_VERSION = 'V2'

/** GET /v1/networks, /v1/deployments and /v1/contracts/{contractName}. */
export function deploymentReads(
  served: ServedDeployment,
  canonical: Canonical,
  cursors: Cursors,
  generatedAt: string,
): readonly ReadOperation[] {
  const { chainId, namespace, startBlock, contracts } = served
  const network = { chainId, name: NETWORK, protocolVersion: PROTOCOL_VERSION, status: 'active' }
  const deployment = {
    chainId,
    network: NETWORK,
    protocolVersion: PROTOCOL_VERSION,
    deploymentNamespace: namespace,
    deploymentStartBlock: startBlock,
    contracts: Object.fromEntries(
      contracts.map(({ name, contractName, address }) => [name, { contractName, address }]),
    ),
    generatedAt,
  }
  return [
    single('/v1/networks', network),
    single('/v1/deployments', deployment),
    {
      method: 'GET',
      path: '/v1/contracts/:contractName',
      access: 'key',
      query: PAGE_QUERY,
      answer: (call) => {
        const wanted = call.params.contractName
        const rows = contracts
          .filter(({ name, contractName }) => name === wanted || contractName === wanted)
          .map(({ address, abi }) => ({ address, abi }))
        if (rows.length === 0) throw notFound('contract of this name')
        const name = `contracts/${wanted}`
        return page(call, cursors, { name, rows, keyOf: (row) => row.address }, canonical.freshness())
      },
    },
  ]

  function single(path: string, row: object): ReadOperation {
    return {
      method: 'GET',
      path,
      access: 'any',
      query: PAGE_QUERY,
      answer: (call) =>
        page(call, cursors, { name: path, rows: [row], keyOf: () => path }, canonical.freshness()),
    }
  }
}

import { loadArtifacts } from '../contracts/artifacts.ts'
import type { Deployment } from '../deploy.ts'
import type { Canonical } from '../indexer/canonical.ts'
import { notFound } from './api-error.ts'
import type { AnyCall, Handlers } from './handler.ts'
import { type Cursors, page } from './page.ts'

/** What the service says of the deployment it serves. */
export type ServedDeployment = Pick<Deployment, 'chainId' | 'namespace' | 'startBlock' | 'contracts'>

const NETWORK = 'sandbox'
/** Source: service API, "Versioning", rule 4. */
const PROTOCOL_VERSION = 'V2'

/** GET /v1/networks, /v1/deployments and /v1/contracts/{contractName}, which takes a name of either kind. */
export function deploymentReads(
  served: ServedDeployment,
  canonical: Canonical,
  cursors: Cursors,
  generatedAt: string,
) {
  const { chainId, namespace, startBlock, contracts } = served
  const artifacts = loadArtifacts()
  const network = { chainId, name: NETWORK, protocolVersion: PROTOCOL_VERSION, status: 'active' }
  const deployment = {
    chainId,
    network: NETWORK,
    protocolVersion: PROTOCOL_VERSION,
    deploymentNamespace: namespace,
    deploymentStartBlock: startBlock,
    contracts,
    generatedAt,
  }

  const single = (name: string, row: object) => (call: Pick<AnyCall, 'query'>) =>
    page(call, cursors, { name, rows: [row], keyOf: () => name }, canonical.freshness())

  return {
    listNetworks: single('networks', network),
    listDeployments: single('deployments', deployment),
    getContract: (call) => {
      const wanted = call.params.contractName
      const rows = Object.entries(contracts)
        .filter(([name, { contractName }]) => name === wanted || contractName === wanted)
        .map(([, { contractName, address }]) => ({ abi: artifacts[contractName].abi, address }))
      if (rows.length === 0) throw notFound('contract of this name')
      const name = `contracts/${wanted}`
      return page(
        call,
        cursors,
        { name, rows, keyOf: (row) => row.address.toLowerCase() },
        canonical.freshness(),
      )
    },
  } satisfies Partial<Handlers>
}

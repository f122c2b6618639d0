import { loadArtifacts } from '../../contracts/artifacts.ts'
import type { Deployment } from '../../deploy/deploy.ts'
import { notFound } from '../http/api-error.ts'
import type { Handlers } from '../http/handler.ts'
import { collection, type Source } from './rows.ts'

/** What the service says of the deployment it serves. */
export type ServedDeployment = Pick<Deployment, 'chainId' | 'namespace' | 'startBlock' | 'contracts'>

const NETWORK = 'sandbox'
/** Source: service API, "Versioning", rule 4. */
const PROTOCOL_VERSION = 'V2'

/** GET /v1/networks, /v1/deployments and /v1/contracts/{contractName}, which takes a name of either kind. */
export function deploymentReads(source: Source, served: ServedDeployment, generatedAt: string) {
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

  const ofContract = ({
    params: { contractName: wanted },
  }: {
    readonly params: Readonly<Record<string, string>>
  }) => {
    const rows = Object.entries(contracts)
      .filter(([name, { contractName }]) => name === wanted || contractName === wanted)
      .map(([, { contractName, address }]) => ({ abi: artifacts[contractName].abi, address }))
    if (rows.length === 0) throw notFound('contract of this name')
    return rows
  }

  return {
    listNetworks: collection(
      source,
      'networks',
      () => [network],
      (row) => row.name,
    ),
    listDeployments: collection(
      source,
      'deployments',
      () => [deployment],
      (row) => row.deploymentNamespace,
    ),
    getContract: collection(source, 'contracts', ofContract, (row) => row.address.toLowerCase()),
  } satisfies Partial<Handlers>
}

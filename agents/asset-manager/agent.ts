import type { Agent } from '../agent.ts'
import { board } from './board.ts'
import { decide } from './decide.ts'
import { due } from './duty.ts'
import { type ManagerPolicy, managerPolicy } from './policy.ts'
import { reconcile } from './reconcile.ts'
import { recoveredOf } from './recovered.ts'
import { see } from './see.ts'
import type { ManagerSeen } from './seen.ts'

/** The asset manager: buys distressed positions for funds, and keeps vaults and funds as they are declared. */
export const assetManager: Agent<ManagerPolicy, ManagerSeen> = {
  role: 'asset-manager',
  watches: {
    collections: ['funds', 'acquisitions', 'markets', 'vaults'],
    eventTypes: [
      'funds.updated',
      'vaults.updated',
      'markets.updated',
      'oracles.updated',
      'activity.updated',
      'workflow.distressedRecoveryAcquisitionV3Bid.updated',
      'workflow.distressedRecoveryFundV3ChannelPolicySet.updated',
      'workflow.distressedRecoveryFundV3SelfLaunch.updated',
      'workflow.vaultDeploy.updated',
      'workflow.vaultShareMobilityManagerAction.updated',
    ],
  },
  workflowTypes: [
    'role.asset_manager.distressedRecoveryAcquisitionV3Bid',
    'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet',
    'role.asset_manager.distressedRecoveryFundV3SelfLaunch',
    'role.asset_manager.vaultDeploy',
    'role.asset_manager.vaultShareMobilityManagerAction',
  ],
  policy: managerPolicy,
  worksFor: 'funds',
  see,
  decide,
  due,
  board,
  plan: (seen, { declared }) => reconcile(seen, declared),
  recovered: recoveredOf,
  contracts: ({ bidding }) =>
    Object.entries(bidding.assets).map(([symbol, { referenceContract }]) => [
      `bidding.assets.${symbol}.referenceContract`,
      referenceContract,
    ]),
}

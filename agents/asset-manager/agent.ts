import { WORKFLOW_CATALOGUE } from '../../src/service/contract/workflow-types.ts'
import type { Agent } from '../agent.ts'
import { marketVaultsView, partnerChannelViews, vaultOwnerViews } from '../protocol/lending-views.ts'
import { board } from './board.ts'
import { decide } from './decide.ts'
import { reconcile } from './declared/reconcile.ts'
import { SETTINGS_TYPES } from './declared/settings-step.ts'
import { due } from './duty.ts'
import { type ManagerPolicy, managerPolicy } from './policy.ts'
import { recoveredOf } from './recovered.ts'
import { see } from './see.ts'
import type { ManagerSeen } from './seen.ts'

/** The asset manager: buys distressed positions for funds, and keeps vaults, those that it owns and others, and funds as declared. */
export const assetManager: Agent<ManagerPolicy, ManagerSeen> = {
  role: 'asset-manager',
  watches: {
    collections: ['funds', 'acquisitions', 'markets', 'vaults'],
    // Only for the channels that are declared: nothing else waits for it.
    optional: ['wrappers'],
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
      ...SETTINGS_TYPES.map((type) => WORKFLOW_CATALOGUE[type].eventType),
    ],
  },
  workflowTypes: [
    'role.asset_manager.distressedRecoveryAcquisitionV3Bid',
    'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet',
    'role.asset_manager.distressedRecoveryFundV3SelfLaunch',
    'role.asset_manager.vaultDeploy',
    'role.asset_manager.vaultShareMobilityManagerAction',
    ...SETTINGS_TYPES,
  ],
  views: [...vaultOwnerViews, ...marketVaultsView, ...partnerChannelViews],
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
  markets: ({ declared }) =>
    declared.vaultSettings.flatMap(({ markets }, index) =>
      markets.map(({ market }, place) => [`declared.vaultSettings.${index}.markets.${place}.market`, market]),
    ),
}

import type { Difference, Moment } from '../../agent.ts'
import type { ManagerSeen } from '../seen.ts'
import { compareChannel } from './channels.ts'
import type { Declared } from './declared.ts'
import { compareFund, compareVault } from './launch.ts'
import { compareMobility } from './mobility.ts'
import { compareSettings } from './vault-settings.ts'

/**
 * Compare everything that is declared with what is there, in the order in which one thing needs another: vaults, funds,
 * then what is set of them. Pure. Applied, a second look finds nothing to do; what is not declared is never touched.
 */
export const reconcile = (seen: Moment & ManagerSeen, declared: Declared): readonly Difference[] => [
  ...declared.vaults.map((one) => compareVault(one, seen, declared)),
  ...declared.funds.map((one) => compareFund(one, seen)),
  ...declared.channelPolicies.map((one) => compareChannel(one, seen)),
  ...declared.mobility.map((one) => compareMobility(one, seen)),
  ...declared.vaultSettings.flatMap((one) => compareSettings(one, seen, declared)),
]

import type {
  CanonicalPostcondition,
  PreparedWorkflow,
} from '../../src/service/contract/prepared-workflow.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import { VAULT } from './fixtures.ts'
import { answerOf, kindOf } from './kinds.ts'
import { NAV_RULE, rulesetOf } from './rules.ts'

const TYPE = 'role.vault_owner.vaultManagementSettingsSave'
/** How a vault's owner wants it shown. */
export const INPUT = {
  vaultAddress: VAULT,
  managerName: 'Anna',
  website: 'https://a.example',
  logoUrl: 'https://a.example/l',
}
/** Rules that allow it for a vault of the deployment. */
export const ruleset = rulesetOf([NAV_RULE], [{ workflowType: NAV_RULE.workflowType }], undefined, {
  metadata: [{ id: 'shown-as', workflowType: TYPE, input: { vaultAddress: { in: '$deployment.vaults' } } }],
})
export const proposal: Proposal = {
  workflowType: TYPE,
  kind: 'order',
  subject: VAULT,
  occurrence: '1',
  input: INPUT,
  summary: '',
  reason: {},
  exposure: { token: null, assets: 0n, usdMicros: 0n },
}
/** One field as the service says it came true. */
export const saved = (
  field: string,
  expected: CanonicalPostcondition['expected'],
): CanonicalPostcondition & { readonly satisfied: true } => ({
  entityType: 'vault_management_settings',
  entityId: VAULT,
  field,
  expected,
  satisfied: true,
})
export const POSTCONDITIONS = [
  saved('managerName', 'Anna'),
  saved('website', 'https://a.example'),
  saved('logoUrl', 'https://a.example/l'),
]
/** The answer of an honest service. */
export const HONEST: PreparedWorkflow = {
  ...answerOf(kindOf('report'), []),
  workflowType: TYPE,
  status: 'final_success',
  transactions: [],
  executionMode: 'metadata_only',
  custodyBoundary: 'wallet_session_authenticated',
  canonicalPostconditions: POSTCONDITIONS,
}

import { agents } from '../../agents/index.ts'
import { amongOurs, compileRuleset, type Ruleset } from '../../src/guard/ruleset.ts'
import type {
  CanonicalPostcondition,
  PreparedWorkflow,
} from '../../src/service/contract/prepared-workflow.ts'
import { agentRoleOf, type WorkflowType } from '../../src/service/contract/workflow-types.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import { liquidationAnswer, MARKET, SELF, VAULT } from './fixtures.ts'
import { kind } from './kind.ts'
import { deployment } from './kinds.ts'
import { shippedSections } from './shipped.ts'

/** One workflow that is done by preparing it, with the rules that hold it and the answer of an honest service. */
export type SavedKind = {
  readonly workflowType: WorkflowType
  readonly proposal: Proposal
  readonly ruleset: Ruleset
  readonly answer: PreparedWorkflow
}

const website = 'https://partner.example'
const TYPES: readonly (readonly [
  WorkflowType,
  Proposal['input'],
  entityType: string,
  entityId: string,
  Readonly<Record<string, CanonicalPostcondition['expected']>>,
])[] = [
  [
    'role.vault_owner.vaultManagementSettingsSave',
    { vaultAddress: VAULT, managerName: 'Anna', website, logoUrl: `${website}/logo.svg` },
    'vault_management_settings',
    VAULT,
    { managerName: 'Anna', website, logoUrl: `${website}/logo.svg` },
  ],
  [
    'role.vault_owner.vaultOwnerSettingsSave',
    { vaultAddress: VAULT, shareClass: 'Institutional', riskScore: 40 },
    'vault_owner_settings',
    VAULT,
    { shareClass: 'Institutional', riskScore: '40' },
  ],
  [
    'role.curator.vaultMarketListingSave',
    { vaultAddress: VAULT, marketAddress: MARKET, listed: true },
    'vault_market_listing',
    `${VAULT}:${MARKET}`,
    { listed: true },
  ],
  [
    'role.partner.partnerSubmitApplication',
    { vaultAddress: VAULT, partnerName: 'Partner', website, useCase: 'Yield for our own customers' },
    'partner_application',
    `${VAULT}:${SELF}`,
    { status: 'submitted' },
  ],
  [
    'role.asset_issuer.assetSubmissionRequestCreate',
    {
      assetAddress: VAULT,
      name: 'Share',
      symbol: 'svUSD',
      decimals: 12,
      issuerName: 'Issuer',
      website,
      topCategory: 'Stablecoin',
    },
    'asset_submission',
    VAULT,
    { status: 'submitted' },
  ],
]

/** Each type that is done by preparing it, under the shipped policy of its role. */
export const SAVED: readonly SavedKind[] = TYPES.map(
  ([workflowType, input, entityType, entityId, fields]) => {
    const agent = agents.find(({ role }) => role === agentRoleOf(workflowType))
    if (agent === undefined) throw new TypeError(`nobody works ${workflowType}`)
    const compiled = compileRuleset(shippedSections(agent), deployment)
    return {
      workflowType,
      proposal: kind(workflowType, workflowType, input, {}, []).proposal,
      ruleset: amongOurs(compiled, { ours: [SELF], sharing: [SELF] }),
      answer: {
        ...liquidationAnswer(),
        workflowType,
        status: 'final_success',
        transactions: [],
        executionMode: 'metadata_only',
        custodyBoundary: 'wallet_session_authenticated',
        preflight: { ...liquidationAnswer().preflight, revalidateAtExecution: ['intent_not_expired'] },
        canonicalPostconditions: Object.entries(fields).map(([field, expected]) => ({
          entityType,
          entityId,
          field,
          expected,
          satisfied: true,
        })),
      },
    }
  },
)

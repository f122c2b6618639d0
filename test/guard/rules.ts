import { keccak256, size } from 'viem'
import { loadArtifacts } from '../../sandbox/contracts/artifacts.ts'
import { checkPrepared } from '../../src/guard/checks/check-prepared.ts'
import { guardPolicy } from '../../src/guard/policy/policy.ts'
import { compileRuleset, type Ruleset } from '../../src/guard/ruleset.ts'
import { sanityOf } from '../../src/guard/sanity/by-role.ts'
import type { Deployment } from '../../src/service/contract/deployment.ts'
import type { PreparedWorkflow } from '../../src/service/contract/prepared-workflow.ts'
import type { Attestation } from '../../src/workflow/workflow.ts'
import { CHAIN_ID, freeze, NOW_MS, SELF, sections } from './fixtures.ts'
import type { Kind } from './kind.ts'
import { answerOf, deployment } from './kinds.ts'

/** A role that is nobody's: rules, effects and simulation are all that hold it. */
export const ROLE = 'tester'

export type RuleText = Readonly<Record<string, unknown>> & { readonly workflowType: string }

const VIEWS = [
  'function balanceOf(address owner) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
]

/** Compile rules as a policy file writes them. */
export const rulesetOf = (
  allow: readonly RuleText[],
  effects: readonly RuleText[],
  pinned: Deployment = deployment,
  more: Readonly<Record<string, unknown>> = {},
): Ruleset =>
  compileRuleset(
    {
      role: ROLE,
      limits: sections.limits,
      freshness: sections.freshness,
      guard: guardPolicy(sanityOf(ROLE).limits([])).parse({
        views: VIEWS,
        allow: allow.map((rule, index) => ({
          id: `rule-${index}`,
          valueMax: '0 ETH',
          gasMax: '900,000 gas',
          ...rule,
        })),
        effects: effects.map((effect) => ({ out: [], in: [], ...effect })),
        sanity: {},
        gasHeadroom: '130 %',
        ...more,
      }),
    },
    pinned,
  )

/** Judge an answer to a kind's request; the honest one where none is given. */
export const judge = (
  kind: Kind,
  ruleset: Ruleset,
  answer: PreparedWorkflow = answerOf(kind, kind.drafts),
  attestation?: Attestation,
) =>
  checkPrepared({
    workflow: {
      role: ruleset.role,
      chainId: CHAIN_ID,
      signer: SELF,
      proposal: kind.proposal,
      ...(attestation === undefined ? {} : { attestation }),
    },
    frozen: freeze(answer),
    ruleset,
    nowMs: NOW_MS,
  })

/** The check's name, or `accepted`. */
export const reasonOf = (checked: ReturnType<typeof judge>): string =>
  checked.ok ? 'accepted' : checked.check

/** The one call of a NAV report, with the signature that it carries. */
export const NAV_RULE = {
  workflowType: 'role.nav_reporter.navReportSignAndSubmit',
  target: '$input.oracleAddress',
  function:
    'function submitReport((address asset, bytes32 reportType, uint256 value, uint8 decimals, uint64 valuationTime, uint32 revision, string revisionLabel, uint64 deadline) report, bytes signature)',
  params: {
    'report.asset': { eq: '$input.assetAddress' },
    'report.reportType': { eq: '$input.reportType' },
    'report.value': { eq: '$input.value' },
    'report.decimals': { eq: '$input.decimals' },
    'report.valuationTime': { eq: '$input.valuationTimestamp' },
    'report.revision': { eq: '$input.revision' },
    'report.revisionLabel': { eq: '$input.revisionLabel' },
    'report.deadline': { max: '$deadline' },
    signature: { eq: '$signature' },
  },
  typedData: {
    name: 'NavOracle',
    version: '1',
    type: 'NavReport(address asset,bytes32 reportType,uint256 value,uint8 decimals,uint64 valuationTime,uint32 revision,string revisionLabel,uint64 deadline)',
    message: 'report',
    signature: 'signature',
  },
} as const

const { bytecode } = loadArtifacts().LendingVault

/** The creation of a vault: the sandbox's own code, and arguments as the input says. */
export const DEPLOY_RULE = {
  workflowType: 'role.asset_manager.vaultDeploy',
  target: 'deploy',
  creation: { codeHash: keccak256(bytecode), codeBytes: String(size(bytecode)) },
  function:
    'constructor((address asset, string name, string symbol, address directory, address owner, address allocator, address manager, uint16 liquidityBufferBps, (uint8 kind, uint64 noticeSeconds, uint64 intervalSeconds, uint64 maturityTimestamp) exitTerms) setup)',
  params: {
    'setup.asset': { eq: '$input.baseAssetAddress', in: '$deployment.assets' },
    'setup.name': { eq: '$input.name' },
    'setup.symbol': { eq: '$input.symbol' },
    'setup.directory': { eq: '$contract.registry' },
    'setup.owner': { eq: '$input.ownerAddress' },
    'setup.allocator': { eq: '$input.allocatorAddress' },
    'setup.manager': { eq: '$self' },
    'setup.liquidityBufferBps': { eq: '$input.liquidityBufferBps' },
    'setup.exitTerms.kind': {
      eq: '$input.exitTermKind',
      map: { instant: '0', notice: '1', interval: '2', maturity: '3' },
    },
    'setup.exitTerms.noticeSeconds': { eq: '$input.noticeSeconds' },
    'setup.exitTerms.intervalSeconds': { eq: '$input.intervalSeconds' },
    'setup.exitTerms.maturityTimestamp': { eq: '$input.maturityTimestamp' },
  },
  gasMax: '8,000,000 gas',
} as const

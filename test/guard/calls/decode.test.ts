import { encodeAbiParameters, type Hex, pad, parseAbi, size, slice } from 'viem'
import { describe, expect, it } from 'vitest'
import { loadArtifacts } from '../../../sandbox/contracts/artifacts.ts'
import type { TransactionIntent } from '../../../src/service/contract/prepared-workflow.ts'
import { BORROWER, LOAN, SELF, STRANGER } from '../fixtures.ts'
import { answerOf, deployment, kindOf } from '../kinds.ts'
import { REGISTRY } from '../kinds-by-hand.ts'
import { DEPLOY_RULE, judge, reasonOf, rulesetOf } from '../rules.ts'

const { bytecode } = loadArtifacts().LendingVault
const kind = kindOf('deploy')
const effects = [{ workflowType: DEPLOY_RULE.workflowType }]
const ruleset = rulesetOf([DEPLOY_RULE], effects)
const honest = answerOf(kind, kind.drafts)
const [{ inputs }] = parseAbi([DEPLOY_RULE.function])
const { input } = kind.proposal
const setup = {
  asset: LOAN,
  name: String(input.name),
  symbol: String(input.symbol),
  directory: REGISTRY,
  owner: SELF,
  allocator: input.allocatorAddress as Hex,
  manager: SELF,
  liquidityBufferBps: 500,
  exitTerms: { kind: 1, noticeSeconds: 86_400n, intervalSeconds: 0n, maturityTimestamp: 0n },
}
const deployed = (changes: Partial<typeof setup>, code: Hex = bytecode): Hex =>
  `${code}${encodeAbiParameters(inputs, [{ ...setup, ...changes }]).slice(2)}`
const withIntent = (changes: Partial<TransactionIntent>) => ({
  ...honest,
  transactions: honest.transactions.map((intent) => ({ ...intent, ...changes })),
})
const withData = (calldata: Hex) => withIntent({ calldata })
const exit = (changes: Partial<(typeof setup)['exitTerms']>) => ({
  exitTerms: { ...setup.exitTerms, ...changes },
})

describe('a deployment', () => {
  it('is the pinned code with the arguments of the input', () => {
    expect(deployed({})).toBe(honest.transactions[0]?.calldata)
    const checked = judge(kind, ruleset)
    expect(checked).toMatchObject({ ok: true, calls: [{ to: null, approval: null, digest: null }] })
  })

  it.each([
    [
      'one bit of its code',
      `0x61${bytecode.slice(4, -2)}00${deployed({}).slice(bytecode.length)}`,
      'creation_code_changed',
    ],
    ['code in front of it', deployed({}, `0x00${bytecode.slice(2)}`), 'creation_code_changed'],
    ['less code', deployed({}, slice(bytecode, 0, size(bytecode) - 32)), 'creation_code_changed'],
    ['nothing', '0x', 'creation_code_changed'],
    ['no arguments', bytecode, 'calldata_not_canonical'],
    ['a trailing byte', `${deployed({})}00`, 'calldata_not_canonical'],
    ['a byte less', deployed({}).slice(0, -2), 'calldata_not_canonical'],
    ['another asset', deployed({ asset: STRANGER }), 'parameter_setup_asset'],
    ['another name', deployed({ name: 'Vault Twо' }), 'parameter_setup_name'],
    ['another symbol', deployed({ symbol: 'V3' }), 'parameter_setup_symbol'],
    ['another directory', deployed({ directory: STRANGER }), 'parameter_setup_directory'],
    ['another owner', deployed({ owner: STRANGER }), 'parameter_setup_owner'],
    ['another allocator', deployed({ allocator: BORROWER }), 'parameter_setup_allocator'],
    ['another manager', deployed({ manager: STRANGER }), 'parameter_setup_manager'],
    ['another buffer', deployed({ liquidityBufferBps: 0 }), 'parameter_setup_liquidity_buffer_bps'],
    ['other exit terms', deployed(exit({ kind: 0 })), 'parameter_setup_exit_terms_kind'],
    [
      'a longer notice',
      deployed(exit({ noticeSeconds: 86_401n })),
      'parameter_setup_exit_terms_notice_seconds',
    ],
  ])('is refused with %s', (_name, calldata, expected) => {
    expect(reasonOf(judge(kind, ruleset, withData(calldata as Hex)))).toBe(expected)
  })

  it.each([
    ['a target', withIntent({ target: STRANGER })],
    ['the kind of a call', withIntent({ transactionKind: 'contract_call' })],
    ['both', withIntent({ transactionKind: 'contract_call', target: STRANGER })],
  ])('is refused with %s', (_name, answer) => {
    expect(reasonOf(judge(kind, ruleset, answer))).toBe('contract_creation')
  })

  it('is refused with dirt above an address', () => {
    const clean = pad(LOAN).slice(2)
    const [code, args] = [bytecode.length, deployed({})]
    const at = args.indexOf(clean, code)
    const dirty = `${args.slice(0, at)}01${args.slice(at + 2)}` as Hex
    expect(reasonOf(judge(kind, ruleset, withData(dirty)))).toBe('calldata_not_canonical')
  })

  it('may have no arguments, and then nothing comes after its code', () => {
    const bare = rulesetOf([{ ...DEPLOY_RULE, function: 'constructor()', params: {} }], effects, deployment)
    const judged = (calldata: Hex) => reasonOf(judge(kind, bare, withData(calldata)))
    expect(judged(bytecode)).not.toBe('calldata_not_canonical')
    expect(judged(`${bytecode}00`)).toBe('calldata_not_canonical')
  })

  it('sends no coin along', () => {
    expect(reasonOf(judge(kind, ruleset, withIntent({ value: '1' })))).toBe('value_above_cap')
  })
})

describe('a rule for a deployment', () => {
  const { creation, ...uncreated } = DEPLOY_RULE
  it.each([
    ['its code', uncreated, 'creation'],
    ['no target beside its code', { ...DEPLOY_RULE, target: '$contract.registry' }, 'creation'],
    ['a constructor', { ...DEPLOY_RULE, function: 'function setUp(address asset)' }, 'function'],
    [
      'no signature',
      {
        ...DEPLOY_RULE,
        function: 'constructor((address asset) report, bytes signature)',
        params: { 'report.asset': { eq: '$input.baseAssetAddress' }, signature: { eq: '$signature' } },
        typedData: {
          name: 'NavOracle',
          version: '1',
          type: 'NavReport(address asset)',
          message: 'report',
          signature: 'signature',
        },
      },
      'typedData',
    ],
  ])('demands %s', (_name, rule, member) => {
    expect(creation.codeBytes).toMatch(/^\d+$/)
    expect(() => rulesetOf([rule], effects)).toThrow(
      expect.objectContaining({ facts: { path: `guard.allow[0].${member}` } }),
    )
  })
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { approval } from '../../../sandbox/service/workflows/intents.ts'
import { rolekeeper } from '../../../src/cli/dispatch.ts'
import { explainPrepared } from '../../../src/guard/explain/explain.ts'
import type { Ruleset } from '../../../src/guard/ruleset.ts'
import { explainFile } from '../../../src/keeper/policy-tools/explain.ts'
import { newDirectory } from '../../support/directory.ts'
import { policyFileOf } from '../../support/policies.ts'
import {
  approve,
  bound,
  CHAIN_ID,
  COLLATERAL,
  freeze,
  intent,
  LOAN,
  liquidate,
  liquidation,
  liquidationAnswer,
  liquidationArgs,
  MARKET,
  NOW_MS,
  OTHER_MARKET,
  REPAY,
  SELF,
  STRANGER,
} from '../fixtures.ts'
import type { Kind } from '../kind.ts'
import { answerOf, DESK, deployment, kindOf } from '../kinds.ts'
import { rulesetOf } from '../rules.ts'
import { CASES } from '../shipped.ts'

const POLICY = policyFileOf('liquidator')
const folder = newDirectory()
const written = (name: string, value: unknown) => {
  const file = join(folder, name)
  writeFileSync(
    file,
    JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? String(member) : member)),
  )
  return file
}
const CONFIG = written('run.yaml', {
  environment: 'sandbox',
  agents: [],
  service: { assumptions: {} },
  deployment: {
    ...deployment,
    assets: deployment.assets.map((asset) => ({ ...asset, decimals: String(asset.decimals) })),
    markets: deployment.markets.map((market, index) => ({ ...market, name: `market${index}` })),
  },
})

/** An answer, as `workflows show ID --json` prints the workflow that it is of. */
const shown = (answer: ReturnType<typeof liquidationAnswer>) =>
  written('workflow.json', { ...bound(liquidation), prepared: freeze(answer) })

const tampered = () => ({
  ...liquidationAnswer(),
  transactions: [
    intent(0, LOAN, approve(MARKET, REPAY + 1n)),
    intent(1, MARKET, liquidate({ ...liquidationArgs, recipient: STRANGER, repayAssets: 2n * REPAY })),
  ],
})

describe('an answer that a policy is asked about', () => {
  it('is cleared call by call, each by the rule of its place', () => {
    const { refusal, calls, workflowType } = explainFile(POLICY, CONFIG, shown(liquidationAnswer()))
    expect([refusal, workflowType]).toEqual([null, 'role.liquidator.liquidate'])
    expect(
      calls.map(({ to, calls, rules }) => [to, calls, rules.map(({ rule, clears }) => [rule, clears])]),
    ).toEqual([
      [
        `sUSD ${LOAN}`,
        'approve',
        [
          ['approve-repayment', true],
          ['liquidate', false],
        ],
      ],
      [
        `market0 ${MARKET}`,
        'liquidate',
        [
          ['approve-repayment', false],
          ['liquidate', true],
        ],
      ],
    ])
    expect(calls[0]?.rules[1]?.why).toMatchObject([
      {
        check: 'target_not_allowed',
        message: `Intent 0 goes to sUSD ${LOAN}; rule liquidate allows only market0 ${MARKET}.`,
      },
    ])
  })

  it('is refused with every condition that failed, both values in units', () => {
    const { refusal, calls } = explainFile(POLICY, CONFIG, shown(tampered()))
    expect(refusal?.check).toBe('approval_not_exact')
    expect(calls[0]?.rules[0]?.why.map(({ message }) => message)).toEqual([
      'amount is 1,000.000001 sUSD; allowed is 1,000 sUSD ($input.repayAssets).',
    ])
    expect(calls[1]?.rules[1]?.why.map(({ check, message }) => `${check}: ${message}`)).toEqual([
      'parameter_repay_assets: repayAssets is 2,000 sUSD; allowed is 1,000 sUSD ($input.repayAssets).',
      `parameter_recipient: recipient is ${STRANGER} (no name of ours); allowed is our signer ${SELF} ($self).`,
    ])
  })

  it('may be the two bodies of a prepare call', () => {
    const { workflowType, input } = liquidation
    const request = { workflowType, chainId: CHAIN_ID, principalAddress: SELF, input }
    const late = { ...liquidationArgs, deadline: liquidationArgs.deadline + 1n }
    const answer = {
      ...liquidationAnswer(),
      transactions: [intent(0, LOAN, approve(MARKET, REPAY)), intent(1, MARKET, liquidate(late))],
    }
    const { refusal, calls } = explainFile(
      POLICY,
      CONFIG,
      written('exchange.json', { request, answer, receivedAt: new Date(NOW_MS).toISOString() }),
    )
    expect(refusal?.check).toBe('parameter_deadline')
    expect(calls[1]?.rules[1]?.why[0]?.message).toBe(
      'deadline is 2027-01-15T08:00:31.000Z; allowed is at most 2027-01-15T08:00:30.000Z ($deadline).',
    )
  })

  it('is told from what is no answer', () => {
    expect(() => explainFile(POLICY, CONFIG, written('other.json', { answer: { ok: true } }))).toThrow(
      /other\.json is no prepared workflow: request is missing; expected a mapping/,
    )
    expect(() => explainFile(POLICY, CONFIG, join(folder, 'absent.json'))).toThrow('cannot be read')
    const unpinned = { ...bound(liquidation), prepared: freeze(liquidationAnswer()) }
    const other = {
      ...unpinned,
      proposal: { ...liquidation, input: { ...liquidation.input, marketAddress: COLLATERAL } },
    }
    expect(explainFile(POLICY, CONFIG, written('unpinned.json', other)).refusal?.check).toBe(
      'market_not_pinned',
    )
  })

  it('says that a person is asked first, whatever the policy says, where the type is always asked about', () => {
    const heldOf = (workflowType: string) =>
      explainFile(
        POLICY,
        CONFIG,
        written('held.json', {
          ...bound({ ...liquidation, workflowType: workflowType as typeof liquidation.workflowType }),
          prepared: freeze(liquidationAnswer()),
        }),
      ).asks?.check
    expect(heldOf('role.vault_owner.vaultOwnerTransferUpdate')).toBe('approval_held')
    expect(heldOf('role.vault_owner.vaultRoutingUpdate')).not.toBe('approval_held')
  })

  it('is explained on the screen, and the exit code says whether it is cleared', async () => {
    let out = ''
    const io = {
      out: (text: string) => (out += text),
      err: (text: string) => (out += text),
      outIsTty: false,
      errIsTty: false,
      env: {},
    }
    const explain = (file: string) => rolekeeper(['policy', 'explain', POLICY, file, '--config', CONFIG], io)
    expect(await explain(shown(liquidationAnswer()))).toBe(0)
    out = ''
    expect(await explain(shown(tampered()))).toBe(1)
    expect(out).toMatchSnapshot()
  })
})

describe.each(CASES)('%s', (_name, kind, ruleset) => {
  const explain = (answer: ReturnType<typeof answerOf>) =>
    explainPrepared({
      workflow: { ...bound(kind.proposal), role: ruleset.role },
      frozen: freeze(answer),
      ruleset,
      nowMs: NOW_MS,
    })

  it('is cleared, each call by one rule, and by no other without a reason', () => {
    const { refusal, calls } = explain(answerOf(kind, kind.drafts))
    expect(refusal).toBeNull()
    expect(calls).toHaveLength(kind.drafts.length)
    for (const { rules } of calls) {
      expect(rules.filter(({ clears }) => clears)).toHaveLength(1)
      expect(rules.filter(({ clears, why }) => clears === why.length > 0)).toEqual([])
    }
  })

  it('is refused for a byte more, and each rule says so of the call', () => {
    const longer = kind.drafts.map((draft) => ({ ...draft, calldata: `${draft.calldata}00` as const }))
    const { refusal, calls } = explain(answerOf(kind, longer))
    expect(refusal?.check).toMatch(/calldata_not_canonical|creation_code_changed|call_too_large/)
    expect(calls.flatMap(({ rules }) => rules.filter(({ clears }) => clears))).toEqual([])
  })
})

it('names a list of another length than the request has', () => {
  const found = CASES.find(
    ([, { proposal }]) => proposal.workflowType === 'role.allocator.vaultReallocationBatch',
  )
  if (found === undefined) throw new Error('the allocator reallocates')
  const [, kind, ruleset] = found
  const twice = [
    { marketAddress: MARKET, assets: '300000' },
    { marketAddress: MARKET, assets: '300000' },
  ]
  const proposal = { ...kind.proposal, input: { ...kind.proposal.input, withdrawals: twice } }
  const { calls } = explainPrepared({
    workflow: { ...bound(proposal), role: ruleset.role },
    frozen: freeze(answerOf(kind, kind.drafts)),
    ruleset,
    nowMs: NOW_MS,
  })
  expect(calls[0]?.rules[0]?.why[0]).toMatchObject({
    check: 'parameter_withdrawals_length',
    message: expect.stringContaining('withdrawals has 1 elements'),
  })
})

describe('a call that a rule does not clear', () => {
  const caseOf = (name: string) => {
    const [, kind, ruleset] = CASES.find(([, each]) => each.name === name) ?? []
    if (kind === undefined || ruleset === undefined) throw new TypeError(`a shipped policy allows ${name}`)
    return { kind, ruleset }
  }
  const explain = (kind: Kind, ruleset: Ruleset, answer = answerOf(kind, kind.drafts)) =>
    explainPrepared({
      workflow: { ...bound(kind.proposal), role: ruleset.role },
      frozen: freeze(answer),
      ruleset,
      nowMs: NOW_MS,
    }).calls
  const whyOf = (...given: Parameters<typeof explain>) =>
    explain(...given).flatMap(({ rules }) => rules.flatMap(({ why }) => why.map(({ message }) => message)))

  it('is told in the order that it runs in, whichever the service sent first', () => {
    const { kind, ruleset } = caseOf('liquidate')
    const answer = answerOf(kind, kind.drafts)
    const transactions = answer.transactions.toReversed()
    expect(explain(kind, ruleset, { ...answer, transactions }).map(({ calls }) => calls)).toEqual([
      'approve',
      'liquidate',
    ])
  })

  it('may be one of another request', () => {
    const { kind, ruleset } = caseOf('pause')
    const [call] = explain(kind, ruleset)
    const restoring = call?.rules.find(({ why }) => why[0]?.message.includes('action restore'))
    expect(restoring?.why).toMatchObject([
      { check: 'other_request', message: 'It is for a request with action restore.' },
    ])
  })

  it('is named by its element where it is one of a list, and by no reference where the policy has a figure', () => {
    const { kind, ruleset } = caseOf('reallocate')
    const supplies = [
      { marketAddress: OTHER_MARKET, assets: '200000' },
      { marketAddress: MARKET, assets: '100001' },
    ]
    const asked = { ...kind, proposal: { ...kind.proposal, input: { ...kind.proposal.input, supplies } } }
    const less = 'supplies[1].assets is 0.1 sUSD; allowed is 0.100001 sUSD ($input.supplies[].assets).'
    expect(whyOf(asked, ruleset)).toEqual([less])
    const cancel = kindOf('rfq-cancel')
    const { workflowType } = cancel.proposal
    const holding = (bidId: object) =>
      rulesetOf(
        [
          {
            workflowType,
            target: '$contract.rfqDesk',
            function: 'function cancelBid(uint256 bidId)',
            params: { bidId },
          },
        ],
        [{ workflowType }],
      )
    expect(whyOf(cancel, holding({ eq: '$input.bidId', max: '8' }))).toEqual([
      'bidId is 9; allowed is at most 8.',
    ])
    expect(whyOf(cancel, holding({ any: [{ eq: '8' }, { max: '7' }] }))).toEqual([
      'bidId is 9; allowed is exactly 8 (8), or at most 7 (7).',
    ])
  })

  it('says amounts that it approves in the token that it goes to, though no effect is of them', () => {
    const { kind, ruleset } = caseOf('rfq-place')
    const effects = new Map([[kind.proposal.workflowType, { out: [], in: [], moves: [] }]])
    const drafts = [approval(LOAN, DESK, 5_000_000_001n), ...kind.drafts.slice(1)]
    const unlike = 'amount is 5,000.000001 sUSD; allowed is 5,000 sUSD ($input.bidAssets).'
    expect(whyOf(kind, { ...ruleset, effects }, answerOf(kind, drafts))).toContain(unlike)
  })
})

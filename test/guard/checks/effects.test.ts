import {
  type Address,
  encodeAbiParameters,
  getAddress,
  pad,
  parseAbiParameters,
  toEventSelector,
  toHex,
} from 'viem'
import { describe, expect, it } from 'vitest'
import type { Log } from '../../../src/chain/nodes.ts'
import {
  checkAllowances,
  checkChanges,
  checkLogs,
  loggedChanges,
  recipientsOf,
  sumChanges,
} from '../../../src/guard/checks/effects.ts'
import type { Effects, Subject } from '../../../src/guard/policy/references.ts'
import { COLLATERAL, deployment, LOAN, MARKET, REPAY, ruleset, SELF, STRANGER } from '../fixtures.ts'

const [market] = deployment.markets
if (market === undefined) throw new TypeError('the deployment has a market')
const subject: Subject = {
  input: { repayAssets: String(REPAY) },
  self: SELF,
  deadlineS: 0n,
  market,
  vault: null,
  fund: null,
  deployment,
}

const NONE: Effects = { out: [], in: [], moves: [] }
const log = (token: Address, event: string, from: Address, to: Address, value: bigint): Log => ({
  address: token,
  topics: [toEventSelector(event), pad(from), pad(to)],
  data: encodeAbiParameters(parseAbiParameters('uint256'), [value]),
})
const transfer = (token: Address, from: Address, to: Address, value: bigint) =>
  log(token, 'Transfer(address,address,uint256)', from, to, value)
const seen = { token: LOAN, spender: MARKET, before: 0n, after: 0n, approved: true }
const approval = log(LOAN, 'Approval(address,address,uint256)', SELF, MARKET, 5n)
const reasonOf = (refusal: { check: string } | null) => refusal?.check ?? 'fine'

describe('effects', () => {
  it('read the first word of what a transfer says, and nothing of one that says nothing', () => {
    const honest = transfer(LOAN, MARKET, SELF, 7n)
    expect(loggedChanges([{ ...honest, data: '0x' }], SELF)).toEqual([])
    expect(loggedChanges([{ ...honest, data: `${honest.data}${'ff'.repeat(32)}` }], SELF)).toEqual([
      { token: LOAN, assets: 7n },
    ])
  })

  it('sum transfers by token, and leave out what nets to zero and what is not ours', () => {
    const logs = [
      transfer(LOAN, SELF, MARKET, 7n),
      transfer(LOAN, MARKET, SELF, 2n),
      transfer(COLLATERAL, SELF, MARKET, 3n),
      transfer(COLLATERAL, MARKET, SELF, 3n),
      transfer(COLLATERAL, SELF, SELF, 9n),
      transfer(LOAN, STRANGER, MARKET, 9n),
      approval,
    ]
    expect(loggedChanges(logs, SELF)).toEqual([{ token: LOAN, assets: -5n }])
    expect(loggedChanges(logs, getAddress(SELF))).toEqual([{ token: LOAN, assets: -5n }])
    expect(sumChanges(logs.flatMap((each) => loggedChanges([each], SELF)))).toEqual([
      { token: LOAN, assets: -5n },
    ])
  })

  it('do not count the number of a unique token as an amount', () => {
    const unique = { ...transfer(LOAN, SELF, MARKET, 0n), data: '0x' as const }
    const withId = { ...unique, topics: [...unique.topics, pad(toHex(7))] }
    expect(loggedChanges([withId], SELF)).toEqual([])
  })

  it('refuse a token that nobody pinned when it leaves us, and let it come in', () => {
    expect(reasonOf(checkLogs([transfer(STRANGER, SELF, MARKET, 1n)], subject, []))).toBe(
      'unknown_token_left',
    )
    expect(reasonOf(checkLogs([transfer(STRANGER, MARKET, SELF, 1n)], subject, []))).toBe('fine')
  })

  it('refuse an approval that no read covers, and any approval for all', () => {
    expect(reasonOf(checkLogs([approval], subject, [seen]))).toBe('fine')
    expect(reasonOf(checkLogs([approval], subject, [{ ...seen, spender: STRANGER }]))).toBe(
      'unknown_approval',
    )
    const forAll = log(LOAN, 'ApprovalForAll(address,address,bool)', SELF, MARKET, 1n)
    expect(reasonOf(checkLogs([forAll], subject, [seen]))).toBe('unknown_approval')
  })

  it('demand that what was approved is used up, and that nothing else grew', () => {
    expect(reasonOf(checkAllowances([seen], subject))).toBe('fine')
    expect(reasonOf(checkAllowances([{ ...seen, after: 1n }], subject))).toBe('allowance_left')
    expect(reasonOf(checkAllowances([{ ...seen, before: 5n, after: 5n }], subject))).toBe('allowance_left')
    const other = { ...seen, approved: false, before: 5n }
    expect(reasonOf(checkAllowances([{ ...other, after: 5n }], subject))).toBe('fine')
    expect(reasonOf(checkAllowances([{ ...other, after: 6n }], subject))).toBe('allowance_left')
    expect(reasonOf(checkAllowances([{ ...other, after: null }], subject))).toBe('read_failed')
  })

  it('let out what the policy says, and not one base unit more or another token', () => {
    const effects = ruleset.effects.get('role.liquidator.liquidate') ?? NONE
    const judge = (token: Address, assets: bigint) =>
      reasonOf(checkChanges([{ token, assets }], effects, subject))
    expect(judge(LOAN, -REPAY)).toBe('fine')
    expect(judge(LOAN, -REPAY - 1n)).toBe('token_left')
    expect(judge(COLLATERAL, -1n)).toBe('token_left')
    expect(judge(COLLATERAL, 1n)).toBe('fine')
  })

  it('demand what must come in, to the base unit', () => {
    const effects = ruleset.effects.get('role.liquidator.settleLiquidationClaim') ?? NONE
    const judge = (assets: bigint) =>
      reasonOf(checkChanges([{ token: COLLATERAL, assets }], effects, subject))
    expect(judge(1n)).toBe('fine')
    expect(reasonOf(checkChanges([], effects, subject))).toBe('token_missing')
  })

  it('say what should have come in, with its unit where it has one', () => {
    const item = ruleset.effects.get('role.liquidator.settleLiquidationClaim')?.in[0]
    if (item === undefined) throw new TypeError('a settlement brings collateral')
    const message = (token: Address, gained: bigint) => {
      const demanded = { ...item, token: { ...item.token, resolve: () => token } }
      return checkChanges([{ token, assets: gained }], { ...NONE, in: [demanded] }, subject)?.message
    }
    expect(message(COLLATERAL, 0n)).toBe('0 sBTC would come in; guard.effects demands 0.00000001 sBTC.')
    expect(message(STRANGER, 0n)).toContain(`0 base units of ${STRANGER} would come in`)
  })

  it('name whom we pay, once, by transfers of ours alone', () => {
    const logs = [
      transfer(LOAN, SELF, MARKET, 7n),
      transfer(COLLATERAL, SELF, MARKET, 7n),
      transfer(LOAN, STRANGER, COLLATERAL, 7n),
      approval,
      { ...approval, topics: [] },
      { ...approval, topics: approval.topics.slice(0, 1) },
    ]
    expect(recipientsOf(logs, SELF)).toEqual([MARKET])
    expect(reasonOf(checkLogs(logs.slice(4), subject, []))).toBe('fine')
  })
})

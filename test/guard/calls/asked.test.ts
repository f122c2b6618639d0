import { describe, expect, it } from 'vitest'
import { checkRequest } from '../../../src/guard/checks/check-request.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { MARKET, OTHER_MARKET, SELF, STRANGER } from '../fixtures.ts'
import { kindOf } from '../kinds.ts'
import { rulesetOf } from '../rules.ts'
import { CASES } from '../shipped.ts'

/** The terms of a vault: a buffer of 1,000, notice of 86,400 s, terms of the kind `interval`. */
const settings = kindOf('settings').proposal
const routing = kindOf('routing').proposal
const offer = kindOf('offer').proposal
/** One withdrawal, two supplies. */
const reallocate = kindOf('reallocate').proposal

/** What a request for one call comes to, by the conditions of its arguments: `asked`, or its refusal. */
function ask(
  proposal: Proposal,
  signature: string,
  params: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
): string {
  const { workflowType } = proposal
  const rule = { workflowType, target: '$vault', function: `function ${signature}`, params }
  // A call that is always there, and says nothing.
  const last = { ...rule, function: 'function done()', params: {} }
  return said(proposal, rulesetOf([{ ...rule, ...more }, last], [{ workflowType }]))
}

function said(proposal: Proposal, ruleset: Parameters<typeof checkRequest>[0]['ruleset']): string {
  const checked = checkRequest({ proposal, role: ruleset.role, signer: SELF, ruleset })
  return checked.ok ? 'asked' : `${checked.check}: ${checked.message}`
}

const buffer = (tests: Readonly<Record<string, unknown>>, more = {}) =>
  ask(
    settings,
    'setBuffer(uint16 bufferBps)',
    { bufferBps: { eq: '$input.liquidityBufferBps', ...tests } },
    more,
  )

describe('a request for a call', () => {
  it('is refused one past what the rule lets the argument be that says the same, with both in it', () => {
    expect(buffer({ max: '1000', min: '1000' })).toBe('asked')
    expect(buffer({ max: '999' })).toBe(
      'parameter_buffer_bps: Rule rule-0: bufferBps is 10 %; allowed is at most 999 (9.99 %).',
    )
    expect(buffer({ min: '1001' })).toContain('parameter_buffer_bps')
    expect(buffer({ in: ['999', '1001'] })).toContain('allowed is one of 999, 1001')
  })

  it('is held to a choice as to the values in it, and to other members of the request', () => {
    expect(buffer({ any: [{ max: '10' }, { min: '1000' }] })).toBe('asked')
    expect(buffer({ any: [{ max: '10' }, { min: '1001' }] })).toContain('parameter_buffer_bps')
    expect(buffer({ max: '$input.noticeSeconds' })).toBe('asked')
    expect(buffer({ max: '1 % of $input.noticeSeconds' })).toContain('parameter_buffer_bps')
  })

  it('is not judged by what it cannot tell: the end of an answer, another argument, one that it does not fix', () => {
    expect(buffer({ max: '$deadline' })).toBe('asked')
    expect(buffer({ any: [{ max: '$deadline' }, { max: '1' }] })).toBe('asked')
    const other = { cap: { max: '5' }, bufferBps: { eq: '$input.liquidityBufferBps', max: '$args.cap' } }
    expect(ask(settings, 'setBuffer(uint16 bufferBps, uint16 cap)', other)).toBe('asked')
    const same = { cap: { eq: '$input.liquidityBufferBps' }, bufferBps: { eq: '$args.cap', min: '1' } }
    expect(ask(settings, 'setBuffer(uint16 bufferBps, uint16 cap)', same)).toBe('asked')
    expect(ask(settings, 'setEnd(uint64 end)', { end: { eq: '$deadline', min: '1' } })).toBe('asked')
  })

  it('is not refused for a call that may be missing, nor for one of another shape', () => {
    const { newOwnerAddress: _nobody, ...input } = offer.input
    const tests = { newAdmin: { eq: '$input.newOwnerAddress', in: ['$self'] } }
    const signature = 'beginDefaultAdminTransfer(address newAdmin)'
    const when = { when: { action: 'offer' } }
    expect(ask(offer, signature, tests, when)).toContain('parameter_new_admin')
    expect(ask({ ...offer, input: { ...input, action: 'accept' } }, signature, tests, when)).toBe('asked')
    expect(buffer({ max: '999' }, { optional: 'true' })).toBe('asked')
  })

  it('is refused for a choice that the rule has no value for', () => {
    const kind = (map: Readonly<Record<string, string>>) =>
      ask(settings, 'setKind(uint8 kind)', { kind: { eq: '$input.exitTermKind', map } })
    expect(kind({ interval: '2' })).toBe('asked')
    expect(kind({ notice: '1' })).toBe(
      'parameter_kind: Rule rule-0: kind is missing; allowed is exactly $input.exitTermKind (interval, for which it has no value).',
    )
  })

  it('is held in each element of a list, and in its length', () => {
    const route = (tests: Readonly<Record<string, unknown>>, more = {}) =>
      ask(routing, 'setRouting(address[] markets)', {
        'markets[]': { eq: '$input.marketAddresses[]', ...tests },
        ...more,
      })
    expect(route({ in: [MARKET, OTHER_MARKET] }, { 'markets.length': { max: '2' } })).toBe('asked')
    expect(route({ in: [MARKET] })).toContain(
      `parameter_markets: Rule rule-0: markets[1] is ${OTHER_MARKET};`,
    )
    expect(route({}, { 'markets.length': { max: '1' } })).toContain(
      'parameter_markets_length: Rule rule-0: markets.length is 2; allowed is at most 1',
    )
    expect(route({}, { 'markets.length': { min: '3', max: '4' } })).toContain('parameter_markets_length')
    expect(route({}, { 'markets.length': { eq: '2' } })).toBe('asked')
    expect(route({}, { 'markets.length': { eq: '3' } })).toContain(
      'parameter_markets_length: Rule rule-0: markets.length is 2; allowed is exactly 3',
    )
  })

  it('is held in the length of each list that one of the call is compared with', () => {
    const move = (max: string) =>
      ask(reallocate, 'move((address market, uint256 assets)[] moves)', {
        'moves[].market': { eq: '$input.withdrawals[].marketAddress' },
        'moves[].assets': { eq: '$input.supplies[].assets' },
        'moves.length': { max },
      })
    expect(move('2')).toBe('asked')
    expect(move('1')).toContain('parameter_moves_length: Rule rule-0: moves.length is 2;')
  })

  it('is not refused for the elements of a list that may have none', () => {
    const params = {
      'vaults[]': { eq: '$input.vaultAddress', in: [STRANGER] },
      'vaults.length': { max: '1' },
    }
    expect(ask(settings, 'setAll(address[] vaults)', params)).toBe('asked')
  })

  it('is held in what the call carries, and to where that goes', () => {
    const { workflowType } = settings
    const outer = {
      id: 'outer',
      workflowType,
      target: '$vault',
      function: 'function multicall(bytes[] data)',
      params: {},
      calls: { data: 'data[]', inside: ['inner'] },
    }
    const inner = {
      id: 'inner',
      workflowType,
      target: '$vault',
      function: 'function setBuffer(uint16 bufferBps)',
      params: { bufferBps: { eq: '$input.liquidityBufferBps', max: '999' } },
    }
    expect(said(settings, rulesetOf([outer, inner], [{ workflowType }]))).toContain(
      'parameter_buffer_bps: Rule inner:',
    )
  })

  it('is refused where its call would go to a contract that nobody pinned', () => {
    const found = CASES.find(([, { name }]) => name === 'investor-deposit')
    if (found === undefined) throw new TypeError('an investor deposits')
    const [, { proposal }, ruleset] = found
    expect(said(proposal, ruleset)).toBe('asked')
    const input = { ...proposal.input, wrapperAddress: STRANGER }
    expect(said({ ...proposal, input }, ruleset)).toContain('target_not_pinned: Rule deposit:')
  })
})

import { describe, expect, it } from 'vitest'
import { RolekeeperError } from '../../../src/errors.ts'
import { causesOf } from '../../../src/keeper/health/causes.ts'
import {
  type ChainSeen,
  chainFinding,
  gasFinding,
  nodeFindings,
} from '../../../src/keeper/health/findings/chain.ts'
import { clockFinding, diskFinding, journalFinding } from '../../../src/keeper/health/findings/process.ts'
import {
  dutyFinding,
  keyFinding,
  serviceFinding,
  streamFinding,
} from '../../../src/keeper/health/findings/role.ts'
import { type UpkeepState, upkeepFindings } from '../../../src/keeper/health/findings/upkeep.ts'
import type { RoleAtWork } from '../../../src/keeper/role/role.ts'
import { type FacetName, type Finding, facetKey } from '../../../src/ops/facet.ts'
import { SIGNER } from '../../support/workflows.ts'

const NOW = 10_000_000
/** How a finding ends: its state and its code. */
const told = (finding: Finding) => [finding.state, finding.state === 'ok' ? 'ok' : finding.error.code]

it.each([
  ['right', -2_000, 400, ['ok', 'ok']],
  ['not compared yet', null, null, ['ok', 'ok']],
  ['right, on a chain that stands still', -300_000, 0, ['ok', 'ok']],
  ['five minutes ahead', -300_000, -300_000, ['failing', 'clock.off']],
  ['five minutes ahead, with no node', null, -300_000, ['failing', 'clock.off']],
  ['five minutes behind', 300_000, 300_000, ['failing', 'clock.off']],
  ['apart from a service that is alone with it', -1_000, 60_000, ['warning', 'clock.off']],
])('says of a clock that it is %s', (_, behindHeadMs, behindServiceMs, expected) => {
  const headMs = behindHeadMs === null ? null : NOW + behindHeadMs
  expect(told(clockFinding({ nowMs: NOW, headMs, servers: { 'the service': behindServiceMs } }))).toEqual(
    expected,
  )
})

describe('the chain', () => {
  const nodes = { agree: 2, health: () => [], quorumMissingSinceMs: () => null, unanswered: () => [] }
  const well: ChainSeen = {
    nodes,
    waitsFor: null,
    unread: [],
    headAgeMs: 2_000,
    headAgeMsMax: 30_000,
  }
  const inVain = (method: string, forMs: number) => ({
    method,
    sinceMs: NOW - forMs,
    error: new RolekeeperError('node.quorum_missing', '', { retry: 'later' }),
  })
  it.each([
    ['followed', {}, ['ok', 'ok']],
    [
      'followed no further for 15 s',
      { unread: [{ sinceMs: NOW - 15_001, error: new TypeError('zz') }] },
      ['failing', 'node.block_unread'],
    ],
    [
      'followed no further for less',
      { unread: [{ sinceMs: NOW - 15_000, error: new TypeError('zz') }] },
      ['ok', 'ok'],
    ],
    [
      'asked in vain for what is spared',
      { nodes: { ...nodes, unanswered: () => [inVain('eth_getLogs', 15_001)] } },
      ['warning', 'node.method_unanswered'],
    ],
    [
      'asked in vain for what is needed as well',
      {
        nodes: {
          ...nodes,
          unanswered: () => [inVain('eth_getLogs', 16_000), inVain('eth_call', 15_001)],
        },
      },
      ['failing', 'node.method_unanswered'],
    ],
    [
      'asked in vain for less than 15 s',
      { nodes: { ...nodes, unanswered: () => [inVain('eth_call', 15_000)] } },
      ['ok', 'ok'],
    ],
    ['two thirds of what is allowed behind', { headAgeMs: 20_001 }, ['warning', 'node.head_old']],
    ['older than policies allow', { headAgeMs: 30_001 }, ['failing', 'node.head_old']],
    ['not followed yet', { nodes: undefined }, ['failing', 'chain.not_followed']],
    [
      'without a quorum for 15 s',
      { nodes: { ...nodes, quorumMissingSinceMs: () => NOW - 15_001 } },
      ['failing', 'node.no_quorum'],
    ],
  ])('is %s', (_, change, expected) => {
    expect(told(chainFinding({ ...well, ...change }, NOW))).toEqual(expected)
  })

  it('names each node that is left out for ten seconds, and why', () => {
    const node = {
      lastErrorCode: 'node.timeout',
      disagreements: 0,
      blocksBehind: 7,
      headNumber: 1n,
      errors: 0,
    }
    const found = nodeFindings(
      [
        { ...node, node: 'read-1', state: 'ok', sinceMs: 0 },
        { ...node, node: 'read-2', state: 'behind', sinceMs: NOW - 10_001 },
        { ...node, node: 'read-3', state: 'down', sinceMs: NOW - 10_001 },
        { ...node, node: 'read-4', state: 'down', sinceMs: NOW - 10_000 },
      ],
      NOW,
    )
    expect(found.map((each) => [each.about, ...told(each)])).toEqual([
      ['read-1', 'ok', 'ok'],
      ['read-2', 'warning', 'node.left_out'],
      ['read-3', 'failing', 'node.left_out'],
      ['read-4', 'ok', 'ok'],
    ])
  })
})

it.each([
  [null, ['ok', 'ok']],
  [30n, ['ok', 'ok']],
  [29n, ['warning', 'signer.low_balance']],
  [9n, ['failing', 'signer.low_balance']],
])('of a role whose workflow may pay 10 wei, %s wei are said to be %s', (balanceWei, expected) => {
  const finding = gasFinding({ role: 'liquidator', signer: SIGNER, gasWeiMax: 10n }, balanceWei)
  expect([finding.about, ...told(finding)]).toEqual(['liquidator', ...expected])
})

it('says of a role whose policy lets nothing pay for gas that nothing is short, and throws nothing', () => {
  expect(told(gasFinding({ role: 'liquidator', signer: SIGNER, gasWeiMax: 0n }, 5n))).toEqual(['ok', 'ok'])
})

it('says of a disk how much room it has, and of a journal what it fails for', () => {
  expect(told(diskFinding({ directory: '/state' }, 2 ** 30))).toEqual(['ok', 'ok'])
  expect(told(diskFinding({ directory: '/state' }, 2 ** 30 - 1))).toEqual(['warning', 'disk.low'])
  expect(told(diskFinding({ directory: '/state' }, 2 ** 27 - 1))).toEqual(['failing', 'disk.low'])
  expect(told(journalFinding(null, 3))).toEqual(['ok', 'ok'])
  const full = Object.assign(new Error('/state/journal.sqlite'), { code: 'ENOSPC' })
  const found = journalFinding(full, 3)
  expect(told(found)).toEqual(['failing', 'journal.not_writing'])
  expect(JSON.stringify(found)).not.toContain('/state')
  const late = journalFinding(new DOMException('too late', 'TimeoutError'), 3)
  expect(late).toMatchObject({
    error: { shortMessage: expect.stringContaining('takes nothing: a write was not taken in 3 s.') },
  })
})

type Worker = Parameters<typeof serviceFinding>[0][number]
const worker = (failing: unknown, freshness: { ok: boolean; isOurs?: true } | null): Worker =>
  ({
    duty: {
      failing: () => (failing === null ? null : { error: failing, sinceMs: NOW }),
      lastSeen: () =>
        freshness === null ? null : { freshness: { ageMs: 0, message: 'vaults lags 1 min', ...freshness } },
    },
  }) as unknown as Worker

it.each([
  ['is fresh', worker(null, { ok: true }), 'ok'],
  ['was not read yet', worker(null, null), 'service.not_read'],
  ['is a minute behind', worker(null, { ok: false }), 'service.stale'],
  ['is well, and our own node is behind', worker(null, { ok: false, isOurs: true }), 'ok'],
  [
    'answers 500',
    worker(new RolekeeperError('service.status', 'GET answered 500.'), { ok: true }),
    'service.status',
  ],
  [
    'is nothing to a node that fails',
    worker(new RolekeeperError('node.timeout', 'Late.'), { ok: true }),
    'ok',
  ],
])('says of a service that it %s', (_, each, code) => {
  expect(told(serviceFinding([each]))[1]).toBe(code)
})

it('says how changes are heard of', () => {
  const of = (mode: 'stream' | 'polling' | 'down') => told(streamFinding({ mode, connections: 1 }))
  expect([of('stream'), of('polling'), of('down')]).toEqual([
    ['ok', 'ok'],
    ['warning', 'stream.polling'],
    ['failing', 'stream.down'],
  ])
})

it('says of a key that it does not sign, at once', () => {
  const role = {
    role: 'allocator',
    signer: SIGNER,
    vitals: { key: () => ({ code: 'kms.denied', sinceMs: NOW - 30_000, lastMs: NOW - 2_000 }) },
  }
  const found = keyFinding(role as unknown as RoleAtWork, NOW)
  expect([found.about, ...told(found)]).toEqual(['allocator', 'failing', 'key.not_signing'])
  expect(found).toMatchObject({
    error: {
      shortMessage: expect.stringMatching(/nothing for 30 s \(kms\.denied, the last try 2 s ago\)/),
    },
  })
})

it('finds nothing wrong with a role that looks no more as its keeper ends', () => {
  const of = (isStopped: boolean) =>
    told(
      dutyFinding(
        {
          role: 'allocator',
          duty: { isStopped: () => isStopped, failing: () => null, lastDecidedAtMs: () => NOW - 60_000 },
        } as unknown as RoleAtWork,
        { nowMs: NOW, monotonicMs: NOW },
      ),
    )
  expect([of(true), of(false)]).toEqual([
    ['ok', 'ok'],
    ['failing', 'role.not_looking'],
  ])
})

describe('the cause', () => {
  const bad = (facet: FacetName, about = '', code = `${facet}.bad`, reason?: string): Finding => ({
    facet,
    about,
    state: 'failing',
    error: new RolekeeperError(code, 'It fails.', { facts: reason === undefined ? {} : { reason } }),
  })
  it.each([
    [
      'a frozen node, and not who waits for it',
      [bad('node', 'read-1'), bad('chain'), bad('duty', 'liquidator'), bad('nonces', 'liquidator')],
      'node/read-1',
    ],
    [
      'a wrong clock, by which everything looks old',
      [bad('clock'), bad('chain'), bad('service'), bad('duty', 'allocator')],
      'clock',
    ],
    [
      'the service, and not the roles that read it',
      [bad('service'), bad('stream'), bad('duty', 'allocator', 'role.not_deciding', 'service.status')],
      'service',
    ],
    ['the kill switch', [bad('kill'), bad('duty', 'allocator'), bad('nonces', 'allocator')], 'kill'],
    [
      'the journal',
      [bad('journal'), bad('duty', 'allocator'), bad('role', 'allocator', 'journal.full')],
      'journal',
    ],
  ])('is %s', (_, found, cause) => {
    const others = found.slice(1).map(({ facet, about }) => (about === '' ? facet : `${facet}/${about}`))
    expect(Object.fromEntries(causesOf(found))).toEqual(Object.fromEntries(others.map((key) => [key, cause])))
  })

  it('is nothing that only warns, of what fails, nor of what a role leaves undone', () => {
    const warns = (facet: FacetName, about: string) => ({ ...bad(facet, about), state: 'warning' }) as Finding
    expect([...causesOf([warns('node', 'read-2'), bad('duty', 'allocator')])]).toEqual([])
    // A node that is slow refuses no workflow.
    expect([...causesOf([warns('node', 'read-2'), warns('duty', 'allocator')])]).toEqual([])
    expect([...causesOf([bad('node', 'read-2'), warns('duty', 'allocator')])]).toEqual([
      ['duty/allocator', 'node/read-2'],
    ])
    expect([...causesOf([warns('node', 'read-2'), warns('chain', '')])]).toEqual([['chain', 'node/read-2']])
  })

  it("is no other role's key, and no service where a policy is refused", () => {
    const found = [
      bad('key', 'allocator'),
      bad('service'),
      bad('nonces', 'liquidator'),
      bad('role', 'liquidator', 'policy.refused'),
    ]
    expect([...causesOf(found)]).toEqual([])
  })
})

describe('what a keeper keeps and is given', () => {
  const problem = (code: string) => new RolekeeperError(code, 'It is so.')
  const well: UpkeepState = {
    audit: { head: { seq: 7, hash: 'ab'.repeat(32) }, waitingSinceMs: null, damage: null },
    secrets: { unread: null, refused: null },
    targets: [],
  }
  const target = { name: 'ops', failingSinceMs: NOW - 60_001, problem: 'no answer within 5000 ms' }
  it.each<[string, Partial<UpkeepState>, readonly string[]]>([
    ['well', {}, []],
    ['written to within 3 s', { audit: { ...well.audit, waitingSinceMs: NOW - 3_000 } }, []],
    [
      'not written to for longer',
      { audit: { ...well.audit, waitingSinceMs: NOW - 3_001 } },
      ['audit failing audit.not_writing'],
    ],
    [
      'altered',
      { audit: { ...well.audit, damage: problem('audit.damaged') } },
      ['audit warning audit.damaged'],
    ],
    [
      'a secret that cannot be read: the last one goes on',
      { secrets: { unread: problem('secrets.unavailable'), refused: null } },
      ['secrets warning secrets.unavailable'],
    ],
    [
      'a new secret that is refused',
      { secrets: { unread: problem('secrets.unavailable'), refused: problem('secrets.not_taken') } },
      ['secrets failing secrets.not_taken'],
    ],
    [
      'a target that hangs for a minute',
      { targets: [target, { name: 'pager', failingSinceMs: null, problem: null }] },
      ['alarms/ops warning alarms.target_failing'],
    ],
    ['a target that hangs for less', { targets: [{ ...target, failingSinceMs: NOW - 60_000 }] }, []],
  ])('is %s', (_, change, expected) => {
    const found = upkeepFindings({ ...well, ...change }, NOW).filter(({ state }) => state !== 'ok')
    expect(found.map((each) => `${facetKey(each)} ${told(each).join(' ')}`)).toEqual(expected)
  })

  it('is the cause of what is refused for it, and of nothing else', () => {
    const failing = (facet: FacetName, error: RolekeeperError): Finding => ({
      facet,
      about: '',
      state: 'failing',
      error,
    })
    const secrets = failing('secrets', problem('secrets.not_taken'))
    const of = (facet: FacetName, error: RolekeeperError) =>
      causesOf([secrets, failing(facet, error)]).get(facet)
    expect(of('service', problem('service.unauthorized'))).toBe('secrets')
    expect(of('service', problem('service.stale'))).toBeUndefined()
    const denied = new RolekeeperError('key.not_signing', 'No.', { facts: { reason: 'kms.denied' } })
    expect(of('key', denied)).toBe('secrets')
    const down = (lastErrorCode: string) =>
      new RolekeeperError('node.left_out', 'No.', { facts: { lastErrorCode } })
    expect(of('node', down('node.http_status'))).toBe('secrets')
    expect(of('node', down('node.timeout'))).toBeUndefined()
  })
})

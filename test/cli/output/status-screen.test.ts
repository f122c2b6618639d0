import { expect, it } from 'vitest'
import { statusScreen } from '../../../src/cli/output/status-screen.ts'
import type { KeeperStatus } from '../../../src/ops/status.ts'

const AT = '2026-01-31T00:01:00.000Z'
const facet = (
  name: KeeperStatus['facets'][number]['facet'],
  about: string,
  state: 'ok' | 'warning' | 'failing',
  because?: string,
) => ({
  facet: name,
  about,
  state,
  code: 'a.code',
  message: `${name} ${about}.`,
  since: AT,
  fix: 'mend it.',
  ...(because === undefined ? {} : { because }),
})

it('says what is to be mended first above what suffers from it, and warnings last', () => {
  const screen = statusScreen({
    at: AT,
    environment: 'sandbox',
    chainId: 31_337,
    directory: '/state',
    version: '1',
    startedAt: AT,
    ready: false,
    auditHead: `7:${'a'.repeat(64)}`,
    roles: [],
    nodes: [],
    approvals: [],
    facets: [
      facet('journal', '', 'ok'),
      facet('approvals', '', 'warning'),
      facet('chain', '', 'failing', 'node/read-1'),
      facet('node', 'read-1', 'failing'),
    ],
  })
  const marked = screen.split('\n').filter((line) => /^[✗!] /.test(line))
  expect(marked.map((line) => line.split(',')[0])).toEqual(['✗ node/read-1', '✗ chain', '! approvals'])
  expect(marked[0]).toContain('Fix: mend it.')
  expect(marked[1]).toContain('(because of node/read-1)')
})

it('says how much more a role is late with than it shows', () => {
  const late = { what: 'a liquidation', subject: 'a', since: AT, amount: '$5', check: null, message: '' }
  const role = {
    ...({ role: 'liquidator', signer: '0x', mode: 'live', state: 'up', why: null, lastAct: null } as const),
    lastProposal: null,
    nextDue: null,
    acts: 0,
    lookedAt: 0,
    because: [],
    budgets: [],
    inventory: {},
    exposureUsdMicros: '0',
    live: 0,
    held: 0,
    realizedTodayUsdMicros: null,
    markedTodayUsdMicros: null,
  }
  const screenOf = (lateCount: number, changes: Partial<KeeperStatus['roles'][number]> = {}) =>
    statusScreen({
      at: AT,
      environment: 'sandbox',
      chainId: 31_337,
      directory: '/state',
      version: '1',
      startedAt: AT,
      ready: true,
      auditHead: '',
      facets: [],
      nodes: [],
      approvals: [],
      roles: [{ ...role, late: [late], lateCount, ...changes }],
    })
  expect(screenOf(1)).not.toContain('more')
  expect(screenOf(5)).toContain('  late: 4 more\n')
  // What is late is said once; what refused a workflow has its time.
  const held = { check: 'held', message: 'It waits.' }
  const screen = screenOf(1, {
    late: [{ ...late, ...held }],
    because: [
      { ...held, count: 1 },
      { check: 'price_moved', message: 'It moved.', count: 2, refusedAt: '2026-01-31T00:00:50.000Z' },
    ],
  })
  expect(screen).toContain('late: a liquidation a $5, due 0 s ago (held: It waits.)')
  expect(screen).not.toContain('left alone')
  expect(screen).toContain('refused: 2 by price_moved, the last 10 s ago: It moved.')
  expect(screen).toContain('commands above take --directory /state')
})

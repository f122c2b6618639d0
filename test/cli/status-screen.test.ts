import { expect, it } from 'vitest'
import { statusScreen } from '../../src/cli/status-screen.ts'
import type { KeeperStatus } from '../../src/ops/status.ts'

const AT = '2026-01-31T00:01:00.000Z'
const facet = (
  name: KeeperStatus['facets'][number]['facet'],
  about: string,
  state: 'ok' | 'warning' | 'failing',
  because?: string,
) => ({
  ...{ facet: name, about, state, code: 'a.code', message: `${name} ${about}.`, since: AT, fix: 'mend it.' },
  ...(because === undefined ? {} : { because }),
})

it('says what is to be mended first above what suffers from it, and warnings last', () => {
  const screen = statusScreen({
    ...{ at: AT, environment: 'sandbox', chainId: 31_337, directory: '/state', version: '1', startedAt: AT },
    ...{ ready: false, auditHead: `7:${'a'.repeat(64)}`, roles: [], nodes: [], approvals: [] },
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

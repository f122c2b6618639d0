import { expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { loadRunConfig } from '../../../src/config/config.ts'
import { RolekeeperError, refuse } from '../../../src/errors.ts'
import type { UpkeepState } from '../../../src/keeper/health/findings/upkeep.ts'
import { startHealth } from '../../../src/keeper/health/health.ts'
import { openRecords } from '../../../src/keeper/records/records.ts'
import { createLog } from '../../../src/ops/log.ts'
import { createMetrics } from '../../../src/ops/metrics/metrics.ts'
import { newDirectory } from '../../support/directory.ts'

const NOW_MS = 1_000
const EXAMPLE = {
  env: {
    ROLEKEEPER_NODE_A: 'https://a.example',
    ROLEKEEPER_NODE_B: 'https://b.example',
    ROLEKEEPER_NODE_SEND: 'https://send.example',
    ROLEKEEPER_SECRET_KEY: 'key',
  },
  isWellKnown: () => false,
}
const KEPT: UpkeepState = {
  audit: { head: { seq: 7, hash: 'ab'.repeat(32) }, waitingSinceMs: null, damage: null },
  secrets: { unread: null, refused: null },
  targets: [],
}
const DEPS = { behindServiceMs: () => null, kept: () => KEPT }
const FACTS = {
  version: '0.0.0',
  environment: 'sandbox',
  configHash: '0x',
  rulesetHash: () => '0x',
  isInFleet: false,
  roles: [],
  alarmTargets: [],
}
const STATUS = {
  config: loadRunConfig('config/example.yaml', EXAMPLE),
  version: '0.0.0',
  money: { begin: () => undefined, get: async () => null, last: () => null },
}
const REPORTS = {
  reports: { metrics: createMetrics(FACTS), emit: () => undefined, alarm: () => undefined },
  log: createLog({ level: 'silent', secrets: [] }),
}

it('claims nothing of service, keys, signers and decisions while nodes hang at a start', async () => {
  const directory = newDirectory()
  const config = { directory, chain: { id: 1 }, agents: [] }
  const records = await openRecords(config, { clock: systemClock, alarm: () => undefined })
  const page = await startHealth({ host: '127.0.0.1', port: 0 }, REPORTS, STATUS, {
    ...DEPS,
    directory,
    clock: { ...systemClock, nowMs: () => NOW_MS },
    terms: () => [
      {
        records,
        states: () => [],
        live: () => [],
        safe: () => undefined,
        payers: () => [],
        unread: () => null,
      },
    ],
    standing: () => ({ ok: true, message: 'alone', isStandby: false }),
    fleet: () => null,
    feed: () => null,
    nodes: () => undefined,
    control: () => ({ killed: false, paused: false, pulled: [] }),
    waitsFor: () => new RolekeeperError('node.timeout', 'Node read-1 did not answer.', { fix: 'check it.' }),
    sweptAtMs: () => null,
    diskFreeBytes: () => null,
    outlets: [],
    cap: undefined,
  })
  try {
    const { facets } = JSON.parse(await (await fetch(`${page.url}/readyz`)).text())
    expect(facets).toMatchObject({
      chain: { state: 'failing', code: 'node.timeout', message: 'Node read-1 did not answer.' },
      service: { state: 'failing', code: 'service.not_read', because: 'chain' },
      stream: { state: 'failing', because: 'chain' },
      journal: { state: 'ok' },
    })
    expect(Object.keys(facets).filter((key) => /^(key|role|duty)/.test(key))).toEqual([])
  } finally {
    await page.close()
    await records.close()
  }
})

it('is not ready while a fleet has forgotten what one of its signers signed, and counts that signer', async () => {
  const directory = newDirectory()
  const config = { ...loadRunConfig('config/example.yaml', EXAMPLE), directory }
  const records = await openRecords(config, { clock: systemClock, alarm: () => undefined })
  const states = () => config.agents.map((agent) => ({ agent, state: { type: 'opening' as const } }))
  const safe = () => refuse('safe', '0x66 is SAFE (fleet_amnesia): Redis has forgotten.')
  const page = await startHealth({ host: '127.0.0.1', port: 0 }, REPORTS, STATUS, {
    ...DEPS,
    directory,
    clock: systemClock,
    terms: () => [{ records, states, live: () => [], safe, payers: () => [], unread: () => null }],
    standing: () => ({ ok: true, message: '1 of 1 held', isStandby: false }),
    fleet: () => null,
    feed: () => null,
    nodes: () => undefined,
    waitsFor: () => null,
    sweptAtMs: () => null,
    diskFreeBytes: () => null,
    outlets: [],
    cap: undefined,
    control: () => ({ killed: false, paused: false, pulled: [] }),
  })
  try {
    const { facets } = JSON.parse(await (await fetch(`${page.url}/readyz`)).text())
    expect(facets['signer/liquidator']).toMatchObject({
      state: 'failing',
      code: 'signer.safe',
      fix: 'see `rolekeeper safe`',
      message: '0x66 is SAFE (fleet_amnesia): Redis has forgotten.',
    })
    expect(await (await fetch(`${page.url}/metrics`)).text()).toContain(
      'rolekeeper_signers_safe{role="liquidator",check="fleet"} 1',
    )
  } finally {
    await page.close()
    await records.close()
  }
})

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { startHealth } from '../../src/keeper/health.ts'
import { openRecords } from '../../src/keeper/records.ts'
import { createMetrics } from '../../src/ops/metrics.ts'

const NOW_MS = 1_000
const FACTS = {
  version: '0.0.0',
  environment: 'sandbox',
  configHash: '0x',
  rulesetHash: '0x',
  isInFleet: false,
}

it('claims nothing of service, keys, signers and decisions while nodes hang at a start', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'health-'))
  const config = { directory, chain: { id: 1 }, agents: [] }
  const records = await openRecords(config, { clock: systemClock, alarm: () => undefined })
  const page = await startHealth({ host: '127.0.0.1', port: 0 }, createMetrics(FACTS), {
    clock: { ...systemClock, nowMs: () => NOW_MS },
    terms: () => [{ records, states: () => [], live: () => [] }],
    standing: () => ({ ok: true, message: 'alone', isStandby: false }),
    fleet: () => null,
    ...{ feed: () => null, nodes: () => undefined },
    control: () => ({ killed: false, paused: false }),
    waitsFor: () => new RolekeeperError('node.timeout', 'Node read-1 did not answer.', { fix: 'check it.' }),
    sweptAtMs: () => null,
  })
  try {
    const { facets } = JSON.parse(await (await fetch(`${page.url}/readyz`)).text())
    expect(facets).toMatchObject({
      roles: { ok: false, message: 'none is open yet' },
      signers: { ok: false, message: 'not compared with the chain yet' },
      service: { ok: false, message: 'not read yet' },
      nodes: { ok: false, message: expect.stringContaining('Node read-1 did not answer.') },
      kms: { ok: false, message: 'no key is open' },
      decision: { ok: false, message: 'no decision yet' },
    })
  } finally {
    await page.close()
    await records.close()
  }
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { examine } from '../../../src/keeper/doctor/doctor.ts'
import { createKeeper } from '../../../src/keeper/keeper.ts'
import type { KeeperEvent } from '../../../src/ops/events.ts'
import { createLog } from '../../../src/ops/log.ts'
import { runCommand } from '../../support/commands.ts'
import { examineInTime } from '../../support/examine.ts'
import { freePort } from '../../support/loopback.ts'
import { COMMENTED, SEEDS, THOUSANDFOLD } from './seeds.ts'
import { clockOff, startWard, type Ward, type Written } from './ward.ts'

let ward: Ward
beforeAll(async () => {
  ward = await startWard()
})
afterAll(() => ward?.stop())

type Findings = Awaited<ReturnType<typeof examine>>
const bad = (findings: Findings) => findings.filter(({ state }) => state !== 'ok')
/** What the sandbox's administrators have not written yet says nothing of a configuration. */
const isOfSandbox = ({ check }: Findings[number]) => check === 'source'

describe('right configurations pass', () => {
  it.each<[string, (config: Written) => void | Promise<void>]>([
    ["the sandbox's own", () => undefined],
    [
      'one role alone',
      (config) => {
        config.agents = config.agents.slice(0, 1)
      },
    ],
    [
      'all of it in shadow',
      (config) => {
        for (const agent of config.agents) agent.mode = 'shadow'
      },
    ],
    [
      'two nodes that agree, and finality by confirmations',
      ({ chain }) => {
        chain.nodes.read.push(ward.proxy.url)
        chain.finality = { confirmations: '2' }
      },
    ],
    [
      'ports of its own',
      async (config) => {
        config.ops.port = String(await freePort())
        const secrets = ['env:ROLEKEEPER_SECRET_KEY']
        config.service.webhook = {
          host: '127.0.0.1',
          port: String(await freePort()),
          path: '/hooks',
          secrets,
        }
      },
    ],
  ])('%s', async (_, change) => {
    let changed: Promise<unknown> = Promise.resolve()
    const file = ward.write((config) => {
      changed = Promise.resolve(change(config)).then(() =>
        writeFileSync(lastFile(config), JSON.stringify(config)),
      )
    })
    await changed
    const { loadRunConfig } = await import('../../../src/config/config.ts')
    const config = loadRunConfig(file, { env: ward.env, isWellKnown: () => false })
    expect(bad(await examineInTime(config)).filter((each) => !isOfSandbox(each))).toEqual([])
  })
})
const lastFile = ({ directory }: Written) => directory.replace(/state-(\d+)$/, 'run-$1.yaml')

describe('a seeded misconfiguration is found, with what to write instead', () => {
  it.each(Object.entries(SEEDS))('%s', async (_, seed) => {
    const undo = await seed.world?.(ward)
    try {
      const config = ward.load((written) => {
        // Two roles are quicker than five, and enough to be mixed up.
        written.agents = written.agents.slice(0, 2)
        seed.change?.(written, ward)
      })
      const clock = seed.offMs === undefined ? systemClock : clockOff(seed.offMs)
      const findings = await examineInTime(config, clock, seed.code)
      const found = findings.filter(
        ({ check, code, about }) =>
          check === seed.check && code === seed.code && (seed.about ?? about) === about,
      )
      expect(bad(findings).map(({ check, code, about }) => `${check} ${code} ${about}`)).toContain(
        `${seed.check} ${seed.code} ${seed.about ?? found[0]?.about}`,
      )
      const [wrong, fix] = seed.says(ward)
      expect(
        found.some(({ message }) => matches(message, wrong)),
        found.map(({ message }) => message).join('\n'),
      ).toBe(true)
      expect(
        found.some((each) => matches(each.fix ?? '', fix)),
        found.map((each) => each.fix).join('\n'),
      ).toBe(true)
      expect(found.map(({ state }) => state)).toContain(seed.state ?? 'failing')
    } finally {
      await undo?.()
    }
  })

  it('are forty and more', () => {
    expect(Object.keys(SEEDS).length).toBeGreaterThanOrEqual(40)
  })
})

const matches = (text: string, wanted: string | RegExp) =>
  typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text)

it('says what each source states, as the policy reads it that asks it', async () => {
  const found = async (text: string) => {
    const config = ward.load((written) => {
      const custodian = written.sources.find(({ name }) => name === 'fundCustodian')
      if (custodian === undefined) throw new TypeError('the sandbox has a custodian')
      custodian.file = `${written.directory}.csv`
      writeFileSync(`${written.directory}.csv`, text)
      written.agents = written.agents.filter(({ role }) => role === 'nav-reporter')
      written.sources.push({ name: 'nobodys', file: `${written.directory}.csv` })
    })
    const findings = await examineInTime(config)
    return findings.filter(({ about }) => ['fundCustodian', 'nobodys'].includes(about))
  }
  const rows = Array.from({ length: 30_000 }, (_, index) => `${1_700_000_000 + index},1000000`)
  expect(await found(`asOf,microsPerShare\r\n${rows.join('\r\n')}`)).toMatchObject([
    {
      state: 'ok',
      message: 'it states 30000 values, the newest for 2023-11-15T06:33:19Z.',
    },
    { state: 'ok', message: 'no policy asks it.' },
  ])
  expect((await found('asOf,value\n2026-11-01T00:00:00Z,1'))[0]).toMatchObject({
    state: 'warning',
    code: 'source.source_without_value',
    message: 'fundCustodian: It states nothing at microsPerShare.',
  })
})

describe('a start refuses what the doctor fails', () => {
  const alone = (config: Written) => {
    config.agents = config.agents.slice(0, 1)
  }
  const says = (text: string) => (config: Written) => {
    alone(config)
    for (const agent of config.agents) agent.policy = ward.policy('liquidator', text)
  }
  const seeded = (name: string) => (config: Written) => {
    SEEDS[name]?.change?.(config, ward)
    alone(config)
  }
  it.each<[string, string, (config: Written) => void, number?]>([
    ['the clock five minutes fast', 'clock.off', alone, 300_000],
    ['the clock five minutes slow', 'clock.off', alone, -300_000],
    ['loan and collateral swapped', 'deployment.units_differ', seeded('loan and collateral swapped')],
    ['symbols swapped', 'deployment.units_differ', seeded('symbols of two assets swapped')],
    ['the service down', 'service.unreachable', seeded('a service that is down')],
    ["another role's KMS key", 'kms.wrong_key', seeded("another role's KMS key")],
    ['/proc/x', 'journal.failed', seeded('directory: /proc/x')],
    ['a directory that cannot be written', 'journal.failed', seeded('a directory below a file')],
    ['limits × 1000', 'limits.beyond_size', says(THOUSANDFOLD)],
    ['limits × 1000 under a comment', 'limits.beyond_size', says(COMMENTED)],
    ['$0.003', 'prices.native_implausible', says('strategy: { gas: { nativePrice: "0.003 USD" } }\n')],
  ])('%s', async (_, code, change, offMs = 0) => {
    const log = createLog({ level: 'silent', secrets: [] })
    const keeper = createKeeper(ward.load(change), { log, version: 'test', clock: clockOff(offMs) })
    const events: KeeperEvent[] = []
    keeper.onEvent((event) => events.push(event))
    try {
      await expect(keeper.start()).rejects.toMatchObject({ code, fix: expect.stringMatching(/\w/) })
      expect(events.filter(({ type }) => type === 'ready')).toEqual([])
    } finally {
      await keeper.stop({ drainMs: 0 })
    }
  })

  it('takes down the roles whose signers are swapped, and lets the others work', async () => {
    const log = createLog({ level: 'silent', secrets: [] })
    const config = ward.load((written) => {
      SEEDS['the signers of two roles swapped']?.change?.(written, ward)
      written.agents = written.agents.slice(0, 3)
    })
    const keeper = createKeeper(config, { log, version: 'test' })
    const events: KeeperEvent[] = []
    keeper.onEvent((event) => events.push(event))
    try {
      await keeper.start()
      const down = events.flatMap((event) => (event.type === 'role' && event.state === 'down' ? [event] : []))
      expect(down.map(({ role, check }) => `${role} ${check}`).toSorted()).toEqual([
        'allocator key.of_another_role',
        'liquidator key.of_another_role',
      ])
      const ready = events.find(({ type }) => type === 'ready')
      expect(ready).toMatchObject({ signers: [{ role: 'nav-reporter' }] })
    } finally {
      await keeper.stop({ drainMs: 0 })
    }
  })
})

describe('rolekeeper doctor', () => {
  const env = () => Object.fromEntries(Object.entries(ward.env))

  it('exits with 0 where nothing fails, and counts what passed', async () => {
    const { code, out } = await runCommand(['doctor', '--config', ward.write()], env())
    expect([code, out.split('\n').at(-2)]).toEqual([
      0,
      expect.stringMatching(/^0 failing, \d+ warnings?, \d+ passed\.$/),
    ])
  })

  it('exits with 1 and says what to do, also as JSON', async () => {
    const file = ward.write((config) => {
      config.deployment.namespace = 'elsewhere'
    })
    const shown = await runCommand(['doctor', '--config', file], env())
    expect([shown.code, shown.out.split('\n').slice(0, 2)]).toEqual([
      1,
      [expect.stringMatching(/^✗ service .*elsewhere/), expect.stringMatching(/^ {4}Fix: write namespace: /)],
    ])
    const { out, code } = await runCommand(['doctor', '--config', file, '--json'], env())
    const rows = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(code).toBe(1)
    expect(rows.filter(({ state }) => state === 'failing')).toMatchObject([
      { check: 'service', code: 'service.other_namespace' },
    ])
  })

  it('exits with 2 for a configuration that does not load', async () => {
    const { code, err } = await runCommand(['doctor', '--config', join('/nowhere', 'run.yaml')], env())
    expect([code, err]).toEqual([2, expect.stringContaining('/nowhere/run.yaml cannot be read')])
  })
})

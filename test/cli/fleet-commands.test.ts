import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { heldUpText } from '../../src/cli/orders/held-up.ts'
import { leavePlace, placeOf } from '../../src/cli/target/place.ts'
import { createFleetControl } from '../../src/fleet/doubts.ts'
import { readControls } from '../../src/fleet/overview.ts'
import { openWitnesses } from '../../src/fleet/witnesses.ts'
import { foundFleet } from '../../src/journal/redis/link/generation.ts'
import { setForFleet } from '../../src/journal/redis/seats/controls.ts'
import { present } from '../../src/journal/redis/seats/instances.ts'
import { readControl, setControl } from '../../src/ops/control.ts'
import type { Hold } from '../../src/workflow/workflow.ts'
import { runCommand, writeFleetConfig } from '../support/commands.ts'
import { newDirectory } from '../support/directory.ts'
import { hurriedClock, LONG_LEASE_MS, startInstance, type TestInstance } from '../support/fleet-instance.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE, journalOf, openStore, storeAt, takeSeat } from '../support/redis-fleet.ts'
import { until } from '../support/until.ts'
import { SIGNER, workflowOf } from '../support/workflows.ts'

let redis: TestRedis
const ends: (() => unknown)[] = []
beforeAll(async () => {
  redis = await startRedis(DURABLE)
})
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})
afterAll(() => redis.stop())

let count = 0
/** A fleet that was founded, and the configuration of the machine of `one`. */
async function newFleet(port = redis.port) {
  count += 1
  const fleet = `main-${count}`
  const directory = newDirectory()
  const config = storeAt(port, fleet)
  await foundFleet(config)
  return { fleet, config, directory, file: writeFleetConfig({ port, fleet, directory }) }
}

/** An instance that obeys its directory and the fleet. */
function start(config: ReturnType<typeof storeAt>, instance: string, directory: string): TestInstance {
  const store = openStore({ ...config, instance })
  const control = createFleetControl({
    store,
    directory,
    instance,
    seats: [SIGNER],
    leaseMs: LONG_LEASE_MS,
    nowMs: Date.now,
    monotonicMs: () => performance.now(),
    onFailed: () => undefined,
  })
  const { heard: onControls, switches } = control
  const each = startInstance(config, {
    store,
    instance,
    seats: [{ name: SIGNER }],
    onControls,
    switches,
    zone: 'eu-1',
    leaseMs: LONG_LEASE_MS,
    clock: hurriedClock,
  })
  ends.push(async () => {
    await each.seats.stop()
    store.close()
  })
  return each
}

it('shows who holds what, who stands by, what waits longest, and how Redis is', async () => {
  const { file, config, directory } = await newFleet()
  const store = openStore(config)
  const held = await takeSeat(store, SIGNER)
  const journal = await journalOf(held, store)
  await journal.open(workflowOf('cleared', { id: 'a'.repeat(64) }))
  await store.run('release', [store.keys.seat(SIGNER)], [held.token])
  store.close()
  const one = start(config, 'one', directory)
  await until(() => expect(one.names()).toEqual([SIGNER]))
  const { out, code } = await runCommand(['fleet', '--config', file, '--json'])
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({
    redis: {
      role: 'master',
      problem: null,
      replicas: { online: 0, wanted: 0 },
      aof: { lastWrite: 'ok' },
      settings: { appendonly: 'yes', appendfsync: 'always' },
      parents: [],
      sequence: expect.any(Number),
      generation: expect.stringMatching(/^[0-9a-f]{16}$/),
    },
    killed: null,
    paused: null,
    safe: [],
    seats: [{ seat: SIGNER, roles: ['liquidator'], holder: 'one', epoch: 2, sinceMs: expect.any(Number) }],
    instances: [
      { name: 'one', zone: 'eu-1', release: '1.0.0', isSilent: false, holds: [SIGNER], standsBy: null },
      { name: 'two', release: null, seenMsAgo: null, isSilent: true, holds: [] },
    ],
    oldest: { live: { id: 'a'.repeat(64), role: 'liquidator', state: 'cleared' }, held: null },
  })
  const shown = (await runCommand(['fleet', '--config', file])).out
  const client = redis.client()
  // As one that died before now shows: heard of in 1970.
  const record = (await client.hget(store.keys.instances, 'one')) ?? ''
  await client.hset(store.keys.instances, 'two', record.replace(/^(\S+ \S+ \S+) \d+/, '$1 1'))
  expect((await runCommand(['fleet', '--config', file])).out).toMatch(
    /two {2}eu-1 {2}1\.0\.0 {2}SILENT, heard of [\d,]+ d(?: \d+ h)? ago {2}holds nothing\n/,
  )
  expect(shown).toMatch(/0x5151…5151 +liquidator +one since \S+, epoch 2\n/)
  expect(shown).toMatch(/one {2}eu-1 {2}1\.0\.0 {2}heard of \S+ m?s ago {2}holds 1\n/)
  expect(shown).toContain('two  was never heard of, or has left\n')
  expect(shown).toMatch(/Oldest live: aaaaaaaa liquidator cleared, .* Oldest held: none\.\n/)
})

it('shows what no instance would start on, in place of starting nothing', async () => {
  const { file } = await newFleet()
  await redis.client().config('SET', 'appendfsync', 'everysec')
  const { out } = await runCommand(['fleet', '--config', file])
  await redis.client().config('SET', 'appendfsync', 'always')
  expect(out).toContain('No instance starts on it: journal.redis_settings')
})

it('founds a fleet on an empty Redis when it is meant, and on no other', async () => {
  const file = writeFleetConfig({ port: redis.port, fleet: 'founded' })
  const found = (...args: readonly string[]) => runCommand(['fleet', 'found', '--config', file, ...args])
  expect((await runCommand(['fleet', '--config', file])).err).toContain('rolekeeper fleet found')
  expect((await found()).out).toContain('Nothing was done; --yes does it.')
  expect(await found('--yes')).toMatchObject({ code: 0, out: expect.stringContaining('one, two') })
  for (const args of [[], ['--yes']]) {
    expect(await found(...args)).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^error journal\.founded: The fleet founded is there already.* Fix: .*\n$/),
    })
  }
})

it('founds none where this machine knows that there was one', async () => {
  const { file, directory, fleet } = await newFleet()
  const witnesses = await openWitnesses(directory, [SIGNER])
  await witnesses.record(SIGNER, { gen: 'abc', seq: 17 })
  await witnesses.close()
  await redis.client().flushall()
  expect((await runCommand(['fleet', 'found', '--config', file, '--yes'])).err).toContain(
    `saw the fleet ${fleet} acknowledge sequence 17 in generation abc: it is not new.`,
  )
})

it('kills and unkills every instance from a machine that has none, and says who has heard of it', async () => {
  const { config, fleet } = await newFleet()
  const [here, there] = [newDirectory(), newDirectory()]
  const [one, two] = [start(config, 'one', here), start(config, 'two', there)]
  await until(() => expect([one.states, two.states].flat()).toEqual([null, null]))
  const file = writeFleetConfig({ port: redis.port, fleet, roster: ['one', 'two', 'three'] })
  const killed = await runCommand(['kill', '--config', file])
  expect(killed).toMatchObject({ code: 0, err: expect.stringContaining('three was never heard of') })
  expect(killed.out).toMatch(/^Killed: .*\nHeard by one, two\.\n$/)
  expect(JSON.parse((await runCommand(['fleet', '--config', file, '--json'])).out)).toMatchObject({
    killed: { by: expect.stringContaining('@'), atMs: expect.any(Number) },
    instances: [{ killed: true }, { killed: true }, { killed: false }],
  })
  await runCommand(['unkill', '--config', file])
  const paused = await runCommand(['pause', 'liquidator', '--reason', 'why', '--config', file, '--json'])
  expect(JSON.parse(paused.out)).toMatchObject({ role: 'liquidator', reason: 'why', heardBy: ['one', 'two'] })
  expect((await runCommand(['fleet', '--config', file])).out).toMatch(/PAUSED liquidator by \S+ \S+Z \(why\)/)
  expect(await runCommand(['pause', 'liqidator', '--config', file])).toMatchObject({ code: 2, out: '' })
  expect((await runCommand(['resume', 'liquidator', '--config', file])).out).toContain('Heard by one, two.')
  setControl(there, 'kill', true)
  await until(async () => {
    const { out } = await runCommand(['fleet', '--config', file, '--json'])
    expect(JSON.parse(out).killed).toMatchObject({ by: 'two' })
  })
  const unkilled = await runCommand(['unkill', '--config', file])
  expect(unkilled.out).toContain('Heard by one.\n')
  expect(unkilled.err).toContain('Still killed at two: by a file of its own machine')
})

it('takes nothing that an instance showed before it heard for what it makes of an order', async () => {
  const { config, fleet } = await newFleet()
  const store = openStore(config)
  ends.push(() => store.close())
  const file = writeFleetConfig({ port: redis.port, fleet, roster: ['one'] })
  const introduction = { fingerprint: 'one', isAble: true, lagMs: 0, release: '1.0.0', paused: false }
  let beat = 0
  const show = (killed: boolean, heardSeq: number) => {
    beat += 1
    const showing = { ...introduction, killed, heardSeq, name: 'one', incarnation: 'a', arrived: 0 }
    return present({ ...showing, beat: String(beat) }, [], store)
  }
  await setForFleet({ name: 'killed', value: '{}', keeps: 'last' }, store)
  // It has not heard of that by now; a file of its machine kills it from here on.
  await show(false, 0)
  const unkilled = runCommand(['unkill', '--config', file])
  await until(async () => expect((await readControls(config)).has('killed')).toBe(false))
  const { controls } = await show(false, 0)
  await show(true, controls.seq)
  expect(await unkilled).toMatchObject({
    out: expect.not.stringContaining('Heard'),
    err: 'Still killed at one: by a file of its own machine, where the same command removes it.\n',
  })
})

it('stops its own machine first, also where Redis or the configuration of the fleet is gone', async () => {
  const own = await startRedis(DURABLE)
  ends.push(own.stop)
  const { directory, file } = await newFleet(own.port)
  leavePlace({ directory, fleet: { instance: 'one' } }, file)
  await own.kill()
  const kill = await runCommand(['kill', '--config', file])
  expect(kill.code).toBe(1)
  expect(kill.err).toMatch(
    /^This machine is killed; the fleet main-\d+ was not reached\.\nerror journal\.unreachable: .*\n$/,
  )
  expect(readControl(directory)).toMatchObject({ killed: true, paused: false })
  expect((await runCommand(['unkill', '--directory', directory])).code).toBe(1)
  expect(readControl(directory).killed).toBe(true)
  leavePlace({ directory, fleet: { instance: 'one' } }, join(directory, 'gone.yaml'))
  const pause = await runCommand(['pause', '--directory', directory])
  expect(pause).toMatchObject({
    code: 2,
    err: expect.stringContaining('its fleet is not, as it was not found'),
  })
  expect(readControl(directory).paused).toBe(true)
})

it('says what it takes of `safe`, and that there is nothing to leave', async () => {
  const { file } = await newFleet()
  const safe = (...args: readonly string[]) => runCommand(['safe', ...args, '--config', file])
  expect(await safe()).toEqual({ code: 0, err: '', out: 'No signer is SAFE.\n' })
  expect(await safe('leave', SIGNER)).toMatchObject({ code: 1, out: `${SIGNER} is not SAFE.\n` })
  expect((await safe('leave', `0x${'99'.repeat(20)}`)).err).toContain('signs for no live agent of this fleet')
  expect((await safe('leave', SIGNER, '--gone', 'thre')).err).toContain('give names of one, two')
  for (const args of [['leave'], ['lost'], ['--yes'], ['--gone', 'two']])
    expect(await safe(...args)).toMatchObject({ code: 2, out: '' })
  expect(await safe('leave', '0x1')).toMatchObject({ code: 1, out: '' })
})

it('says what this machine knows of SAFE where Redis is away', async () => {
  const own = await startRedis(DURABLE)
  ends.push(own.stop)
  const { file, directory } = await newFleet(own.port)
  await own.kill()
  mkdirSync(join(directory, 'seats', SIGNER), { recursive: true })
  writeFileSync(join(directory, 'seats', SIGNER, 'SAFE'), '{')
  expect((await runCommand(['safe', '--config', file])).err).toMatch(
    /^0x51\S+ is SAFE on this machine \(safe_unreadable\): .*\nerror journal\.unreachable: .*\n$/,
  )
})

it('says so to a keeper that works alone, and to what it does not know', async () => {
  const alone = newDirectory()
  expect((await runCommand(['fleet', '--directory', alone])).err).toContain('fleet.none')
  expect((await runCommand(['fleet', 'lost', '--directory', alone])).code).toBe(2)
  expect((await runCommand(['fleet', '--yes', '--directory', alone])).code).toBe(2)
})

it('finds the directory of its machine where several share a configuration that names it by the environment', async () => {
  const { config, directory } = await newFleet()
  const file = writeFleetConfig({ port: redis.port, fleet: config.fleet, directory: '"env:OWN"' })
  const run = (...args: readonly string[]) => runCommand(args, { OWN: directory })
  expect(await run('kill', '--config', file)).toMatchObject({ code: 0 })
  expect(readControl(directory).killed).toBe(true)
  expect((await runCommand(['kill', '--config', file])).err).toContain('OWN is not set')
  // What an instance left says where its directory is.
  leavePlace({ directory, fleet: { instance: 'one' } }, file)
  expect(await runCommand(['unkill', '--directory', directory])).toMatchObject({ code: 0 })
  expect(readControl(directory).killed).toBe(false)
})

it('says of an approval that its role is paused in the fleet, from a machine where nothing is', async () => {
  const { file, fleet } = await newFleet()
  const elsewhere = newDirectory()
  const place = await placeOf(
    { config: writeFleetConfig({ port: redis.port, fleet, directory: elsewhere }) },
    { env: {} },
  )
  const workflow = { role: 'liquidator', hold: { untilMs: 0 } as Hold }
  expect(await heldUpText(workflow, place)).toBeNull()
  await runCommand(['pause', 'liquidator', '--reason', 'a look', '--config', file])
  const [, command = ''] = /Fix: `rolekeeper ([^`]*)`/.exec((await heldUpText(workflow, place)) ?? '') ?? []
  expect(await heldUpText(workflow, place)).toMatch(
    /^The liquidator is paused: .*: a look\. Fix: .*it expires at 1970/,
  )
  expect(await heldUpText({ ...workflow, role: 'allocator' }, place)).toBeNull()
  await runCommand(command.split(' '))
  expect(await heldUpText(workflow, place)).toBeNull()
})

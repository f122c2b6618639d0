import { cpSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { endpointOf } from '../../src/config/redis.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { createFleetControl, type FleetControl } from '../../src/fleet/doubts.ts'
import { switchFleet } from '../../src/fleet/switches.ts'
import { openWitnesses, type Witnesses } from '../../src/fleet/witnesses.ts'
import { serverText } from '../../src/journal/redis/link/check.ts'
import { openCommandLine } from '../../src/journal/redis/link/command-line.ts'
import { foundFleet, type StoreConfig } from '../../src/journal/redis/link/generation.ts'
import { acquire, fence } from '../../src/journal/redis/seats/seat.ts'
import { newDirectory } from '../support/directory.ts'
import { hurriedClock, LONG_LEASE_MS, startInstance, type TestInstance } from '../support/fleet-instance.ts'
import { type FleetTime, startFleetTime } from '../support/fleet-time.ts'
import { type RedisSettings, startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE, openStore, seatOf, storeAt } from '../support/redis-fleet.ts'
import { startRedisProxy } from '../support/redis-proxy.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const LEASE_MS = LONG_LEASE_MS
const SEAT = '0x01'
const ROSTER = ['one', 'two']
const SEATS = [SEAT, '0x02']

// Each has servers and a time of its own, and waits for these most of the time.
const it = test.concurrent
const ends: (() => unknown)[] = []
afterAll(async () => {
  for (const end of ends.toReversed()) await end()
  for (const time of times.values()) time.stop()
})

/** An instance with a directory, whose work is barriers. */
type Member = TestInstance & {
  readonly control: FleetControl
  readonly directory: string
  readonly witnesses: Witnesses
  readonly barrier: () => Promise<void>
  /** As the process dies. */
  readonly crash: () => Promise<void>
}

const times = new Map<string, FleetTime>()
const fleets = new Map<TestRedis, StoreConfig>()
let clocks = 0
/** The time of a fleet. */
function timeOf({ fleet }: Pick<StoreConfig, 'fleet'>): FleetTime {
  const time = times.get(fleet) ?? startFleetTime(LEASE_MS)
  times.set(fleet, time)
  return time
}

/** Restart a Redis with no time between, by which leases end, however long that takes. */
async function restart(redis: TestRedis, meanwhile = () => {}, settings: RedisSettings = {}): Promise<void> {
  const config = fleets.get(redis)
  const goOn = config === undefined ? () => {} : timeOf(config).hold()
  await redis.kill()
  meanwhile()
  await redis.restart(settings)
  goOn()
}

/** Have Redis say that an instance was heard of long ago: it was gone before whatever comes next. */
async function longGone(redis: TestRedis, { fleet }: StoreConfig, name: string): Promise<void> {
  const key = `{rk:${fleet}}:instances`
  const record = await redis.client().hget(key, name)
  if (record !== null) await redis.client().hset(key, name, record.replace(/^(\S+ \S+ \S+) \d+/, '$1 1'))
}

async function startMember(
  config: StoreConfig,
  instance: string,
  directory = newDirectory(),
  names: readonly string[] = [SEAT],
): Promise<Member> {
  const seats = names.map((name) => ({ name }))
  const time = timeOf(config)
  clocks += 1
  const atClock = `${instance} ${clocks}`
  const witnesses = await openWitnesses(directory, names)
  const store = openStore({ ...config, instance }, witnesses.known, witnesses.tops)
  const control = createFleetControl({
    store,
    directory,
    instance,
    seats: names,
    leaseMs: LEASE_MS,
    nowMs: Date.now,
    monotonicMs: time.nowMs,
    onFailed: () => undefined,
  })
  const states: (string | null)[] = []
  const onState = (why: RolekeeperError | null) => {
    states.push(why?.code ?? null)
    if (why !== null) control.forgotten(why)
  }
  const each = startInstance(config, {
    store,
    instance,
    seats,
    leaseMs: LEASE_MS,
    roster: ROSTER,
    onState,
    onControls: control.heard,
    witnesses,
    states,
    ...time.clockOf(atClock),
  })
  const barrier = async () => {
    for (const held of each.seats.held()) {
      await fence({ ...held, writer: 'w', answered: 0 }, [], store)
      await witnesses.record(held.seat, store.known())
    }
  }
  const crash = async () => {
    time.leaveOut(atClock)
    store.close()
    await each.seats.stop()
    await witnesses.close()
  }
  ends.push(crash)
  return { ...each, control, directory, witnesses, barrier, crash }
}

async function newRedis(settings: RedisSettings = {}): Promise<TestRedis> {
  const redis = await startRedis({ ...DURABLE, ...settings })
  ends.push(redis.stop)
  return redis
}

async function newFleet(redis: TestRedis): Promise<StoreConfig> {
  const config = storeAt(redis.port)
  await foundFleet(config)
  fleets.set(redis, config)
  return config
}

/** What asks for a barrier of the term that an instance has by now, also once that is over. @returns how many pass. */
function fenceOf({ seats, store }: Member): () => Promise<number> {
  const [held] = seats.held()
  if (held === undefined) throw new TypeError('it holds nothing')
  const ask = () => fence({ ...held, writer: 'w', answered: 0 }, [], store)
  return () =>
    ask().then(
      () => 1,
      () => 0,
    )
}

/** A fleet with an instance that holds its only seat. */
async function startHolder() {
  const redis = await newRedis()
  const config = await newFleet(redis)
  const one = await startMember(config, 'one')
  await until(() => expect(one.names()).toEqual([SEAT]))
  return { redis, config, one }
}

/** A fleet of two that hold a seat each. */
async function startBoth() {
  const redis = await newRedis()
  const config = await newFleet(redis)
  const one = await startMember(config, 'one', newDirectory(), SEATS)
  const two = await startMember(config, 'two', newDirectory(), SEATS)
  await until(() => expect([one.names().length, two.names().length]).toEqual([1, 1]))
  return { redis, config, one, two }
}

/** Restart a Redis on what it had at this moment: what is acknowledged meanwhile is gone. */
async function rewind(redis: TestRedis, meanwhile: () => Promise<void>): Promise<void> {
  const copy = newDirectory()
  cpSync(redis.directory, copy, { recursive: true })
  await meanwhile()
  await restart(redis, () => {
    rmSync(redis.directory, { recursive: true })
    cpSync(copy, redis.directory, { recursive: true })
  })
}

const loses: Record<string, (redis: TestRedis, barrier: () => Promise<void>) => Promise<unknown>> = {
  'a FLUSHALL': (redis) => redis.client().flushall(),
  'an older file': (redis, barrier) => rewind(redis, barrier),
  'a new empty server': (redis) =>
    restart(redis, () => {
      rmSync(redis.directory, { recursive: true })
      cpSync(newDirectory(), redis.directory, { recursive: true })
    }),
}

/** Expect that no effect is let through, and in the end for a reason: a busy machine's Redis may not answer in time before. */
async function expectRefused(barrier: () => Promise<void>, code: string): Promise<void> {
  let passed = 0
  await until(async () => {
    const refusal = await barrier().then(
      () => {
        passed += 1
      },
      (error: unknown) => error,
    )
    expect(refusal).toMatchObject({ code })
  })
  expect(passed).toBe(0)
}

it.each(Object.entries(loses))(
  'finds %s before the next effect, and makes the signer SAFE',
  async (_, lose) => {
    const redis = await newRedis()
    const config = await newFleet(redis)
    const one = await startMember(config, 'one')
    await until(() => expect(one.names()).toEqual([SEAT]))
    await one.barrier()
    const two = await startMember(config, 'two')
    await until(() => expect(two.states).toEqual([null]))
    expect(one.control.gate(SEAT)).toEqual({ closed: false, paused: false })
    await lose(redis, one.barrier)
    await expectRefused(one.barrier, 'journal.amnesia')
    await until(() => expect(one.control.gate(SEAT).safe?.message).toContain('fleet_amnesia'))
    expect(existsSync(join(one.directory, 'seats', SEAT, 'SAFE'))).toBe(true)
    // By then a seat that may be taken is taken.
    await timeOf(config).pass(2 * LEASE_MS)
    expect(one.seats.isOver(SEAT)).toBe(true)
    expect([one, two].map(({ events }) => events.map(({ what }) => what))).toEqual([[`begin ${SEAT}`], []])

    // A process that starts anew on the same disk knows it from the first moment, and takes nothing.
    await one.crash()
    const again = await startMember(config, 'one', one.directory)
    expect(again.control.gate(SEAT).safe?.message).toContain('fleet_amnesia')
    await until(() => expect(again.states).toEqual(['journal.amnesia']))
    expect(again.names()).toEqual([])
  },
)

it('lets no barrier pass on an older file that another instance finds to be older, whoever asks first', async () => {
  const { redis, one, two } = await startBoth()
  await two.barrier()
  const fenced = fenceOf(two)
  await rewind(redis, one.barrier)
  const isSafe = ({ control }: Member) => SEATS.every((name) => control.gate(name).safe !== undefined)
  let passed = 0
  const ask = async () => {
    passed += await fenced()
    expect([isSafe(one), isSafe(two)]).toEqual([true, true])
  }
  await until(ask)
  expect(passed).toBe(0)
})

it('says that only the instance which finds an older file to be older saw more of it', async () => {
  const { redis, config, one, two } = await startBoth()
  await rewind(redis, one.barrier)
  const forgotten = `{rk:${config.fleet}}:forgotten`
  await until(async () => expect((await redis.client().hkeys(forgotten)).toSorted()).toEqual(['one', 'two']))
  expect(await redis.client().hget(`{rk:${config.fleet}}:meta`, 'doubted')).toBe('one')
  await expect(two.store.connect()).rejects.toMatchObject({ facts: { expected: 'one saw more of it' } })
})

it('has an instance say what it knew also where its lines were open before another found some of it missing', async () => {
  const { redis, config } = await startBoth()
  await redis.client().hset(`{rk:${config.fleet}}:meta`, 'doubted', 'one')
  const forgotten = `{rk:${config.fleet}}:forgotten`
  await until(async () => expect((await redis.client().hkeys(forgotten)).toSorted()).toEqual(['one', 'two']))
})

it('hears nothing of an instance that has lost its witness, where another finds some missing', async () => {
  const { redis, config, two } = await startBoth()
  await two.crash()
  await redis.client().hset(`{rk:${config.fleet}}:meta`, 'doubted', 'one')
  const again = await startMember(config, 'two', newDirectory(), SEATS)
  await until(() => expect(again.states).toContain('journal.amnesia'))
  // It has tried by then, and so has its second line.
  await expect(again.store.connect()).rejects.toMatchObject({ code: 'journal.amnesia' })
  expect(await redis.client().hkeys(`{rk:${config.fleet}}:forgotten`)).not.toContain('two')
})

it('finds an older file also where commands have brought its sequence back to what was acknowledged', async () => {
  const { redis, config, one } = await startHolder()
  await one.barrier()
  await rewind(redis, async () => {
    await one.barrier()
    await one.crash()
  })
  const line = openCommandLine(config)
  ends.push(line.close)
  const author = { by: 'a person', atMs: 1 }
  do await switchFleet('pause', true, author, { directory: null, store: line })
  while (Number(await redis.client().hget(line.keys.meta, 'seq')) <= one.store.known().seq)
  const again = await startMember(config, 'one', one.directory)
  await until(() => expect(again.states).toEqual(['journal.amnesia']))
})

it('lets barriers pass on a restarted Redis once all who lived have said that it lost nothing', async () => {
  const { redis, config, one } = await startHolder()
  let two = await startMember(config, 'two')
  await until(() => expect(two.states).toEqual([null]))
  await one.barrier()
  await restart(redis)
  await until(one.barrier)

  // It died together with Redis, and may have been acknowledged what nobody else knows of.
  two.store.close()
  await restart(redis)
  await until(() => expect(one.states).toContain('fleet.unattested'))
  await timeOf(config).pass(2 * LEASE_MS)
  await expectRefused(one.barrier, 'journal.moved')
  await two.crash()
  two = await startMember(config, 'two', two.directory)
  await until(one.barrier)

  // Who was gone before it restarted is not waited for.
  await two.crash()
  await longGone(redis, config, 'two')
  await timeOf(config).pass(2 * LEASE_MS)
  await restart(redis)
  await until(one.barrier)
})

it('waits for nobody who was gone before, where the process was just started', async () => {
  const { redis, config, ...held } = await startHolder()
  let { one } = held
  const two = await startMember(config, 'two')
  await until(() => expect(two.states).toEqual([null]))
  await one.barrier()
  await two.crash()
  await one.crash()
  await longGone(redis, config, 'two')
  await timeOf(config).pass(3 * LEASE_MS)
  one = await startMember(config, 'one', one.directory)
  await until(() => expect(one.names()).toEqual([SEAT]))
  await restart(redis)
  await until(one.barrier)
})

it('lets no barrier pass on a restarted Redis because the process that waits there for another is started again', async () => {
  const { redis, config, two, ...both } = await startBoth()
  let { one } = both
  await one.barrier()
  await rewind(redis, async () => {
    await two.barrier()
    two.store.close()
  })
  await until(() => expect(one.states).toContain('fleet.unattested'))
  await timeOf(config).pass(2 * LEASE_MS)
  await expectRefused(one.barrier, 'journal.moved')
  await one.crash()
  one = await startMember(config, 'one', one.directory, SEATS)
  await until(() => expect(one.states).toContain('fleet.unattested'))
  await timeOf(config).pass(LEASE_MS)
  expect(one.names()).toEqual([])
  const again = await startMember(config, 'two', two.directory, SEATS)
  await until(() => expect(again.states).toContain('journal.amnesia'))
})

it('lets nobody take the seat of a dead holder on a restarted Redis, until that has held it against its witness', async () => {
  const { redis, config, one } = await startHolder()
  await rewind(redis, async () => {
    await one.barrier()
    await one.crash()
  })
  const two = await startMember(config, 'two')
  await until(() => expect(two.states).toContain('fleet.unattested'))
  await timeOf(config).pass(LEASE_MS)
  expect(two.names()).toEqual([])
  const again = await startMember(config, 'one', one.directory)
  await until(() => expect(again.states).toEqual(['journal.amnesia']))
  expect([again.names(), two.names()]).toEqual([[], []])
})

it('relies on no instance that has lost its witness', async () => {
  const { redis, config, one } = await startHolder()
  await rewind(redis, async () => {
    await one.barrier()
    await one.crash()
  })
  const two = await startMember(config, 'two')
  const again = await startMember(config, 'one')
  await until(() => expect([again.states, two.states].flat()).toContain('fleet.unattested'))
  await timeOf(config).pass(2 * LEASE_MS)
  expect([again.names(), two.names()]).toEqual([[], []])
})

it('does not go on with a seat that an older file says is its own, where another has held it since', async () => {
  const { redis, config, one } = await startHolder()
  await one.barrier()
  let two = await startMember(config, 'two')
  await rewind(redis, async () => {
    await one.crash()
    await until(() => expect(two.names()).toEqual([SEAT]))
    await two.barrier()
    await two.crash()
  })
  // All that it witnessed is there.
  const again = await startMember(config, 'one', one.directory)
  await until(() => expect(again.states).toContain('fleet.unattested'))
  two = await startMember(config, 'two', two.directory)
  await until(() => expect(two.states).toEqual(['journal.amnesia']))
  expect([again.names(), two.names()]).toEqual([[], []])
})

it('takes no seat on a server that came up while its command was under way', async () => {
  const { redis, config, one } = await startHolder()
  const tcp = await startTcpProxy(redis)
  ends.push(tcp.stop)
  const endpoint = endpointOf(`redis://127.0.0.1:${tcp.port}/0`)
  const store = openStore({ ...config, endpoint, instance: 'two' })
  ends.push(() => store.close())
  await store.connect()
  let taken: Promise<unknown> = Promise.resolve()
  await rewind(redis, async () => {
    await one.barrier()
    await one.crash()
    const from = await seatOf(SEAT, store)
    const found = store.server()
    if (found === undefined) throw new TypeError('no server')
    const server = serverText(found)
    // It is judged on this server, and arrives at the next.
    tcp.setRule('toServer', { kind: 'hold' })
    const taking = acquire({ seat: SEAT, from, token: 'two-1', holder: 'two', server }, store)
    taken = taking.catch((error: RolekeeperError) => error.code)
  })
  tcp.setRule('toServer', null)
  // A busy machine gives up waiting for the answer before it can come.
  expect(['journal.moved', 'journal.unknown']).toContain(await taken)
  await until(async () => expect((await seatOf(SEAT, store))?.holder).toBe('one'))
})

it('takes nobody for who lost a witness that crashed before its first one was on disk', async () => {
  const redis = await newRedis()
  const config = await newFleet(redis)
  // On another server than it was begun on, everybody is heard before a seat is taken.
  await restart(redis)
  const options = {
    instance: 'one',
    seats: [{ name: SEAT }],
    roster: ['one'],
    leaseMs: LEASE_MS,
    clock: hurriedClock,
  }
  const crashing = Promise.withResolvers<void>()
  const begin = async () => {
    crashing.resolve()
    throw new RolekeeperError('fleet.witness', 'the process ends here', { fix: 'none' })
  }
  const one = startInstance(config, { ...options, witnesses: { known: null, begin } })
  await crashing.promise
  await one.seats.stop()
  one.store.close()
  await restart(redis)
  const again = startInstance(config, options)
  ends.push(async () => {
    await again.seats.stop()
    again.store.close()
  })
  await until(() => expect(again.names()).toEqual([SEAT]))
})

it('has a seat taken on a restarted Redis that lost nothing, once every instance has said so', async () => {
  const { redis, config, one } = await startHolder()
  await one.barrier()
  await one.seats.stop()
  await one.crash()
  await restart(redis)
  const two = await startMember(config, 'two')
  await until(() => expect(two.states).toContain('fleet.unattested'))
  const again = await startMember(config, 'one', one.directory)
  await until(() => expect([...again.names(), ...two.names()]).toEqual([SEAT]))
})

it('has the seat of a dead holder taken on a replica that every barrier waited for', async () => {
  const master = await newRedis()
  const replica = await newRedis({ replicaof: `127.0.0.1 ${master.port}` })
  const third = await newRedis({ replicaof: `127.0.0.1 ${replica.port}` })
  const proxy = await startRedisProxy(master.port)
  ends.push(proxy.stop)
  const founding = await newFleet(master)
  while ((await master.client().wait(1, 1_000)) < 1);
  const endpoint = endpointOf(`redis://127.0.0.1:${proxy.port}/0`)
  const config = { ...founding, endpoint, replicas: 1 }
  const one = await startMember(config, 'one')
  await until(() => expect(one.names()).toEqual([SEAT]))
  await one.barrier()
  const two = await startMember(config, 'two')
  await until(() => expect(two.states).toEqual([null]))
  while ((await master.client().wait(1, 1_000)) < 1);
  await one.crash()
  await replica.client().replicaof('NO', 'ONE')
  while ((await replica.client().wait(1, 1_000)) < 1);
  await proxy.lead(replica.port)
  await master.kill()
  await until(() => expect(two.names()).toEqual([SEAT]))
  await until(two.barrier)
  expect(third.port).not.toBe(0)
})

it('takes no seat on an older snapshot, which names the history that a promoted replica would', async () => {
  const master = await newRedis()
  await newRedis({ replicaof: `127.0.0.1 ${master.port}` })
  while ((await master.client().wait(1, 1_000)) < 1);
  const config = { ...(await newFleet(master)), replicas: 1 }
  const one = await startMember(config, 'one')
  await until(() => expect(one.names()).toEqual([SEAT]))
  await one.barrier()
  const two = await startMember(config, 'two')
  await until(() => expect(two.states).toEqual([null]))
  await master.client().save()
  const snapshot = join(master.directory, 'dump.rdb')
  cpSync(snapshot, `${snapshot}.older`)
  await timeOf(config).pass(2 * LEASE_MS)
  await one.barrier()
  await one.crash()
  // As a snapshot is brought back: where files are appended to, it is not loaded.
  const bringBack = () => {
    rmSync(join(master.directory, 'appendonlydir'), { recursive: true })
    cpSync(`${snapshot}.older`, snapshot)
  }
  await restart(master, bringBack, { appendonly: 'no' })
  await master.client().config('SET', 'appendonly', 'yes')
  await until(() => expect(two.states).toContain('fleet.unattested'))
  await timeOf(config).pass(LEASE_MS)
  expect(two.names()).toEqual([])
})

it('lets no barrier pass for a holder that was cut off while another came, was acknowledged, and died with Redis', async () => {
  const redis = await newRedis()
  const config = await newFleet(redis)
  const proxy = await startTcpProxy(redis)
  ends.push(proxy.stop)
  const endpoint = endpointOf(`redis://127.0.0.1:${proxy.port}/0`)
  const one = await startMember({ ...config, endpoint }, 'one')
  await until(() => expect(one.names()).toEqual([SEAT]))
  await one.barrier()
  const fenced = fenceOf(one)
  await rewind(redis, async () => {
    await proxy.down()
    const two = await startMember(config, 'two')
    await until(() => expect(two.names()).toEqual([SEAT]))
    await two.barrier()
    two.store.close()
  })
  await proxy.up()
  let passed = 0
  const ask = async () => {
    passed += await fenced()
    expect(one.states).toContain('fleet.unattested')
  }
  await until(ask)
  expect(passed).toBe(0)
})

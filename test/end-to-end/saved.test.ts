import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { loadRunConfig } from '../../src/config/config.ts'
import { readSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { setControl } from '../../src/ops/control.ts'
import { writeSubmission } from '../../src/ops/orders.ts'
import { startTestKeeper, type TestKeeper } from '../support/keeper-scene.ts'
import {
  createSavingScene,
  isIn,
  isSave,
  type KeeperChild,
  type SavingScene,
  startKeeperChild,
} from '../support/saving-scene.ts'
import { startTap, type Tap } from '../support/tap.ts'

const CRASH_HOOK = fileURLToPath(new URL('../lab/chaos/crash-hook.ts', import.meta.url))

let scene: SavingScene
let tap: Tap
let place: { readonly file: string; readonly directory: string }
/** The bodies that reached the service's door, and what happens at each. */
let bodies: string[]
const children: KeeperChild[] = []
/** A keeper that nobody kills, in this process. */
let keeper: TestKeeper | undefined

beforeAll(async () => {
  scene = await createSavingScene()
  tap = await startTap(scene.sandbox.info.serviceUrl)
  place = scene.configFile('alone', { serviceUrl: tap.url })
})
afterEach(async () => {
  await keeper?.keeper.stop({ drainMs: 0 })
  keeper = undefined
})
afterAll(async () => {
  for (const { process } of children) process.kill('SIGKILL')
  await tap.stop()
  await scene.stop()
})

/** Start a keeper; one that is to die does so at the commit that holds a state. */
function start(crash?: { readonly state: string; readonly when: 'before' | 'after' }): KeeperChild {
  const armed = crash === undefined ? {} : { CHAOS_CRASH: JSON.stringify({ ...crash, live: 1 }) }
  const child = startKeeperChild(
    place.file,
    { ...scene.environment, ...armed },
    crash === undefined ? [] : ['--import', CRASH_HOOK],
  )
  children.push(child)
  return child
}

/** Note each POST that would save; `act` is called once the service did what is asked, whose answer is then lost. */
function watch(act?: () => void): void {
  tap.setRule((tapped) => {
    if (!isSave(tapped)) return null
    bodies.push(tapped.body)
    return act === undefined ? null : { when: 'after', act }
  })
}

const signatures = () => scene.sandbox.kms.calls().filter(({ operation }) => operation === 'Sign')

const startKeeper = () =>
  startTestKeeper(loadRunConfig(place.file, { env: scene.environment, isWellKnown: () => false }))

it('is saved once, under one key, through kill -9 before its POST, before its answer came, and before that was written', async () => {
  bodies = []
  watch()
  const before = scene.saved()
  const useCase = 'Offered to those who ask for it, once.'
  const [died, late] = [start({ state: 'may_be_posted', when: 'after' }), () => start()]
  writeSubmission(place.directory, randomUUID(), scene.application(useCase))
  await died.ended
  expect([bodies.length, scene.saved()]).toEqual([0, before])

  const unheard = late()
  watch(() => unheard.process.kill('SIGKILL'))
  await unheard.ended
  const done = scene.saved()
  expect(done).toMatchObject({ useCases: [useCase], performed: before.performed + 1 })
  watch()
  await start({ state: 'prepared', when: 'before' }).ended

  keeper = await startKeeper()
  const { id } = (await keeper.until(isIn('succeeded'))) as { readonly id: string }
  expect(scene.saved()).toEqual(done)
  expect(done.keys).toEqual([...before.keys, id])
  expect([bodies.length, new Set(bodies).size]).toEqual([3, 1])
  // The key was asked for nothing but the sessions: one for each process that came to it.
  const journal = readSqliteJournal(place.directory)
  for (const { digest, keyId } of signatures()) {
    const signer = scene.sandbox.kms.keys.find(({ arn }) => arn === keyId)?.address ?? '0x'
    expect(await journal.ledgerEntry(`0x${digest}`, signer)).toMatchObject({ kind: 'challenge' })
  }
  await journal.close()
})

it('is not posted again by itself while a pause is on, and is once it is taken back', async () => {
  bodies = []
  await scene.reject()
  const before = scene.saved()
  keeper = await startKeeper()
  scene.sandbox.service.setFault({ fail: { path: /^\/v1\/workflows\/prepare/, status: 500 } })
  const paused = Promise.withResolvers<void>()
  tap.setRule((tapped) => {
    if (!isSave(tapped)) return null
    bodies.push(tapped.body)
    if (bodies.length > 1) return null
    setControl(place.directory, 'pause', true)
    paused.resolve()
    return null
  })
  const useCase = 'Offered once more, in other words.'
  writeSubmission(place.directory, randomUUID(), scene.application(useCase))
  await paused.promise
  // Longer than all that would be tried in one call.
  await systemClock.sleep(1_500)
  expect(bodies).toHaveLength(1)
  scene.sandbox.service.setFault({})
  setControl(place.directory, 'pause', false)
  await keeper.until(isIn('succeeded'))
  expect(scene.saved()).toMatchObject({ useCases: [useCase], performed: before.performed + 1 })
  expect([bodies.length, new Set(bodies).size]).toEqual([2, 1])
})

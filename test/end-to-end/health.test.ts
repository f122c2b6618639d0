import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { NO_FAULTS } from '../../sandbox/kms/operations.ts'
import { openRunConfig } from '../../src/config/config.ts'
import type { KeeperEvent } from '../../src/ops/events.ts'
import { isWellKnown } from '../../src/sign/well-known.ts'
import { runCommand } from '../support/commands.ts'
import {
  createKeeperScene,
  ENVIRONMENT,
  type KeeperScene,
  reached,
  startTestKeeper,
  type TestKeeper,
} from '../support/keeper-scene.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { type SecretManagers, startSecretManagers } from '../support/secret-managers.ts'

let world: KeeperScene
beforeAll(async () => {
  world = await createKeeperScene()
})
afterEach(async () => {
  world.kms.setFault(NO_FAULTS)
  world.service.setFault({})
  await world.rest()
})
afterAll(() => world.stop())

const facetIs = (facet: string, about: string, state: string) => (event: KeeperEvent) =>
  event.type === 'facet' && event.facet === facet && event.about === about && event.state === state

/** Wait until a facet is failing in every place where somebody may look, and say what each says. */
async function toldOf(keeper: TestKeeper, facet: string, about: string) {
  const key = about === '' ? facet : `${facet}/${about}`
  const event = await keeper.until(facetIs(facet, about, 'failing'))
  const alarm = await keeper.until((each) => each.type === 'alarm' && each.facet === key)
  const page = JSON.parse(await keeper.page('/readyz'))
  const metric = new RegExp(`^rolekeeper_facet_state\\{facet="${facet}",about="${about}"\\} 2$`, 'm')
  expect(await keeper.page('/metrics')).toMatch(metric)
  return { event, alarm, ready: page.ready, cause: page.cause, row: page.facets[key] }
}

it('says of what the service shows that it is stale, and of a key that is denied that it does not sign: each by itself', async () => {
  const keeper = await world.start()
  await keeper.until((event) => event.type === 'decision')
  world.service.setFault({ indexer: { lagMs: 60_000, admits: true } })
  world.kms.setFault({ deny: true })
  const stale = await toldOf(keeper, 'service', '')
  expect(stale).toMatchObject({ ready: false, row: { code: 'service.stale' } })
  expect(stale.alarm).toMatchObject({ code: 'service.stale', fix: expect.stringContaining('indexer') })
  // Nothing is to be signed: it is asked whether it is there.
  const denied = await toldOf(keeper, 'key', 'liquidator')
  expect(denied).toMatchObject({ ready: false, row: { code: 'key.not_signing' } })
  for (const { row } of [stale, denied]) expect(row).not.toHaveProperty('because')
  world.service.setFault({})
  world.kms.setFault(NO_FAULTS)
  await keeper.until(facetIs('service', '', 'ok'))
  await keeper.until(facetIs('key', 'liquidator', 'ok'))

  // One that answers 500 is the cause, and not the roles that see nothing for it.
  world.service.setFault({ fail: { path: /./, status: 500 } })
  const broken = await keeper.until(
    (event) => facetIs('service', '', 'failing')(event) && event !== stale.event,
  )
  expect(broken).toMatchObject({ code: expect.stringMatching(/^service\./) })
  expect(JSON.parse(await keeper.page('/readyz'))).toMatchObject({ ready: false, cause: 'service' })
})

it('names a node that hangs, and neither the chain nor the service nor the roles for it', async () => {
  const { id, nodes, finality } = world.config().chain
  const node = await startNodeProxy(nodes.read[0]?.reveal() ?? '')
  try {
    const chain = { id: String(id), finality, nodes: { read: [node.url], send: [node.url] } }
    const keeper = await world.start({ chain })
    await keeper.until((event) => event.type === 'decision')
    node.setFaults({ deed: { kind: 'hang' } })
    const told = await toldOf(keeper, 'node', 'read-1')
    expect(told).toMatchObject({ ready: false, cause: 'node/read-1', row: { code: 'node.left_out' } })
    node.setFaults()
    await keeper.until(facetIs('node', 'read-1', 'ok'))
  } finally {
    await world.rest()
    await node.stop()
  }
})

it('names a stream that is open and says nothing, while polling goes on', async () => {
  const keeper = await world.start()
  await keeper.until((event) => event.type === 'decision')
  world.service.setFault({ stream: { silent: true, seed: 1 } })
  const told = await keeper.until(facetIs('stream', '', 'warning'))
  expect(told).toMatchObject({ code: 'stream.polling', fix: expect.stringContaining('between') })
  await keeper.until((event) => event.type === 'alarm' && event.facet === 'stream')
  expect(JSON.parse(await keeper.page('/readyz'))).toMatchObject({ ready: true })
  world.service.setFault({})
  await keeper.until(facetIs('stream', '', 'ok'))
})

it('names the pause and not the roles that do nothing for it, with who and why', async () => {
  const keeper = await world.start()
  const { directory } = world.config()
  await keeper.until((event) => event.type === 'decision')
  const paused = await runCommand(['pause', '--reason', 'the oracle is late', '--directory', directory])
  expect(paused.code).toBe(0)
  await keeper.until(facetIs('pause', '', 'failing'))
  const { cause, facets } = JSON.parse(await keeper.page('/readyz'))
  expect([cause, facets.pause.message]).toEqual(['pause', expect.stringContaining('the oracle is late')])
  await runCommand(['resume', '--directory', directory])
  await keeper.until(facetIs('pause', '', 'ok'))
})

it('shows how the keeper of a directory stands, and fails where none works', async () => {
  const keeper = await world.start()
  const { directory } = world.config()
  await keeper.until((event) => event.type === 'decision')
  const shown = await runCommand(['status', '--directory', directory])
  expect(shown).toMatchObject({ code: 0, out: expect.stringMatching(/^liquidator +live /m) })
  const json = await runCommand(['status', '--json', '--directory', directory])
  expect(JSON.parse(json.out)).toMatchObject({
    roles: [{ role: 'liquidator', signer: world.signer.toLowerCase(), mode: 'live', state: 'up' }],
    nodes: [{ node: 'read-1' }],
  })
  const { auditHead } = JSON.parse(json.out)
  expect(shown.out).toMatch(/^audit head \d+:\w{12}$/m)
  const verified = await runCommand(['audit', 'verify', '--head', auditHead, '--directory', directory])
  expect(verified).toMatchObject({ code: 0, out: expect.stringContaining('what was noted is in it') })
  await world.rest()
  expect(await runCommand(['status', '--directory', directory])).toMatchObject({
    code: 5,
    err: expect.stringContaining('No keeper answers in'),
  })
  expect(await runCommand(['status', '--directory', '/nope'])).toMatchObject({ code: 2 })
})

describe('secrets', () => {
  let there: SecretManagers
  beforeAll(async () => {
    there = await startSecretManagers('canary-token')
  })
  afterAll(() => there.close())

  /** A keeper whose service key is in Vault. */
  async function startBySecrets() {
    there.vault.set('kv/keeper', { service: ENVIRONMENT.TEST_SECRET_KEY })
    const file = world.configFile({
      service: { url: world.service.url, secretKey: 'vault:kv/keeper#service' },
      secrets: { everyMs: '1000', vault: { url: there.url, token: 'env:TOKEN' } },
    })
    const config = await openRunConfig(file, { env: { ...ENVIRONMENT, TOKEN: 'canary-token' }, isWellKnown })
    const keeper = await startTestKeeper(config)
    await keeper.until((event) => event.type === 'decision')
    return keeper
  }

  it('that are away are told, and what they were goes on: it liquidates', async () => {
    const keeper = await startBySecrets()
    try {
      there.fault = 'hang'
      const told = await keeper.until(facetIs('secrets', '', 'warning'))
      expect(told).toMatchObject({ code: 'secrets.unavailable', fix: expect.stringContaining('it runs') })
      await keeper.until((event) => event.type === 'alarm' && event.facet === 'secrets')
      expect(JSON.parse(await keeper.page('/readyz'))).toMatchObject({ ready: true })
      await world.openUnderWater()
      await keeper.until(reached('succeeded'))
      there.fault = 'none'
      await keeper.until(facetIs('secrets', '', 'ok'))
      expect(keeper.log.join()).not.toContain('canary')
    } finally {
      there.fault = 'none'
      await keeper.keeper.stop({ drainMs: 0 })
    }
  })

  it('of which a new one does not work are named as the cause, until one works again', async () => {
    const keeper = await startBySecrets()
    try {
      there.vault.set('kv/keeper', { service: 'canary-of-another-keeper' })
      const told = await toldOf(keeper, 'secrets', '')
      expect(told).toMatchObject({ cause: 'secrets', row: { code: 'secrets.not_taken' } })
      expect(told.event).toMatchObject({ message: expect.stringContaining('vault:kv/keeper#service') })
      await keeper.until(facetIs('service', '', 'failing'))
      expect(JSON.parse(await keeper.page('/readyz')).facets.service).toMatchObject({
        code: 'service.unauthorized',
        because: 'secrets',
      })
      there.vault.set('kv/keeper', { service: ENVIRONMENT.TEST_SECRET_KEY })
      await keeper.until(facetIs('secrets', '', 'ok'))
      await keeper.until(facetIs('service', '', 'ok'))
      expect(keeper.log.join()).not.toContain('canary')
    } finally {
      await keeper.keeper.stop({ drainMs: 0 })
    }
  })
})

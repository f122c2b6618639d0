import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { assetAbi } from '../../sandbox/contracts/abis.ts'
import { rolekeeper as runLine } from '../../src/cli/dispatch.ts'
import { storeConfigOf } from '../../src/config/fleet.ts'
import { foundFleet } from '../../src/journal/redis/link/generation.ts'
import { readSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { auditFolder, segmentsIn } from '../../src/ops/audit/segments.ts'
import type { KeeperEvent } from '../../src/ops/events.ts'
import { inOrder } from '../support/in-order.ts'
import { createKeeperScene, ENVIRONMENT, type KeeperScene, reached } from '../support/keeper-scene.ts'
import { freePort } from '../support/loopback.ts'
import { type NodeProxy, startNodeProxy } from '../support/node-proxy.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE } from '../support/redis-fleet.ts'

let world: KeeperScene
const proxies: NodeProxy[] = []

beforeAll(async () => {
  world = await createKeeperScene()
})
afterEach(async () => {
  await world.rest()
  for (const proxy of proxies.splice(0)) await proxy.stop()
  await world.mineEvery(1)
})
afterAll(() => world.stop())

/** The liquidator's policy, which lets its signer also lend to a vault by hand. */
function policyFile(always: readonly string[]): string {
  const file = world.config().agents[0]?.policy ?? ''
  const policy = parse(readFileSync(file, 'utf8'), { schema: 'failsafe' })
  const shared = { workflowType: 'deposit', valueMax: '0 ETH' }
  policy.guard.allow.push(
    {
      ...shared,
      id: 'approve-deposit',
      gasMax: '120,000 gas',
      target: '$asset.sUSD',
      function: 'function approve(address spender, uint256 amount) returns (bool)',
      params: { spender: { eq: '$input.vaultAddress' }, amount: { eq: '$input.assets' } },
    },
    {
      ...shared,
      id: 'deposit',
      gasMax: '600,000 gas',
      target: '$vault',
      function: 'function depositNow(uint256 assets, address receiver, uint256 minShares)',
      params: {
        assets: { eq: '$input.assets' },
        receiver: { eq: '$self' },
        minShares: { eq: '$input.minShares' },
      },
    },
  )
  const out = [{ token: '$asset.sUSD', assetsMax: '$input.assets' }]
  policy.guard.effects.push({ workflowType: 'deposit', out, in: [] })
  policy.approval.always = always
  policy.limits.allowances = [{ of: 'function', named: 'depositNow', calls: '100', per: '1 h' }]
  const written = join(world.directory, `policy-${always.length}.yaml`)
  writeFileSync(written, stringify(policy, { defaultStringType: 'QUOTE_DOUBLE' }))
  return written
}

const changesOf = (always: readonly string[]) => ({
  agents: [world.liquidator({ policy: policyFile(always) })],
})
const keeperOf = (always: readonly string[] = [], changes: Readonly<Record<string, unknown>> = {}) =>
  world.start({ ...changesOf(always), ...changes })

/** Run a command line in this process. */
async function rolekeeper(...args: string[]) {
  let [out, err] = ['', '']
  const code = await runLine(args, {
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    outIsTty: false,
    errIsTty: false,
    env: ENVIRONMENT,
  })
  return { code, out, err }
}

/** Read what waits, and approve exactly that. */
async function approve(id: string, ...place: string[]) {
  const { out } = await rolekeeper('approve', id, ...place)
  const [hash = ''] = /[0-9a-f]{64}/.exec(out) ?? []
  return rolekeeper('approve', id, '--hash', hash, ...place)
}

function inputFile(assets: string, receiverAddress = world.signer): string {
  const file = join(world.directory, `deposit-${assets}.json`)
  writeFileSync(
    file,
    JSON.stringify({ vaultAddress: world.scene.at('primeVault'), assets, receiverAddress, minShares: '1' }),
  )
  return file
}
const submit = (assets: string, ...more: string[]) =>
  rolekeeper('submit', 'deposit', '--role', 'liquidator', '--input', inputFile(assets), ...more)
const directory = () => world.config().directory
/** A wallet session is a signature too; a transaction's is one that the chain counts. */
const sent = () => world.scene.client.getTransactionCount({ address: world.signer })
const shares = () =>
  world.scene.client.readContract({
    address: world.scene.at('primeVault'),
    abi: assetAbi,
    functionName: 'balanceOf',
    args: [world.signer],
  })
const held = ({ type }: KeeperEvent) => type === 'held'

inOrder('what people order, on one chain', () => {
  inOrder('a workflow submitted by hand', () => {
    it('is said in shadow: verdict, calls, tokens and gas, and nothing is sent', async () => {
      await keeperOf()
      const before = await sent()
      const { code, out } = await submit('1000000', '--shadow', '--directory', directory())
      expect(code).toBe(0)
      expect(out).toContain('Nothing was signed; the guard clears it.')
      expect(out).toMatch(/0x[0-9a-f]{40}\.approve\(spender: 0x[0-9a-fA-F]{40}, amount: 1 sUSD\)/)
      expect(out).toMatch(
        /0x[0-9a-f]{40}\.depositNow\(assets: 1 sUSD, receiver: our signer 0x\w{40}, minShares: 1 base unit\)/,
      )
      expect(out).toMatch(/0x[0-9a-f]{40} {2}-1,000,000 base units of 0x[0-9a-f]{40}\n/)
      expect(out).toMatch(/Gas: [\d,]+ gas, at most [\d,.]+ (?:gwei|ETH)/)
      expect(await sent()).toBe(before)
      expect(await shares()).toBe(0n)
    })

    it('is carried by a keeper of its own where none runs, and counts against the budgets', async () => {
      const { code, out } = await submit('2000000', '--config', world.configFile(changesOf([])), '--json')
      const lines = out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect({ code, end: lines.at(-1) }).toMatchObject({
        code: 0,
        end: { type: 'order', state: 'succeeded' },
      })
      expect(lines.flatMap(({ type, state }) => (type === 'workflow' ? [state] : []))).toEqual([
        'discovered',
        'requested',
        'prepared',
        'attested',
        'cleared',
        'in_flight',
        'confirmed',
        'succeeded',
      ])
      expect(await shares()).toBeGreaterThan(0n)
      const journal = readSqliteJournal(directory())
      const all = await journal.reservations('liquidator', 0)
      const spent = all.filter(({ workflowId }) => workflowId === lines.at(-1)?.id)
      await journal.close()
      // $2 of sUSD at the least price that the policy counts it at.
      expect(spent).toMatchObject([{ usdMicros: 1_960_000n }])
    })

    it('that the policy asks about waits for a person, also over a restart', async () => {
      const first = await keeperOf(['deposit'])
      const before = await sent()
      const following = submit('3000000', '--directory', directory())
      await first.until(held)
      await first.keeper.stop({ drainMs: 0 })
      const second = await keeperOf(['deposit'])
      const list = await rolekeeper('approve', '--directory', directory())
      expect(list.out).toMatch(
        /^[0-9a-f]{8} +liquidator +deposit +\d+ min(?: \d+ s)? +approval_always +deposit of primeVault: assets 3 sUSD, receiver our signer, /m,
      )
      expect(await second.page('/metrics')).toContain('rolekeeper_workflows_held{role="liquidator"} 1')
      expect(await sent()).toBe(before)
      const id = /^[0-9a-f]{8}/m.exec(list.out)?.[0] ?? ''
      const screen = await rolekeeper('approve', id, '--directory', directory())
      expect(screen.out).toMatch(
        /1\. sUSD 0x\w{40} approve\n +spender {2}primeVault 0x\w{40}\n +amount {3}3 sUSD\n/,
      )
      expect(await approve(id, '--directory', directory())).toMatchObject({ code: 0 })
      const { code, out } = await following
      expect(code).toBe(0)
      expect(out).toMatch(/\? held +.*approval_always/)
      expect(out).toMatch(/✓ succeeded/)
      const again = await rolekeeper('approve', id, '--directory', directory())
      expect(again.err).toContain('does not wait; it is succeeded, approved already.')
      expect((await rolekeeper('workflows', 'show', id, '--directory', directory())).out).toMatch(
        /Held: approval_always: .*\n {2}hash [0-9a-f]{64}\n {2}\S+@\S+ approved 2.*\n {2}approved 2/,
      )
      const config = world.configFile(changesOf(['deposit']))
      expect((await rolekeeper('explain', id, '--config', config)).out).toMatch(
        /\nInput:\n {2}vaultAddress +primeVault 0x\w{40}\n {2}assets +3,000,000 base units\n(?:.*\n)+Calls:\n {2}sUSD 0x\w{40}\.approve\(spender: primeVault 0x\w{40}, amount: 3 sUSD\)\n {2}primeVault 0x\w{40}\.depositNow\(assets: 3 sUSD, /,
      )
    })

    it('that a person rejects ends, and nothing of it was prepared', async () => {
      const keeper = await keeperOf(['deposit'])
      const following = submit('4000000', '--directory', directory(), '--json')
      const event = await keeper.until(held)
      await expect
        .poll(() => rolekeeper('approve', '--directory', directory()))
        .not.toMatchObject({
          out: 'Nothing waits.\n',
        })
      const id = event.type === 'held' ? event.id : ''
      expect(await rolekeeper('reject', id, '--directory', directory())).toMatchObject({ code: 0 })
      const { code, out } = await following
      expect({ code, end: JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') }).toMatchObject({
        code: 1,
        end: { state: 'cancelled', check: 'approval_rejected' },
      })
      expect(keeper.events.some(reached('requested'))).toBe(false)
    })

    it('is in the audit, from its proposal to its end, with who approved it; a cut end is missed by the journal', async () => {
      const place = ['--directory', directory()]
      const verified = async () => {
        const { code, out } = await rolekeeper('audit', 'verify', ...place, '--json')
        return { code, ...JSON.parse(out) }
      }
      const whole = await verified()
      expect(whole).toMatchObject({ code: 0, isWhole: true, problems: [], lacking: [] })
      const { out } = await rolekeeper('audit', 'export', ...place, '--role', 'liquidator', '--json')
      const records = out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      const [approval] = records.filter(({ kind }) => kind === 'approval')
      expect(approval).toMatchObject({
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        by: expect.any(String),
      })
      const of = records.filter(({ workflow }) => workflow === approval.workflow)
      expect(
        of.map(({ kind, state }) => (kind === 'verdict' ? state : kind)).filter((_, at) => at < 9),
      ).toEqual([
        'proposal',
        'held',
        'approval',
        'requested',
        'prepared',
        'attested',
        'cleared',
        'in_flight',
        'order',
      ])
      expect(of.map(({ kind }) => kind)).toEqual(
        expect.arrayContaining(['order', 'signature', 'sent', 'final']),
      )
      expect(of.at(-1)).toMatchObject({ kind: 'verdict', state: 'succeeded' })

      const [segment] = segmentsIn(auditFolder(directory()))
      const path = segment?.path ?? ''
      const kept = readFileSync(path, 'utf8')
      const lines = kept.split('\n')
      const order = lines.findIndex(
        (line) => line.includes('"kind":"order"') && line.includes(approval.workflow),
      )
      writeFileSync(path, `${lines.slice(0, order).join('\n')}\n`)
      const cut = await verified()
      expect(cut).toMatchObject({ code: 1, isWhole: false, problems: [] })
      expect(cut.lacking).toEqual(of.filter(({ kind }) => kind === 'order').map(({ digest }) => digest))
      const told = await rolekeeper(
        'audit',
        'verify',
        ...place,
        '--head',
        `${whole.head.seq}:${whole.head.hash}`,
      )
      expect(told.out).toMatch(/the end was cut off, or an older copy was put back/)
      writeFileSync(path, kept)
      expect(await verified()).toMatchObject({ code: 0 })
    })

    it('is refused in one line where its role is not there, or no rule lets it pass', async () => {
      await keeperOf()
      const absent = await rolekeeper(
        ...[
          'submit',
          'deposit',
          '--role',
          'allocator',
          '--input',
          inputFile('1'),
          '--directory',
          directory(),
        ],
      )
      expect(absent).toMatchObject({ code: 1 })
      expect(absent.err).toMatch(/^error order\.refused: role_absent: [^\n]*\n$/)
      const file = join(world.directory, 'borrow.json')
      const { at } = world.scene
      writeFileSync(
        file,
        JSON.stringify({ marketAddress: at('btcMarket'), vaultAddress: at('primeVault'), assets: '1' }),
      )
      const unruled = await rolekeeper(
        ...['submit', 'borrow', '--role', 'liquidator', '--input', file, '--directory', directory()],
      )
      expect(unruled.err).toMatch(/^error order\.refused: workflow_not_allowed: [^\n]*\n$/)
    })
  })

  /** The families of a page of metrics, and those of them that have a sample which is a number other than 0. */
  function familiesOf(page: string) {
    const all = [...page.matchAll(/^# TYPE (rolekeeper_\w+) /gm)].map(([, name = '']) => name)
    const samples = [...page.matchAll(/^(rolekeeper_\w+?)(?:_sum|_count|_bucket)?(?:\{.*\})? (\S+)$/gm)]
    const fed = samples.flatMap(([, name = '', value]) => (Math.abs(Number(value)) > 0 ? [name] : []))
    return { all, fed }
  }

  /** The chain behind three reading nodes, two of which do as they are asked. */
  async function threeNodes() {
    const { id, nodes, finality } = world.config().chain
    const node = nodes.read[0]?.reveal() ?? ''
    const [liar, laggard] = [await startNodeProxy(node), await startNodeProxy(node)]
    proxies.push(liar, laggard)
    const read = [node, liar.url, laggard.url]
    return { chain: { id: String(id), finality, nodes: { read, send: [node] } }, liar, laggard }
  }

  /** The metric families that a keeper of this file fed: that of SAFE signers is fed by the test of a pending transaction. */
  const fed = new Set<string>()

  describe('what people order of a fleet', () => {
    let redis: TestRedis
    beforeAll(async () => {
      redis = await startRedis(DURABLE)
    })
    afterAll(() => redis.stop())

    /** A key of its own: what it signs is in another journal than that of the other tests. */
    const key = () => {
      const { arn: keyId, address } = world.kms.keys[1] ?? { arn: '', address: world.signer }
      return { keyId, address }
    }
    const fleetOf = (instance: string) => ({
      agents: [world.liquidator({ policy: policyFile(['deposit']), signer: { kms: key() } })],
      directory: join(world.directory, instance),
      journal: { redis: { url: `redis://127.0.0.1:${redis.port}/0` } },
      queue: 'bullmq',
      fleet: { name: 'main', instance, roster: ['a', 'b', 'c'], leaseMs: '1000' },
    })

    it('is taken once by who comes to hold the seat, answered from any machine, and outlives its holder', async () => {
      await foundFleet(storeConfigOf(world.config(fleetOf('a'))))
      const machine = ['--config', world.configFile(fleetOf('c'))]
      // Nobody lives yet.
      const order = ['submit', 'deposit', '--role', 'liquidator', '--input']
      const following = rolekeeper(...order, inputFile('6000000', key().address), ...machine, '--json')
      const placed = () => redis.client().hlen(`{rk:main}:orders:${key().address.toLowerCase()}`)
      await expect.poll(placed).toBe(1)
      const first = await world.start(fleetOf('a'))
      const event = await first.until(held)
      const id = event.type === 'held' ? event.id : ''
      await world.rest()
      await world.start(fleetOf('b'))
      await expect
        .poll(() => rolekeeper('approve', ...machine))
        .toMatchObject({ out: expect.stringContaining(id.slice(0, 8)) })
      await expect.poll(placed).toBe(0)
      expect(await approve(id, ...machine)).toMatchObject({ code: 0 })
      const other = await rolekeeper('reject', id, ...machine)
      expect(other.err).toMatch(/answered workflow .* otherwise|does not wait/)
      const { code, out } = await following
      const end = JSON.parse(out.trimEnd().split('\n').at(-1) ?? '')
      expect({ code, end }).toMatchObject({ code: 0, end: { id, state: 'succeeded' } })

      const about = await rolekeeper('signer', 'resync', key().address, ...machine)
      expect(about.out + about.err).toMatch(/next nonce/i)
      const absent = await rolekeeper(
        ...['submit', 'deposit', '--role', 'allocator', '--input', inputFile('1'), ...machine],
      )
      expect(absent.err).toContain('role_absent: The role allocator is not configured.')
    })
  })

  describe('a transaction of others that stays pending at our next nonce', () => {
    it('is named, and makes place for a no-op when a person orders it; then the signer works again', async () => {
      const { client } = world.scene
      const nonce = await sent()
      await world.mineEvery(0)
      await client.impersonateAccount({ address: world.signer })
      const signer = world.signer.toLowerCase() as Address
      const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }
      const hash = await client.sendTransaction({ account: signer, to: signer, value: 1n, nonce, ...fees })
      await client.stopImpersonatingAccount({ address: signer })
      const begun = await keeperOf()
      const { message } = alarmOf(await begun.until((event) => alarmOf(event).code === 'signer.safe'))
      expect(message).toContain(`${signer} is SAFE (nonce_used_elsewhere)`)
      expect(message).toContain(`${nonce + 1} pending`)
      const page = await begun.page('/metrics')
      expect(page).toContain('rolekeeper_signers_safe{role="liquidator",check="nonce_used_elsewhere"} 1')
      for (const name of familiesOf(page).fed) fed.add(name)
      expect(await begun.page('/readyz')).toContain(`signer fill ${signer} --yes`)
      const show = async () => (await rolekeeper('signer', 'show', '--directory', directory())).out
      await expect.poll(show).toContain(`rolekeeper signer fill ${signer} --yes`)
      const filled = await rolekeeper('signer', 'fill', signer, '--yes', '--directory', directory())
      expect(filled).toMatchObject({
        code: 0,
        out: expect.stringContaining('in place of what others have pending'),
      })
      await begun.until((event) => event.type === 'slot' && event.nonce === nonce && event.state === 'sent')
      await world.mineEvery(1)
      await expect.poll(show).toContain(`${signer}  at work  next nonce ${nonce + 1}`)
      expect(await client.getTransactionReceipt({ hash }).catch(() => null)).toBeNull()
      expect(await sent()).toBe(nonce + 1)
    })
  })

  const alarmOf = (event: KeeperEvent) => (event.type === 'alarm' ? event : { code: '', message: '' })

  describe('the metrics of a keeper', () => {
    it('are each fed by a run, with the faults that some of them count', async () => {
      const port = String(await freePort())
      const webhook = { host: '127.0.0.1', port, path: '/webhooks', secrets: ['env:TEST_SECRET_KEY'] }
      const service = { url: world.service.url, secretKey: 'env:TEST_SECRET_KEY', webhook }
      const { chain, liar, laggard } = await threeNodes()
      const most = { movedMax: '1,000 USD', gasMax: '1 ETH' }
      const begun = await keeperOf(['deposit'], {
        service,
        chain,
        alarms: [{ name: 'ops', kind: 'webhook', url: world.service.url }],
        limits: { perHour: { ...most }, perDay: { ...most } },
      })
      const scrape = async () => {
        const families = familiesOf(await begun.page('/metrics'))
        for (const name of families.fed) fed.add(name)
        return families.all
      }
      const untilFed = (name: string) =>
        expect.poll(async () => scrape().then(() => fed.has(name))).toBe(true)

      // Of three nodes one lies, and one falls behind. A single lie goes unseen where the other two agreed before it came.
      liar.setFaults({ deed: { kind: 'change', change: () => '0x1' }, methods: ['eth_getBalance'] })
      await untilFed('rolekeeper_node_disagreements_total')
      liar.setFaults()
      laggard.setView({ kind: 'lag', blocks: 2n })
      await untilFed('rolekeeper_node_blocks_behind')
      // Two of them are away.
      await Promise.all([liar.down(), laggard.down()])
      await untilFed('rolekeeper_quorum_missing_seconds')
      await Promise.all([liar.up(), laggard.up()])
      world.service.setFault({ indexer: { lagMs: 3_000, admits: true } })
      await untilFed('rolekeeper_service_lag_seconds')
      world.service.setFault({})

      // A position that the agent passes over.
      await world.quickly(() => world.openBorrower('30000'))
      await untilFed('rolekeeper_refusals_total')

      // A step that fails unexpectedly: what listens to it throws, once.
      const deaf = begun.keeper.onEvent((event) => {
        if (!reached('prepared', 'deposit')(event)) return
        deaf()
        throw new TypeError('a listener failed')
      })
      // A workflow that waits for a person, and then for its key.
      const following = submit('5000000', '--directory', directory())
      await begun.until(held)
      await untilFed('rolekeeper_workflows_held')
      world.kms.setFault({ deny: true })
      const list = await rolekeeper('approve', '--directory', directory())
      await approve(/^[0-9a-f]{8}/m.exec(list.out)?.[0] ?? '', '--directory', directory())
      await untilFed('rolekeeper_alarms_total')
      await untilFed('rolekeeper_slot_age_seconds')
      world.kms.setFault({ deny: false })
      expect((await following).code).toBe(0)
      expect((await submit('1000000', '--shadow', '--directory', directory())).code).toBe(0)
      await untilFed('rolekeeper_money_dollars')

      await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', body: '{}' })
      for (const [on, off, name] of [
        ['pause', 'resume', 'rolekeeper_paused'],
        ['kill', 'unkill', 'rolekeeper_killed'],
      ] as const) {
        await rolekeeper(on, '--directory', directory())
        await untilFed(name)
        await rolekeeper(off, '--directory', directory())
      }
      await untilFed('rolekeeper_audit_waiting_seconds')
      world.service.setFault({ fail: { path: /./, status: 500 } })
      await untilFed('rolekeeper_service_circuit_open')
      world.service.setFault({})

      const all = await scrape()
      expect(all.length).toBeGreaterThan(25)
      // Accounts are looked at once a minute: that of forked ones is fed by the test that keeps them. Nothing is owed here.
      const later = [
        'accounts_forked',
        'duty_late',
        'duty_late_seconds',
        'next_due_seconds',
        'report_age_seconds',
        'left_alone_dollars',
      ]
      expect(
        all.filter((name) => !fed.has(name) && !later.includes(name.replace('rolekeeper_', ''))),
      ).toEqual([])
    })
  })

  // Last: what the chain has lost, every other test of this file would miss.
  describe('a reorg past finality that takes back what a workflow ended by', () => {
    it('is named; what does not land again a person gives up, and then releases the signer', async () => {
      const { client, rpc } = world.scene
      const signer = world.signer.toLowerCase() as Address
      const order = (...words: string[]) => rolekeeper('signer', ...words, '--directory', directory())
      const show = async () => (await order('show')).out
      const begun = await keeperOf()
      const before = await client.getBlockNumber()
      expect((await submit('1100000', '--directory', directory())).code).toBe(0)
      const next = await sent()
      await world.mineEvery(0)
      await rpc('anvil_reorg', Number((await client.getBlockNumber()) - before), [])
      expect(await sent()).toBe(next - 2)
      await begun.until((event) => alarmOf(event).code === 'chain.reorg_past_finality')
      await expect.poll(show).toContain(`nonce ${next - 2} final, and the chain does not`)
      await expect.poll(show).toContain('(succeeded)')
      expect((await order('release', signer)).err).toContain('not_proven')
      for (const nonce of [next - 2, next - 1]) {
        const { code, out } = await order('fill', signer, String(nonce), '--yes')
        expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('undone for good') })
      }
      const isSent = (nonce: number) => (event: KeeperEvent) =>
        event.type === 'slot' && event.nonce === nonce && event.purpose === 'noop' && event.state === 'sent'
      await Promise.all([begun.until(isSent(next - 2)), begun.until(isSent(next - 1))])
      await world.mineEvery(1)
      await expect.poll(async () => (await order('release', signer, '--yes')).code).toBe(0)
      await expect.poll(show).toContain(`${signer}  at work  next nonce ${next}`)
      expect(await sent()).toBe(next)
    })
  })
})

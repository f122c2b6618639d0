import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import type { Agent } from '../../agents/agent.ts'
import { systemClock } from '../../src/clock.ts'
import type { Collections } from '../../src/observe/collections.ts'
import { createObserver } from '../../src/observe/observer.ts'
import { createServiceClient } from '../../src/service/client.ts'
import { SERVICE_TIMEOUTS } from '../../src/service/http.ts'
import { QUIET_SEED } from '../lab/conformance/quiet-story.ts'
import { NOTHING_AROUND } from '../support/around.ts'
import { newDirectory } from '../support/directory.ts'
import { deployment, nodes, SIGNER, startManyBorrowers } from '../support/many-borrowers.ts'
import { removeDirectory } from '../support/sandbox.ts'

const PAGE = 'docs/write-a-role.md'

/** What the page says of a file: the code that follows the first mention of its path. */
function shownIn(page: string, path: string): string {
  const from = page.indexOf(`\`${path}\``)
  const code = /```(?:ts|yaml)\n([\s\S]*?)```/.exec(page.slice(from))?.[1]
  if (from < 0 || code === undefined) throw new TypeError(`${PAGE} shows no ${path}`)
  return code
}

const ended = z.object({
  type: z.literal('workflow'),
  role: z.string(),
  state: z.string(),
  check: z.string().optional(),
})

let root: string
beforeAll(() => {
  root = newDirectory()
  for (const part of ['agents', 'src', 'sandbox', 'policies', 'package.json'])
    cpSync(part, join(root, part), { recursive: true })
  symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'))
  const page = readFileSync(PAGE, 'utf8')
  const files = ['policy', 'book', 'decide', 'agent'].map((name) => `agents/treasurer/${name}.ts`)
  for (const path of [...files, 'policies/treasurer.yaml']) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), shownIn(page, path))
  }
  const registry = readFileSync('agents/index.ts', 'utf8')
  const line = registry.replace(/\n\]$/m, '\n  treasurer,\n]')
  writeFileSync(join(root, 'agents/index.ts'), `import { treasurer } from './treasurer/agent.ts'\n${line}`)
})
afterAll(() => removeDirectory(root))

it('staffs the role that the page writes, word for word, and carries its first workflow to success', async () => {
  const args = ['start', '--json', '--for', '5m', '--seed', String(QUIET_SEED)]
  const keeper = spawn(process.execPath, ['src/cli/main.ts', ...args], { cwd: root })
  let complaint = ''
  keeper.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text
  })
  try {
    for await (const text of createInterface({ input: keeper.stdout })) {
      const event = ended.safeParse(JSON.parse(text))
      if (!event.success || event.data.role !== 'treasurer') continue
      expect(event.data.check).toBeUndefined()
      if (event.data.state === 'succeeded') return
    }
    throw new TypeError(`the treasurer came to no success: ${complaint}`)
  } finally {
    const exited = new Promise((resolve) => keeper.once('exit', resolve))
    keeper.kill('SIGTERM')
    await exited
  }
})

const BORROWERS = 100_000

it('lets that role decide on a hundred thousand rows without a sweep, once it has made one', async () => {
  const load = createRequire(import.meta.url)
  const { treasurer }: { readonly treasurer: Agent } = load(join(root, 'agents/treasurer/agent.ts'))
  const service = await startManyBorrowers(BORROWERS)
  const client = createServiceClient(
    { baseUrl: service.url, secretKey: 'secret-key-0123456789', timeouts: SERVICE_TIMEOUTS },
    systemClock,
  )
  const listing: Partial<Collections> = { vaults: client.listVaults }
  const debtOf = (rows: readonly { readonly debtAssets?: string | null | undefined }[]) =>
    rows.reduce((sum, { debtAssets }) => sum + BigInt(debtAssets ?? 0), 0n)
  const [owes] =
    (await client.pages.listPositions({ wallets: [service.walletOf(7)] }).next()).value?.items ?? []
  let all = 0n
  for await (const { items } of client.pages.listPositions()) all += debtOf(items)
  const strategy = {
    token: 'sUSD',
    keepAssets: 0n,
    depositAssetsMin: 1n,
    depositAssetsMax: 1_000n,
    // As much as is owed now, and not one more.
    debtAssetsMax: all,
  }
  const unexpected = () => {
    throw new TypeError('the service filters, and no sweep goes on beside')
  }
  const observer = createObserver(
    treasurer,
    strategy,
    {
      client,
      nodes,
      clock: systemClock,
      collections: listing as Collections,
      outside: async () => ({ ok: false, check: 'source_unknown', message: 'None.' }),
      dataFeeWei: () => 0n,
      onFirstSweepSlow: unexpected,
      onProofFailed: unexpected,
      onArmed: unexpected,
      onSwept: () => {},
      onSweepFailed: unexpected,
      onUnfiltered: unexpected,
    },
    {
      deployment,
      signer: SIGNER,
      ours: [SIGNER],
      priorityFeePerGasWei: 0n,
      limits: { ageMsMax: 60_000, blockLagMax: 3n, headAgeMsMax: 60_000 },
    },
  )
  const decide = async () => {
    const seen = await observer.observe(NOTHING_AROUND)
    const { proposals, passedOver } = treasurer.decide(seen, strategy)
    return [...proposals.map(({ kind }) => kind), ...passedOver.map(({ check }) => check)]
  }
  try {
    service.arrived.length = 0
    expect(await decide()).toEqual(['deposit'])
    expect(service.arrived.filter(({ wallets }) => wallets === 0).length).toBeGreaterThan(BORROWERS / 100)

    const subject = service.owe(7, Number(debtOf(owes === undefined ? [] : [owes])) + 1)
    service.arrived.length = 0
    observer.note({ type: 'positions.updated', subject })
    expect(await decide()).toEqual(['too_much_debt'])
    expect(service.arrived.toSorted((one, other) => (one.path < other.path ? -1 : 1))).toEqual([
      { path: '/v1/positions', wallets: 1, hasCursor: false },
      { path: '/v1/vaults', wallets: 0, hasCursor: false },
    ])
  } finally {
    observer.close()
    await client.close()
    await service.close()
  }
})

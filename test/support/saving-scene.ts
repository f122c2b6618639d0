import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { parse } from 'yaml'
import type { KeeperEvent } from '../../src/ops/events.ts'
import type { Submission } from '../../src/ops/orders.ts'
import { removeDirectory, sandboxDirectory, startTestSandbox, type TestSandbox } from './sandbox.ts'
import type { Tapped } from './tap.ts'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** A sandbox with a partner, whose application for a vault is a record at the service: preparing it saves it. */
export type SavingScene = {
  readonly sandbox: TestSandbox
  /** What a run configuration refers to. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Write the run configuration of a keeper with the partner alone, in a directory of that name. */
  readonly configFile: (
    name: string,
    changes: Changes,
  ) => { readonly file: string; readonly directory: string }
  /** An application that says what it is for, as a person submits it. */
  readonly application: (useCase: string) => Submission
  /** Have the application reviewed and rejected, so that another one may come. */
  readonly reject: () => Promise<void>
  /** What the service has. */
  readonly saved: () => Saved
  readonly stop: () => Promise<void>
}

/** Where the service is found, and the node where it is another way than straight; and other parts of a run configuration. */
type Changes = { readonly serviceUrl: string; readonly nodeUrl?: string } & Readonly<Record<string, unknown>>

/**
 * What the partner's application says it is for, where there is one; how many prepares the audit log holds; and the keys that
 * keepers gave them. A keeper's key of a prepare is its workflow's id, and of all else one with hyphens.
 */
type Saved = {
  readonly useCases: readonly string[]
  readonly performed: number
  readonly keys: readonly string[]
}

/** Start the scene. The partner has not applied for anything yet. */
export async function createSavingScene(): Promise<SavingScene> {
  const sandbox = await startTestSandbox(sandboxDirectory())
  const withService = <T>(work: (db: DatabaseSync) => T): T => {
    const db = new DatabaseSync(join(sandbox.directory, 'sandbox', 'service.sqlite'))
    try {
      return work(db)
    } finally {
      db.close()
    }
  }
  const vaultAddress = sandbox.deployment.contracts.primeVault.address
  const partner = sandbox.info.signers.partner?.address ?? '0x'
  const texts = (query: string, ...given: readonly string[]) =>
    withService((db) => db.prepare(query).all(...given)).map(({ text }) => String(text))
  return {
    sandbox,
    environment: parseEnv(readFileSync(join(sandbox.directory, 'sandbox.env'), 'utf8')),
    configFile: (name, { serviceUrl, nodeUrl = sandbox.info.rpcUrl, ...changes }) => {
      const { console: _console, ...run } = parse(readFileSync(join(sandbox.directory, 'run.yaml'), 'utf8'))
      const directory = join(sandbox.directory, name)
      mkdirSync(directory)
      const agents = run.agents.filter(({ role }: { role: string }) => role === 'partner')
      // A tap has no stream: what is new is asked for instead.
      const service = { ...run.service, url: serviceUrl }
      const chain = { ...run.chain, nodes: { read: [nodeUrl], send: [nodeUrl] } }
      const file = join(directory, 'run.yaml')
      writeFileSync(file, JSON.stringify({ ...run, agents, service, chain, ...changes, directory }))
      return { file, directory }
    },
    application: (useCase) => ({
      by: { user: 'anna@ops1' },
      role: 'partner',
      shadow: false,
      workflowType: 'role.partner.partnerSubmitApplication',
      input: {
        vaultAddress,
        partnerName: 'Anna',
        website: 'https://a.example',
        useCase,
      },
    }),
    reject: async () => {
      const { serviceUrl, controlToken } = sandbox.info
      const review = { kind: 'partner_application', key: `${vaultAddress}:${partner}`, status: 'rejected' }
      const headers = { authorization: `Bearer ${controlToken}`, 'content-type': 'application/json' }
      const asked = { method: 'PUT', headers, body: JSON.stringify(review) }
      const { status } = await fetch(`${serviceUrl}/sandbox-control/reviews`, asked)
      if (status !== 200) throw new TypeError(`the review was answered with ${status}`)
    },
    saved: () => ({
      useCases: texts(
        'SELECT body AS text FROM service_records WHERE key = ?',
        `${vaultAddress}:${partner}`.toLowerCase(),
      ).map((body) => JSON.parse(body).useCase),
      performed: texts("SELECT request_id AS text FROM audit WHERE action = 'prepareWorkflow'").length,
      keys: texts("SELECT key AS text FROM idempotency WHERE key NOT LIKE '%-%' ORDER BY at_ms"),
    }),
    stop: async () => {
      await sandbox.stop()
      removeDirectory(sandbox.directory)
    },
  }
}

/** Whether a request has the service save. */
export const isSave = ({ path, method }: Tapped) => method === 'POST' && path === '/v1/workflows/prepare'

/** A keeper in a process of its own, with every event it told. */
export type KeeperChild = {
  readonly process: ChildProcess
  readonly events: readonly KeeperEvent[]
  /** Settles once it is gone. */
  readonly ended: Promise<unknown>
  /** Resolve with the first event, past or to come, that fits. */
  readonly until: (fits: (event: KeeperEvent) => boolean) => Promise<KeeperEvent>
}

/** Start a keeper by a configuration; `preloaded` are arguments of node's own. Whoever starts it ends it. */
export function startKeeperChild(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
  preloaded: readonly string[] = [],
): KeeperChild {
  const child = spawn(process.execPath, [...preloaded, MAIN, 'run', '--config', file, '--json'], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const events: KeeperEvent[] = []
  const waiting = new Set<(event: KeeperEvent) => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const event: KeeperEvent = JSON.parse(line)
    events.push(event)
    for (const tell of waiting) tell(event)
  })
  return {
    process: child,
    events,
    ended: once(child, 'exit'),
    until: (fits) =>
      new Promise((resolve) => {
        const known = events.find(fits)
        if (known !== undefined) resolve(known)
        const tell = (event: KeeperEvent) => {
          if (!fits(event)) return
          waiting.delete(tell)
          resolve(event)
        }
        if (known === undefined) waiting.add(tell)
      }),
  }
}

/** Whether an event says that a workflow reached a state; of one workflow where one is given. */
export const isIn =
  (state: string, id?: string) =>
  (event: KeeperEvent): boolean =>
    event.type === 'workflow' && event.state === state && (id === undefined || event.id === id)

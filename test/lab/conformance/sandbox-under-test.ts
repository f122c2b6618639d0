import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WAIT_MS_MAX } from './eventually.ts'
import { QUIET_SEED } from './quiet-story.ts'

/** What `sandbox.json` gives a program that is not part of rolekeeper. */
export type SandboxInfo = {
  readonly serviceUrl: string
  readonly rpcUrl: string
  readonly chainId: number
  readonly kmsUrl: string
  readonly kmsRegion: string
  readonly kmsAccessKeyId: string
  readonly kmsSecretAccessKey: string
  readonly secretKey: string
  /** Of its control address, where reviews are given. */
  readonly controlToken: string
  readonly publishableKey: string
  readonly origins: readonly string[]
  readonly contracts: Readonly<Record<string, `0x${string}`>>
  readonly signers: Readonly<Record<string, { readonly keyId: string; readonly address: `0x${string}` }>>
}

/** A running sandbox in a directory of its own. */
export type SandboxUnderTest = { readonly info: SandboxInfo; readonly stop: () => Promise<void> }

/** This tree: the one whose sandbox is asked for by default. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Our receiver of webhooks listens on loopback. */
const COMMAND = ['src/cli/main.ts', 'sandbox', '--seed', String(QUIET_SEED), '--allow-loopback-webhooks']
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * Start a sandbox by the command a user types, and wait until it says that it is ready.
 * Rejects with what it wrote when it ends first or takes longer than any wait may.
 */
export async function startSandboxUnderTest(root: string = ROOT): Promise<SandboxUnderTest> {
  const directory = mkdtempSync(join(tmpdir(), 'rolekeeper-conformance-'))
  const child = spawn(process.execPath, [...COMMAND, '--directory', directory], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  let said = ''
  const ready = new Promise<void>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      said += chunk.toString()
      if (said.includes('The sandbox is ready')) resolve()
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    void ended.then(() => reject(new Error(`the sandbox ended: ${said}`)))
  })
  const late = setTimeout(() => child.kill('SIGINT'), WAIT_MS_MAX)
  const stop = async () => {
    for (const signal of SIGNALS) process.off(signal, interrupt)
    child.kill('SIGINT')
    const force = setTimeout(() => child.kill('SIGKILL'), WAIT_MS_MAX)
    await ended
    clearTimeout(force)
    // A chain whose sandbox was killed still saves its state there.
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
  // A run that is ended early leaves neither a process nor a directory behind.
  const interrupt = () => void stop().finally(() => process.exit(130))
  for (const signal of SIGNALS) process.once(signal, interrupt)
  try {
    await ready
    clearTimeout(late)
    return { info: JSON.parse(readFileSync(join(directory, 'sandbox.json'), 'utf8')), stop }
  } catch (error) {
    clearTimeout(late)
    await stop()
    throw error
  }
}

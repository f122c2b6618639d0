import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import type { Address } from 'viem'
import { type Clock, systemClock } from '../../../src/clock.ts'
import { loadRunConfig, type RunConfig } from '../../../src/config/config.ts'
import { isWellKnown } from '../../../src/sign/well-known.ts'
import { type NodeProxy, startNodeProxy } from '../../support/node-proxy.ts'
import { sandboxDirectory, startTestSandbox, type TestSandbox } from '../../support/sandbox.ts'

type Signer = { kms: { keyId: string; address: Address } }
/** A run configuration as the sandbox writes it: every scalar is text, so that a seed says what a person would. */
export type Written = {
  directory: string
  chain: {
    id: string
    finality: string | { confirmations: string }
    nodes: { read: string[]; send: string[]; agree?: string }
  }
  service: { url: string; secretKey: string; webhook?: Record<string, unknown> }
  kms: Record<string, string>
  ops: { host: string; port: string }
  console?: { host: string; port: string }
  replies?: { host: string; port: string }
  deployment: {
    namespace: string
    assets: { address: string; symbol: string; decimals: string; codeHash: string }[]
    markets: {
      address: string
      codeHash: string
      loanAsset: string
      collateralAsset: string
      oracle: string
      oracleCodeHash: string
    }[]
    vaults: { address: string; codeHash: string }[]
    funds: { quoteAsset: string }[]
    contracts: { name: string; address: string; codeHash: string }[]
  }
  sources: Record<string, unknown>[]
  agents: { role: string; mode: string; policy: string; secretKey: string; signer: Signer }[]
  journal?: Record<string, unknown>
  fleet?: Record<string, unknown>
}

/** A sandbox that is at rest, with a right configuration, of which a test makes wrong ones. */
export type Ward = {
  readonly sandbox: TestSandbox
  readonly proxy: NodeProxy
  readonly env: Record<string, string | undefined>
  /** Write the configuration with a change, and load it as `run` does. */
  readonly load: (change?: (config: Written) => void) => RunConfig
  /** Write it alone; resolves to its path. */
  readonly write: (change?: (config: Written) => void) => string
  /** Write a policy that says so over the sandbox's own of a role; returns its path. */
  readonly policy: (role: string, says: string) => string
  /** That as an owner writes it, by the policy that is shipped. */
  readonly ownPolicy: (role: string, says: string) => string
  readonly stop: () => Promise<void>
}

/** The clock of a machine that is off by so much. */
export const clockOff = (ms: number): Clock => ({ ...systemClock, nowMs: () => Date.now() + ms })

export async function startWard(): Promise<Ward> {
  const directory = sandboxDirectory()
  const sandbox = await startTestSandbox(directory)
  const proxy = await startNodeProxy(sandbox.info.rpcUrl)
  const env = parseEnv(readFileSync(join(directory, 'sandbox.env'), 'utf8'))
  const text = readFileSync(join(directory, 'run.yaml'), 'utf8').replaceAll(/^#.*\n/gm, '')
  let count = 0
  const write: Ward['write'] = (change = () => undefined) => {
    const config: Written = JSON.parse(text)
    count += 1
    config.directory = join(directory, `state-${count}`)
    change(config)
    const file = join(directory, `run-${count}.yaml`)
    writeFileSync(file, JSON.stringify(config))
    return file
  }
  const written = (role: string, says: string) => {
    count += 1
    mkdirSync(join(directory, 'policies'), { recursive: true })
    const file = join(directory, 'policies', `${role}-${count}.yaml`)
    writeFileSync(file, says)
    return file
  }
  return {
    sandbox,
    proxy,
    env,
    write,
    load: (change) => loadRunConfig(write(change), { env, isWellKnown }),
    policy: (role, says) => {
      const [own] = JSON.parse(text).agents.filter((agent: { role: string }) => agent.role === role)
      return written(role, `environment: sandbox\ninclude: ${own.policy}\n${says}`)
    },
    ownPolicy: (role, says) => written(role, `include: ${resolve('policies')}/${role}.yaml\n${says}`),
    stop: async () => {
      await proxy.stop()
      await sandbox.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

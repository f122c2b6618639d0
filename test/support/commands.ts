import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolekeeper } from '../../src/cli/dispatch.ts'
import type { Io } from '../../src/cli/parse/command.ts'
import { newDirectory } from './directory.ts'
import { SIGNER } from './workflows.ts'

/** How a command ended, and what it wrote. */
type Ended = { readonly code: number; readonly out: string; readonly err: string }

/** Run a command line as a person would, in this process. */
export const runCommand = (args: readonly string[], env: Io['env'] = {}): Promise<Ended> =>
  capture((io) => rolekeeper(args, io), env)

/** Run a command in this process, and keep what it writes; what it throws is thrown. */
export async function capture(run: (io: Io) => Promise<number>, env: Io['env'] = {}): Promise<Ended> {
  let [out, err] = ['', '']
  const code = await run({
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    outIsTty: false,
    errIsTty: false,
    env,
  })
  return { code, out, err }
}

/** What of a fleet's configuration a test says; the rest is of no importance to commands. */
type FleetFile = {
  readonly port: number
  readonly fleet: string
  readonly directory?: string
  readonly roster?: readonly string[]
  readonly password?: string
}

/** Write the part of a fleet's run configuration that commands need, with one live liquidator. @returns its path. */
export function writeFleetConfig({ port, fleet, directory, roster, password }: FleetFile): string {
  const folder = newDirectory()
  const file = join(folder, 'run.yaml')
  const secret = password === undefined ? '' : `, password: "${password}"`
  writeFileSync(
    file,
    `directory: ${directory ?? join(folder, 'state')}
chain: { id: "31337", nodes: { read: ["env:NOT_HERE"] } }
journal: { redis: { url: "redis://127.0.0.1:${port}/0"${secret} } }
fleet: { name: ${fleet}, instance: env:NOT_HERE, leaseMs: "30000", roster: [${(roster ?? ['one', 'two']).join(', ')}] }
agents:
  - { role: liquidator, mode: live, policy: none, signer: { kms: { keyId: none, address: "${SIGNER}" } } }
`,
  )
  return file
}

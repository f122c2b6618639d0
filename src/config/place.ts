import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { addr } from '../service/contract/scalars.ts'
import { whole } from '../service/contract/yaml-scalars.ts'
import { checkYaml } from './check.ts'
import { journal, named, seatOf, storeConfigOf } from './fleet.ts'
import { openSecretsOf } from './managers.ts'
import { directory, type Environment, type Origins } from './scalars.ts'
import { loadYaml } from './yaml.ts'

/** Who comes where no instance does: a person at a command. */
const NOBODY = 'command'

const located = z.object({ address: addr })

/**
 * What of a run configuration says where the records are and whose they are. All else may be what only the machine of a
 * keeper has: a command runs on any.
 */
const placeSchema = (folder: string, from: Origins, known?: string) =>
  z
    .object({
      directory: known === undefined ? directory(folder, from) : z.string().transform(() => known),
      chain: z.object({ id: whole(1, Number.MAX_SAFE_INTEGER) }),
      journal: journal(folder, from),
      queue: z.enum(['timers', 'bullmq']).default('timers'),
      fleet: z
        .object({ name: named, roster: z.array(named).min(1), leaseMs: whole(500, 60_000).default(8_000) })
        .optional(),
      agents: z.array(
        z.object({
          role: z.string(),
          mode: z.enum(['live', 'shadow']),
          signer: z.object({ kms: located.optional(), keystore: located.optional() }),
        }),
      ),
    })
    .superRefine(({ journal: { redis }, fleet }, context) => {
      if ((redis === undefined) === (fleet === undefined)) return
      const params = { fix: 'give both `journal.redis` and `fleet`, or neither' }
      context.addIssue({ code: 'custom', path: ['fleet'], message: 'one without the other', params })
    })

/** A fleet, as commands need it. */
export type SharedPlace = {
  readonly store: ReturnType<typeof storeConfigOf>
  readonly roster: readonly string[]
  readonly leaseMs: number
  readonly queue: 'timers' | 'bullmq'
  readonly chainId: number
  /** Those that sign: of agents that are live. */
  readonly signers: readonly `0x${string}`[]
  /** Each seat with its roles. */
  readonly seats: readonly { readonly name: string; readonly roles: readonly string[] }[]
}

/** Where the records of a run configuration are; `shared` where that is a fleet's Redis. */
export type RecordsPlace = { readonly directory: string; readonly shared?: SharedPlace }

/**
 * Load where the records of a run configuration are, and nothing else of it: no key, node or service is needed for it.
 * @param known the directory, where that is known already: the file may name it by the environment of its instance. Throws
 * RolekeeperError `config.unreadable`, `config.yaml` or `config.invalid`, and `secrets.*`.
 */
export async function loadPlace(file: string, env: Environment, known?: string): Promise<RecordsPlace> {
  const yaml = loadYaml(file)
  const secrets = await openSecretsOf(yaml, env, ['directory', 'journal'])
  secrets?.close()
  const from = { env, secrets: secrets ?? undefined }
  const config = checkYaml(yaml, placeSchema(dirname(resolve(file)), from, known))
  const { directory, fleet, chain, agents, queue } = config
  if (fleet === undefined) return { directory }
  const seated = agents.flatMap(({ signer: { kms, keystore }, ...agent }) => {
    const signer = kms ?? keystore
    return signer === undefined ? [] : [{ ...agent, signer }]
  })
  const seats = [...Map.groupBy(seated, seatOf)].map(([name, of]) => ({
    name,
    roles: of.map(({ role }) => role),
  }))
  const { roster, leaseMs } = fleet
  const store = storeConfigOf({ journal: config.journal, fleet: { ...fleet, instance: NOBODY } })
  const live = seated.filter(({ mode }) => mode === 'live').map(({ signer }) => signer.address)
  const signers = [...new Set(live)]
  return { directory, shared: { store, roster, leaseMs, queue, chainId: chain.id, signers, seats } }
}

/** What of a whole run configuration says where its journal is. */
type Located = { readonly directory: string } & Parameters<typeof storeConfigOf>[0]

/** Say where the journal of a whole run configuration is. */
export const recordsOf = (config: Located) => ({
  directory: config.directory,
  ...(config.fleet === undefined ? {} : { redis: storeConfigOf(config) }),
})

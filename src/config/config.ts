import { createHash } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { deployment } from '../service/contract/deployment.ts'
import { ROLE_NAME } from '../service/contract/roles.ts'
import { addr } from '../service/contract/scalars.ts'
import { whole } from '../service/contract/yaml-scalars.ts'
import { alarms, replies, secretsOfTarget } from './alarms.ts'
import { assumptions } from './assumptions.ts'
import { chain } from './chain.ts'
import { checkYaml } from './check.ts'
import { conflicts } from './conflicts.ts'
import { FLEET_NAME, fleet, journal } from './fleet.ts'
import { limits } from './limits.ts'
import { managers, openSecretsOf } from './managers.ts'
import {
  besideSecret,
  directory,
  type Origins,
  pathIn,
  reference,
  secret,
  secretUrl,
  url,
} from './scalars.ts'
import type { Secret } from './secrets/secret.ts'
import type { SecretStore } from './secrets/store.ts'
import { headerName, secretsOfSource, sources } from './sources.ts'
import { loadYaml, type YamlFile } from './yaml.ts'

/** How to run: what is in a `config/*.yaml`, checked, with its references resolved and its paths absolute. */
export type RunConfig = z.output<ReturnType<typeof runConfigSchema>> & {
  /** sha256 of the file's content before references are resolved, so that it says nothing of a secret. */
  readonly hash: string
  /** What its secrets are read anew from; absent where all of them are in the environment. */
  readonly store?: SecretStore
}

/** One agent of a run configuration. */
export type AgentConfig = RunConfig['agents'][number]

/** What {@link checkRunConfig} needs from outside. */
export type ConfigDeps = Origins & {
  /** Whether an address belongs to a published development key. */
  readonly isWellKnown: (address: `0x${string}`) => boolean
}

/**
 * Load a run configuration with what it has in files and in managers of secrets.
 * @throws RolekeeperError what {@link loadRunConfig} throws, and `secrets.*` for a secret that cannot be read.
 */
export async function openRunConfig(file: string, deps: ConfigDeps): Promise<RunConfig> {
  const yaml = loadYaml(file)
  const store = await openSecretsOf(yaml, deps.env)
  if (store === null) return checkRunConfig(yaml, dirname(resolve(file)), deps)
  try {
    return { ...checkRunConfig(yaml, dirname(resolve(file)), { ...deps, secrets: store }), store }
  } catch (error) {
    store.close()
    throw error
  }
}

/**
 * Load a run configuration whose secrets are all in the environment.
 * @throws RolekeeperError `config.unreadable`, `config.yaml` or `config.invalid`, one line with position and fix.
 */
export const loadRunConfig = (file: string, deps: ConfigDeps): RunConfig =>
  checkRunConfig(loadYaml(file), dirname(resolve(file)), deps)

/**
 * Check a run configuration that was read. Relative paths resolve against `folder`; `env:NAME` takes the value from
 * the environment.
 * @throws RolekeeperError `config.invalid`.
 */
export function checkRunConfig(yaml: YamlFile, folder: string, deps: ConfigDeps): RunConfig {
  const config = checkYaml(yaml, runConfigSchema(folder, deps))
  return { ...config, hash: createHash('sha256').update(JSON.stringify(yaml.value)).digest('hex') }
}

/** Where the service's webhook deliveries are taken, besides stream and polling; TLS ends in front of it. */
const webhook = (from: Origins) =>
  z.strictObject({
    host: z.string().min(1).max(255),
    port: whole(0, 65_535),
    path: z.string().regex(/^\/[A-Za-z0-9._~/-]{0,200}$/, 'expected a path, for example /webhooks'),
    /** The name that the service calls, where a proxy passes it on. */
    publicHost: z.string().min(1).max(255).optional(),
    /** More than one while a secret is being replaced. */
    secrets: z.array(secret(from)).min(1, 'expected at least one secret').max(4),
  })

const kms = (from: Origins) =>
  z
    .strictObject({
      region: z.string().regex(/^[a-z0-9-]{2,32}$/, 'expected an AWS region, for example us-east-1'),
      endpoint: url(from, ['http', 'https']).optional(),
      accessKeyId: besideSecret(from).optional(),
      secretAccessKey: secret(from).optional(),
    })
    .refine((kms) => (kms.accessKeyId === undefined) === (kms.secretAccessKey === undefined), {
      error: 'expected accessKeyId and secretAccessKey together, or neither',
    })

const traces = (from: Origins) =>
  z.strictObject({
    url: secretUrl(from),
    /** What each request carries, for example `authorization`. */
    headers: z.record(headerName, secret(from)).default({}),
  })

/** Nonces that a signer may have in flight; nodes keep 64 of one sender at most. */
const WINDOW_MAX = 64

const signer = (folder: string, from: Origins) =>
  z
    .strictObject({
      /** So many nonces may be in flight at once; what is urgent may go on to 64. */
      window: whole(1, WINDOW_MAX).default(16),
      kms: z
        .strictObject({
          keyId: z
            .string()
            .regex(
              /^arn:aws[\w-]*:kms:[\w-]+:\d{12}:key\/[\w-]{1,64}$/,
              'expected the ARN of the key: an alias can be moved',
            ),
          address: addr,
        })
        .optional(),
      keystore: z
        .strictObject({
          path: pathIn(folder),
          password: secret(from),
          address: addr,
        })
        .optional(),
    })
    .transform(({ kms, keystore, window }, context) => {
      if (kms !== undefined && keystore === undefined) return { kind: 'kms' as const, window, ...kms }
      if (keystore !== undefined && kms === undefined)
        return { kind: 'keystore' as const, window, ...keystore }
      context.addIssue({ code: 'custom', message: 'expected exactly one of kms and keystore' })
      return z.NEVER
    })

const agents = (folder: string, from: Origins) =>
  z
    .array(
      z.strictObject({
        role: z.string().regex(ROLE_NAME, 'expected the name of a role, for example liquidator'),
        /** A shadow signs nothing: it stops where the signature would be, and is scored by what happens. */
        mode: z.enum(['live', 'shadow']),
        policy: pathIn(folder),
        /** Another policy, which answers are judged by as well: it only reports what it would have done. */
        monitor: pathIn(folder).optional(),
        /** A key of the agent's own, with no more scopes than its operations need. */
        secretKey: secret(from).optional(),
        /** In a fleet: the zone whose instances should hold this agent's signer. */
        zone: z.string().regex(FLEET_NAME, 'expected the name of a zone').optional(),
        signer: signer(folder, from),
      }),
    )
    .min(1, 'expected at least one agent')
    .max(50)
    .superRefine((list, context) => {
      const names = list.map(({ role, signer }) => `${role} with the signer ${signer.address}`)
      const again = names.findIndex((name, index) => names.indexOf(name) !== index)
      const name = names[again]
      if (name === undefined) return
      const message = `agents[${names.indexOf(name)}] is the ${name} already`
      const params = { fix: 'give each agent of a role a key of its own, or remove one' }
      context.addIssue({ code: 'custom', path: [again], message, params })
    })

/** Where something of a keeper's own listens. */
const listener = (from: Origins) =>
  z.strictObject({
    host: z.string().min(1).max(255).default('127.0.0.1'),
    port: reference(from).pipe(whole(0, 65_535)),
  })

/** The schema of a run configuration; editors get it as JSON Schema. Strict: an unknown key is a mistake. */
export const runConfigSchema = (folder: string, { isWellKnown, ...from }: ConfigDeps) =>
  z
    .strictObject({
      environment: z.enum(['sandbox', 'production']),
      /** Holds the journal and the kill and pause files. */
      directory: directory(folder, from),
      /** A folder, best on another disk, that keeps a second copy of the watermark: one keeper a folder. */
      watermark: pathIn(folder).optional(),
      /** Absent, it is SQLite in the directory. */
      journal: journal(folder, from),
      /** What carries wake-ups: this process alone, or BullMQ on the journal's Redis. */
      queue: z.enum(['timers', 'bullmq']).default('timers'),
      fleet: fleet(from).optional(),
      chain: chain(from),
      service: z.strictObject({
        url: url(from, ['http', 'https']),
        /** Where the stream must be; absent, it is the service's own host. */
        streamUrl: url(from, ['ws', 'wss']).optional(),
        /** The keeper's own key, for its events, and that of every agent without one. */
        secretKey: secret(from).optional(),
        webhook: webhook(from).optional(),
        /** What this deployment does otherwise than the defaults, where its document says nothing. */
        assumptions,
      }),
      /** Absent with a keystore; without its keys, AWS's default chain provides the credentials. */
      kms: kms(from).optional(),
      /** Where spans of workflows go, by OTLP over HTTP: docs/traces.md. */
      traces: traces(from).optional(),
      /** Where secrets are that are not in the environment: docs/secrets.md. */
      secrets: managers(folder, from),
      ops: listener(from),
      /** The page for people, docs/console.md; absent, there is none. */
      console: listener(from).optional(),
      deployment,
      /** Of all roles together, beside what each policy says. */
      limits: limits.optional(),
      /** What values are read from beside the service and the chain. */
      sources: sources(folder, from),
      alarms: alarms(from),
      replies: replies(from).optional(),
      agents: agents(folder, from),
    })
    .superRefine((config, context) => {
      for (const { path, message, fix } of conflicts(config, isWellKnown)) {
        context.addIssue({ code: 'custom', path: [...path], message, params: { fix } })
      }
    })

/** Every secret of a configuration, as it is and was of late, for the log's scrubber. */
export const secretsOf = (config: RunConfig): readonly string[] => [
  ...new Set(secretsIn(config).flatMap((value) => value.known())),
]

const secretsIn = (config: RunConfig): readonly Secret[] => {
  const { aws, vault } = config.secrets
  return [
    ...(aws?.secretAccessKey === undefined ? [] : [aws.secretAccessKey]),
    ...(vault === undefined || 'file' in vault.token ? [] : [vault.token]),
    ...(config.service.secretKey === undefined ? [] : [config.service.secretKey]),
    ...config.agents.flatMap(({ secretKey }) => (secretKey === undefined ? [] : [secretKey])),
    ...(config.service.webhook?.secrets ?? []),
    ...(config.traces === undefined ? [] : [config.traces.url, ...Object.values(config.traces.headers)]),
    ...config.chain.nodes.read,
    ...config.chain.nodes.send,
    ...config.sources.flatMap(secretsOfSource),
    ...config.alarms.flatMap(secretsOfTarget),
    ...(config.kms?.secretAccessKey === undefined ? [] : [config.kms.secretAccessKey]),
    ...config.agents.flatMap(({ signer }) => (signer.kind === 'keystore' ? [signer.password] : [])),
    ...(config.journal.redis?.password === undefined ? [] : [config.journal.redis.password]),
  ]
}

import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { whole } from '../service/contract/yaml-scalars.ts'
import { checkYaml } from './check.ts'
import { type Environment, type Origins, pathIn, reference, secret, url } from './scalars.ts'
import { isFetched } from './secrets/reference.ts'
import { openSecrets, type SecretStore } from './secrets/store.ts'
import type { YamlFile } from './yaml.ts'

/** Where secrets are that are not in the environment, and how often they are read anew. */
export const managers = (folder: string, from: Origins) =>
  z
    .strictObject({
      /** Milliseconds between two readings; one that is refused somewhere is read at once. */
      everyMs: whole(1_000, 86_400_000).default(60_000),
      aws: z
        .strictObject({
          region: z.string().regex(/^[a-z0-9-]{2,32}$/, 'expected an AWS region, for example us-east-1'),
          endpoint: url(from, ['http', 'https']).optional(),
          accessKeyId: reference(from).optional(),
          secretAccessKey: secret(from).optional(),
        })
        .refine((aws) => (aws.accessKeyId === undefined) === (aws.secretAccessKey === undefined), {
          error: 'expected accessKeyId and secretAccessKey together, or neither',
        })
        .optional(),
      vault: z
        .strictObject({
          url: url(from, ['http', 'https']),
          /** From the environment; or from a file, which is read for each request: an agent keeps it fresh. */
          token: z.union([fileToken(folder), secret(from)]),
          namespace: z
            .string()
            .regex(/^[\w./-]{1,200}$/, 'expected a namespace of Vault')
            .optional(),
        })
        .optional(),
    })
    .prefault({})

const fileToken = (folder: string) =>
  z
    .string()
    .regex(/^file:.+$/)
    .transform((text) => text.slice('file:'.length))
    .pipe(pathIn(folder))
    .transform((file) => ({ file }))

/** What opens another door cannot lie behind it. */
const first = (folder: string, env: Environment) => z.looseObject({ secrets: managers(folder, { env }) })

/**
 * Read what the references of a file, or of some of its keys, name in files and in managers of secrets; null where they
 * name nothing there.
 * @throws RolekeeperError `config.invalid` for `secrets`, and `secrets.*`, which names the reference that cannot be read.
 */
export async function openSecretsOf(
  yaml: YamlFile,
  env: Environment,
  keys?: readonly string[],
): Promise<SecretStore | null> {
  const { value } = yaml
  if (value === null || typeof value !== 'object') return null
  const { secrets: _doors, ...rest } = value as Record<string, unknown>
  const texts = textsIn(keys === undefined ? rest : keys.map((key) => rest[key])).filter(isFetched)
  if (texts.length === 0) return null
  const folder = dirname(resolve(yaml.file))
  const { secrets } = checkYaml(yaml, first(folder, env))
  return openSecrets(texts, folder, secrets)
}

const textsIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value]
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(textsIn) : []
}

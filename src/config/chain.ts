import { z } from 'zod'
import { whole } from '../service/contract/yaml-scalars.ts'
import { checkYaml } from './check.ts'
import { openSecretsOf } from './managers.ts'
import { type Environment, type Origins, secretUrl } from './scalars.ts'
import { loadYaml } from './yaml.ts'

/** The chain of a run configuration, its finality, and the nodes that are asked. */
export const chain = (from: Origins) =>
  z.strictObject({
    id: whole(1, Number.MAX_SAFE_INTEGER),
    finality: z.union([
      z.literal('finalized'),
      z.strictObject({ confirmations: whole(1, 10_000).transform(BigInt) }),
    ]),
    nodes: z
      .strictObject({
        read: z.array(secretUrl(from)).min(1, 'expected at least one node').max(10),
        send: z.array(secretUrl(from)).min(1, 'expected at least one node').max(10),
        /** How many reading nodes must say the same; two of them where there are two or more. */
        agree: whole(1, 10).optional(),
      })
      .transform((nodes) => ({ ...nodes, agree: nodes.agree ?? Math.min(2, nodes.read.length) })),
  })

/**
 * Load the chain of a run configuration and nothing else of it: no key and no service is needed for it.
 * @throws RolekeeperError `config.unreadable`, `config.yaml`, `config.invalid`, and `secrets.*`.
 */
export async function loadChain(file: string, env: Environment): Promise<z.output<ReturnType<typeof chain>>> {
  const yaml = loadYaml(file)
  const secrets = await openSecretsOf(yaml, env, ['chain'])
  secrets?.close()
  return checkYaml(yaml, z.looseObject({ chain: chain({ env, secrets: secrets ?? undefined }) })).chain
}

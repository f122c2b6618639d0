import { z } from 'zod'
import { whole } from '../service/contract/yaml-scalars.ts'
import { type Origins, reference, secret, secretUrl } from './scalars.ts'
import { Secret } from './secrets/secret.ts'

const TARGETS_MAX = 10
const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue'

/** Where alarms go beside screen and log. Its URL may hold a key anywhere, so it is kept as a secret. */
const target = (from: Origins) =>
  z
    .strictObject({
      name: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'expected lower-case letters, digits and hyphens'),
      /** What it is told: our own JSON, a message as Slack takes it, or an event as PagerDuty's Events API v2. */
      kind: z.enum(['webhook', 'slack', 'pagerduty']),
      url: secretUrl(from).optional(),
      /** PagerDuty's routing key; of a webhook, what `authorization` carries. */
      key: secret(from).optional(),
    })
    .superRefine(({ kind, url, key }, context) => {
      const issue = (path: string, message: string, fix: string) =>
        context.addIssue({ code: 'custom', path: [path], message, params: { fix } })
      if (kind !== 'pagerduty' && url === undefined)
        issue('url', `a ${kind} has a URL`, 'write url: "env:NAME"')
      if (kind === 'pagerduty' && key === undefined)
        issue('key', 'PagerDuty has a routing key', 'write key: "env:NAME"')
      if (kind === 'slack' && key !== undefined)
        issue('key', 'the key of a Slack webhook is its URL', 'remove `key`')
    })
    .transform(({ url, ...rest }) => ({ ...rest, url: url ?? new Secret(PAGERDUTY_URL) }))

/** Where alarms go: `alarms` of a run configuration. */
export const alarms = (from: Origins) =>
  z
    .array(target(from))
    .max(TARGETS_MAX)
    .default([])
    .superRefine((list, context) => {
      const names = list.map(({ name }) => name)
      const again = names.findIndex((name, index) => names.indexOf(name) !== index)
      if (again !== -1)
        context.addIssue({ code: 'custom', path: [again, 'name'], message: 'another target has this name' })
    })

/** Where signed answers about what waits for a person are taken: `replies` of a run configuration. */
export const replies = (from: Origins) =>
  z.strictObject({
    host: z.string().min(1).max(255),
    port: reference(from).pipe(whole(0, 65_535)),
    /** The name that bots call, where a proxy passes it on. */
    publicHost: z.string().min(1).max(255).optional(),
  })

/** A target as it was configured. */
export type AlarmTargetConfig = z.output<ReturnType<typeof alarms>>[number]

/** What of a target must never leave but to it. Pure. */
export const secretsOfTarget = ({ url, key }: AlarmTargetConfig): readonly Secret[] => [
  url,
  ...(key === undefined ? [] : [key]),
]

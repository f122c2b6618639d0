import type { Clock } from '../../../clock.ts'
import type { RunConfig } from '../../../config/config.ts'
import { askWhetherThere } from '../../../service/answering.ts'
import { ANSWER_MS_MAX } from '../../startup/service.ts'
import { type Finding, passed, warned } from '../finding.ts'

/** Look whether the service could deliver: what stands at the public name has to answer, if only that nothing is behind it yet. */
export async function examineWebhook(
  { service: { webhook } }: Pick<RunConfig, 'service'>,
  { nowMs }: Pick<Clock, 'nowMs'>,
): Promise<readonly Finding[]> {
  if (webhook?.publicHost === undefined) return []
  const { publicHost, path, host, port } = webhook
  const url = `https://${publicHost}${path}`
  if ((await askWhetherThere(url, ANSWER_MS_MAX, nowMs)) !== null)
    return [passed('webhook', publicHost, `${url} answers.`)]
  return [
    warned('webhook', publicHost, {
      code: 'webhook.unreachable',
      message: `Nothing answers at ${url} within ${ANSWER_MS_MAX / 1_000} s: the service delivers nothing there.`,
      fix: `point the name ${publicHost} at a proxy with TLS that passes ${path} on to ${host}:${port}, or correct service.webhook.publicHost; the stream is enough without it.`,
    }),
  ]
}

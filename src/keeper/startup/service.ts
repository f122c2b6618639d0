import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Log } from '../../ops/log.ts'
import { span } from '../../readable.js'
import { askWhetherThere } from '../../service/answering.ts'
import type { ServiceClient } from '../../service/client.ts'

/** How long one answer is waited for, milliseconds: on a busy machine the keeper's own start is part of it. */
export const ANSWER_MS_MAX = 10_000

/**
 * Prove that the service is there at all: a slip of the pen in its address shows itself, and an outage is for a supervisor to
 * wait out. Throws `service.unreachable`.
 */
export async function proveServiceThere(
  { service: { url } }: Pick<RunConfig, 'service'>,
  { nowMs }: Pick<Clock, 'nowMs'>,
): Promise<void> {
  const answering = await askWhetherThere(url, ANSWER_MS_MAX, nowMs)
  if (answering !== null && answering.status < 500) return
  const what =
    answering === null ? `gave no answer within ${span(ANSWER_MS_MAX)}` : `answers ${answering.status}`
  throw new RolekeeperError('service.unreachable', `The service at ${new URL(url).host} ${what}.`, {
    fix: `check that the service is up and that service.url, ${url}, is right; then start again.`,
    retry: 'later',
  })
}

/**
 * Prove that the service serves our chain. One that is down is waited for. Throws RolekeeperError
 * `service.other_chain`, and `service.*` where asking again cannot help. Source: GET /v1/deployments.
 */
export async function proveService(
  client: Pick<ServiceClient, 'base' | 'listDeployments'>,
  chainId: number,
  log: Log,
): Promise<void> {
  try {
    const { items } = await client.listDeployments()
    if (items.some((deployment) => deployment.chainId === chainId)) return
    const chains = [...new Set(items.map((deployment) => deployment.chainId))].join(', ') || 'none'
    throw new RolekeeperError(
      'service.other_chain',
      `The service at ${client.base.host} serves chain ${chains}; the configuration says ${chainId}.`,
      { fix: 'correct `chain.id` or `service.url`.', facts: { chains, chainId } },
    )
  } catch (error) {
    if (!(error instanceof RolekeeperError) || error.retry === 'never') throw error
    log.warn('the service does not answer yet', {}, error)
  }
}

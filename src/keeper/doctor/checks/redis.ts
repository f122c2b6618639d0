import type { RunConfig } from '../../../config/config.ts'
import { storeConfigOf } from '../../../config/fleet.ts'
import { type Finding, failed, failedBy, passed } from '../finding.ts'

/** Look at the Redis of a fleet: reachable, of a version and with settings that keep what it acknowledges, and founded. */
export async function examineRedis(config: RunConfig): Promise<readonly Finding[]> {
  const { journal, fleet } = config
  if (journal.redis === undefined || fleet === undefined) return []
  const { openCommandLine } = await import('../../../journal/redis/link/command-line.ts')
  const { readHealth } = await import('../../../journal/redis/link/health.ts')
  const store = storeConfigOf(config)
  const line = openCommandLine(store, false)
  const about = `${store.endpoint.host}:${store.endpoint.port}`
  try {
    const { version, problem, generation } = await readHealth(line, store)
    if (problem !== null) {
      const [message = '', fix = ''] = problem.message.split(' Fix: ')
      return [failed('redis', about, { code: problem.code, message, fix })]
    }
    if (generation === '') {
      const message = `Redis at ${about} holds nothing of the fleet ${fleet.name}.`
      const fix = 'begin it once with: rolekeeper fleet found --config FILE --yes'
      return [failed('redis', about, { code: 'journal.not_founded', message, fix })]
    }
    return [passed('redis', about, `Redis ${version} keeps what it acknowledges.`)]
  } catch (error) {
    return [failedBy('redis', about, error)]
  } finally {
    line.close()
  }
}

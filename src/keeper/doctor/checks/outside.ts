import type { Clock } from '../../../clock.ts'
import type { RunConfig } from '../../../config/config.ts'
import { storeConfigOf } from '../../../config/fleet.ts'
import { isLocked } from '../../../journal/directory/lock.ts'
import { probeDirectory } from '../../../journal/directory/probe.ts'
import { createSources } from '../../../observe/sources.ts'
import { whyNotFree } from '../../../ops/port-free.ts'
import { askWhetherThere } from '../../../service/answering.ts'
import type { RolePolicy } from '../../policy/role-policy.ts'
import { ANSWER_MS_MAX } from '../../startup/service.ts'
import { type Finding, failed, failedBy, passed, warned } from '../finding.ts'

const MEGABYTE = 1_048_576
/** A busy day of records is some tens of megabytes. */
const FREE_BYTES_MIN = 256 * MEGABYTE
const FREE_BYTES_LOW = 2_048 * MEGABYTE

/** Look at the folder of a keeper's records: whether it takes them, keeps them, and has room. */
export function examineDirectory({ directory }: Pick<RunConfig, 'directory'>): Finding {
  try {
    const { kind, freeBytes, isHeld } = probeDirectory(directory)
    const free = `${Math.floor(freeBytes / MEGABYTE)} MB are free`
    if (kind === 'kernel' || freeBytes < FREE_BYTES_MIN) {
      const why =
        kind === 'kernel' ? 'is no disk: the kernel makes what is seen there' : `has no room: ${free}`
      const fix = `name a folder on a disk with ${FREE_BYTES_MIN / MEGABYTE} MB free as \`directory\`, or make room.`
      return failed('directory', '', { code: 'directory.unfit', message: `${directory} ${why}.`, fix })
    }
    if (kind === 'memory' || freeBytes < FREE_BYTES_LOW) {
      const why =
        kind === 'memory'
          ? 'is in memory: what was signed is forgotten with the machine'
          : `is short of room: ${free}`
      const fix = 'name a folder on a disk of its own as `directory`.'
      return warned('directory', '', { code: 'directory.unfit', message: `${directory} ${why}.`, fix })
    }
    const held = isHeld ? '; a keeper works in it now' : ''
    return passed('directory', '', `${directory} can be written, and ${free}${held}.`)
  } catch (error) {
    return failedBy('directory', '', error)
  }
}

/** Look whether what listens could: a keeper that works in the directory already listens there itself. */
export async function examinePorts({
  directory,
  ops,
  console,
  replies,
  service: { webhook },
}: Pick<RunConfig, 'directory' | 'ops' | 'console' | 'replies' | 'service'>): Promise<readonly Finding[]> {
  const isHeld = isLocked(directory)
  const asked = { ops, console, replies, 'service.webhook': webhook }
  const places = Object.entries(asked).flatMap(([about, where]) =>
    where === undefined ? [] : [{ about, host: where.host, port: where.port }],
  )
  return Promise.all(
    places.map(async ({ about, host, port }) => {
      const why = port === 0 ? null : await whyNotFree({ host, port })
      const where = `${host}:${port}`
      if (why === null) return passed('port', about, port === 0 ? 'any free one.' : `${where} is free.`)
      if (isHeld && why === 'EADDRINUSE') return passed('port', about, `${where}, where the keeper listens.`)
      const message = `Nothing can listen at ${where} (${why === 'EADDRINUSE' ? 'it is in use' : why}).`
      const fix =
        why === 'EADDRINUSE'
          ? `stop the process that holds it (\`ss -ltnp sport = :${port}\`), or set another ${about}.port.`
          : `correct ${about}.host and ${about}.port: the host is an address of this machine, and ports below 1024 are root's.`
      return failed('port', about, { code: 'ops.port_in_use', message, fix })
    }),
  )
}

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

/** Look what each source of a value states, as those policies read it that ask it. */
export async function examineSources(
  { sources }: Pick<RunConfig, 'sources'>,
  policies: readonly Pick<RolePolicy, 'does' | 'policy'>[],
  clock: Pick<Clock, 'nowMs'>,
): Promise<readonly Finding[]> {
  const asked = policies.flatMap(({ does, policy }) => does.sources?.(policy.strategy) ?? [])
  const reader = createSources(sources, clock)
  try {
    return await Promise.all(
      sources.map(async ({ name }, index) => {
        const answer = await reader.ask({ kind: 'source', name, timeoutMs: ANSWER_MS_MAX })
        const asking = asked.filter((one) => one.name === name)
        const stated = asking.map(({ states }) => states(answer))
        const wrong = answer.ok ? stated.find((one) => typeof one !== 'string') : answer
        const others = [...new Set(asking.flatMap(({ votesWith }) => votesWith))]
        const shared = others.length === 0 ? '' : `, and has one vote with ${others.join(', ')}`
        if (wrong === undefined)
          return passed('source', name, `${stated[0] ?? 'no policy asks it'}${shared}.`)
        const { check, message } = wrong
        const fix = `correct sources[${index}] or how the policy reads it, or have its owner mend it.`
        return warned('source', name, { code: `source.${check}`, message: `${name}: ${message}`, fix })
      }),
    )
  } finally {
    await reader.close()
  }
}

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

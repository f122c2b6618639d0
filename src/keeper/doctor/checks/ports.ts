import type { RunConfig } from '../../../config/config.ts'
import { isLocked } from '../../../journal/directory/lock.ts'
import { whyNotFree } from '../../../ops/port-free.ts'
import { type Finding, failed, passed } from '../finding.ts'

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

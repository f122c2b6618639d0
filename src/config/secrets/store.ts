import type { Clock } from '../../clock.ts'
import { RolekeeperError } from '../../errors.ts'
import { createReader, type Managers, notFound, oddSecret, type Reader } from './managers.ts'
import { placeOfReference, type Reference, referenceOf } from './reference.ts'
import { Secret } from './secret.ts'

/** After an authentication was refused, the places are read again at once, but not more often. */
const AGAIN_MS = 5_000

/** The secrets of a configuration that files and managers hold, each read anew from time to time. */
export type SecretStore = {
  /** The secret of a reference as the configuration writes it; undefined for one that was not opened. */
  readonly get: (text: string) => Secret | undefined
  /** Read all places anew, now. @returns why one could not be, or null; what was read last goes on. */
  readonly refresh: () => Promise<RolekeeperError | null>
  /** Say that somebody refused what he was given, this secret where that is known: it may have been replaced meanwhile. */
  readonly stale: (refused?: Secret) => void
  /** Read anew from time to time from now on. @returns what ends it. */
  readonly watch: (deps: WatchDeps) => () => void
  readonly close: () => void
}

/** What reading anew reports to. */
type WatchDeps = {
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>
  readonly everyMs: number
  /** Called after each reading: with what is wrong, or null. */
  readonly onRead: (problem: RolekeeperError | null) => void
  /** Called with the references that have a new value. */
  readonly onReplaced: (references: readonly string[]) => void
  /** Called with the reference of a value that somebody refused. */
  readonly onRefused: (reference: string) => void
}

/**
 * Read every secret that these references name, once.
 * @param folder of the configuration: a relative path starts there.
 * @throws RolekeeperError `secrets.*`, which names the reference that cannot be read.
 */
export async function openSecrets(
  texts: readonly string[],
  folder: string,
  managers: Managers,
): Promise<SecretStore> {
  const reader = createReader(folder, managers)
  try {
    return await createStore(texts, reader)
  } catch (error) {
    reader.close()
    throw error
  }
}

/** A reference, and what its place holds for it. */
type ResolvedSecret = readonly [text: string, value: string | RolekeeperError]

async function createStore(texts: readonly string[], reader: Reader): Promise<SecretStore> {
  const references = [...new Set(texts)].flatMap((text) => {
    const reference = referenceOf(text)
    return reference === null ? [] : [{ text, reference }]
  })
  const places = Map.groupBy(references, ({ reference }) => placeOfReference(reference))
  const readAll = async (): Promise<readonly ResolvedSecret[]> => {
    const found = [...places].map(async ([place, at]): Promise<readonly ResolvedSecret[]> => {
      try {
        const content = await reader.read(place)
        return at.map(({ text, reference }) => [text, fieldOf(content, reference, text)])
      } catch (error) {
        if (!(error instanceof RolekeeperError)) throw error
        return [[place, error]]
      }
    })
    return (await Promise.all(found)).flat()
  }
  const secrets = new Map<string, Secret>()
  for (const [text, value] of await readAll()) {
    if (value instanceof RolekeeperError) throw value
    secrets.set(text, new Secret(value))
  }

  let replaced: WatchDeps['onReplaced'] = () => {}
  const refresh = async (): Promise<RolekeeperError | null> => {
    const problems: RolekeeperError[] = []
    const changed: string[] = []
    for (const [text, value] of await readAll()) {
      const secret = secrets.get(text)
      const before = secret?.reveal()
      if (value instanceof RolekeeperError) problems.push(value)
      else if (secret?.replace(value) === false) problems.push(unfit(text))
      else if (before !== value) changed.push(text)
    }
    if (changed.length > 0) replaced(changed)
    return summed(problems)
  }
  let reading: Promise<RolekeeperError | null> | undefined
  const once = () => {
    reading ??= refresh().finally(() => {
      reading = undefined
    })
    return reading
  }
  let wake = () => {}
  let onRefused: WatchDeps['onRefused'] = () => {}
  return {
    get: (text) => secrets.get(text),
    refresh: once,
    stale: (refused) => {
      const [found] = [...secrets].find(([, secret]) => secret === refused) ?? []
      if (found !== undefined) onRefused(found)
      wake()
    },
    watch: (deps) => {
      replaced = deps.onReplaced
      onRefused = deps.onRefused
      const stop = new AbortController()
      if (secrets.size > 0) {
        void follow(once, deps, stop.signal, (next) => {
          wake = next
        })
      }
      return () => stop.abort()
    },
    close: reader.close,
  }
}

/** Read again and again until stopped; `onWaiting` is given what ends each wait early. */
async function follow(
  read: () => Promise<RolekeeperError | null>,
  { clock, everyMs, onRead }: WatchDeps,
  stop: AbortSignal,
  onWaiting: (wake: () => void) => void,
): Promise<void> {
  let readAtMs = clock.monotonicMs()
  while (!stop.aborted) {
    const pause = new AbortController()
    onWaiting(() => pause.abort())
    const woken = AbortSignal.any([stop, pause.signal])
    await clock.sleep(everyMs, woken).catch(() => undefined)
    const leftMs = readAtMs + AGAIN_MS - clock.monotonicMs()
    if (leftMs > 0) await clock.sleep(Math.min(leftMs, everyMs), stop).catch(() => undefined)
    if (stop.aborted) return
    onRead(await read())
    readAtMs = clock.monotonicMs()
  }
}

/** Take what a reference names out of what its place holds. */
function fieldOf(content: string, reference: Reference, text: string): string | RolekeeperError {
  const field = 'field' in reference ? reference.field : undefined
  if (field === undefined) return content === '' ? notFound(text, 'holds nothing') : fit(text, content)
  let fields: unknown
  try {
    fields = JSON.parse(content)
  } catch {
    return notFound(text, 'is not JSON, which has fields')
  }
  const value: unknown =
    fields !== null && typeof fields === 'object' && Object.hasOwn(fields, field)
      ? Reflect.get(fields, field)
      : undefined
  return typeof value === 'string' && value !== ''
    ? fit(text, value)
    : notFound(text, 'has no such field with a text')
}

const fit = (text: string, value: string) => oddSecret(text, value) ?? value

const unfit = (text: string) =>
  new RolekeeperError(
    'secrets.unfit',
    `The new value of ${text} is not what stands there; the one before stays.`,
    {
      fix: 'put a value of the same form there: an address keeps its scheme, host and port. Another node needs a restart.',
      retry: 'later',
    },
  )

/** Say one thing of several. */
function summed(problems: readonly RolekeeperError[]): RolekeeperError | null {
  const [first, ...others] = problems
  if (first === undefined) return null
  const { code, shortMessage, fix, retry } = first
  const more =
    others.length === 0
      ? ''
      : ` And ${others.length} more: ${others.map((each) => each.shortMessage).join(' ')}`
  return new RolekeeperError(code, `${shortMessage}${more} The last known value is used on.`, {
    ...(fix === undefined ? {} : { fix }),
    retry,
  })
}

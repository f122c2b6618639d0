import { randomBytes } from 'node:crypto'
import type { Endpoint } from '../../../config/redis.ts'
import { RolekeeperError } from '../../../errors.ts'
import { scriptsOf } from '../scripts/scripts.ts'
import { checkServer, serverText } from './check.ts'
import { type Line, nameOf, openLine } from './connect.ts'
import { amnesia, doubted } from './faults.ts'
import { FLEETS_KEY, keysOf } from './keys.ts'
import { createLink } from './link.ts'

/** What this release writes; a journal of a later one is refused. */
export const FORMAT = 1
/** A command without an answer after this long closes its line, ms. */
export const COMMAND_MS = 1_000

/** Which Redis a fleet is on, and what holds what it acknowledges. */
export type StoreConfig = {
  readonly endpoint: Endpoint
  readonly fleet: string
  /** Replicas that a barrier waits for: all that may be promoted. */
  readonly replicas: number
  /** This instance, as `CLIENT LIST` shows it. */
  readonly instance: string
}

/** What an instance knows of its Redis, which that may never be behind. */
export type LastKnown = {
  readonly gen: string
  readonly seq: number
  /** The server process that acknowledged it, by its run id. */
  readonly run?: string
}

/**
 * Take note of the process of a server before anything is written on it: the sequence that each began with shows what it had
 * lost, also once it has been written on for longer. Every line runs it before its scripts are loaded. One that served
 * before and comes back is another: who attested it then has not now. It runs also where Redis is full: else nothing that is
 * under way could end there after a restart. KEYS: meta, runs, attested. ARGV: the run id; empty for who only reads.
 */
const MEET = `#!lua flags=allow-oom
local meta = redis.call('HMGET', KEYS[1], 'gen', 'seq', 'format', 'parent', 'doubted')
if not meta[1] then return { '', '', '', {}, '', '' } end
local last = string.match(redis.call('LINDEX', KEYS[2], -1) or '', '^(%S+)')
if ARGV[1] ~= '' and last ~= ARGV[1] then
  redis.call('RPUSH', KEYS[2], ARGV[1] .. ' ' .. meta[2])
  redis.call('DEL', KEYS[3])
end
return { meta[1], meta[2], meta[3], redis.call('LRANGE', KEYS[2], 0, -1), meta[4] or '', meta[5] or '' }`

/**
 * Read whose Redis it is, and hold it against what is known. A generation that follows the one that is known was begun by a
 * person, who has proven that signers may go on with it: of what was known only that is kept.
 */
export async function meet(
  line: Line,
  fleet: string,
  known: LastKnown | null,
  runId: string,
): Promise<LastKnown> {
  const { meta, runs, attested } = keysOf(fleet)
  const found = await line.call('EVAL', MEET, 3, meta, runs, attested(runId), runId)
  const [first, second, third, served, parent, doubtedBy] = Array.isArray(found) ? found : []
  const [gen, seq, format] = [first, second, third].map(String)
  if (gen === undefined || gen === '') {
    const others = await line.call('SMEMBERS', FLEETS_KEY)
    const lacks = lacking(fleet, Array.isArray(others) ? others.map(String) : [])
    throw known === null ? notFounded(lacks) : generationLost(lacks, known)
  }
  if (Number(format) > FORMAT) throw newer(Number(format))
  if (known !== null && parentsOf(parent).includes(known.gen)) return { gen, seq: Number(seq) }
  if (known !== null && known.gen !== gen) {
    throw amnesia({ seen: `generation ${gen}`, expected: `expected ${known.gen}`, gen: known.gen })
  }
  if (known !== null && Number(seq) < known.seq) {
    throw amnesia({ seen: `sequence ${seq}`, expected: `${known.seq} was acknowledged`, gen })
  }
  const began = known === null ? null : lowestSince(known, Array.isArray(served) ? served.map(String) : [])
  if (known !== null && began !== null && began < known.seq) {
    throw amnesia({
      seen: `a server began with sequence ${began}`,
      expected: `${known.seq} was acknowledged`,
      gen,
    })
  }
  if (known !== null && doubtedBy !== '') throw doubted(String(doubtedBy), gen)
  return { gen, seq: Number(seq) }
}

/** Read the generations that one followed, newest first. Pure. */
export const parentsOf = (parent: unknown): readonly string[] =>
  String(parent ?? '')
    .split(' ')
    .filter((each) => each !== '')

/**
 * Say the lowest sequence that a server process began with after the one that acknowledged what is known; -1 where that is
 * not among them, and null where there was none. Pure.
 */
function lowestSince({ run, seq }: LastKnown, served: readonly string[]): number | null {
  if (run === undefined) return null
  const all = served.map((text) => ({ run: text.split(' ')[0], began: Number(text.split(' ')[1]) }))
  const index = all.findLastIndex((each) => each.run === run && each.began <= seq)
  if (index < 0) return -1
  const later = all.slice(index + 1).map(({ began }) => began)
  return later.length === 0 ? null : Math.min(...later)
}

/**
 * Begin the first generation of a fleet on a Redis that can hold it, under a name that this call makes; where it is not meant
 * yet, only look whether it could. @returns that name. Throws RolekeeperError `journal.founded` where there is one, `journal.not_new`
 * where its instances know of one, and what {@link checkServer} throws.
 */
export async function foundFleet(
  { endpoint, fleet, replicas }: Omit<StoreConfig, 'instance'>,
  isMeant = true,
): Promise<string> {
  const server = nameOf(endpoint)
  const gen = randomBytes(8).toString('hex')
  const scripts = scriptsOf('command')
  const { meta, forgotten } = keysOf(fleet)
  let founding = ''
  const link = createLink({
    open: (number) => openLine(endpoint, { number, timeoutMs: COMMAND_MS, name: 'rolekeeper:command' }),
    verify: async (line) => {
      founding = serverText(await checkServer(line, { db: endpoint.db, replicas, server }))
    },
    server,
  })
  try {
    return await link.use(async (line) => {
      const heard = await line.call('HKEYS', forgotten)
      if (Array.isArray(heard) && heard.length > 0) throw knownToSome(fleet, heard.map(String))
      if (!isMeant) {
        const there = await line.call('HGET', meta, 'gen')
        if (there !== null) throw founded(fleet, String(there))
        return gen
      }
      const args = [gen, FORMAT, fleet, founding]
      const reply = await line.call('EVAL', scripts.text('found'), 2, meta, FLEETS_KEY, ...args)
      if (Array.isArray(reply) && reply[0] === 'EXISTS') throw founded(fleet, String(reply[1]))
      return gen
    })
  } finally {
    link.close()
  }
}

const knownToSome = (fleet: string, names: readonly string[]) =>
  new RolekeeperError(
    'journal.not_new',
    `The fleet ${fleet} is not new: ${names.join(', ')} saw more of it than this Redis has.`,
    { fix: 'bring its data back; or see `rolekeeper safe`.', facts: { fleet } },
  )

const founded = (fleet: string, gen: string) =>
  new RolekeeperError('journal.founded', `The fleet ${fleet} is there already, in generation ${gen}.`, {
    fix: 'none needed: start its instances; another fleet needs another name.',
    facts: { fleet, gen },
  })

/** Say that a Redis has nothing of a fleet, and whose it is. Pure. */
const lacking = (fleet: string, others: readonly string[]): string =>
  `This Redis has no fleet ${fleet}${others.length === 0 ? '' : `, but ${others.toSorted().join(', ')}`}`

const notFounded = (lacks: string) =>
  new RolekeeperError('journal.not_founded', `${lacks}.`, {
    fix: 'where it never was in use: `rolekeeper fleet found`; else correct the URL or `fleet.name`, bring its data back, or see `rolekeeper safe`.',
  })

/** Who is led to another Redis by a slip of the pen sees the same as who comes to one that was emptied. Pure. */
const generationLost = (lacks: string, { gen }: LastKnown) =>
  new RolekeeperError('journal.amnesia', `${lacks}; this machine saw its generation ${gen}.`, {
    fix: 'correct the URL or `fleet.name`; where both are right, bring its data back, or see `rolekeeper safe`.',
    facts: { seen: 'it is empty', expected: `generation ${gen} was here`, isEmpty: true, gen },
  })

const newer = (format: number) =>
  new RolekeeperError('journal.version', `The journal has format ${format}; this release writes ${FORMAT}.`, {
    fix: 'install the release that the other instances have.',
    facts: { format },
  })

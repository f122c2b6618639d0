import type { Endpoint } from '../../../config/redis.ts'
import { invariant } from '../../../errors.ts'
import { type ScriptName, scriptsOf } from '../scripts/scripts.ts'
import type { Answer } from './answer.ts'
import { readInfo } from './check.ts'
import { type Line, nameOf, openLine } from './connect.ts'
import { amnesia, LineFault } from './faults.ts'
import { COMMAND_MS, meet, type StoreConfig } from './generation.ts'
import { type Keys, keysOf } from './keys.ts'
import { createLink } from './link.ts'

/** Which fleet, and on which Redis. */
export type FleetPlace = Pick<StoreConfig, 'endpoint' | 'fleet'>

/** A way to a fleet's Redis for one command: what is wrong with its settings is for people to see, and stops no kill. */
export type CommandLine = {
  readonly keys: Keys
  /** The generation of the fleet, as the line found it. */
  readonly gen: () => string
  /** Run a command that only reads. */
  readonly read: (command: string, ...args: readonly (string | number)[]) => Promise<unknown>
  /** Do several things on one line. */
  readonly use: <T>(work: (line: Line) => Promise<T>) => Promise<T>
  /** Run one script that is no seat holder's. */
  readonly run: (name: ScriptName, keys: readonly string[], args: readonly string[]) => Promise<Answer>
  readonly close: () => void
}

/** All commands run the same texts: a server keeps each text that it ever ran until it restarts. */
const scripts = scriptsOf('command')

/**
 * Open a way to a fleet's Redis. Every use throws RolekeeperError `journal.not_founded`, `journal.version`, and what a line
 * throws. @param isFounded false for who asks whether it is: then no use throws the first two.
 */
export function openCommandLine({ endpoint, fleet }: FleetPlace, isFounded = true): CommandLine {
  const keys = keysOf(fleet)
  let gen = ''
  const met = new WeakSet<Line>()
  /** What it writes counts in the sequence: who looks later must see at which one this server began. */
  const beforeWrites = async (line: Line) => {
    if (met.has(line)) return
    await meet(line, fleet, null, (await readInfo(line)).get('run_id') ?? '')
    met.add(line)
  }
  const link = createLink({
    open: (number) => openAsCommand(endpoint, number),
    verify: async (line) => {
      if (isFounded) gen = (await meet(line, fleet, null, '')).gen
    },
    server: nameOf(endpoint),
  })
  return {
    keys,
    gen: () => gen,
    use: link.use,
    close: link.close,
    read: (command, ...args) => link.use((line) => line.call(command, ...args)),
    run: (name, others, args) =>
      link.use(async (line) => {
        await beforeWrites(line)
        const all = [keys.meta, ...others]
        const reply = await line
          .call('EVAL', scripts.text(name), all.length, ...all, gen, 0, ...args)
          .catch((error) => {
            const isBroken = error instanceof LineFault && ['ERR', 'WRONGTYPE'].includes(error.word)
            invariant(!isBroken, `the script ${name} broke off`)
            throw error
          })
        const [code, ...values]: readonly unknown[] = Array.isArray(reply) ? reply : []
        if (code === 'GENERATION') {
          throw amnesia({
            seen: `generation ${String(values[0]) || 'none'}`,
            expected: `expected ${gen}`,
            gen,
          })
        }
        return { code: String(code), values }
      }),
  }
}

const openAsCommand = (endpoint: Endpoint, number: number) =>
  openLine(endpoint, { number, timeoutMs: COMMAND_MS, name: 'rolekeeper:command' })

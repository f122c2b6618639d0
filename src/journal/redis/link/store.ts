import { randomBytes } from 'node:crypto'
import { invariant, RolekeeperError } from '../../../errors.ts'
import { type ScriptName, scriptsOf } from '../scripts/scripts.ts'
import type { Answer } from './answer.ts'
import { checkServer, type Server } from './check.ts'
import { type Line, nameOf, openLine } from './connect.ts'
import { LineFault } from './faults.ts'
import { writeHistory } from './fleet-history.ts'
import { COMMAND_MS, type LastKnown, meet, type StoreConfig } from './generation.ts'
import { type Keys, keysOf } from './keys.ts'
import { createLink, type Link } from './link.ts'

/** How long a barrier waits for replicas, ms; its line waits longer, so that the count is heard. */
const WAIT_MS = 1_000

/** What opening a store needs. */
type StoreDeps = {
  /** What was acknowledged before this process, as its witnesses have it; null: nothing yet. */
  readonly known: LastKnown | null
  /**
   * The highest nonces that keys were asked to sign, by seat: what a person has to hear of where it is forgotten. Null where
   * this instance has no witness, which it may have lost: it says nothing then, as nobody knows what it knew.
   */
  readonly tops: () => Readonly<Record<string, number>> | null
  /** Called with what was asked of Redis, how it came out (`ok` or the error's code), and how long that took. */
  readonly onCall: (call: string, outcome: string, durationMs: number) => void
}

/** Stands for the number of the line that a script runs on. */
export const LINE = Symbol('line')

/** An argument of a script. */
export type Argument = string | number | typeof LINE

/** A fleet's Redis, as one instance uses it: one line for all but barriers, and one for those. */
export class RedisStore {
  readonly keys: Keys
  /** One writer in all its lines. */
  readonly client = randomBytes(8).toString('hex')
  readonly instance: string
  readonly #config: StoreConfig
  readonly #deps: StoreDeps
  readonly #scripts = scriptsOf(this.client)
  readonly #writes: Link
  readonly #fences: Link
  #known: LastKnown | null
  #server: Server | undefined
  /** The server process that each line leads to. */
  readonly #runs = new WeakMap<Line, string>()
  /** The one that a barrier may pass on; undefined: any. */
  #relied: string | undefined
  #ops = 0

  constructor(config: StoreConfig, deps: StoreDeps) {
    this.#config = config
    this.#deps = deps
    this.#known = deps.known
    this.keys = keysOf(config.fleet)
    this.instance = config.instance
    this.#writes = this.#link(COMMAND_MS)
    this.#fences = this.#link(WAIT_MS + COMMAND_MS)
  }

  #link(timeoutMs: number): Link {
    const { endpoint, instance } = this.#config
    return createLink({
      open: (number) => openLine(endpoint, { number, timeoutMs, name: `rolekeeper:${instance}` }),
      verify: (line) => this.#verify(line),
      server: nameOf(endpoint),
    })
  }

  async #verify(line: Line): Promise<void> {
    const { endpoint, replicas } = this.#config
    const server = await checkServer(line, { db: endpoint.db, replicas, server: nameOf(endpoint) })
    const met = await this.#meet(line, server.runId)
    // What was there may not be acknowledged by all replicas: only a barrier of ours says so.
    if (this.#known?.gen !== met.gen) this.#known = { gen: met.gen, seq: 0 }
    await this.#scripts.load(line)
    this.#server = server
    this.#runs.set(line, server.runId)
  }

  /** Where it has forgotten, say on it what is known here: a person who is to prove what went on has to hear it. */
  async #meet(line: Line, runId: string): Promise<LastKnown> {
    const known = this.#known
    try {
      return await meet(line, this.#config.fleet, known, runId)
    } catch (error) {
      const isForgotten = error instanceof RolekeeperError && error.code === 'journal.amnesia'
      const tops = this.#deps.tops()
      if (isForgotten && known !== null && tops !== null) {
        await writeHistory(line, this.keys, { ...known, instance: this.instance, tops })
      }
      throw error
    }
  }

  /** Verify both lines, where they are not yet. Throws what a use of them would. */
  async connect(): Promise<void> {
    await this.#writes.use(async () => undefined)
    await this.#fences.use(async () => undefined)
  }

  /** Look at the server again, as a new line does. */
  async check(): Promise<void> {
    const { endpoint, replicas } = this.#config
    await this.#writes.use((line) =>
      checkServer(line, { db: endpoint.db, replicas, server: nameOf(endpoint) }),
    )
  }

  /** The generation, and the newest sequence that was acknowledged as far as the configuration says. */
  known(): LastKnown {
    return this.#known ?? { gen: '', seq: 0 }
  }

  /** The server process that the newest line led to. */
  runId(): string {
    return this.#server?.runId ?? ''
  }

  /** The same as it names itself; undefined before the first line. */
  server(): Server | undefined {
    return this.#server
  }

  /** Let barriers pass on one server process only: any other may lack what another instance was acknowledged. */
  rely(runId: string): void {
    this.#relied = runId
  }

  /** A name for one change, by which it is known again. */
  op(): string {
    this.#ops += 1
    return `${this.client}:${this.#ops}`
  }

  /**
   * Run a script; the same again where the answer is lost. `line` stands where its arguments name the line's number.
   * @param runId the server process that it may run on; absent: any. Throws RolekeeperError `journal.moved` on another.
   */
  run(name: ScriptName, keys: readonly string[], args: readonly Argument[], runId?: string): Promise<Answer> {
    const answered = this.#writes.use((line) => {
      const found = this.#runs.get(line) ?? ''
      if (runId !== undefined && runId !== found) throw moved(runId, found)
      return this.#call(line, name, keys, args)
    })
    return this.#timed(name, answered)
  }

  async #timed<T>(call: string, answered: Promise<T>): Promise<T> {
    const sinceMs = performance.now()
    let outcome = 'ok'
    try {
      return await answered
    } catch (error) {
      outcome = error instanceof RolekeeperError ? error.code : 'broken'
      throw error
    } finally {
      this.#deps.onCall(call, outcome, performance.now() - sinceMs)
    }
  }

  async #call(
    line: Line,
    name: ScriptName,
    keys: readonly string[],
    args: readonly Argument[],
  ): Promise<Answer> {
    const { gen, seq } = this.known()
    const given = args.map((arg) => (arg === LINE ? line.number : arg))
    const all = [this.keys.meta, ...keys]
    const sha = this.#scripts.sha(name)
    const reply = await line.call('EVALSHA', sha, all.length, ...all, gen, seq, ...given).catch((error) => {
      // It ended in the middle, and not as a whole: a fault of ours, or keys that are another's.
      const isBroken = error instanceof LineFault && ['ERR', 'WRONGTYPE'].includes(error.word)
      invariant(!isBroken, `the script ${name} broke off`)
      throw error
    })
    const [code, ...values]: readonly unknown[] = Array.isArray(reply) ? reply : []
    if (code === 'LATE') throw new LineFault('LATE', false)
    // It has forgotten, another instance says so, or a person has begun a generation anew: a new line finds out which, and has
    // this instance say what it knew.
    if (code === 'GENERATION' || code === 'BEHIND' || code === 'DOUBTED') throw new LineFault(code, false)
    return { code: String(code), values }
  }

  /**
   * Run a fence and wait until every write before it is acknowledged as far as the configuration says. Throws RolekeeperError
   * `journal.not_replicated` where too few replicas have it, and `journal.moved` on a server that is not relied on yet.
   */
  async fence(keys: readonly string[], args: readonly (string | number)[]): Promise<Answer> {
    const { replicas } = this.#config
    const passing = this.#fences.use((line) => {
      const run = this.#runs.get(line) ?? ''
      // Where nothing is sent on it, nothing shows that its server is gone.
      if (run !== this.runId()) throw new LineFault('LEFT', false)
      if (this.#relied !== undefined && this.#relied !== run) throw moved(this.#relied, run)
      const fenced = this.#call(line, 'fence', keys, args)
      // Behind it on the same line: it counts who has what was written there before.
      const waited = replicas === 0 ? 0 : line.call('WAIT', replicas, WAIT_MS)
      return Promise.all([fenced, waited, run])
    })
    const [answer, count, run] = await this.#timed('fence', passing)
    if (answer.code !== 'OK') return answer
    if (Number(count) < replicas) throw notReplicated(Number(count), replicas)
    const { gen, seq } = this.known()
    if (Number(answer.values[0]) > seq) this.#known = { gen, seq: Number(answer.values[0]), run }
    return answer
  }

  /** Run a command that only reads. */
  read(command: string, ...args: readonly (string | number)[]): Promise<unknown> {
    return this.#timed(
      'read',
      this.#writes.use((line) => line.call(command, ...args)),
    )
  }

  close(): void {
    this.#writes.close()
    this.#fences.close()
  }
}

const moved = (from: string, to: string) =>
  new RolekeeperError('journal.moved', 'Redis is another server process than it was a moment ago.', {
    fix: 'none needed: what was asked of the one before is judged anew.',
    facts: { from, to },
    retry: 'later',
  })

const notReplicated = (found: number, wanted: number) =>
  new RolekeeperError('journal.not_replicated', `${found} of ${wanted} replicas have what was written.`, {
    fix: 'bring the replicas back; nothing is signed or sent until they have it.',
    facts: { found, wanted },
    retry: 'later',
  })

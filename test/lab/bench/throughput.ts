import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  createThroughputWorld,
  type Go,
  type Job,
  type ThroughputSettings,
  type Went,
} from './throughput-world.ts'
import { quantile } from './waves.ts'

const CONTENDERS = ['keeper', 'unaudited', 'viem', 'bare'] as const
type Contender = (typeof CONTENDERS)[number]

/** Workflows to `confirmed` a second: the median of the rounds, and what a workflow asked for. */
type Rate = {
  readonly perSecond: number
  /** Computing time of its process for one workflow. */
  readonly cpuMsEach: number
  readonly callsEach: Readonly<Record<string, number>>
}

/** What the bench found for so many signers: the keeper's rate by each script's, of the same round, at the median. */
type ThroughputSize = {
  readonly signers: number
  readonly workflows: number
  readonly atOnce: number
  readonly rounds: number
  readonly rates: Readonly<Record<Contender, Rate>>
  readonly toViem: number
  readonly toBare: number
  /** By the keeper without its audit: what that costs of the whole way. */
  readonly toUnaudited: number
  /** The longest that the keeper's journal held the event loop, in all rounds. */
  readonly journalMsMax: number
}
export type ThroughputFigures = {
  readonly type: 'throughput'
  readonly sizes: readonly ThroughputSize[]
  readonly load: readonly [number, number]
}

/** At most 64 at once a signer: a window's whole width. */
const SIZES = [
  { signers: 1, workflows: 512, atOnce: 64 },
  { signers: 8, workflows: 1_024, atOnce: 256 },
] as const
const KEYS = 8
/** The first round of a size is compiled in; it is not counted. */
const ROUNDS = 4
/** What was stopped first reads the blocks that it missed: nothing that runs has a chain of minutes to catch up with. */
const CATCH_UP_MS = 1_500

/**
 * Measure how many workflows a second the pipeline brings to `confirmed`, beside a loop on viem's nonce manager and a
 * bare script that makes the pipeline's calls and signatures. In turns, each in a process of its own; while one works
 * the others are stopped.
 */
export async function measureThroughput(say: (text: string) => void): Promise<ThroughputFigures> {
  const [loadBefore = 0] = loadavg()
  const world = await createThroughputWorld(CONTENDERS.length, KEYS)
  const sides = await Promise.all(
    CONTENDERS.map(async (name, index) => {
      const settings = world.settings[index]
      if (settings === undefined) throw new TypeError('a contender without settings')
      return { name, ...(await startSide(name, settings)) }
    }),
  )
  try {
    const sizes: ThroughputSize[] = []
    let id = 0
    for (const size of SIZES) {
      const rounds: Record<Contender, Went>[] = []
      for (let round = 0; round <= ROUNDS; round += 1) {
        const went: Partial<Record<Contender, Went>> = {}
        // Another one begins each time.
        for (let turn = 0; turn < sides.length; turn += 1) {
          const side = sides[(turn + round) % sides.length]
          if (side === undefined) continue
          const jobs = Array.from({ length: size.workflows }, (_, index): Job => {
            id += 1
            return { key: index % size.signers, id }
          })
          went[side.name] = await side.go({ jobs, atOnce: size.atOnce })
          say(
            `${size.signers} signers, round ${round}, ${side.name}: ${Math.round(went[side.name]?.tookMs ?? 0)} ms`,
          )
        }
        if (round > 0) rounds.push(went as Record<Contender, Went>)
      }
      sizes.push(figuresOf(size, rounds))
    }
    return { type: 'throughput', sizes, load: [loadBefore, loadavg()[0] ?? 0] }
  } finally {
    await Promise.all(sides.map((side) => side.stop()))
    await world.stop()
  }
}

function figuresOf(
  { signers, workflows, atOnce }: (typeof SIZES)[number],
  rounds: readonly Record<Contender, Went>[],
): ThroughputSize {
  const median = (of: (round: Record<Contender, Went>) => number) => quantile(rounds.map(of), 0.5)
  const rate = (name: Contender): Rate => ({
    perSecond: median((round) => (1_000 * workflows) / round[name].tookMs),
    cpuMsEach: median((round) => round[name].cpuMs / workflows),
    callsEach: Object.fromEntries(
      Object.keys(rounds.at(-1)?.[name].calls ?? {}).map((call) => [
        call,
        median((round) => (round[name].calls[call] ?? 0) / workflows),
      ]),
    ),
  })
  const ratio = (other: Contender) => median((round) => round[other].tookMs / round.keeper.tookMs)
  return {
    signers,
    workflows,
    atOnce,
    rounds: rounds.length,
    rates: {
      keeper: rate('keeper'),
      unaudited: rate('unaudited'),
      viem: rate('viem'),
      bare: rate('bare'),
    },
    toViem: ratio('viem'),
    toBare: ratio('bare'),
    toUnaudited: ratio('unaudited'),
    journalMsMax: Math.max(...rounds.map(({ keeper }) => keeper.journalMs)),
  }
}

/** Start a contender in a process of its own, which is stopped but while it works. */
export async function startSide(name: Contender, settings: ThroughputSettings) {
  const isKeeper = name === 'keeper' || name === 'unaudited'
  const file = isKeeper ? 'throughput-keeper.ts' : 'throughput-script.ts'
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [name])
  child.send(settings)
  await answer(child)
  child.kill('SIGSTOP')
  return {
    go: async (go: Go): Promise<Went> => {
      child.kill('SIGCONT')
      await sleep(CATCH_UP_MS)
      child.send(go)
      const went = await answer(child)
      child.kill('SIGSTOP')
      return went as Went
    },
    stop: async () => {
      child.kill('SIGCONT')
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

async function answer(child: ChildProcess): Promise<unknown> {
  const heard = new AbortController()
  const gone = once(child, 'exit', heard).then(() => {
    throw new TypeError('a contender ended early')
  })
  try {
    const [message] = await Promise.race([once(child, 'message', heard), gone])
    return message
  } finally {
    gone.catch(() => undefined)
    heard.abort()
  }
}

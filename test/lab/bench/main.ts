/**
 * `npm run bench reaction|throughput|ingest|book|allocator|restart|journal|fleet|guard|console|full-block [--json]`: the figures that are
 * held over time. A figure is no test and exits 0; `book` exits 1 where a target is missed.
 */
import { readScript } from '../../support/script.ts'
import type { AllocatorFigures } from './allocator.ts'
import type { BookFigures } from './book.ts'
import type { ConsoleFigures } from './console.ts'
import type { FullBlockFigures } from './full-block.ts'
import type { GuardFigures } from './guard.ts'
import type { IngestFigures } from './ingest.ts'
import type { JournalFigures } from './journal.ts'
import type { ReactionFigures, SideFigures } from './reaction.ts'
import type { RestartFigures } from './restart.ts'
import type { ThroughputFigures } from './throughput.ts'
import type { JournalCalls } from './time-journal.ts'

/** Each loads what it measures only when it is asked for. */
const PARTS = {
  reaction: async (say: Say) => told(await (await import('./reaction.ts')).measureReaction(say), describe),
  throughput: async (say: Say) =>
    told(await (await import('./throughput.ts')).measureThroughput(say), describeThroughput),
  ingest: async (say: Say) => told((await import('./ingest.ts')).measureIngest(say), describeIngest),
  book: async (say: Say) => {
    const { measureBook } = await import('./book.ts')
    const figures = await measureBook(say)
    if (!figures.ok) process.exitCode = 1
    return told(figures, describeBook)
  },
  allocator: async (say: Say) =>
    told((await import('./allocator.ts')).measureAllocator(say), describeAllocator),
  restart: async (say: Say) =>
    told(await (await import('./restart.ts')).measureRestart(1_000, say), describeRestart),
  journal: async (say: Say) =>
    told(await (await import('./journal.ts')).measureJournal(say), describeJournal),
  fleet: async (say: Say) => {
    const { describeFleet } = await import('./describe-fleet.ts')
    const { measureFleet } = await import('./fleet.ts')
    return told(await measureFleet(say), describeFleet)
  },
  guard: async (say: Say) => told((await import('./guard.ts')).measureGuard(say), describeGuard),
  console: async (say: Say) =>
    told(await (await import('./console.ts')).measureConsole(say), describeConsole),
  'full-block': async (say: Say) =>
    told(await (await import('./full-block.ts')).measureFullBlock(say), describeFullBlock),
}
type Say = (text: string) => void
const told = <Figures>(figures: Figures, text: (figures: Figures) => string) =>
  json ? `${JSON.stringify(figures)}\n` : text(figures)

const { values, positionals } = readScript(
  import.meta.url,
  { json: { type: 'boolean', default: false } },
  Object.keys(PARTS),
  1,
)
// Without a "--" before it npm takes the option for its own, and only says so in the environment.
const json = values.json || process.env.npm_config_json === 'true'
for (const [name, measure] of Object.entries(PARTS)) {
  if (!positionals.includes(name)) continue
  process.stdout.write(await measure((text) => process.stderr.write(`${name}: ${text}\n`)))
}

function describe({ keeper, script, ratio, failures, load, delaysMs }: ReactionFigures): string {
  const { service, node, kms } = delaysMs
  return [
    `Event in to raw transactions accepted; delays: service ${service} ms, node ${node} ms, KMS ${kms} ms.`,
    side('keeper', keeper),
    side('script', script),
    `ratio of p50 ${ratio.toFixed(2)}; load ${load.map((one) => one.toFixed(1)).join(' to ')}`,
    ...failures,
    '',
  ].join('\n')
}

function describeGuard({ kinds, p99MsMost }: GuardFigures): string {
  return [
    'The static guard over one valid answer, ms.',
    ...kinds.map(
      ({ name, p50Ms, p99Ms }) => `  ${name.padEnd(40)} p50 ${p50Ms.toFixed(3)}  p99 ${p99Ms.toFixed(3)}`,
    ),
    `p99 of the slowest ${p99MsMost.toFixed(3)}; the target is 2`,
    '',
  ].join('\n')
}

function describeConsole({ minutes }: ConsoleFigures): string {
  const mb = (bytes: number) => (bytes / 1e6).toFixed(1).padStart(8)
  return [
    'The console open in Chromium beside the sandbox, through all of its views, after each minute.',
    'minute   heap, MB   DOM nodes   listeners   keeper resident, MB',
    ...minutes.map(
      ({ minute, heapBytes, nodes, listeners, keeperBytes }) =>
        `${String(minute).padStart(6)} ${mb(heapBytes)} ${String(nodes).padStart(11)} ${String(listeners).padStart(11)} ${mb(keeperBytes)}`,
    ),
    '',
  ].join('\n')
}

function describeFullBlock({ gasLimit, fillings }: FullBlockFigures): string {
  const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
  return [
    `A block of ${gasLimit / 1e6} M gas with a transaction of the keeper in it, until the keeper has seen that.`,
    ...fillings.map(
      ({ name, jsonBytes, p50Ms, mostMs, moreBytes }) =>
        `  ${name.padEnd(10)} ${mb(jsonBytes).padStart(8)} of JSON; p50 ${p50Ms.toFixed(0)} ms, most ${mostMs.toFixed(0)} ms; at most ${mb(moreBytes)} more resident`,
    ),
    '',
  ].join('\n')
}

function describeThroughput({ sizes, load }: ThroughputFigures): string {
  return [
    'Workflows to confirmed a second, at the median of the rounds; the ratios are of the same round.',
    ...sizes.flatMap(
      ({ signers, workflows, atOnce, rounds, rates, toViem, toBare, toUnaudited, journalMsMax }) => [
        `${signers} signers, ${workflows} workflows, ${atOnce} at once, ${rounds} rounds: ${toViem.toFixed(2)} of the viem loop, ${toBare.toFixed(2)} of the bare script, ${toUnaudited.toFixed(2)} of itself without its audit; longest synchronous work of the journal ${journalMsMax.toFixed(1)} ms`,
        ...Object.entries(rates).map(
          ([name, { perSecond, cpuMsEach, callsEach }]) =>
            `  ${name}: ${perSecond.toFixed(1)}; a workflow took ${cpuMsEach.toFixed(1)} ms of computing and asked ${Object.entries(
              callsEach,
            )
              .map(([call, count]) => `${call} ${count.toFixed(2)}`)
              .join(', ')}`,
        ),
      ],
    ),
    `load ${load.map((one) => one.toFixed(1)).join(' to ')}`,
    '',
  ].join('\n')
}

function describeIngest(figures: IngestFigures): string {
  const { webhook, stream, parsing, ratio, hints, bodyBytes, memoryBefore, memoryAfter } = figures
  const rate = ({ perSecond }: { perSecond: number }) => `${perSecond.toLocaleString('en')} a second`
  const memory = ({ heapMb, rssMb }: IngestFigures['memoryBefore']) => `heap ${heapMb} MB, RSS ${rssMb} MB`
  return [
    `${webhook.events.toLocaleString('en')} events of ${bodyBytes} bytes on one core; ${hints} became hints.`,
    `webhook (HMAC, JSON, envelope, dedupe, state): ${rate(webhook)}`,
    `stream (JSON, envelope): ${rate(stream)}`,
    `JSON.parse of the same bytes: ${rate(parsing)}; webhook to parsing ${ratio.toFixed(2)}`,
    `before: ${memory(memoryBefore)}; after: ${memory(memoryAfter)}`,
    '',
  ].join('\n')
}

function describeBook({ sizes, eventRatio, eventRatioMax, bytesMax, ok }: BookFigures): string {
  const ms = (value: number) => `${value.toLocaleString('en')} ms`
  return [
    'From an event of the service to the decision, over HTTP within one process; the first sweep beside it.',
    ...sizes.map(({ positions, eventP50Ms, eventP95Ms, requests, sweepMs, sweepPages, bytesAPosition }) =>
      [
        `${positions.toLocaleString('en').padStart(9)} positions: event p50 ${ms(eventP50Ms)}, p95 ${ms(eventP95Ms)}, ${requests} requests`,
        `sweep ${ms(sweepMs)} in ${sweepPages.toLocaleString('en')} pages`,
        ...(bytesAPosition === null ? [] : [`${bytesAPosition} bytes a position`]),
      ].join('; '),
    ),
    `an event at the largest for one at the smallest: ${eventRatio} (at most ${eventRatioMax}); bytes at most ${bytesMax}: ${ok ? 'held' : 'NOT HELD'}`,
    '',
  ].join('\n')
}

function describeAllocator({ sizes, growth, growthMax, msAt100Max, ok }: AllocatorFigures): string {
  const ms = (value: number) => `${value.toFixed(2)} ms`
  return [
    'One optimal allocation, on one core:',
    ...sizes.map(
      ({ markets, rounds, p50Ms, p95Ms, maxMs, gapBpsMax }) =>
        `${markets} markets: p50 ${ms(p50Ms)}, p95 ${ms(p95Ms)}, most ${ms(maxMs)} of ${rounds}; at most ${gapBpsMax.toFixed(3)} bps below its bound`,
    ),
    `1,000 markets for 100: ${growth.toFixed(1)} times (at most ${growthMax}); 100 markets in at most ${msAt100Max} ms: ${ok ? 'held' : 'NOT HELD'}`,
    '',
  ].join('\n')
}

function side(name: string, { rounds, p50Ms, p95Ms, waves }: SideFigures): string {
  const ms = (value: number) => `${value.toFixed(1)} ms`
  return [
    `${name}: p50 ${ms(p50Ms)}, p95 ${ms(p95Ms)}, ${rounds} rounds, ${waves.length} sequential waves`,
    ...waves.map(
      ({ calls, ownMs, tookMs }, index) =>
        `  ${index + 1}. after ${ms(ownMs)} of its own, ${ms(tookMs)}: ${calls.join(', ')}`,
    ),
  ].join('\n')
}

function describeCalls({ calls, wall, held, uncollected, collectionMaxMs }: JournalCalls): string {
  const ms = (value: number) => `${value.toFixed(2)} ms`
  const spread = ({ p999Ms, maxMs }: JournalCalls['wall']) => `p99.9 ${ms(p999Ms)}, most ${ms(maxMs)}`
  return [
    `${calls.toLocaleString('en')} times in the journal, by the clock ${spread(wall)}`,
    `less the wait for a core ${spread(held)}, with collections of garbage of up to ${ms(collectionMaxMs)}`,
    `without any most ${ms(uncollected.maxMs)} (${uncollected.name})`,
  ].join('; ')
}

function describeJournal({ sizes }: JournalFigures): string {
  return sizes
    .map((size) => {
      const { inFlight, archived } = size
      const name = `${inFlight.toLocaleString('en')} in flight, ${archived.toLocaleString('en')} archived`
      return `${name}: ${describeCalls(size)}\n`
    })
    .join('')
}

function describeRestart({ workflows, firstStepMs, allMovingMs, signedAgain }: RestartFigures): string {
  const ms = (value: number) => `${value.toLocaleString('en')} ms`
  return [
    `A start with ${workflows.toLocaleString('en')} workflows in flight, a third of which no node has any more.`,
    `first step after ${ms(firstStepMs)}, all in a block after ${ms(allMovingMs)}; ${signedAgain} signed again`,
    '',
  ].join('\n')
}

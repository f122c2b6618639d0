import type { ControlEvent } from '../../ops/control-event.ts'
import type {
  HealthEvent,
  KeeperEvent,
  PriceEvent,
  SlotEvent,
  SummaryEvent,
  WorkflowEvent,
} from '../../ops/events.ts'
import { gain, short, span, workflowName } from '../../readable.js'
import type { Deployment } from '../../service/contract/deployment.ts'
import type { Role } from '../../service/contract/roles.ts'
import { subjectName } from '../../service/contract/subject-name.ts'
import { isTerminal } from '../../workflow/workflow.ts'
import { wad } from './format.ts'
import { type Colour, clean, drawFacet, line, type Row, row, whole } from './timeline-row.ts'

/** A price is drawn when it has moved this far from the one drawn before. */
const PRICE_MOVE_BPS = 100n
const WAD = 10n ** 18n
/** The longest name of a role that agents work. */
const ROLE_WIDTH = 13
/** After this long without a line, a decision that found nothing shows that it is awake. */
const QUIET_MS = 10_000

/** Draws the events of one turn of the event loop: no, one or several lines, without line ends. */
export type Timeline = (events: readonly KeeperEvent[]) => readonly string[]

/**
 * Create a timeline: aligned columns of time, mark, word and what it is about, with each role by its name. One role is drawn step
 * by step; of several, what each decided and how it ended: `workflows show` has the steps. What came late is drawn at the time
 * of what was drawn before it. It remembers only what it drew, and
 * reads no clock: the same events give the same lines. `at` is what leads a command to the keeper's records, `link` what
 * makes a link to the console where this screen may show one. What is `known` is called by its name.
 */
export function createTimeline({
  colour,
  at = '',
  link = () => null,
  known,
}: {
  readonly colour: boolean
  readonly at?: string
  readonly link?: (() => string | null) | undefined
  readonly known: Deployment
}): Timeline {
  const seen: DrawnSoFar = {
    beganMs: null,
    drawnMs: 0,
    prices: new Map(),
    healths: new Map(),
    begun: new Map(),
    roles: new Set(),
    at,
    link,
    known,
  }
  return (events) =>
    together(events).flatMap((event) => {
      const atMs = Math.max(Date.parse(event.at), seen.drawnMs)
      seen.beganMs ??= atMs
      const rows = event.type === 'slots' ? drawSlots(event, seen) : draw(event, seen, atMs)
      if (rows.length > 0) seen.drawnMs = atMs
      const clock = `${((atMs - seen.beganMs) / 1_000).toFixed(1)}s`
      return rows.map((row, index) => line(row, index === 0 ? clock : '', colour))
    })
}

/** Slots of one workflow that moved alike in one turn: an approval and the action that it is for. */
type SlotsEvent = Omit<SlotEvent, 'type' | 'nonce'> & {
  readonly type: 'slots'
  readonly nonces: readonly number[]
}

/** Join slots that moved alike; their line shows the last one's hash, which is the action's. Pure. */
function together(events: readonly KeeperEvent[]): readonly (Exclude<KeeperEvent, SlotEvent> | SlotsEvent)[] {
  const joined: (Exclude<KeeperEvent, SlotEvent> | SlotsEvent)[] = []
  for (const event of events) {
    if (event.type !== 'slot') {
      joined.push(event)
      continue
    }
    const last = joined.at(-1)
    const alike =
      last?.type === 'slots' &&
      last.id === event.id &&
      last.state === event.state &&
      last.purpose === event.purpose
    const nonces = alike ? [...last.nonces, event.nonce] : [event.nonce]
    if (alike) joined.pop()
    joined.push({ ...event, type: 'slots', nonces })
  }
  return joined
}

function drawSlots(event: SlotsEvent, seen: DrawnSoFar): readonly Row[] {
  const { id, state, durationMs, nonces, purpose, hash, blockNumber } = event
  if (seen.roles.size > 1 && state !== 'reopened') return []
  const parts = [
    `nonce ${nonces.join(', ')}`,
    ...(purpose === 'noop' ? ['no-op'] : []),
    ...(hash === undefined ? [] : [short(hash)]),
    ...(blockNumber === undefined ? [] : [`block ${blockNumber}`]),
  ]
  const colour = state === 'reopened' ? 'yellow' : 'gray'
  return [row('│', state, `${took(id, durationMs)}  ${parts.join('  ')}`, colour)]
}

/** What was drawn so far, as far as the next line depends on it. */
type DrawnSoFar = {
  beganMs: number | null
  drawnMs: number
  readonly prices: Map<string, bigint>
  readonly healths: Map<string, string>
  /** What each workflow that is not at its end is, and when it was discovered. */
  readonly begun: Map<string, { readonly what: string; readonly atMs: number }>
  /** Those that are or were at work. */
  readonly roles: Set<string>
  readonly at: string
  readonly link: () => string | null
  readonly known: Deployment
}

function draw(event: Exclude<KeeperEvent, SlotEvent>, seen: DrawnSoFar, atMs: number): readonly Row[] {
  switch (event.type) {
    case 'ready': {
      for (const { role } of event.signers) seen.roles.add(role)
      const signers = event.signers.map(({ role, address }) => `${role} ${short(address)}`)
      const resumed = event.resumed > 0 ? [`${event.resumed} resumed`] : []
      const parts = [`${event.environment} chain ${event.chainId}`, ...signers, event.opsUrl, ...resumed]
      const ready = row('●', 'ready', parts.join(' · '), 'green')
      if (event.consoleUrl === undefined) return [ready]
      const open = seen.link() ?? `${event.consoleUrl}, for a link of: rolekeeper console${seen.at}`
      return [ready, row('●', 'console', open, 'green')]
    }
    case 'role': {
      const { role, state, check, message } = event
      seen.roles.add(role)
      if (state === 'up') return [row('●', 'up', role, 'green')]
      return [row('✗', 'down', clean(`${role}: ${check}: ${message}`), 'red')]
    }
    case 'seat': {
      const { seat, roles, state } = event
      const colour = { held: 'green', left: 'gray', lost: 'red' } as const
      return [row('●', state, clean(`the seat ${short(seat)} · ${roles.join(', ')}`), colour[state])]
    }
    case 'price':
      return drawPrice(event, seen)
    case 'health':
      return drawHealth(event, seen)
    case 'decision':
      if (event.proposals > 0 || atMs - seen.drawnMs < QUIET_MS) return []
      return [row('·', 'watching', `${event.passedOver} looked at, nothing to do`, 'gray')]
    case 'workflow':
      return drawWorkflow(event, seen, atMs)
    case 'held': {
      const how = `approve within ${span(Date.parse(event.expiresAt) - atMs)} with: rolekeeper approve ${event.id.slice(0, 8)}${seen.at}`
      const text = `${whose(event)}  ${event.check}: ${event.message}`
      return [row('?', 'held', clean(text), 'yellow'), row(' ', '', how)]
    }
    case 'gain': {
      const marked = event.marked ? ' (marked, nothing was sold)' : ''
      const text = `${whose(event)}  paid ${event.paid}, received ${event.received}, gas ${event.gas}: ${event.profit}${marked}`
      return [row('+', 'gained', clean(text), 'green')]
    }
    case 'policy': {
      const { role, ruleset } = event
      return [
        row('●', 'policy', `${role}: the narrower one is taken up, rules ${ruleset.slice(0, 12)}`, 'green'),
      ]
    }
    case 'control':
      return [drawControl(event)]
    case 'monitor': {
      const { id, verdict, check, message } = event
      const word = verdict === 'would_refuse' ? 'would refuse' : 'would clear what is refused'
      return [row('·', 'monitor', clean(`${name(id)}  ${word}: ${check}: ${message}`), 'gray')]
    }
    case 'facet':
      return drawFacet(event)
    case 'alarm':
      // Its facet's own line came before.
      if (event.facet !== undefined) return []
      return [row('!', 'alarm', whole(`${event.code}: ${event.message} Fix: ${event.fix}`), 'red')]
    case 'summary':
      return drawSummary(event)
  }
}

const name = (id: string) => id.slice(0, 6)
/** Which workflow: what it is about stands in the line that it began with. */
const whose = ({ id, role }: { readonly id: string; readonly role: Role }) =>
  `${name(id)}  ${role.padEnd(ROLE_WIDTH)}`
const took = (id: string, ms: number) => `${name(id)}  ${span(ms).padStart(8)}`

/** How a switch that was pulled or taken back is drawn. */
const SWITCHED = {
  pause: ['‖', 'paused', 'yellow'],
  kill: ['■', 'killed', 'red'],
  resume: ['●', 'resumed', 'green'],
  unkill: ['●', 'unkilled', 'green'],
} as const

function drawControl({ verb, role, by, reason }: ControlEvent): Row {
  const [mark, word, colour] = SWITCHED[verb]
  const what = role ?? 'every role'
  const who = by ?? 'somebody, by hand'
  return row(mark, word, clean(`${what}, by ${who}${reason === null ? '' : `: ${reason}`}`), colour)
}

function drawPrice({ marketId, symbol, priceWad }: PriceEvent, seen: DrawnSoFar): readonly Row[] {
  const price = BigInt(priceWad)
  const before = seen.prices.get(marketId)
  const moved = before === undefined ? 0n : price - before
  if (before !== undefined && (moved < 0n ? -moved : moved) * 10_000n < before * PRICE_MOVE_BPS) return []
  seen.prices.set(marketId, price)
  const percent = before === undefined || before === 0n ? null : Number((moved * 10_000n) / before) / 100
  const change = percent === null ? '' : `${percent > 0 ? '+' : ''}${percent.toFixed(2)} %`
  const text = `${clean(symbol).padEnd(12)} ${wad(priceWad, price < WAD ? 6 : 2).padStart(14)}  ${change.padStart(9)}`
  return [row(moved === 0n ? '·' : moved > 0n ? '▲' : '▼', 'price', text, 'gray')]
}

function drawHealth({ subject, healthFactorWad }: HealthEvent, seen: DrawnSoFar): readonly Row[] {
  const before = seen.healths.get(subject)
  seen.healths.set(subject, healthFactorWad)
  const wasUnder = before !== undefined && BigInt(before) < WAD
  const isUnder = BigInt(healthFactorWad) < WAD
  if (wasUnder === isUnder) return []
  const from = before === undefined ? '' : `${wad(before, 4)} → `
  const what = `${about(subject, seen)}  health ${from}${wad(healthFactorWad, 4)}`
  return [
    isUnder
      ? row('▽', 'under', `${what}, under water`, 'yellow')
      : row('△', 'above', `${what}, safe again`, 'gray'),
  ]
}

const about = (subject: string, { known }: DrawnSoFar) => clean(subjectName(subject, known))

/** How an end is drawn; any other is a cross in yellow. */
const ENDS: Readonly<Partial<Record<WorkflowEvent['state'], readonly [string, Colour]>>> = {
  succeeded: ['✓', 'green'],
  shadowed: ['○', 'cyan'],
  quarantined: ['✗', 'red'],
  reverted: ['✗', 'red'],
}

function drawWorkflow(event: WorkflowEvent, seen: DrawnSoFar, atMs: number): readonly Row[] {
  const { id, state } = event
  if (state === 'discovered') {
    const what = `${clean(workflowName(event.workflowType))} ${about(event.subject, seen)}`
    seen.begun.set(id, { what, atMs })
    const title = row('◆', 'decided', `${whose(event)}  ${what}`, 'cyan')
    return event.summary === undefined ? [title] : [title, row(' ', '', clean(event.summary))]
  }
  if (!isTerminal(state))
    return seen.roles.size > 1 ? [] : [row('│', state, took(id, event.durationMs), 'gray')]
  const begun = seen.begun.get(id)
  seen.begun.delete(id)
  // One that a keeper before this one began.
  const what = begun?.what ?? clean(workflowName(event.workflowType))
  const after = begun === undefined ? '' : `  after ${span(atMs - begun.atMs)}`
  const why = event.check === undefined ? '' : `  ${event.check}: ${event.message ?? ''}`
  const [mark, colour] = ENDS[state] ?? ['✗', 'yellow']
  // Why it ended holds what to do about it.
  return [row(mark, state, clean(`${whose(event)}  ${what}${after}${why}`, 2_000), colour)]
}

function drawSummary({ workflows, money, durationMs }: SummaryEvent): readonly Row[] {
  const roles = Object.entries(workflows).map(([role, counts]) => {
    const parts = Object.entries(counts).filter(([, count]) => count > 0)
    const ended = parts.map(([state, count]) => `${count} ${state}`).join(', ') || 'nothing to do'
    return [`${role}: ${ended}`, ...sumsOf(money?.[role])].join(', ')
  })
  const unknown = money === null ? ['what came of it: rolekeeper pnl'] : []
  return [row('■', 'summary', [...roles, ...unknown, `in ${span(durationMs)}`].join(' · '), 'green')]
}

/** In the words of `pnl`, whose moved, gas and positions are what is realised. */
function sumsOf(money: NonNullable<SummaryEvent['money']>[Role] | undefined): readonly string[] {
  if (money === undefined) return []
  const { saidUsdMicros, realizedUsdMicros, markedUsdMicros } = money
  const expected = saidUsdMicros === undefined ? [] : [`expected ${gain(BigInt(saidUsdMicros))}`]
  return [
    ...expected,
    `realised ${gain(BigInt(realizedUsdMicros))}`,
    `marked ${gain(BigInt(markedUsdMicros))}`,
  ]
}

import type { Address } from 'viem'
import { z } from 'zod'
import type { Nodes } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import { type Refusal, refuse } from '../../errors.ts'
import { partOf, type UsedParts } from '../../guard/limits/budget.ts'
import { readWorth, type Worth, type WorthOptions } from '../../guard/limits/valuation.ts'
import type { Limits } from '../../guard/policy/policy.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Log } from '../../ops/log.ts'
import type { Signers } from '../../pipeline/transactions/safe.ts'
import { span, usd } from '../../readable.js'
import type { Role } from '../../service/contract/roles.ts'
import { createCachedRead } from '../cached-read.ts'

/**
 * The most that was owned within five minutes; millionths of a dollar. Its times are those of blocks: by a clock that runs
 * ahead for a moment, all that was owned before would be a day old.
 */
export type Mark = { readonly fromMs: number; readonly usdMicros: bigint }

type LossDeps = {
  readonly nodes: Pick<Nodes, 'chainId' | 'recent' | 'calls' | 'balanceWei'>
  readonly journal: Pick<Journal, 'getValue' | 'setValue'>
  readonly signers: Pick<Signers, 'safe'>
  readonly clock: Clock
  readonly log: Log
}

const LOOK_EVERY_MS = 60_000
const MARK_MS = 300_000
/** So long nothing is known of losses before nothing new begins. */
const UNREAD_MS_MAX = 300_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const stored = z.array(z.object({ fromMs: z.number(), usdMicros: z.string().transform(BigInt) }))

/** Add what is owned at a block to the marks; what is older than a day goes. Pure. */
export function withMark(marks: readonly Mark[], { usdMicros, atMs }: Worth): readonly Mark[] {
  const kept = marks.filter(({ fromMs }) => fromMs > atMs - DAY_MS - MARK_MS)
  const last = kept.at(-1)
  if (last === undefined || atMs - last.fromMs >= MARK_MS) return [...kept, { fromMs: atMs, usdMicros }]
  return last.usdMicros >= usdMicros ? kept : [...kept.slice(0, -1), { ...last, usdMicros }]
}

/** What of the most that was owned within a time is gone; a mark counts until all of it is older. Pure. */
export function lossOf(marks: readonly Mark[], { usdMicros, atMs }: Worth, withinMs: number): bigint {
  const counted = marks.filter(({ fromMs }) => fromMs > atMs - withinMs - MARK_MS)
  const most = counted.reduce((max, mark) => (mark.usdMicros > max ? mark.usdMicros : max), usdMicros)
  return most - usdMicros
}

/** What is watched of a signer's losses. */
export type LossBudget = {
  /** Look if that is due, without waiting for it. */
  readonly look: () => void
  /** Why nothing new may begin: what it owns was not read for five minutes. Null where it was. */
  readonly unread: () => Refusal | null
  /** What part of each limit was used when it looked last. */
  readonly used: () => UsedParts
}

/** Whose losses are watched, and by which limits. */
type LossOptions = Omit<WorthOptions, 'owners'> & {
  readonly role: Role
  readonly signer: Address
  /** The keys that share the policy, and so this budget. */
  readonly sharing: readonly Address[]
  readonly loss: NonNullable<Limits['loss']>
}

/**
 * Hold what the keys of a policy lose against its budget: realised, and by the marks of what they still have. Past it the
 * signer is SAFE, as each that shares the budget is by its own look, and its count begins anew from what is left, so that a
 * release grants one budget more.
 */
export function createLossBudget(
  { role, signer, sharing, loss, ...options }: LossOptions,
  { nodes, journal, signers, clock, log }: LossDeps,
): LossBudget {
  const owners = ownersOf(signer, sharing)
  // Other keys own something else: what they lost is counted from the first look at them together.
  const place = `${nodes.chainId}:${role}:${owners.join(':')}`
  const [marksKey, readAtKey] = [`worth:${place}`, `worth-read:${place}`]
  const windows = [
    { name: 'hour', withinMs: HOUR_MS, limit: loss.perHourUsdMicros },
    { name: 'day', withinMs: DAY_MS, limit: loss.perDayUsdMicros },
  ]
  let marks: readonly Mark[] | null = null
  let readAtMs = clock.nowMs()
  let used: UsedParts = {}
  const begin = async () => {
    // A start is no reading: one that is killed every few minutes would never halt.
    const known = await journal.getValue(readAtKey)
    if (known === null) await journal.setValue(readAtKey, String(readAtMs))
    else readAtMs = Number(known)
    return stored.parse(JSON.parse((await journal.getValue(marksKey)) ?? '[]'))
  }
  const look = async () => {
    marks ??= await begin()
    const worth = await readWorth({ ...options, owners }, nodes)
    const known = withMark(marks, worth)
    const lost = windows.map((window) => ({ ...window, usdMicros: lossOf(known, worth, window.withinMs) }))
    used = Object.fromEntries(
      lost.map((each) => [`loss_per_${each.name}`, partOf(each.usdMicros, each.limit)]),
    )
    const over = lost.find((each) => each.usdMicros > each.limit)
    marks = over === undefined ? known : withMark([], worth)
    if (over !== undefined) {
      signers.safe(signer, {
        check: 'loss_above_limit',
        message: `The ${role} lost ${usd(over.usdMicros)} in the last ${over.name}; the policy allows ${usd(over.limit)}.`,
        seen: `what ${owners.join(' and ')} owned by the chain, at the prices of its markets: ${usd(worth.usdMicros)} now`,
        toLeave: 'find out what was lost, and whether prices, a venue or the policy are wrong',
      })
    }
    readAtMs = clock.nowMs()
    await journal.setValue(readAtKey, String(readAtMs))
    await journal.setValue(
      marksKey,
      JSON.stringify(marks.map((mark) => ({ ...mark, usdMicros: String(mark.usdMicros) }))),
    )
  }
  const { get } = createCachedRead(look, { clock, everyMs: () => LOOK_EVERY_MS, onFailed: () => undefined })
  return {
    look: () => {
      get().catch((error: unknown) => {
        log.warn('could not read what is owned', { role, signer }, error)
      })
    },
    used: () => used,
    unread: () => {
      // Either way: by a clock that was put back, it would be long until five minutes have passed.
      const sinceMs = Math.abs(clock.nowMs() - readAtMs)
      return sinceMs < UNREAD_MS_MAX
        ? null
        : refuse(
            'worth_not_read',
            `Of what is owned by ${owners.join(' and ')}, nothing was read for ${span(sinceMs - (sinceMs % LOOK_EVERY_MS))}, so nothing is known of losses; nothing new begins.`,
          )
    },
  }
}

/** A key and those that share its limits, each once. Pure. */
const ownersOf = (signer: Address, sharing: readonly Address[]): readonly Address[] => [
  ...new Set<Address>([`0x${signer.slice(2).toLowerCase()}`, ...sharing.toSorted()]),
]

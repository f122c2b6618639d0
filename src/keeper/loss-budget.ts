import type { Address } from 'viem'
import { z } from 'zod'
import type { Nodes } from '../chain/nodes.ts'
import type { Clock } from '../clock.ts'
import { type Refusal, refuse } from '../errors.ts'
import { partOf, type UsedParts } from '../guard/budget.ts'
import type { Limits } from '../guard/policy/policy.ts'
import { readWorth, type WorthOptions } from '../guard/worth.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../ops/log.ts'
import type { Signers } from '../pipeline/transactions/safe.ts'
import type { Role } from '../service/contract/roles.ts'
import { duration, usd } from '../units.ts'
import { createRenewed } from './renewed.ts'

/** The most that a signer was worth within five minutes; millionths of a dollar. */
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

/** Add what a signer is worth now to its marks; what is older than a day goes. Pure. */
export function withMark(marks: readonly Mark[], usdMicros: bigint, nowMs: number): readonly Mark[] {
  const kept = marks.filter(({ fromMs }) => fromMs > nowMs - DAY_MS - MARK_MS)
  const last = kept.at(-1)
  if (last === undefined || nowMs - last.fromMs >= MARK_MS) return [...kept, { fromMs: nowMs, usdMicros }]
  return last.usdMicros >= usdMicros ? kept : [...kept.slice(0, -1), { ...last, usdMicros }]
}

/** What of the most that a signer was worth within a time is gone; a mark counts until all of it is older. Pure. */
export function lossOf(marks: readonly Mark[], usdMicros: bigint, nowMs: number, withinMs: number): bigint {
  const counted = marks.filter(({ fromMs }) => fromMs > nowMs - withinMs - MARK_MS)
  const most = counted.reduce((max, mark) => (mark.usdMicros > max ? mark.usdMicros : max), usdMicros)
  return most - usdMicros
}

/** What is watched of a signer's losses. */
export type LossBudget = {
  /** Look if that is due, without waiting for it. */
  readonly look: () => void
  /** Why nothing new may begin: what it owns could not be read for five minutes. Null where it was. */
  readonly unread: () => Refusal | null
  /** What part of each limit was used when it looked last. */
  readonly used: () => UsedParts
}

/**
 * Hold what a signer loses against its role's budget: realised, and by the marks of what it still has. Past it the signer is
 * SAFE, and the count begins anew from what is left, so that a release grants one budget more.
 */
export function createLossBudget(
  {
    role,
    loss,
    ...options
  }: WorthOptions & { readonly role: Role; readonly loss: NonNullable<Limits['loss']> },
  { nodes, journal, signers, clock, log }: LossDeps,
): LossBudget {
  const { owner } = options
  const key = worthKey(nodes.chainId, role, owner)
  const windows = [
    { name: 'hour', withinMs: HOUR_MS, limit: loss.perHourUsdMicros },
    { name: 'day', withinMs: DAY_MS, limit: loss.perDayUsdMicros },
  ]
  let marks: readonly Mark[] | null = null
  let used: UsedParts = {}
  const look = async () => {
    marks ??= stored.parse(JSON.parse((await journal.getValue(key)) ?? '[]'))
    const [usdMicros, nowMs] = [await readWorth(options, nodes), clock.nowMs()]
    const known = withMark(marks, usdMicros, nowMs)
    const lost = windows.map((window) => ({
      ...window,
      usdMicros: lossOf(known, usdMicros, nowMs, window.withinMs),
    }))
    used = Object.fromEntries(
      lost.map((each) => [`loss_per_${each.name}`, partOf(each.usdMicros, each.limit)]),
    )
    const over = lost.find((each) => each.usdMicros > each.limit)
    marks = over === undefined ? known : [{ fromMs: nowMs, usdMicros }]
    if (over !== undefined) {
      signers.safe(owner, {
        check: 'loss_above_limit',
        message: `The ${role} lost ${usd(over.usdMicros)} in the last ${over.name}; the policy allows ${usd(over.limit)}.`,
        seen: `what it owned by the chain, at the prices of its markets: ${usd(usdMicros)} now`,
        toLeave: 'find out what was lost, and whether prices, a venue or the policy are wrong',
      })
    }
    await journal.setValue(
      key,
      JSON.stringify(marks.map((mark) => ({ ...mark, usdMicros: String(mark.usdMicros) }))),
    )
    return usdMicros
  }
  let unreadSinceMs: number | null = null
  const { get } = createRenewed(look, { clock, everyMs: () => LOOK_EVERY_MS, onFailed: () => undefined })
  return {
    look: () => {
      get().then(
        () => {
          unreadSinceMs = null
        },
        (error: unknown) => {
          unreadSinceMs ??= clock.nowMs()
          log.warn('could not read what a signer is worth', { role, signer: owner }, error)
        },
      )
    },
    used: () => used,
    unread: () => {
      // Either way: by a clock that was put back, it would be long until five minutes have passed.
      const sinceMs = unreadSinceMs === null ? 0 : Math.abs(clock.nowMs() - unreadSinceMs)
      return sinceMs < UNREAD_MS_MAX
        ? null
        : refuse(
            'worth_not_read',
            `What ${owner} owns could not be read for ${duration(sinceMs - (sinceMs % LOOK_EVERY_MS))}, so nothing is known of losses; nothing new begins.`,
          )
    },
  }
}

const worthKey = (chainId: number, role: Role, signer: Address) =>
  `worth:${chainId}:${role}:${signer.toLowerCase()}`

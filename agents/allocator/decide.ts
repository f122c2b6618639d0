import type { Address } from 'viem'
import { span } from '../../src/readable.js'
import { inputText } from '../../src/workflow/proposal.ts'
import { type Decision, type InFlight, type Moment, type PassedOver, passOver } from '../agent.ts'
import { judgeVault, type OpenVault } from './judge-vault.ts'
import type { AllocatorPolicy } from './policy.ts'
import type { AllocatorSeen, VaultLook } from './seen.ts'
import { changeIn, proposeTogether } from './together.ts'
import { vaultMarketsOf } from './vault-markets.ts'
import { proposeWithdrawals } from './withdrawals.ts'

type Observed = Moment & AllocatorSeen

/**
 * Decide for each vault the one move that comes first, and say of everything else why not. Pure. Redemptions that are
 * due come before everything, then leaving what is impaired, then yield: of all vaults together, which share markets.
 */
export function decide(seen: Observed, policy: AllocatorPolicy): Decision {
  const firsts = seen.vaults.map((look) => decideVault(look, seen, policy))
  const duties = firsts.flatMap(({ proposals }) => proposals)
  const changes = new Map(duties.map((duty) => [duty.subject as Address, changeIn(duty)]))
  const open = firsts.flatMap(({ open: vault }) => vault ?? [])
  const outcomes = proposeTogether(open, changes, seen, policy)
  const yields = firsts.map((first) => (first.open === undefined ? undefined : outcomes.get(first.open)))
  const times = firsts.flatMap(({ lookAgainAtMs }) => lookAgainAtMs ?? [])
  return {
    proposals: firsts.flatMap(({ proposals }, index) => {
      const found = yields[index]
      return found === undefined || 'check' in found ? proposals : [found]
    }),
    passedOver: firsts.flatMap(({ passedOver }, index) => {
      const found = yields[index]
      return found === undefined || !('check' in found) ? passedOver : [...passedOver, found]
    }),
    ...(times.length === 0 ? {} : { lookAgainAtMs: Math.min(...times) }),
  }
}

/** What is decided of a vault by itself; `open` where it may move for yield, which all vaults decide together. */
type First = Decision & { readonly open?: OpenVault }

function decideVault(look: VaultLook, seen: Observed, policy: AllocatorPolicy): First {
  const { address: subject } = look
  if (!seen.freshness.ok) {
    const stop = {
      check: 'observation_not_fresh',
      message: seen.freshness.message,
      reason: { ageMs: seen.freshness.ageMs },
    }
    return leave(passOver(subject, stop))
  }
  const ours = seen.inFlight.filter(({ input }) => inputText(input, 'vaultAddress') === subject)
  const underWay = ({ workflowId }: InFlight) =>
    passOver(subject, { check: 'already_in_flight', message: `Workflow ${workflowId} moves this vault.` })
  const busy = ours.find(({ held }) => held !== true)
  if (busy !== undefined) return leave(underWay(busy))
  const vault = judgeVault(look, seen, policy)
  if ('check' in vault) return leave(passOver(subject, vault))
  const vaultMarkets = vaultMarketsOf(vault, seen, policy)
  const withdrawal = proposeWithdrawals(vault, vaultMarkets, policy)
  // Neither a move for yield that waits for a person nor one that failed keeps those who leave from their money.
  const waiting = ours.find(
    ({ kind }) => withdrawal === null || !('kind' in withdrawal) || kind === withdrawal.kind,
  )
  if (waiting !== undefined) return leave(underWay(waiting))
  const failed = lastFailure(subject, seen)
  const holdsUp = failed !== undefined && (withdrawal === null || failed.kind !== 'yield')
  if (holdsUp && isWithin(policy.retryAfterS, failed, seen)) {
    const message = `The last move ended ${failed.state} (${failed.check ?? 'no check'}); the policy waits ${span(policy.retryAfterS * 1_000)}.`
    const lookAgainAtMs = failed.endedAtMs + policy.retryAfterS * 1_000
    return { ...leave(passOver(subject, { check: 'backing_off', message })), lookAgainAtMs }
  }
  const markets = vaultMarkets.flatMap(
    ({ marketAddress, name, impaired, closed, heldAssets, cashAssets }) => {
      const stop = impaired ?? closed
      if (stop === null || stop === vault.supplyStop) return []
      return [
        {
          subject: `${subject}:${marketAddress}`,
          check: stop.check,
          message: `${name}: ${stop.message}`,
          ...(stop.alarm === undefined ? {} : { alarm: stop.alarm }),
          reason: { heldAssets: String(heldAssets), cashAssets: String(cashAssets), ...stop.reason },
        },
      ]
    },
  )
  const next = nextDueMs(vault, seen, policy)
  const times = next === null ? {} : { lookAgainAtMs: next }
  const outcome = withdrawal ?? cooling(vault, seen, policy) ?? neighbourMoving(look, seen)
  if (outcome === null) return { proposals: [], passedOver: markets, open: vault, ...times }
  return 'check' in outcome
    ? { proposals: [], passedOver: [...markets, outcome], ...times }
    : { proposals: [outcome], passedOver: markets, ...times }
}

const leave = (one: PassedOver): Decision => ({ proposals: [], passedOver: [one] })

const movesVault = (subject: string) => (one: Observed['recent'][number]) =>
  inputText(one.input, 'vaultAddress') === subject

/** The newest end in a vault, where that was no success. */
function lastFailure(subject: string, { recent }: Observed) {
  const last = recent.find(movesVault(subject))
  return last === undefined || last.state === 'succeeded' || last.state === 'shadowed' ? undefined : last
}

/** Whether a wait still runs; what ended a whole wait ahead of now ended by a clock that has gone back since. */
function isWithin(waitS: number, { endedAtMs }: Observed['recent'][number], { nowMs }: Observed): boolean {
  const leftMs = endedAtMs + waitS * 1_000 - nowMs
  return leftMs > 0 && leftMs <= 2 * waitS * 1_000
}

/** Why nothing is moved for yield yet; null when it may be. Withdrawals that must be cool nothing. */
function cooling(vault: OpenVault, seen: Observed, { yields }: AllocatorPolicy): PassedOver | null {
  const subject = vault.look.address
  const last = seen.recent
    .filter(movesVault(subject))
    .find(({ kind }) => kind === 'yield' || kind === 'leave')
  if (last === undefined) return null
  if (!isWithin(yields.cooldownS, last, seen)) return null
  const passedS = Math.max(0, seen.nowMs - last.endedAtMs) / 1_000
  const message = `The last move ended ${span(Math.floor(passedS) * 1_000)} ago; the policy waits ${span(yields.cooldownS * 1_000)}.`
  return { subject, check: 'cooling_down', message, reason: {}, near: passedS / yields.cooldownS }
}

/** What is under way in another vault over the same markets: whether it was mined already is not known. */
function neighbourMoving(
  { address, allocations }: VaultLook,
  { vaults, inFlight }: Observed,
): PassedOver | null {
  const markets = new Set(allocations.map(({ marketAddress }) => marketAddress))
  const neighbours = vaults.filter((other) =>
    other.allocations.some(({ marketAddress }) => markets.has(marketAddress)),
  )
  const moving = inFlight.find(
    ({ input, held }) =>
      held !== true && neighbours.some((other) => other.address === inputText(input, 'vaultAddress')),
  )
  if (moving === undefined) return null
  const message = `Workflow ${moving.workflowId} moves another vault over the same markets; this one decides after it.`
  return passOver(address, { check: 'neighbour_moving', message })
}

/** When the next request comes near enough to be funded, or what cools may move again. */
function nextDueMs({ look, books }: OpenVault, seen: Observed, policy: AllocatorPolicy): number | null {
  const { redemptions, yields } = policy
  const due = (books.requests ?? [])
    .map(({ dueAtS }) => (dueAtS - redemptions.leadS) * 1_000)
    .find((atMs) => atMs > seen.nowMs)
  const cooled = seen.recent
    .filter(movesVault(look.address))
    .map(({ endedAtMs }) => endedAtMs + yields.cooldownS * 1_000)
    .find((atMs) => atMs > seen.nowMs)
  const times = [due, cooled].filter((atMs) => atMs !== undefined)
  return times.length === 0 ? null : Math.min(...times)
}

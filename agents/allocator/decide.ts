import { inputText } from '../../src/workflow/proposal.ts'
import { type Decision, type InFlight, type Moment, type PassedOver, passOver } from '../agent.ts'
import { judgeVault, type OpenVault } from './judge-vault.ts'
import type { AllocatorPolicy } from './policy.ts'
import type { AllocatorSeen, VaultLook } from './seen.ts'
import { vaultMarketsOf } from './vault-markets.ts'
import { proposeWithdrawals } from './withdrawals.ts'
import { proposeYield } from './yield.ts'

type Observed = Moment & AllocatorSeen

/**
 * Decide for each vault the one move that comes first, and say of everything else why not. Pure. Redemptions that are
 * due come before everything, then leaving what is impaired, then yield.
 */
export function decide(seen: Observed, policy: AllocatorPolicy): Decision {
  const decisions = seen.vaults.map((vault) => decideVault(vault, seen, policy))
  const times = decisions.flatMap(({ lookAgainAtMs }) => lookAgainAtMs ?? [])
  return {
    proposals: decisions.flatMap(({ proposals }) => proposals),
    passedOver: decisions.flatMap(({ passedOver }) => passedOver),
    ...(times.length === 0 ? {} : { lookAgainAtMs: Math.min(...times) }),
  }
}

function decideVault(look: VaultLook, seen: Observed, policy: AllocatorPolicy): Decision {
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
    const message = `The last move ended ${failed.state} (${failed.check ?? 'no check'}); the policy waits ${policy.retryAfterS} s.`
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
          reason: { heldAssets: String(heldAssets), cashAssets: String(cashAssets) },
        },
      ]
    },
  )
  const outcome =
    withdrawal ?? cooling(vault, seen, policy) ?? proposeYield(vault, vaultMarkets, seen, policy)
  const next = nextDueMs(vault, seen, policy)
  return {
    ...('check' in outcome
      ? { proposals: [], passedOver: [...markets, outcome] }
      : { proposals: [outcome], passedOver: markets }),
    ...(next === null ? {} : { lookAgainAtMs: next }),
  }
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
  const message = `The last move ended ${Math.floor(passedS)} s ago; the policy waits ${yields.cooldownS} s.`
  return { subject, check: 'cooling_down', message, reason: {}, near: passedS / yields.cooldownS }
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

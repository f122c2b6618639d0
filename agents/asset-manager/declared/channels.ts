import type { Address } from 'viem'
import type { Difference, Moment, Stop } from '../../agent.ts'
import type { ChannelPolicy, ManagerSeen } from '../seen.ts'
import { whyNotAgain } from './again.ts'
import type { DeclaredChannelPolicy } from './declared.ts'
import { asDeclared, changesText, differ, doneAbout, isUnderWay, leave } from './difference.ts'
import { approach, figuresText, least } from './settings-step.ts'

type Seen = Moment & ManagerSeen

/**
 * Compare a declared channel policy with the fund's. Pure. What is stricter comes first and alone; what is looser waits
 * for it, and is proposed only where the declaration allows loosening.
 */
export function compareChannel(declared: DeclaredChannelPolicy, seen: Seen): Difference {
  const subject = `channel:${declared.fund}:${declared.channel}`
  const fund = fundOf(declared, seen)
  if ('check' in fund) return leave(subject, fund)
  const { address, there, epochId } = fund
  const wanted: ChannelPolicy = {
    enabled: declared.enabled,
    maxAssetsPerEpoch: declared.maxAssetsPerEpoch,
    maxPriceBps: declared.maxPriceBps,
    maxPositionBps: declared.maxPositionBps,
  }
  const found = approach(there, wanted, stricter(there, wanted))
  if (found === null) return asDeclared(subject)
  const { to: next, changes, direction } = found
  const kind = direction === 'stricter' ? 'tighten' : 'loosen'
  if (isUnderWay(seen, { subject, kind })) {
    const message = 'A workflow of ours sets this policy already.'
    return leave(subject, { check: 'already_in_flight', message }, direction, changes)
  }
  if (direction === 'looser' && !declared.allowLoosening) {
    const message = `It is stricter than declared: ${changesText(changes)}. Fix: declare what is there, or allowLoosening: "true".`
    return leave(subject, { check: 'loosening_not_allowed', message }, direction, changes)
  }
  const workflowType = 'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet'
  const from = figuresText(there)
  const input = {
    fundAddress: address,
    channel: declared.channel,
    enabled: next.enabled,
    maxAssetsPerEpoch: String(next.maxAssetsPerEpoch),
    maxPriceBps: next.maxPriceBps,
    maxPositionBps: next.maxPositionBps,
  }
  const again = whyNotAgain(subject, { workflowType, direction, input, from }, seen)
  if (again !== null) return leave(subject, again, direction, changes)
  // A policy has no counter: the epoch and what was done of late distinguish the same figures when they come back.
  const last = doneAbout(seen, subject)[0]?.workflowId ?? 'none'
  const occurrence = `epoch:${epochId},after:${last},${from}`
  const summary = `${declared.fund} (${address}), ${declared.channel}: ${changesText(changes)}`
  const step = { workflowType, kind, subject, occurrence, comesBack: true, input, summary } as const
  return differ(step, direction, changes, direction === 'looser')
}

type DeclaredChannel = { readonly address: Address; readonly there: ChannelPolicy; readonly epochId: bigint }

function fundOf({ fund: name, channel }: DeclaredChannelPolicy, seen: Seen): DeclaredChannel | Stop {
  const address = seen.deployment.funds.find((pinned) => pinned.name === name)?.address
  if (address === undefined) {
    const message = `No fund of the deployment is called ${name}. Fix: give its entry in deployment.funds that name.`
    return { check: 'fund_not_pinned', message }
  }
  const figures = seen.funds.find(({ row }) => row.address === address)?.figures ?? null
  if (figures === null) {
    return { check: 'fund_not_read', message: `Our reads of fund ${address} failed, or it is not ours.` }
  }
  return { address, there: figures.channels[channel], epochId: figures.epochId }
}

/** The stricter of both, figure by figure. Pure. */
const stricter = (one: ChannelPolicy, other: ChannelPolicy): ChannelPolicy => ({
  enabled: one.enabled && other.enabled,
  maxAssetsPerEpoch: least(one.maxAssetsPerEpoch, other.maxAssetsPerEpoch),
  maxPriceBps: Math.min(one.maxPriceBps, other.maxPriceBps),
  maxPositionBps: Math.min(one.maxPositionBps, other.maxPositionBps),
})

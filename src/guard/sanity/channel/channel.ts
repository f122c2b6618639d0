import type { Address } from 'viem'
import type { z } from 'zod'
import { type Refusal, refuse } from '../../../errors.ts'
import type { WorkflowType } from '../../../service/contract/workflow-types.ts'
import { bps, settings } from '../../../service/contract/yaml-scalars.ts'
import { amountText, baseUnits, percent } from '../../../units.ts'
import type { Subject } from '../../policy/references.ts'
import { asAddress, asUint } from '../../policy/values.ts'
import { account, figure, type JudgedCase, type Judgement, type SanityCheck, unread } from '../judgement.ts'
import { BPS } from '../units.ts'
import { blockedView, CHANNEL_VIEWS, channelPartyView, claimableView, conversionView } from './views.ts'

/** Members of `guard.sanity` of every role that goes through a partner's channel. */
export const channelLimits = {
  channel: settings({
    /** How far the minimum of a deposit, a redemption or a claim may be below what the channel says now. */
    slippageBpsMax: bps(0, 1_000).transform(BigInt),
    /** What the shares of a deposit are worth at least, of what is paid: a price that somebody inflated is less. */
    worthBpsMin: bps(5_000).transform(BigInt),
  }),
}
type Limits = Readonly<z.output<z.ZodObject<typeof channelLimits>>>['channel']

/** Ask whether a channel is open to each of these, and wraps a vault that is pinned. */
function askOpen({ subject, before }: JudgedCase, channel: Address, accounts: readonly Address[]) {
  const vault = before.ask(channelPartyView(channel, 'vault'))
  const blocked = [channel, ...accounts].map((each) => ({
    account: each,
    isBlocked: before.ask(blockedView(channel, each)),
  }))
  return (): Refusal | null => {
    const wrapped = vault()
    if (wrapped === null) return unread('which vault the channel wraps')
    if (!subject.deployment.vaults.some(({ address }) => address === wrapped)) {
      return refuse(
        'wrapped_vault_not_pinned',
        `The channel wraps ${wrapped}, which is not in deployment.vaults.`,
      )
    }
    for (const { account: who, isBlocked } of blocked) {
      const found = isBlocked()
      if (found === null) return unread('who may use the channel')
      if (found && who === channel) return refuse('channel_blocked', `The channel ${channel} is blocked.`)
      if (found) return refuse('account_blocked', `The channel ${channel} is blocked for ${who}.`)
    }
    return null
  }
}

/** What is insisted on: its name in the request, how much, and how an amount of it is said. */
type Minimum = {
  readonly name: 'minShares' | 'minAssets'
  readonly least: bigint
  readonly say: (amount: bigint) => string
}

/** Refuse a minimum that is further below what would come now than the policy allows, and one that is above it. */
function checkMinimum(
  { name, least, say }: Minimum,
  now: bigint,
  { slippageBpsMax }: Limits,
): Refusal | null {
  // Rounded up, and at least something; as a request writes it, and for people.
  const allowed = (now * (BPS - slippageBpsMax) + BPS - 1n) / BPS || 1n
  const written = (amount: bigint) => `${amount} (${say(amount)})`
  if (least > now) {
    return refuse(
      'minimum_too_high',
      `${name} is ${written(least)}; only ${written(now)} would come now, and the least allowed is ${written(allowed)}.`,
    )
  }
  if (least >= allowed) return null
  return refuse(
    'minimum_too_low',
    `${name} is ${written(least)}; the least allowed is ${written(allowed)}, ${percent(slippageBpsMax)} below the ${say(now)} that would come now.`,
  )
}

/** Judge a deposit through a channel: it is open, and the shares that are insisted on are worth what is paid. */
function judgeDeposit(limits: Limits, about: JudgedCase): Judgement {
  const { subject, before, after } = about
  const channel = account(about, 'wrapperAddress')
  const [assets, minShares] = [figure(about, 'assets'), figure(about, 'minShares')]
  const open = askOpen(about, channel, [subject.self])
  const token = before.ask(channelPartyView(channel, 'asset'))
  const preview = before.ask(conversionView(channel, 'previewDeposit', assets))
  const worth = before.ask(conversionView(channel, 'convertToAssets', minShares))
  const worthAfter = after.ask(conversionView(channel, 'convertToAssets', minShares))
  const checkWorth = (read: () => bigint | null): Refusal | null => {
    const [found, of] = [read(), token()]
    if (found === null || of === null) return unread('what the shares are worth')
    if (found * BPS >= assets * limits.worthBpsMin) return null
    const say = (amount: bigint) => amountText(amount, of, subject.deployment)
    return refuse(
      'share_price_unsound',
      `${say(assets)} would be paid for shares worth ${say(found)}; the policy demands ${percent(limits.worthBpsMin)}.`,
    )
  }
  return {
    checkState: () => {
      const shares = preview()
      if (shares === null) return unread('what a deposit comes to')
      const minimum = { name: 'minShares', least: minShares, say: sayShares } as const
      return open() ?? checkMinimum(minimum, shares, limits) ?? checkWorth(worth)
    },
    checkOutcome: () => checkWorth(worthAfter),
  }
}

const sayShares = (amount: bigint): string => `${baseUnits(amount)} of shares`

/** Judge a redemption through a channel: it is open, exactly these shares leave, and what is insisted on is what they are worth. */
function judgeRedeem(limits: Limits, about: JudgedCase): Judgement {
  const { subject, before } = about
  const channel = account(about, 'wrapperAddress')
  const [shares, minAssets] = [figure(about, 'shares'), figure(about, 'minAssets')]
  const open = askOpen(about, channel, [subject.self])
  const token = before.ask(channelPartyView(channel, 'asset'))
  const preview = before.ask(conversionView(channel, 'previewRedeem', shares))
  return {
    checkState: () => {
      const [assets, of] = [preview(), token()]
      if (assets === null || of === null) return unread('what a redemption comes to')
      const say = (amount: bigint) => amountText(amount, of, subject.deployment)
      return open() ?? checkMinimum({ name: 'minAssets', least: minAssets, say }, assets, limits)
    },
    checkOutcome: ({ changeOf }) => checkShares(-changeOf(channel), shares),
  }
}

function checkShares(moved: bigint, wanted: bigint): Refusal | null {
  if (moved === wanted) return null
  return refuse('shares_differ', `${sayShares(moved)} would move; ${sayShares(wanted)} were asked for.`)
}

function checkReseller(reseller: Address | null, self: Address): Refusal | null {
  if (reseller === null) return unread('who earns the channel’s fees')
  return reseller === self ? null : refuse('not_reseller', `The channel’s fees are ${reseller}'s.`)
}

/** Judge a claim of shares that the yearly fee earned: they are ours, there are so many, and exactly these come. */
function judgeFeeShares(about: JudgedCase): Judgement {
  const { subject, before, after } = about
  const channel = account(about, 'channelAddress')
  const shares = figure(about, 'shares')
  const open = askOpen(about, channel, [subject.self])
  const reseller = before.ask(channelPartyView(channel, 'reseller'))
  const claimable = before.ask(claimableView(channel, 'feeShares'))
  const counted = claimableView(channel, 'feeSharesClaimed')
  const [was, is] = [before.ask(counted), after.ask(counted)]
  return {
    checkState: () => {
      const most = claimable()
      if (most === null) return unread('what can be claimed')
      const mine = checkReseller(reseller(), subject.self) ?? open()
      if (mine !== null || (shares > 0n && shares <= most)) return mine
      return refuse('fee_shares_too_few', `${sayShares(shares)} are asked for; there are ${sayShares(most)}.`)
    },
    checkOutcome: ({ changeOf }) =>
      checkShares(changeOf(channel), shares) ?? checkCounted(was(), is(), shares),
  }
}

/** Demand that the channel counts as claimed what was claimed, so that nothing is claimed twice. */
function checkCounted(was: bigint | null, is: bigint | null, claimed: bigint): Refusal | null {
  if (was === null || is === null) return unread('what was claimed')
  if (is - was === claimed) return null
  return refuse('claim_not_counted', 'The channel would not count as claimed what comes in.')
}

/** Judge a claim of what borrowers' interest earned: it is ours, and what is insisted on is what there is. */
function judgeBorrowerFee(limits: Limits, about: JudgedCase): Judgement {
  const { subject, before, after } = about
  const channel = account(about, 'channelAddress')
  const open = askOpen(about, channel, [subject.self])
  const reseller = before.ask(channelPartyView(channel, 'reseller'))
  const token = before.ask(channelPartyView(channel, 'asset'))
  const claimable = before.ask(claimableView(channel, 'borrowerFeeAssets'))
  const counted = claimableView(channel, 'borrowerFeeClaimed')
  const [was, is] = [before.ask(counted), after.ask(counted)]
  return {
    checkState: () => {
      const [assets, of] = [claimable(), token()]
      if (assets === null || of === null) return unread('what can be claimed')
      const say = (amount: bigint) => amountText(amount, of, subject.deployment)
      return (
        checkReseller(reseller(), subject.self) ??
        open() ??
        checkMinimum({ name: 'minAssets', least: figure(about, 'minAssets'), say }, assets, limits)
      )
    },
    checkOutcome: ({ changeOf }) => {
      const of = token()
      return of === null ? unread('what is claimed') : checkCounted(was(), is(), changeOf(of))
    },
  }
}

const OPEN: SanityCheck['revalidations'] = ['channel_open', 'intent_not_expired']
const RESELLER: SanityCheck['revalidations'] = ['channel_reseller', 'intent_not_expired']

/** What leaves for a minimum in the channel's asset counts as that minimum, which the judgement holds to the chain's. */
const countsAsMinimum = ({ input, effects, ...rest }: Omit<Subject, 'deadlineS'>) => ({
  token: asAddress(effects?.in[0]?.token.resolve({ input, effects, ...rest, deadlineS: 0n })) ?? null,
  assets: asUint(input.minAssets) ?? 0n,
})

/** The judgements of deposits and redemptions through a channel, of a role of the service's. Pure. */
export const wrapperChecks = (
  role: 'investor' | 'partner',
  { channel }: { readonly channel: Limits },
): readonly (readonly [WorkflowType, SanityCheck])[] => [
  [
    `role.${role}.partnerWrapperDeposit`,
    {
      views: CHANNEL_VIEWS,
      relies: ['wrapperAddress', 'assets', 'minShares'],
      callee: 'wrapperAddress',
      revalidations: OPEN,
      judge: (about) => judgeDeposit(channel, about),
    },
  ],
  [
    `role.${role}.partnerWrapperRedeem`,
    {
      views: CHANNEL_VIEWS,
      relies: ['wrapperAddress', 'shares', 'minAssets'],
      callee: 'wrapperAddress',
      revalidations: OPEN,
      counts: countsAsMinimum,
      judge: (about) => judgeRedeem(channel, about),
    },
  ],
]

/** The judgements of what a reseller claims. Pure. */
export const claimChecks = ({
  channel,
}: {
  readonly channel: Limits
}): readonly (readonly [WorkflowType, SanityCheck])[] => [
  [
    'role.partner.partnerFeeSharesClaim',
    {
      views: CHANNEL_VIEWS,
      relies: ['channelAddress', 'shares'],
      callee: 'channelAddress',
      revalidations: RESELLER,
      judge: judgeFeeShares,
    },
  ],
  [
    'role.partner.partnerBorrowerFeeClaim',
    {
      views: CHANNEL_VIEWS,
      relies: ['channelAddress', 'minAssets'],
      callee: 'channelAddress',
      revalidations: RESELLER,
      judge: (about) => judgeBorrowerFee(channel, about),
    },
  ],
]

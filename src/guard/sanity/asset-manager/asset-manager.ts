import type { Address } from 'viem'
import type { z } from 'zod'
import { invariant, type Refusal, refuse } from '../../../errors.ts'
import { span } from '../../../readable.js'
import { settings } from '../../../service/contract/yaml-scalars.ts'
import { time } from '../../../units.ts'
import { asUint } from '../../policy/values.ts'
import { BAD_DEBT_VIEWS } from '../bad-debt.ts'
import { blockCheck } from '../channel/block.ts'
import { deploymentCheck } from '../channel/deployment.ts'
import { type JudgedCase, type Judgement, type RoleSanity, unread } from '../judgement.ts'
import { checkLoosening } from '../loosening.ts'
import { ownershipChecks, ownershipLimits } from '../ownership/ownership.ts'
import { PRICE_VIEWS } from '../price.ts'
import { referencesOf } from '../second-price.ts'
import { bidLimits, judgeBid } from './bid.ts'
import { askTrouble, checkTrouble, pauseLimits } from './trouble.ts'
import {
  BID_VIEWS,
  CHANNEL_VIEWS,
  type ChannelRead,
  channelView,
  MOBILITY_VIEWS,
  managerView,
  mobilityView,
  roleView,
  standsStillView,
  TROUBLE_VIEWS,
} from './views.ts'

const limitsSchema = settings({
  ...bidLimits,
  ...pauseLimits,
  ...ownershipLimits,
})
type Limits = z.output<typeof limitsSchema>

/**
 * Judge a channel policy by chain reads: we manage the fund, what is said to be stricter is so in every figure, what is
 * looser was said to be, and afterwards it is exactly what was asked for.
 */
function judgeChannel({ subject, proposal, before, after }: JudgedCase): Judgement {
  const { fund, self, input } = subject
  invariant(fund !== null, 'a channel policy names its fund')
  const channel = String(input.channel)
  const manager = before.ask(managerView(fund.address))
  const now = before.ask(channelView(fund.address, channel))
  const then = after.ask(channelView(fund.address, channel))
  const wanted: ChannelRead = {
    enabled: input.enabled === true,
    maxAssetsPerEpoch: asUint(input.maxAssetsPerEpoch) ?? 0n,
    maxPriceBps: asUint(input.maxPriceBps) ?? 0n,
    maxPositionBps: asUint(input.maxPositionBps) ?? 0n,
  }
  return {
    checkState: () => {
      const [who, policy] = [manager(), now()]
      if (who === null || policy === null) return unread('the fund’s manager and policy')
      if (who !== self) return refuse('not_manager', `The fund ${fund.address} is managed by ${who}.`)
      return isLooser(policy, wanted) ? checkLoosening(proposal) : null
    },
    checkOutcome: () => {
      const policy = then()
      if (policy === null) return unread('the policy afterwards')
      if (same(policy, wanted)) return null
      return refuse('policy_not_set', 'Afterwards the fund would have another policy than was asked for.')
    },
  }
}

const isLooser = (from: ChannelRead, to: ChannelRead) =>
  (to.enabled && !from.enabled) ||
  to.maxAssetsPerEpoch > from.maxAssetsPerEpoch ||
  to.maxPriceBps > from.maxPriceBps ||
  to.maxPositionBps > from.maxPositionBps

const same = (one: ChannelRead, other: ChannelRead) => !isLooser(one, other) && !isLooser(other, one)

/**
 * Judge an action on a vault's mobility by chain reads: we may do it, it changes something, a pause has its reason on
 * chain and is no longer than the policy allows, what is said to be stricter is so, and afterwards it is as was asked for.
 */
function judgeMobility(limits: Limits, about: JudgedCase): Judgement {
  const { pauseSecondsMax } = limits
  const { subject, proposal, before, after } = about
  const { vault, self, input } = subject
  invariant(vault !== null, 'an action on mobility names its vault')
  const at: Address = vault.address
  const [role, profile] = [before.ask(roleView(at, self)), before.ask(mobilityView(at, 'transferProfile'))]
  const [paused, restore] = [before.ask(standsStillView(at)), before.ask(mobilityView(at, 'restoreAfter'))]
  const epoch = before.ask(mobilityView(at, 'mobilityEpoch'))
  const thenPaused = after.ask(standsStillView(at))
  const thenProfile = after.ask(mobilityView(at, 'transferProfile'))
  const thenEpoch = after.ask(mobilityView(at, 'mobilityEpoch'))
  const wanted = BigInt(PROFILES.indexOf(String(input.transferProfile)))
  const trouble = askTrouble(limits, about, at)

  function position(timestampS: number): Refusal | null {
    const [mayGovern, isPaused, restoreAfterS, current] = [role(), paused(), restore(), profile()]
    if (mayGovern === null || isPaused === null || restoreAfterS === null || current === null) {
      return unread('the vault’s mobility')
    }
    const nowS = BigInt(timestampS)
    const anyone = input.action === 'restore' && nowS >= restoreAfterS
    if (!mayGovern && !anyone) return refuse('not_manager', `The vault ${at} does not give us MANAGER_ROLE.`)
    switch (input.action) {
      case 'pause':
        return isPaused ? refuse('already_paused', 'The shares stand still already.') : checkUntil(nowS)
      case 'restore':
        if (!isPaused) return refuse('not_paused', 'The shares do not stand still.')
        return nowS < restoreAfterS ? checkLoosening(proposal) : null
      case 'set_transfer_profile':
        return wanted < current ? checkLoosening(proposal) : null
      default:
        return input.trusted === true ? checkLoosening(proposal) : null
    }
  }

  function checkUntil(nowS: bigint): Refusal | null {
    const until = asUint(input.restoreAfterTimestamp) ?? 0n
    if (until > nowS && until - nowS <= pauseSecondsMax) return null
    return refuse(
      'pause_out_of_range',
      `The pause would end at ${time(until)}; it is ${time(nowS)}, and the policy allows ${span(pauseSecondsMax * 1_000n)}.`,
    )
  }

  function outcome(): Refusal | null {
    const [was, is, isPaused, current] = [epoch(), thenEpoch(), thenPaused(), thenProfile()]
    if (was === null || is === null || isPaused === null || current === null) {
      return unread('the vault’s mobility afterwards')
    }
    const asAsked =
      is === was + 1n &&
      (input.action !== 'pause' || isPaused) &&
      (input.action !== 'restore' || !isPaused) &&
      (input.action !== 'set_transfer_profile' || current === wanted)
    return asAsked ? null : refuse('mobility_not_set', 'Afterwards the vault would not be as was asked for.')
  }

  const checkState = (timestampS: number) => position(timestampS) ?? checkTrouble(trouble, subject, proposal)
  return { checkState, checkOutcome: outcome }
}

/** As the contract numbers them, from the loosest on. */
const PROFILES: readonly string[] = ['open', 'trusted_recipients', 'frozen']

/** The asset manager's judgements. Launches have no state of their own before: rules and simulation judge them. */
export const assetManagerSanity: RoleSanity<Limits> = {
  limits: () => limitsSchema,
  contracts: ({ assets }) => referencesOf('assets', assets),
  strategy: [
    { of: 'priceAgeMax', is: 'atMost', to: 'guard.sanity.priceAgeMax' },
    { of: 'concentrationMax', is: 'atMost', to: 'guard.sanity.concentrationMax' },
    { of: 'positionMax', is: 'atMost', to: 'guard.sanity.positionMax' },
    { of: 'borrowerMax', is: 'atMost', to: 'guard.sanity.borrowerMax' },
    { of: 'marketMax', is: 'atMost', to: 'guard.sanity.marketMax' },
    { of: 'closeMargin', is: 'atLeast', to: 'guard.sanity.closeMargin' },
    { of: 'pause', is: 'atMost', to: 'guard.sanity.pauseMax', coversMore: true },
    { of: 'badDebtMax', is: 'atLeast', to: 'guard.sanity.badDebtMax' },
  ],
  checks: (limits) => [
    [
      'role.asset_manager.distressedRecoveryAcquisitionV3Bid',
      {
        views: [...BID_VIEWS, ...PRICE_VIEWS],
        relies: ['fundAddress', 'acquisitionAddress', 'lotId', 'bidAssets'],
        revalidations: ['intent_not_expired'],
        judge: (about) => judgeBid(limits, about),
      },
    ],
    [
      'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet',
      {
        views: CHANNEL_VIEWS,
        relies: ['fundAddress', 'channel', 'enabled', 'maxAssetsPerEpoch', 'maxPriceBps', 'maxPositionBps'],
        revalidations: ['intent_not_expired'],
        judge: judgeChannel,
      },
    ],
    [
      'role.asset_manager.vaultShareMobilityManagerAction',
      {
        views: [...MOBILITY_VIEWS, ...TROUBLE_VIEWS, ...BAD_DEBT_VIEWS, ...PRICE_VIEWS],
        relies: ['vaultAddress', 'restoreAfterTimestamp', 'transferProfile', 'recipientAddress', 'trusted'],
        revalidations: ['intent_not_expired'],
        judge: (about) => judgeMobility(limits, about),
      },
    ],
    deploymentCheck('vault_manager'),
    blockCheck,
    // Where we own what we manage.
    ...ownershipChecks(limits),
  ],
}

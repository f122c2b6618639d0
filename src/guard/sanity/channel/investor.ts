import type { z } from 'zod'
import { type Refusal, refuse } from '../../../errors.ts'
import {
  bps,
  count,
  ofToken,
  pinnedSymbol,
  positiveAssets,
  settings,
} from '../../../service/contract/yaml-scalars.ts'
import { amountText, baseUnits, type Denomination, percent, time } from '../../../units.ts'
import type { Subject } from '../../policy/references.ts'
import { asUint } from '../../policy/values.ts'
import { balanceView } from '../../reads/views.ts'
import {
  account,
  figure,
  type JudgedCase,
  type Judgement,
  type RoleSanity,
  type SanityCheck,
  unread,
  vaultOf,
} from '../judgement.ts'
import { BPS } from '../units.ts'
import {
  HOLDER_VIEWS,
  requestView,
  sharesWorthView,
  trustedView,
  vaultAssetView,
  vaultFigureView,
  vaultFlagView,
} from '../vault-views.ts'
import { channelLimits, wrapperChecks } from './channel.ts'

const sharesLimits = (assets: readonly Denomination[]) =>
  ofToken(
    assets,
    'asset',
    settings({
      /** What the vaults lend, and the decimals of their shares. */
      asset: pinnedSymbol,
      decimals: count('decimals', 0, 36),
      /** What one whole share counts as in all budgets; one that the chain says is worth more is not moved. */
      priceAssetsMax: positiveAssets(assets),
      /** What a due request pays at least, of what its shares were worth before. */
      paidBpsMin: bps(5_000).transform(BigInt),
    }),
  )

const limitsSchema = (assets: readonly Denomination[]) =>
  settings({ ...channelLimits, shares: sharesLimits(assets) })
type Limits = z.output<ReturnType<typeof limitsSchema>>
type Shares = Limits['shares']

/** What so many shares count as, base units of the asset, rounded up. */
const counted = (shares: bigint, { decimals, priceAssetsMax }: Shares): bigint => {
  const whole = 10n ** BigInt(decimals)
  return (shares * priceAssetsMax + whole - 1n) / whole
}

const countsShares =
  (limits: Shares) =>
  ({ input, deployment }: Omit<Subject, 'deadlineS'>) => ({
    token: deployment.assets.find(({ symbol }) => symbol === limits.asset)?.address ?? null,
    assets: counted(asUint(input.shares) ?? 0n, limits),
  })

/** Ask for shares that are to leave us: we have them, and they are worth no more than they count as. */
function askShares({ asset: symbol, ...limits }: Shares, about: JudgedCase) {
  const { subject, before } = about
  const vault = vaultOf(about)
  const shares = figure(about, 'shares')
  const held = before.ask(balanceView(vault, subject.self))
  const worth = before.ask(sharesWorthView(vault, shares))
  const asset = before.ask(vaultAssetView(vault))
  const token = subject.deployment.assets.find((each) => each.symbol === symbol)?.address
  return (): Refusal | null => {
    const [have, is, of] = [held(), worth(), asset()]
    if (have === null || is === null || of === null) return unread('our shares')
    if (of !== token)
      return refuse('asset_differs', `The vault ${vault} lends ${of}; its shares count in ${symbol}.`)
    if (shares === 0n) return refuse('amount_is_zero', 'No shares would move.')
    if (have < shares) {
      return refuse(
        'shares_too_few',
        `We hold ${baseUnits(have)} of shares; ${baseUnits(shares)} are to leave.`,
      )
    }
    const most = counted(shares, { asset: symbol, ...limits })
    if (is <= most) return null
    const say = (amount: bigint) => amountText(amount, of, subject.deployment)
    return refuse(
      'shares_worth_more',
      `The shares are worth ${say(is)}; by guard.sanity.shares they count as ${say(most)}.`,
    )
  }
}

/**
 * Judge a place in the redemption queue: redemption goes on, it pays us, and exactly these shares wait. Which place it is
 * tells the simulation alone, so the receiver is the request's, which `relies` has the call carry.
 */
function judgeRequest(limits: Shares, about: JudgedCase): Judgement {
  const { subject, before, after } = about
  const vault = vaultOf(about)
  const shares = figure(about, 'shares')
  const receiver = account(about, 'receiverAddress')
  const mine = askShares(limits, about)
  const frozen = before.ask(vaultFlagView(vault, 'redemptionFrozen'))
  const queueEnd = vaultFigureView(vault, 'queueEnd')
  const [end, endAfter] = [before.ask(queueEnd), after.ask(queueEnd)]
  return {
    checkState: () => {
      const isFrozen = frozen()
      if (isFrozen === null) return unread('whether redemption is frozen')
      if (receiver !== subject.self)
        return refuse('receiver_not_us', `The request would pay ${receiver}, and not us.`)
      if (isFrozen) return refuse('redemption_frozen', `Redemption from ${vault} is frozen.`)
      return mine()
    },
    checkOutcome: ({ changeOf }) => {
      const [was, is] = [end(), endAfter()]
      if (was === null || is === null) return unread('the redemption queue')
      if (changeOf(vault) === -shares && is === was + 1n) return null
      return refuse(
        'request_not_as_asked',
        `Not exactly ${baseUnits(shares)} of shares would wait in one request.`,
      )
    },
  }
}

/** Judge what a due request pays: it is ours and due, and what comes in is what its shares were worth. */
function judgeFulfil(limits: Shares, about: JudgedCase): Judgement {
  const { subject, before, after } = about
  const vault = vaultOf(about)
  const requestId = figure(about, 'requestId')
  const asked = requestView(vault, requestId)
  const [request, then] = [before.ask(asked), after.ask(asked)]
  const total = before.ask(vaultFigureView(vault, 'totalAssets'))
  const supply = before.ask(vaultFigureView(vault, 'totalSupply'))
  const asset = before.ask(vaultAssetView(vault))
  return {
    checkState: (timestampS) => {
      const found = request()
      if (found === null) return unread('the request')
      if (found.owner !== subject.self || found.receiver !== subject.self) {
        return refuse(
          'request_not_ours',
          `Request ${requestId} is ${found.owner}'s and pays ${found.receiver}.`,
        )
      }
      if (found.paid) return refuse('request_paid', `Request ${requestId} was paid already.`)
      if (found.dueAt <= BigInt(timestampS)) return null
      return refuse('redemption_not_due', `Request ${requestId} is due at ${time(found.dueAt)}.`)
    },
    checkOutcome: ({ changeOf }) => {
      const [found, paid, of] = [request(), then(), asset()]
      const [assets, shares] = [total(), supply()]
      if (found === null || paid === null || of === null || assets === null || shares === null) {
        return unread('what the request pays')
      }
      const worth = shares === 0n ? 0n : (found.shares * assets) / shares
      const gained = changeOf(of)
      if (paid.paid && gained > 0n && gained * BPS >= worth * limits.paidBpsMin) return null
      const say = (amount: bigint) => amountText(amount, of, subject.deployment)
      return refuse(
        'redemption_underpaid',
        `${say(gained)} would come in for shares worth ${say(worth)}; the policy demands ${percent(limits.paidBpsMin)}.`,
      )
    },
  }
}

/** As the contract numbers them. */
const [OPEN, TRUSTED] = [0n, 1n]

/** Judge what a holder does with its shares: a transfer that the vault permits, or the end of a pause that is due. */
function judgeMobility(limits: Shares, about: JudgedCase): Judgement {
  const { subject, before, after } = about
  const { input } = subject
  const vault = vaultOf(about)
  const paused = before.ask(vaultFlagView(vault, 'shareMobilityPaused'))
  const pausedAfter = after.ask(vaultFlagView(vault, 'shareMobilityPaused'))
  if (input.action === 'restore') {
    const from = before.ask(vaultFigureView(vault, 'restoreAfter'))
    return {
      checkState: (timestampS) => {
        const [isPaused, fromS] = [paused(), from()]
        if (isPaused === null || fromS === null) return unread('the pause of the shares')
        if (!isPaused) return refuse('not_paused', 'The shares do not stand still.')
        if (fromS <= BigInt(timestampS)) return null
        return refuse('restore_not_due', `Anyone may restore from ${time(fromS)} on.`)
      },
      checkOutcome: () => {
        const isPaused = pausedAfter()
        if (isPaused === null) return unread('the pause of the shares, afterwards')
        return isPaused ? refuse('mobility_not_set', 'Afterwards the shares would stand still.') : null
      },
    }
  }
  const recipient = account(about, 'recipientAddress')
  const shares = figure(about, 'shares')
  const mine = askShares(limits, about)
  const profile = before.ask(vaultFigureView(vault, 'transferProfile'))
  const trusted = before.ask(trustedView(vault))
  const balance = balanceView(vault, recipient)
  const [was, is] = [before.ask(balance), after.ask(balance)]
  return {
    checkState: () => {
      const [isPaused, how, whom] = [paused(), profile(), trusted()]
      if (isPaused === null || how === null || whom === null) return unread('who may have the shares')
      if (isPaused) return refuse('shares_stand_still', 'The shares stand still.')
      const mayHave = how === OPEN || (how === TRUSTED && whom.includes(recipient))
      return mayHave
        ? mine()
        : refuse('recipient_not_trusted', `${recipient} may not have shares of ${vault}.`)
    },
    checkOutcome: ({ changeOf }) => {
      const [had, has] = [was(), is()]
      if (had === null || has === null) return unread('the recipient’s shares')
      if (changeOf(vault) === -shares && has - had === shares) return null
      return refuse('transfer_not_as_asked', `Not exactly ${baseUnits(shares)} of shares would change hands.`)
    },
  }
}

const check = (
  relies: readonly string[],
  revalidations: SanityCheck['revalidations'],
  judge: SanityCheck['judge'],
  counts?: SanityCheck['counts'],
): SanityCheck => ({
  views: HOLDER_VIEWS,
  relies: ['vaultAddress', ...relies],
  revalidations: [...revalidations, 'intent_not_expired'],
  ...(counts === undefined ? {} : { counts }),
  judge,
})

/** The investor's judgements, from the vaults and channels alone. */
export const investorSanity: RoleSanity<Limits> = {
  limits: limitsSchema,
  checks: ({ channel, shares }) => [
    [
      'role.lender.investorRequestRedeem',
      check(
        ['shares', 'receiverAddress'],
        ['redemption_open'],
        (about) => judgeRequest(shares, about),
        countsShares(shares),
      ),
    ],
    [
      'role.lender.investorFulfillRedeem',
      check(['requestId'], ['redemption_due'], (about) => judgeFulfil(shares, about)),
    ],
    [
      'role.lender.vaultShareMobilityInvestorAction',
      check(
        ['shares', 'recipientAddress'],
        ['shares_transferable', 'restore_due'],
        (about) => judgeMobility(shares, about),
        countsShares(shares),
      ),
    ],
    ...wrapperChecks('investor', { channel }),
  ],
}

import { printable } from '../../errors.ts'

/** What a reason of a blocked preflight says, as a sentence, and what a person does about it. */
type ReasonText = readonly [says: string, fix: string]

const READ_AGAIN = 'read the figure again, and submit with it.'
const CHECK_ADDRESS = 'correct the address in the input.'
const OTHER_SIGNER = 'submit under the role whose signer it is; `rolekeeper signer show` has ours.'
const NOTHING_TO_DO = 'nothing is to be done; for a change, write another value into the input.'
const NOT_ZERO = 'write a larger amount: so few base units come to nothing.'
const SMALLER = 'ask for less, or wait until there is more.'

/** Of any workflow: who asks, and by what the service judges. */
const OF_ALL = {
  principal_required: ['The request names no wallet that acts.', 'report it: a keeper names its signer.'],
  indexer_stale: [
    'What the service knows of the chain is old.',
    'submit again once its indexer has caught up.',
  ],
  indexer_missing: [
    'The service knows nothing of the chain yet.',
    'submit again once its indexer has begun.',
  ],
  indexer_blocked: ['The service’s indexer stands still.', 'ask the service’s operator, and submit again.'],
  amount_is_zero: ['The amount is zero, or comes to nothing.', NOT_ZERO],
  rounds_to_zero_shares: ['The amount is too small to be one share.', 'write a larger amount.'],
  principal_balance_too_small: [
    'Our signer has less of the token than is to be paid.',
    'fund it, or pay less.',
  ],
  principal_shares_too_few: [
    'Our signer holds fewer shares than are to leave.',
    'ask for no more than it holds.',
  ],
  principal_not_owner: ['The vault is not owned by our signer.', `name a vault that is, or ${OTHER_SIGNER}`],
  principal_not_allocator: [
    'Our signer is no allocator of the vault.',
    'have its owner grant that role to it.',
  ],
  principal_not_manager: [
    'Our signer does not manage that vault or fund.',
    'have its owner make it the manager.',
  ],
  principal_not_curator: [
    'Our signer does not curate that vault or channel.',
    'have the owner make it a curator.',
  ],
  principal_not_reseller: ['The channel’s fees are another wallet’s.', OTHER_SIGNER],
  principal_not_reporter: ['Our signer may not report to that oracle.', 'have the oracle’s owner admit it.'],
  principal_not_eligible: [
    'Our signer is not admitted to that act.',
    'have it admitted by who keeps the register.',
  ],
  receiver_is_zero: ['What comes would go to the zero address.', CHECK_ADDRESS],
  receiver_is_vault: ['The vault itself would be the receiver.', CHECK_ADDRESS],
  receiver_is_channel: ['The channel itself would be the receiver, or pay.', CHECK_ADDRESS],
  recipient_is_zero: ['The zero address would be paid.', 'name who is paid in the input.'],
  recipient_is_vault: ['The vault itself would be paid.', CHECK_ADDRESS],
  recipient_is_channel: ['The channel itself would be paid.', CHECK_ADDRESS],
  recipient_is_principal: ['The shares would go to who has them.', CHECK_ADDRESS],
} satisfies Readonly<Record<string, ReasonText>>

/** Of markets, and of those who borrow and liquidate there. */
const OF_MARKETS = {
  market_not_found: ['The service knows no market of that address.', CHECK_ADDRESS],
  market_paused: ['The market is paused.', 'submit again once it is resumed.'],
  oracle_not_healthy: [
    'The market’s price is not to be relied on now.',
    'submit again once its oracle is healthy.',
  ],
  above_lltv: [
    'The loan would be more than its collateral allows.',
    'borrow or withdraw less, or add collateral.',
  ],
  debt_not_found: ['Our signer owes nothing there.', 'correct the market and the vault in the input.'],
  insufficient_collateral: [
    'There is less collateral than is to be withdrawn.',
    'withdraw no more than is there.',
  ],
  insufficient_market_liquidity: ['The market has less cash than is to be taken.', SMALLER],
  position_not_found: ['There is no such position.', 'correct market, vault and borrower in the input.'],
  position_not_liquidatable: ['The position is sound.', 'submit again only once it is under water.'],
  repay_is_zero: ['Nothing would be repaid.', NOT_ZERO],
  repay_above_close_factor: [
    'More would be repaid than may be at once.',
    'repay at most the close factor’s part.',
  ],
  min_collateral_above_seizable: ['More collateral is insisted on than can be seized.', READ_AGAIN],
  claim_not_found: ['There is no such claim.', 'correct the market and the number in the input.'],
  claim_not_yours: ['The claim is another wallet’s.', OTHER_SIGNER],
  claim_already_settled: ['The claim is settled already.', 'nothing is to be done.'],
  claim_not_settleable_yet: ['The claim cannot be settled yet.', 'submit again once it can be.'],
} satisfies Readonly<Record<string, ReasonText>>

/** Of what a vault lends, and where. */
const OF_LENDING = {
  vault_not_found: ['The service knows no vault of that address.', CHECK_ADDRESS],
  reallocation_empty: ['It moves nothing.', 'name at least one withdrawal or supply.'],
  market_not_listed: [
    'The vault does not list that market.',
    'have its owner attach it: attachMarketToVault.',
  ],
  market_not_approved: [
    'The vault does not lend to that market.',
    'have its owner attach it: attachMarketToVault.',
  ],
  allocation_disabled: [
    'The vault supplies nothing more to that market.',
    'have its owner allow it: vaultCuratorCapsSettingsSave with allocationEnabled true.',
  ],
  above_absolute_cap: [
    'The vault would have more in the market than its absolute cap.',
    'supply less, or have its owner raise the cap: vaultCuratorCapsSettingsSave.',
  ],
  above_relative_cap: [
    'The vault would have a larger part of its assets in the market than its relative cap.',
    'supply less, or have its owner raise the cap: vaultCuratorCapsSettingsSave.',
  ],
  insufficient_idle: ['The vault has less idle than is to leave it.', SMALLER],
  below_liquidity_buffer: [
    'The vault would keep less idle than its buffer and its queue need.',
    'supply less, or take back from a market first.',
  ],
} satisfies Readonly<Record<string, ReasonText>>

/** Of what a vault's owner sets. */
const OF_OWNERS = {
  market_already_attached: [
    'The vault lends to that market already.',
    'set its caps with vaultCuratorCapsSettingsSave.',
  ],
  market_not_attached: ['The vault does not lend to that market.', 'attach it first: attachMarketToVault.'],
  market_asset_mismatch: [
    'The market lends another asset than the vault.',
    'name a market of the vault’s asset.',
  ],
  market_repeated: ['The route names a market twice.', 'name each market once.'],
  markets_full: [
    'The vault has as many markets as it can.',
    'empty one and detach it at the contract first.',
  ],
  vault_not_listed_at_market: ['The market does not admit the vault.', 'have the market’s owner list it.'],
  listing_unchanged: ['The caps are so already.', NOTHING_TO_DO],
  cap_below_lent: [
    'The market would stay open under a cap below what the vault lends there.',
    'take back what is too much first, or close it with allocationEnabled false.',
  ],
  routing_unchanged: ['The route is so already.', NOTHING_TO_DO],
  settings_unchanged: ['The settings are so already.', NOTHING_TO_DO],
  fees_unchanged: ['The fees and who is paid are so already.', NOTHING_TO_DO],
  fee_above_cap: [
    'A fee is more than its contract takes.',
    'write at most 5 % management, 30 % performance, 20 % borrower manager; of a channel 5 % reseller, 20 % borrower.',
  ],
  exit_terms_out_of_range: [
    'The figures do not fit the exit terms.',
    'write the figure of its kind alone, at most a year, and "0" for the others.',
  ],
  exit_terms_locked: [
    'The vault’s exit terms are locked for good: nobody may be paid later.',
    'write terms by which everybody is paid as early as now, or earlier.',
  ],
  maturity_passed: ['The maturity lies in the past.', 'write a maturityTimestamp to come.'],
  deposit_limits_out_of_range: [
    'The least deposit is more than the largest.',
    'write minDepositAssets of at most maxDepositAssets, or "0" for no largest.',
  ],
  already_granted: ['The account has that role already.', 'nothing is to be done.'],
  not_granted: ['The account does not have that role.', 'nothing is to be done.'],
  owner_is_zero: ['The owner would be the zero address.', CHECK_ADDRESS],
  allocator_is_zero: ['The allocator would be the zero address.', CHECK_ADDRESS],
  manager_is_zero: ['The manager would be the zero address.', CHECK_ADDRESS],
  curator_is_zero: ['The curator would be the zero address.', CHECK_ADDRESS],
  new_owner_is_zero: ['The vault would be offered to the zero address.', CHECK_ADDRESS],
  new_owner_is_owner: ['The vault would be offered to its owner.', CHECK_ADDRESS],
  new_owner_cannot_accept: [
    'The vault would be offered to a contract, which cannot accept it.',
    'name the wallet that is to own it.',
  ],
  ownership_already_offered: [
    'The vault is offered to that account already.',
    'have it accept, or cancel first.',
  ],
  no_ownership_offer: ['The vault is offered to nobody.', 'have its owner offer it first: action offer.'],
  ownership_offer_to_another: ['The vault is offered to another wallet.', OTHER_SIGNER],
  ownership_offer_too_new: ['The offer is too new to be accepted.', 'submit again in the next block.'],
} satisfies Readonly<Record<string, ReasonText>>

/** Of holders' shares: deposits, the redemption queue, and who may have them. */
const OF_SHARES = {
  min_shares_above_preview: [
    'More shares are insisted on than the deposit gives.',
    'write a smaller minShares; `rolekeeper submit --shadow` with "1" says what would come.',
  ],
  min_assets_above_preview: [
    'More is insisted on than comes.',
    'write a smaller minAssets; `rolekeeper submit --shadow` with "1" says what would come.',
  ],
  max_shares_below_preview: ['It takes more shares than are allowed.', 'write a larger maxShares.'],
  below_min_deposit: ['The deposit is less than the vault takes.', 'deposit at least its minDepositAssets.'],
  above_max_deposit: [
    'The deposit is more than the vault takes at once.',
    'deposit at most its maxDepositAssets.',
  ],
  exit_terms_require_request: [
    'The vault pays nobody at once.',
    'queue for it with requestWithdrawal or investorRequestRedeem, of a channel with its requestNow.',
  ],
  redemption_frozen: ['Redemption is frozen.', 'submit again once the vault’s manager lifts that.'],
  request_not_found: ['There is no such request in the queue.', 'correct the requestId in the input.'],
  request_already_paid: ['The request is paid already.', 'nothing is to be done.'],
  request_of_another: ['The request is another wallet’s.', OTHER_SIGNER],
  notice_not_elapsed: ['The notice of the request has not passed.', 'submit again when it is due.'],
  interval_not_ended: ['The interval of the request has not ended.', 'submit again when it is due.'],
  maturity_not_reached: ['The vault’s maturity is not reached.', 'submit again when it is.'],
  queue_ahead_too_long: [
    'Too many requests are before it to be paid at once.',
    'claim an earlier one first.',
  ],
  share_mobility_paused: ['The vault’s shares stand still.', 'submit again once they are restored.'],
  share_mobility_not_paused: ['The vault’s shares do not stand still.', 'nothing is to be done.'],
  restore_not_due: ['The pause has not lasted its time.', 'submit again when anyone may restore.'],
  restore_after_out_of_range: [
    'The pause would end in the past, or after more than 30 days.',
    'write another end.',
  ],
  reason_too_long: ['The reason is longer than 64 bytes.', 'write a shorter one.'],
  transfers_frozen: [
    'The vault’s shares go to nobody else.',
    'have its manager set another transfer profile.',
  ],
  recipient_not_trusted: [
    'That account may not have the shares.',
    'have the vault’s manager trust it first.',
  ],
  recipient_unchanged: ['The account is trusted, or not, already.', NOTHING_TO_DO],
  transfer_profile_unchanged: ['The transfer profile is so already.', NOTHING_TO_DO],
} satisfies Readonly<Record<string, ReasonText>>

/** Of partners' channels, and what is asked of the service by partners, curators and issuers. */
const OF_CHANNELS = {
  channel_not_found: ['The service knows no channel of that address.', CHECK_ADDRESS],
  channel_exists: [
    'There is a channel of that vault, reseller and share class.',
    'use that one, or write another shareClass.',
  ],
  wrapper_asset_mismatch: [
    'The channel would be of another asset than its vault.',
    'write the vault’s asset as assetAddress.',
  ],
  partner_not_approved: [
    'The service has not approved that reseller for the vault.',
    'have it apply: partnerSubmitApplication, and wait for the approval.',
  ],
  reseller_is_not_principal: [
    'The channel’s fees would be another’s.',
    'write our signer as resellerAddress.',
  ],
  reseller_is_zero: ['The channel’s fees would be nobody’s.', CHECK_ADDRESS],
  curator_not_of_vault: [
    'That account does not curate the vault.',
    'name a curator of it as curatorAddress.',
  ],
  cap_out_of_range: ['The channel’s cap is zero, or more than it takes.', 'write another capAssets.'],
  above_channel_cap: ['The channel would hold more than its cap.', 'deposit less.'],
  channel_blocked: ['The channel is blocked for everybody.', 'ask its curator.'],
  account_blocked: ['The channel is blocked for that account.', 'ask its curator.'],
  account_is_zero: ['The zero address would be blocked.', CHECK_ADDRESS],
  block_unchanged: ['The account is blocked, or not, already.', 'nothing is to be done.'],
  fee_shares_too_few: [
    'Fewer fee shares have come than are claimed.',
    'claim no more than the channel says.',
  ],
  nothing_to_claim: ['The channel has earned nothing since the last claim.', 'submit again once it has.'],
  application_approved: ['The application is approved already.', 'nothing is to be done.'],
  application_under_review: [
    'The application is under review already.',
    'wait for its review; what is rejected can be submitted anew.',
  ],
  asset_not_found: ['There is no token at that address.', CHECK_ADDRESS],
  asset_already_listed: ['The service lists that asset already.', 'nothing is to be done.'],
  asset_decimals_mismatch: ['The token has other decimals.', 'write those that it says.'],
  submission_approved: ['The submission is approved already.', 'nothing is to be done.'],
  submission_under_review: [
    'The submission is under review already.',
    'wait for its review; what is rejected can be submitted anew.',
  ],
  submission_of_another: ['Another wallet submitted that asset.', OTHER_SIGNER],
} satisfies Readonly<Record<string, ReasonText>>

/** Of funds, their launches and reports, and of what is deployed. */
const OF_FUNDS = {
  fund_not_found: ['The service knows no fund of that address.', CHECK_ADDRESS],
  factory_not_found: ['The service knows no factory of funds.', 'ask the service’s operator.'],
  directory_not_found: ['The service knows no directory of vaults.', 'ask the service’s operator.'],
  base_asset_not_found: ['No market lends that asset.', 'write the address of an asset that markets lend.'],
  quote_asset_not_found: ['The service knows no asset of that address.', CHECK_ADDRESS],
  quote_asset_mismatch: [
    'The fund bids in another asset than the lot is sold for.',
    'name a lot of its asset.',
  ],
  policy_unchanged: ['The channel’s policy is so already.', NOTHING_TO_DO],
  epoch_duration_out_of_range: [
    'The epoch is zero, or longer than the factory takes.',
    'write another length.',
  ],
  min_subscription_is_zero: ['The least subscription is zero.', NOT_ZERO],
  min_subscription_above_max: ['The least subscription is more than the largest.', 'write a smaller one.'],
  oracle_not_found: ['The service knows no such NAV oracle.', CHECK_ADDRESS],
  asset_mismatch: ['The oracle reports another asset.', 'name the oracle of that asset.'],
  decimals_mismatch: ['The oracle counts in other decimals.', 'write its decimals.'],
  revision_label_too_long: ['The revision’s label is too long.', 'write a shorter one.'],
  revision_not_next: [
    'The revision is not the next one.',
    'write 0 for a new valuation, else one more than the last.',
  ],
  unknown_report_type: ['The oracle takes no report of that type.', 'write a type that it takes.'],
  value_out_of_bounds: ['The value lies outside of the oracle’s bounds.', 'check the valuation.'],
  value_moved_too_far: ['The value lies too far from the last one.', 'check the valuation.'],
  valuation_in_future: ['The valuation’s time is to come.', 'write a time that has passed.'],
  valuation_went_backwards: ['The valuation is older than the last one.', 'write a later time.'],
} satisfies Readonly<Record<string, ReasonText>>

/** Of what is bid on. */
const OF_TRADES = {
  acquisition_lot_not_found: ['There is no such lot.', 'correct the house and the lot in the input.'],
  acquisition_lot_closed: ['The lot is closed.', 'nothing is to be done.'],
  auction_lot_not_found: ['There is no such lot.', 'correct the auction and the lot in the input.'],
  auction_lot_closed: ['The lot is closed.', 'nothing is to be done.'],
  below_reserve: ['The bid is less than the reserve.', 'bid at least the reserve.'],
  below_increment: [
    'The bid is not enough above the best one.',
    'bid at least the next bid that the lot names.',
  ],
  not_above_best_bid: ['The bid is not above the best one.', 'bid more.'],
  rfq_not_found: ['There is no such RFQ.', 'correct its number in the input.'],
  rfq_closed: ['The RFQ takes no more bids.', 'nothing is to be done.'],
  rfq_not_closed: ['The RFQ takes bids still.', 'submit again once it is closed.'],
  rfq_already_finalized: ['The RFQ is finalized already.', 'nothing is to be done.'],
  rfq_book_full: ['The RFQ has as many bids as it takes, each above this one.', 'bid more.'],
  bid_not_found: ['There is no such bid.', 'correct its number in the input.'],
  bid_not_yours: ['The bid is another wallet’s.', OTHER_SIGNER],
  bid_not_live: ['The bid stands no longer.', 'nothing is to be done.'],
  bid_not_refundable: ['The bid has nothing to pay back.', 'submit again once the RFQ is over.'],
  bid_expiry_passed: ['The bid’s end lies in the past.', 'write an end to come.'],
  bid_expiry_too_late: ['The bid would bind for too long.', 'write an earlier end.'],
} satisfies Readonly<Record<string, ReasonText>>

/**
 * Assumed: what each reason of a blocked preflight means. The document names none: these are the sandbox's, and one that is
 * not here is told by its name alone.
 */
export const BLOCKED_REASONS: Readonly<Record<string, ReasonText>> = {
  ...OF_ALL,
  ...OF_MARKETS,
  ...OF_LENDING,
  ...OF_OWNERS,
  ...OF_SHARES,
  ...OF_CHANNELS,
  ...OF_FUNDS,
  ...OF_TRADES,
}

/** So many reasons are told with what they mean; one is usual. */
const TOLD_MAX = 4
const NAME_MAX = 60

/** Say why a preflight is blocked: every reason by its name, and what to do about each that is first. Pure. */
export function blockedText({
  status,
  blockedReasons,
}: {
  readonly status: string
  readonly blockedReasons: readonly string[]
}): string {
  const names = blockedReasons.length === 0 ? 'no reason given' : printable(blockedReasons.join(', '))
  const texts = [...new Set(blockedReasons)].slice(0, TOLD_MAX).map(reasonText)
  return [`The service's preflight is ${printable(status, NAME_MAX)}: ${names}.`, ...texts].join(' ')
}

function reasonText(reason: string): string {
  const [says, fix] = (Object.hasOwn(BLOCKED_REASONS, reason) ? BLOCKED_REASONS[reason] : undefined) ?? [
    `What the service means by ${printable(reason, NAME_MAX)} is not known here.`,
    'ask the service’s operator what it stands for.',
  ]
  return `${says} Fix: ${fix}`
}

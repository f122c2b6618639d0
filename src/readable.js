// @ts-check
/**
 * Figures as people read them: rounded, each with its unit; and what workflow types are called. For screens, messages and the console, whose page loads this file
 * as it is, so that its types are in comments. What is exact, and what a policy is written in, is in units.ts. All pure.
 */

/** Digits that an amount shows at least, where it has them. */
const DIGITS = 6

/** @param {bigint} amount */
const magnitude = (amount) => (amount < 0n ? -amount : amount)

/**
 * Divide by a power of ten, to the nearest.
 * @param {bigint} amount
 * @param {number} power
 */
function divided(amount, power) {
  const size = 10n ** BigInt(power)
  return (magnitude(amount) + size / 2n) / size
}

/**
 * Write base units with so many decimals at most, to the nearest. Zeros at their end are left out, all but `least`, where nothing
 * was cut: what is more than a limit by less than is shown does not read like the limit.
 * @param {bigint} amount
 * @param {number} decimals
 * @param {number} most
 */
function rounded(amount, decimals, most, least = 0) {
  const kept = Math.min(decimals, most)
  const digits = String(divided(amount, decimals - kept)).padStart(kept + 1, '0')
  const whole = digits.slice(0, digits.length - kept).replace(/\B(?=(\d{3})+$)/g, ',')
  let fraction = digits.slice(digits.length - kept)
  const isWhole = amount % 10n ** BigInt(decimals - kept) === 0n
  while (isWhole && fraction.length > least && fraction.endsWith('0')) fraction = fraction.slice(0, -1)
  const isNothing = !/[1-9]/.test(digits)
  return `${amount < 0n && !isNothing ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/**
 * How many decimals show so many digits from the first that is not zero on.
 * @param {bigint} amount
 * @param {number} decimals
 * @param {number} digits
 */
const decimalsFor = (amount, decimals, digits) =>
  Math.max(0, Math.min(decimals, decimals - (String(magnitude(amount)).length - digits)))

/**
 * Write millionths of a US dollar: to the cent, whole dollars without one, less than a cent to two digits.
 * @param {bigint} micros
 */
export function usd(micros) {
  const sign = micros < 0n ? '-' : ''
  const size = magnitude(micros)
  if (size % 1_000_000n === 0n) return `${sign}$${rounded(size, 6, 0)}`
  return `${sign}$${size < 10_000n ? rounded(size, 6, decimalsFor(size, 6, 2)) : rounded(size, 6, 2, 2)}`
}

/**
 * Write millionths of a US dollar to the cent with their sign, as in a column.
 * @param {bigint} micros
 */
export const gain = (micros) => `${micros < 0n ? '-' : '+'}$${rounded(magnitude(micros), 6, 2, 2)}`

/**
 * Write base units of a token: two decimals at least where there are some, and six digits.
 * @param {bigint} assets
 * @param {{ readonly symbol: string, readonly decimals: number }} of
 */
export const tokens = (assets, { symbol, decimals }) =>
  `${rounded(assets, decimals, Math.max(2, decimalsFor(assets, decimals, DIGITS)))} ${symbol}`

/**
 * Write wei: a cost in ETH to four digits, a price of gas in gwei.
 * @param {bigint} wei
 * @returns {string}
 */
export function native(wei) {
  const size = magnitude(wei)
  if (size === 0n || size >= 10n ** 13n)
    return `${rounded(wei, 18, Math.max(4, decimalsFor(wei, 18, 4)))} ETH`
  if (size < 10n ** 6n) return plural(wei, 'wei', 'wei')
  return `${rounded(wei, 9, Math.max(3, decimalsFor(wei, 9, 4)))} gwei`
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/**
 * @param {number} ms
 * @param {readonly [number, string]} larger
 * @param {readonly [number, string]} smaller
 */
const pair = (ms, [size, unit], [smaller, small]) => {
  const whole = rounded(BigInt(Math.floor(ms / size)), 0, 0)
  const rest = Math.floor((ms % size) / smaller)
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${small}`
}

/**
 * @param {number} ms
 * @param {number} decimals
 */
function seconds(ms, decimals) {
  if (ms % 1_000 === 0) return `${ms / 1_000} s`
  const size = 10 ** decimals
  const cut = Math.floor((ms * size) / 1_000) / size
  return `${cut * 1_000 === ms ? String(cut) : cut.toFixed(decimals)} s`
}

/**
 * Write milliseconds in the two largest units that they have.
 * @param {number | bigint} milliseconds
 * @returns {string}
 */
export function span(milliseconds) {
  const ms = Math.round(Number(milliseconds))
  if (ms < 0) return `-${span(-ms)}`
  if (ms === 0) return '0 s'
  if (ms < 1_000) return `${ms} ms`
  if (ms < MINUTE) return seconds(ms, ms < 10_000 ? 2 : 1)
  if (ms < HOUR) return pair(ms, [MINUTE, 'min'], [1_000, 's'])
  return ms < DAY ? pair(ms, [HOUR, 'h'], [MINUTE, 'min']) : pair(ms, [DAY, 'd'], [HOUR, 'h'])
}

/**
 * Write a time, given as seconds since 1970.
 * @param {number | bigint} seconds
 */
export const moment = (seconds) => new Date(Number(seconds) * 1_000).toISOString().replace('.000Z', 'Z')

/**
 * Write the name of a budget, such as `usd_per_hour`.
 * @param {string} name
 */
export const budgetName = (name) => name.replaceAll('_', ' ').replace(/^usd/, 'USD')

/**
 * Write how many there are of something.
 * @param {number | bigint} count
 * @param {string} one
 */
export function plural(count, one, several = `${one}s`) {
  const amount = BigInt(count)
  return `${rounded(amount, 0, 0)} ${amount === 1n ? one : several}`
}

/**
 * Write addresses and hashes in a text by their ends, and ids of workflows by what they begin with.
 * @param {string} text
 */
export const short = (text) =>
  text
    .replace(/0x[0-9a-f]{16,}/gi, (hex) => `${hex.slice(0, 6)}…${hex.slice(-4)}`)
    .replace(/\b[0-9a-f]{32}\b/g, (id) => id.slice(0, 8))

/** What workflow types are called, by what follows the role in them. */
const WORKFLOWS = new Map(
  Object.entries({
    borrow: 'borrow',
    claimWithdrawal: 'claim of a withdrawal',
    deposit: 'deposit',
    depositCollateral: 'collateral deposit',
    liquidate: 'liquidation',
    repay: 'repayment',
    requestWithdrawal: 'withdrawal request',
    settleLiquidationClaim: 'claim settlement',
    withdrawCollateral: 'collateral withdrawal',
    withdrawNow: 'withdrawal',
    sell: 'sale',
    vaultAllocate: 'supply',
    vaultDeallocate: 'withdrawal from a market',
    vaultReallocationBatch: 'reallocation',
    assetSubmissionRequestCreate: 'asset submission',
    distressedRecoveryAcquisitionV3Bid: 'acquisition bid',
    distressedRecoveryFundV3ChannelPolicySet: 'channel policy',
    distressedRecoveryFundV3SelfLaunch: 'fund launch',
    vaultDeploy: 'vault deployment',
    vaultShareMobilityManagerAction: 'share mobility setting',
    borrowerBorrow: 'borrow',
    borrowerDepositCollateral: 'collateral deposit',
    borrowerRepay: 'repayment',
    borrowerWithdrawCollateral: 'collateral withdrawal',
    partnerChannelBlockedUpdate: 'channel block list',
    partnerChannelDeploy: 'channel deployment',
    vaultMarketListingSave: 'market listing',
    partnerWrapperDeposit: 'channel deposit',
    partnerWrapperRedeem: 'channel redemption',
    distressedRecoveryFundV3AuctionBid: 'auction bid',
    distressedRecoveryFundV3RfqCancelBid: 'RFQ bid cancellation',
    distressedRecoveryFundV3RfqClaimRefund: 'RFQ refund',
    distressedRecoveryFundV3RfqFinalize: 'RFQ finalization',
    distressedRecoveryFundV3RfqPlaceBid: 'RFQ bid',
    distressedRecoveryFundV3RfqReplaceBid: 'RFQ bid change',
    investorFulfillRedeem: 'redemption payout',
    investorRequestRedeem: 'redemption request',
    vaultShareMobilityInvestorAction: 'share transfer',
    navReportSignAndSubmit: 'NAV report',
    partnerBorrowerFeeClaim: 'borrower fee claim',
    partnerFeeSharesClaim: 'fee share claim',
    partnerSubmitApplication: 'partner application',
    attachMarketToVault: 'market attachment',
    vaultAllocatorUpdate: 'allocator change',
    vaultCuratorCapsSettingsSave: 'caps',
    vaultCuratorFeeSettingsSave: 'curator fee',
    vaultFeeConfigUpdate: 'vault fees',
    vaultManagementSettingsSave: 'management settings',
    vaultOwnerSettingsSave: 'owner settings',
    vaultOwnerTransferUpdate: 'ownership transfer',
    vaultRoleSettingsSave: 'role settings',
    vaultRoutingUpdate: 'withdrawal routing',
    vaultSettingsUpdate: 'vault settings',
  }),
)

/**
 * Write what a workflow type is called, in words. Another release's type is written as it is.
 * @param {string} type
 * @returns {string}
 */
export function workflowName(type) {
  const name = type.slice(type.lastIndexOf('.') + 1)
  return WORKFLOWS.get(name) ?? name
}

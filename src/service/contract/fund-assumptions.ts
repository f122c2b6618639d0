import { entityIdOf } from './assumptions.ts'

/**
 * Assumed: what the service's document leaves "not shown" of recovery funds and NAV reports. A holding's
 * `claimableAssets` are base units of the asset it holds; its `recoveryValueAssets` are of the fund's quote asset: what
 * the holding is worth at its market's price, or what it brought. A fund's `sharePrice` is whole quote assets for one
 * whole share, as a decimal, and `navAssets` what all shares are worth at it.
 */

/** Assumed: `status` of a fund. */
export const FUND_STATUS = { pending: 'pending_approval', active: 'active', impaired: 'impaired' } as const

/** Assumed: `subscriptionStatus` and its code. */
export const SUBSCRIPTION_STATUS = { closed: 0, open: 1, paused: 2 } as const

/** Assumed: `investorEligibilityStatus` and its code: who may subscribe without being authorized. */
export const INVESTOR_ELIGIBILITY = { authorization_required: 0, open: 1 } as const

/** Assumed: eligibility's actions for launching a fund, scoped to the factory, and subscribing, scoped to the fund. */
export const FUND_ELIGIBILITY = { selfLaunch: 'selfLaunch', subscribe: 'subscribe' } as const

/** Assumed: postconditions name a `fund_channel_policy` as `fund:channel`, lower case. */
export const channelPolicyEntityId = (fund: string, channel: string) => entityIdOf(fund, channel)

/** Assumed: and who launches funds, a `fund_launcher`, as `factory:manager`, with their `count`. */
export const fundLauncherEntityId = (factory: string, manager: string) => entityIdOf(factory, manager)

/** Assumed: and a `nav_report` as `oracle:type:valuationTimestamp:revision`, lower case. */
export const navReportEntityId = (report: {
  readonly oracleAddress: string
  readonly reportType: string
  readonly valuationTimeS: bigint
  readonly revision: number
}) =>
  entityIdOf(report.oracleAddress, report.reportType, String(report.valuationTimeS), String(report.revision))

/** Assumed: the EIP-712 domain of a NAV report, with the chain's id and its oracle as verifying contract. */
export const NAV_REPORT_DOMAIN = { name: 'NavOracle', version: '1' } as const

/** Assumed: EIP-712 fields of a NAV report. */
export const NAV_REPORT_TYPES = {
  NavReport: [
    { name: 'asset', type: 'address' },
    { name: 'reportType', type: 'bytes32' },
    { name: 'value', type: 'uint256' },
    { name: 'decimals', type: 'uint8' },
    { name: 'valuationTime', type: 'uint64' },
    { name: 'revision', type: 'uint32' },
    { name: 'revisionLabel', type: 'string' },
    { name: 'deadline', type: 'uint64' },
  ],
} as const

/**
 * Assumed: `signing.kind` of typed data, and `signaturePlacement`: the argument, counted from 0, of the call. Its
 * calldata holds as many zero bytes where the signature goes.
 */
export const TYPED_DATA_SIGNING = {
  kind: 'eip712',
  secondArgument: 'argument:1',
  signatureBytes: 65,
} as const

import type { Address } from 'viem'
import type { FundResource } from '../../../src/service/contract/fund-resources.ts'
import type { VaultResource } from '../../../src/service/contract/vault-resources.ts'
import { time } from '../../../src/units.ts'
import type { Change, Difference, Moment } from '../../agent.ts'
import type { ManagerSeen, VaultSeen } from '../seen.ts'
import type { Declared, DeclaredFund, DeclaredVault } from './declared.ts'
import type { DeclaredTerms } from './declared-settings.ts'
import {
  asDeclared,
  changesOf,
  changesText,
  differ,
  doneAbout,
  isUnderWay,
  leave,
  personOf,
} from './difference.ts'

type Seen = Moment & ManagerSeen

/**
 * Compare a declared vault with the vaults that there are. Pure. It is known by name, symbol, base asset and manager;
 * one that is there is never deployed again, and one that was deployed of late is waited for.
 */
export function compareVault(
  declared: DeclaredVault,
  seen: Seen,
  { vaultSettings }: Pick<Declared, 'vaultSettings'>,
): Difference {
  const { name, symbol } = declared
  const asset = seen.deployment.assets.find((one) => one.symbol === declared.baseAsset)
  const subject = `vault:${name}:${symbol}:${declared.baseAsset}:${seen.signer}`
  if (asset === undefined) return leave(subject, assetUnknown(declared.baseAsset))
  const there = vaultsDeclaredAs(declared, seen)
  const [first, second] = there
  if (second !== undefined)
    return leave(
      subject,
      twice(
        'vault',
        there.map(({ row }) => row.address),
      ),
    )
  if (first !== undefined) {
    const later = vaultSettings.find(({ vault }) => vault === symbol)?.terms
    return compareTerms(subject, vaultTerms(first.row), madeWith(declared, later), AS_SETTINGS)
  }
  if (declared.exitTermKind === 'maturity' && declared.maturityTimestamp <= seen.chain.timestampS) {
    const message = `maturityTimestamp ${declared.maturityTimestamp}, ${time(declared.maturityTimestamp)}, has passed. Fix: declare one that is ahead.`
    return leave(subject, { check: 'maturity_passed', message })
  }
  const input = {
    name,
    symbol,
    baseAssetAddress: asset.address,
    ownerAddress: personOf(declared.owner, seen),
    allocatorAddress: personOf(declared.allocator, seen),
    managerAddress: seen.signer,
    liquidityBufferBps: declared.liquidityBufferBps,
    exitTermKind: declared.exitTermKind,
    noticeSeconds: String(declared.noticeSeconds),
    intervalSeconds: String(declared.intervalSeconds),
    maturityTimestamp: String(declared.maturityTimestamp),
  }
  return launch(subject, { workflowType: 'role.asset_manager.vaultDeploy', input }, seen)
}

/** Compare a declared fund with the funds that there are. Pure. It is known by name and manager. */
export function compareFund(declared: DeclaredFund, seen: Seen): Difference {
  const { quoteAsset, ...terms } = declared
  const asset = seen.deployment.assets.find(({ symbol }) => symbol === quoteAsset)
  const subject = `fund:${declared.name}:${seen.signer}`
  if (asset === undefined) return leave(subject, assetUnknown(quoteAsset))
  const there = fundsNamed(declared.name, seen)
  const [first, second] = there
  if (second !== undefined)
    return leave(
      subject,
      twice(
        'fund',
        there.map(({ address }) => address),
      ),
    )
  const input = {
    name: terms.name,
    symbol: terms.symbol,
    quoteAssetAddress: asset.address,
    epochDurationSeconds: String(terms.epochDurationSeconds),
    minSubscriptionAssets: String(terms.minSubscriptionAssets),
    maxSubscriptionAssets: String(terms.maxSubscriptionAssets),
    carryRateBps: terms.carryRateBps,
    performanceFeeBps: terms.performanceFeeBps,
    preferredReturnBps: terms.preferredReturnBps,
  }
  if (first !== undefined) {
    // The service does not show a fund's symbol.
    const { name: _name, symbol: _symbol, ...shown } = input
    return compareTerms(subject, { ...first }, shown, AS_MADE)
  }
  const workflowType = 'role.asset_manager.distressedRecoveryFundV3SelfLaunch'
  return launch(subject, { workflowType, input }, seen)
}

/** The funds of a name that we manage, whatever their state. */
const fundsNamed = (name: string, { funds, signer }: Seen): readonly FundResource[] =>
  funds.map(({ row }) => row).filter((row) => row.name === name && row.managerAddress === signer)

type Launch = {
  readonly workflowType:
    | 'role.asset_manager.vaultDeploy'
    | 'role.asset_manager.distressedRecoveryFundV3SelfLaunch'
  readonly input: Readonly<Record<string, string | number>> & {
    readonly name: string
    readonly symbol: string
  }
}

function launch(subject: string, { workflowType, input }: Launch, seen: Seen): Difference {
  const changes: readonly Change[] = Object.entries(input).map(([field, to]) => ({
    field,
    from: null,
    to: String(to),
  }))
  if (isUnderWay(seen, { subject, kind: 'launch' })) return leave(subject, UNDER_WAY, 'new', changes)
  const [done] = doneAbout(seen, subject)
  if (done !== undefined) {
    const message = `Workflow ${done.workflowId} ended ${done.state}; the service does not show it yet. It is not launched twice.`
    return leave(subject, { check: 'launched_not_shown', message }, 'new', changes)
  }
  const what = workflowType === 'role.asset_manager.vaultDeploy' ? 'deploy the vault' : 'launch the fund'
  const summary = `${what} ${input.name} (${input.symbol})`
  return differ(
    { workflowType, kind: 'launch', subject, occurrence: 'absent', input, summary },
    'new',
    changes,
  )
}

const UNDER_WAY = { check: 'already_in_flight', message: 'A workflow of ours brings it already.' }

const assetUnknown = (symbol: string) => ({
  check: 'asset_not_pinned',
  message: `${symbol} is not in deployment.assets. Fix: pin it, or correct the declaration.`,
})

const twice = (what: string, addresses: readonly Address[]) => ({
  check: `${what}_ambiguous`,
  message: `There are ${addresses.length} of this ${what}: ${addresses.join(', ')}. Fix: declare another name.`,
})

const AS_MADE = 'No workflow changes them. Fix: declare what is there, or another name.'
const AS_SETTINGS =
  'Fix: declare what is there, or another name; or, where it is ours, under vaultSettings what it is to have.'

/** What a vault or a fund was made with is not what is changed here: a difference is reported, and left. */
function compareTerms(
  subject: string,
  there: Readonly<Record<string, unknown>>,
  declared: Readonly<Record<string, unknown>>,
  fix: string,
): Difference {
  const changes = changesOf(there, declared)
  if (changes.length === 0) return asDeclared(subject)
  const message = `It is there with other terms: ${changesText(changes)}. ${fix}`
  return leave(subject, { check: 'terms_differ', message }, 'none', changes)
}

/** The vaults that are there as one is declared, by name, symbol, base asset and us as manager. Pure. */
export function vaultsDeclaredAs(declared: DeclaredVault, seen: Seen): readonly VaultSeen[] {
  const asset = seen.deployment.assets.find(({ symbol }) => symbol === declared.baseAsset)
  if (asset === undefined) return []
  return seen.vaults.filter(({ row }) => isVault(row, declared, asset.address, seen))
}

const isVault = (row: VaultResource, declared: DeclaredVault, asset: Address, { signer }: Seen) =>
  row.name === declared.name &&
  row.symbol === declared.symbol &&
  row.baseAssetAddress === asset &&
  row.assetManager?.address?.toLowerCase() === signer

/** A figure that its kind does not use is null at the service, and "0" in a declaration. */
function vaultTerms({ portfolioLiquidity }: VaultResource) {
  const maturity = portfolioLiquidity?.maturityTimestamp
  return {
    liquidityBufferBps: portfolioLiquidity?.liquidityBufferBps,
    exitTermKind: portfolioLiquidity?.exitTermKind,
    noticeSeconds: portfolioLiquidity?.noticeSeconds ?? 0,
    intervalSeconds: portfolioLiquidity?.intervalSeconds ?? 0,
    maturityTimestamp: maturity == null ? 0 : Date.parse(maturity) / 1_000,
  }
}

/** The terms that a vault was made with, without those that its owner is to have set since. */
function madeWith(declared: DeclaredVault, later: DeclaredTerms | undefined) {
  const { liquidityBufferBps, exitTermKind, noticeSeconds, intervalSeconds, maturityTimestamp } = declared
  return {
    ...(later?.liquidityBufferBps === undefined ? { liquidityBufferBps } : {}),
    ...(later?.exit === undefined ? { exitTermKind, noticeSeconds, intervalSeconds, maturityTimestamp } : {}),
  }
}

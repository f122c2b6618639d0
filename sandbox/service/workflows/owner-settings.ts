import { encodeFunctionData } from 'viem'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { lendingVaultAbi } from '../../contracts/abis.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
import { exitTermKind } from '../../indexer/exit-terms.ts'
import { lower } from '../../indexer/logs.ts'
import type { VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import { exitTermsOf, judgeTerms, sameTerms, tightens } from './exit-terms-judge.ts'
import { become, type OwnersCall, ownersAct } from './owner-act.ts'
import { type Family, preparer } from './preparer.ts'
import { vaultIn } from './vault-shares.ts'

type SettingsInput = WorkflowInput<'role.vault_owner.vaultSettingsUpdate'>
type RoutingInput = WorkflowInput<'role.vault_owner.vaultRoutingUpdate'>

/** How a vault takes deposits and pays who leaves. */
export const ownerSettings: Family = {
  preparers: [
    preparer('role.vault_owner.vaultSettingsUpdate', ownersAct({ judge: judgeSettings, call: set })),
    preparer('role.vault_owner.vaultRoutingUpdate', ownersAct({ judge: judgeRouting, call: route })),
  ],
  fields: {
    vault_settings: (snapshot, entityId, field) => {
      const vault = vaultIn(snapshot, entityId)
      return vault === undefined ? undefined : settingsOf(vault.state)[field]
    },
    vault_routing: (snapshot, entityId, field) => {
      const vault = vaultIn(snapshot, entityId)
      return vault === undefined || field !== 'marketAddresses' ? undefined : routeOf(vault.state.routing)
    },
  },
}

type Settings = Pick<
  VaultRead['state'],
  'liquidityBufferBps' | 'exitTerms' | 'minDepositAssets' | 'maxDepositAssets'
>

const settingsOf = ({ liquidityBufferBps, exitTerms, minDepositAssets, maxDepositAssets }: Settings) => {
  const fields: Readonly<Record<string, string>> = {
    liquidityBufferBps: String(liquidityBufferBps),
    exitTermKind: exitTermKind(exitTerms) ?? '',
    noticeSeconds: String(exitTerms.noticeSeconds),
    intervalSeconds: String(exitTerms.intervalSeconds),
    maturityTimestamp: String(exitTerms.maturityTimestamp),
    minDepositAssets: String(minDepositAssets),
    maxDepositAssets: String(maxDepositAssets),
  }
  return fields
}

const wantedBy = (input: SettingsInput): Settings => ({
  liquidityBufferBps: input.liquidityBufferBps,
  exitTerms: exitTermsOf(input),
  minDepositAssets: BigInt(input.minDepositAssets),
  maxDepositAssets: BigInt(input.maxDepositAssets),
})

function judgeSettings(input: SettingsInput, { state }: VaultRead): readonly string[] {
  const next = wantedBy(input)
  const [now, then] = [settingsOf(state), settingsOf(next)]
  if (Object.keys(now).every((field) => now[field] === then[field])) return ['settings_unchanged']
  const reasons: string[] = []
  // Terms that stay need no reason, also where their maturity has passed.
  if (!sameTerms(state.exitTerms, next.exitTerms)) {
    const outside = judgeTerms(next.exitTerms, Number(state.blockTimestamp))
    reasons.push(...outside)
    if (outside.length === 0 && state.tighteningLocked && tightens(state.exitTerms, next.exitTerms)) {
      reasons.push('exit_terms_locked')
    }
  }
  // Zero is no limit.
  if (next.maxDepositAssets > 0n && next.minDepositAssets > next.maxDepositAssets) {
    reasons.push('deposit_limits_out_of_range')
  }
  return reasons
}

function set(input: SettingsInput, { address }: VaultRead): OwnersCall {
  const next = wantedBy(input)
  const { liquidityBufferBps, exitTerms, minDepositAssets, maxDepositAssets } = next
  return {
    calldata: encodeFunctionData({
      abi: lendingVaultAbi,
      functionName: 'setSettings',
      args: [liquidityBufferBps, exitTerms, minDepositAssets, maxDepositAssets],
    }),
    label: `Keep ${liquidityBufferBps} bps idle, and pay who leaves by ${input.exitTermKind} terms`,
    postconditions: become('vault_settings', address, settingsOf(next)),
  }
}

/** A route is read as one text, in its order. */
const routeOf = (markets: readonly `0x${string}`[]): string => markets.map(lower).join(',')

function judgeRouting(
  { marketAddresses }: RoutingInput,
  { state }: VaultRead,
  { markets }: Snapshot,
): readonly string[] {
  const reasons = marketAddresses.flatMap((market) => {
    if (!markets.some(({ address }) => same(address, market))) return ['market_not_found']
    const attached = state.allocations.some((one) => same(one.market, market) && one.listing.approved)
    return attached ? [] : ['market_not_attached']
  })
  if (new Set(marketAddresses.map(lower)).size < marketAddresses.length) reasons.push('market_repeated')
  if (routeOf(marketAddresses) === routeOf(state.routing)) reasons.push('routing_unchanged')
  return [...new Set(reasons)]
}

function route({ marketAddresses }: RoutingInput, { address }: VaultRead): OwnersCall {
  return {
    calldata: encodeFunctionData({
      abi: lendingVaultAbi,
      functionName: 'setRouting',
      args: [marketAddresses],
    }),
    label: `Supply deposits into ${marketAddresses.length} markets in order`,
    postconditions: become('vault_routing', address, { marketAddresses: routeOf(marketAddresses) }),
  }
}

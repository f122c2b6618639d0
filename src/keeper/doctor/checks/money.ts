import type { RunConfig } from '../../../config/config.ts'
import { native, usd } from '../../../readable.js'
import type { WorkflowType } from '../../../service/contract/workflow-types.ts'
import { exactTokens } from '../../../units.ts'
import type { RolePolicy } from '../../policy/role-policy.ts'
import { type Finding, failed, passed, warned } from '../finding.ts'
import type { World } from '../world.ts'

type Judged = Pick<RolePolicy, 'agent' | 'does' | 'policy'>

/** Judge whether a live signer can pay for the gas that its policy allows, and has what it would move. Pure. */
export function judgeMoney(
  { agent: { role, mode, signer }, does, policy: { limits } }: Judged,
  { deployment }: Pick<RunConfig, 'deployment'>,
  { nativeWeiOf, balanceOf, prices }: Pick<World, 'nativeWeiOf' | 'balanceOf' | 'prices'>,
): readonly Finding[] {
  if (mode === 'shadow') return [passed('gas', role, 'a shadow pays for nothing.')]
  const wei = nativeWeiOf(signer.address)
  const { perWorkflow, perHour } = limits
  const need = perWorkflow.gasWeiMax
  const has = `${signer.address} has ${native(wei)}`
  const gas =
    wei < need
      ? failed('gas', role, {
          code: 'gas.short',
          message: `${has}; one workflow may cost ${native(need)} (limits.perWorkflow.gasMax).`,
          fix: `send at least ${native(perHour.gasWeiMax > wei ? perHour.gasWeiMax - wei : need)} to ${signer.address}, what an hour may cost.`,
        })
      : wei < perHour.gasWeiMax
        ? warned('gas', role, {
            code: 'gas.low',
            message: `${has}; an hour may cost ${native(perHour.gasWeiMax)} (limits.perHour.gasMax).`,
            fix: `send ${native(perHour.gasWeiMax - wei)} to ${signer.address}, or lower limits.perHour.gasMax.`,
          })
        : passed('gas', role, `${has}: enough for an hour of ${native(perHour.gasWeiMax)}.`)
  if (!does.workflowTypes.some((type) => PAYS.includes(type))) return [gas]
  const paid = new Set([
    ...deployment.markets.map(({ loanAsset }) => loanAsset),
    ...deployment.funds.map(({ quoteAsset }) => quoteAsset),
  ])
  const held = deployment.assets
    .filter(({ address }) => paid.has(address))
    .map((asset) => ({ asset, assets: balanceOf(signer.address, asset.address) ?? 0n }))
  const worth = held.reduce(
    (sum, { asset, assets }) =>
      sum + (assets * (prices.get(asset.symbol) ?? 0n)) / 10n ** BigInt(asset.decimals),
    0n,
  )
  const what = held.map(({ asset, assets }) => exactTokens(assets, asset)).join(', ')
  const message = `${signer.address} has ${what}; one workflow may move ${usd(perWorkflow.usdMicrosMax)}.`
  if (worth >= perWorkflow.usdMicrosMax) return [gas, passed('tokens', role, message)]
  const fix = `send ${held[0]?.asset.symbol ?? 'tokens'} to ${signer.address}, or lower limits.perWorkflow.movedMax to what it may spend.`
  return [gas, warned('tokens', role, { code: 'tokens.short', message, fix })]
}

/** What is paid out of the signer's own pocket. */
const PAYS: readonly WorkflowType[] = [
  'role.liquidator.liquidate',
  'role.lender.distressedRecoveryFundV3RfqPlaceBid',
]

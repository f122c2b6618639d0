import { describe, expect, it } from 'vitest'
import type { Ended, InFlight } from '../../../../agents/agent.ts'
import type { Declared } from '../../../../agents/asset-manager/declared/declared.ts'
import { reconcile } from '../../../../agents/asset-manager/declared/reconcile.ts'
import type { FundFigures, MobilityFigures } from '../../../../agents/asset-manager/seen.ts'
import type { FundResource } from '../../../../src/service/contract/fund-resources.ts'
import type { VaultResource } from '../../../../src/service/contract/vault-resources.ts'
import {
  channelPolicyInput,
  selfLaunchInput,
  shareMobilityInput,
  vaultDeployInput,
} from '../../../../src/service/contract/workflow-inputs.ts'
import {
  channel,
  FUND,
  figures,
  fund,
  fundRow,
  MARKET,
  market,
  mobility,
  moment,
  NOW_S,
  policy,
  RIVAL,
  SIGNER,
  USD,
  usd,
  VAULT,
  vault,
  vaultRow,
} from '../fixtures.ts'

type Seen = ReturnType<typeof moment>
const differencesOf = (seen: Seen, declared: Partial<Declared>) =>
  reconcile(seen, policy({}, declared).declared)
const outcomeOf = (seen: Seen, declared: Partial<Declared>) => {
  const [difference, ...others] = differencesOf(seen, declared)
  expect(others).toEqual([])
  return difference?.outcome
}
const checkOf = (seen: Seen, declared: Partial<Declared>) => {
  const outcome = outcomeOf(seen, declared)
  return outcome !== undefined && 'check' in outcome ? outcome.check : null
}
const stepOf = (seen: Seen, declared: Partial<Declared>) => {
  const outcome = outcomeOf(seen, declared)
  if (outcome === undefined || 'check' in outcome) throw new Error(`left alone: ${outcome?.message}`)
  return outcome
}
const about = (subject: string): InFlight => ({
  workflowId: 'w1',
  workflowType: 'role.asset_manager.vaultDeploy',
  kind: 'launch',
  subject,
  occurrence: 'absent',
  input: {},
  exposure: { token: null, assets: 0n, usdMicros: 0n },
})
const ended = (subject: string, state: Ended['state']): Ended => ({
  ...about(subject),
  kind: 'launch',
  state,
  begunAtMs: 0,
  endedAtMs: 1,
  check: null,
})

const vaultDeclared: Declared['vaults'][number] = {
  name: 'Vault',
  symbol: 'vVLT',
  baseAsset: 'sUSD',
  owner: 'self',
  allocator: RIVAL,
  liquidityBufferBps: 500,
  exitTermKind: 'instant',
  noticeSeconds: 0,
  intervalSeconds: 0,
  maturityTimestamp: 0,
}

describe('a declared vault', () => {
  const none = moment({ vaults: [] })
  const subject = `vault:Vault:vVLT:sUSD:${SIGNER}`

  it('is deployed where there is none, for ourselves as manager', () => {
    const step = stepOf(none, { vaults: [vaultDeclared] })
    expect(step).toMatchObject({
      workflowType: 'role.asset_manager.vaultDeploy',
      kind: 'launch',
      subject,
      occurrence: 'absent',
    })
    expect(vaultDeployInput.parse(step.input)).toMatchObject({
      ownerAddress: SIGNER,
      allocatorAddress: RIVAL,
      managerAddress: SIGNER,
      baseAssetAddress: USD,
      noticeSeconds: '0',
    })
  })

  it('is left where it is there as declared', () => {
    expect(checkOf(moment(), { vaults: [vaultDeclared] })).toBe('as_declared')
  })

  const others: readonly Partial<VaultResource>[] = [
    { name: 'Other' },
    { symbol: 'vOTH' },
    { baseAssetAddress: RIVAL },
    { assetManager: { id: RIVAL, address: RIVAL, name: null } },
  ]
  for (const change of others) {
    it(`is not found in one of another ${Object.keys(change)[0]}`, () => {
      const seen = moment({ vaults: [vault({ row: vaultRow(change) })] })
      expect(stepOf(seen, { vaults: [vaultDeclared] }).kind).toBe('launch')
    })
  }

  it('is never deployed twice: not while one is under way, nor after one that may have been', () => {
    expect(checkOf(moment({ ...none, inFlight: [about(subject)] }), { vaults: [vaultDeclared] })).toBe(
      'already_in_flight',
    )
    for (const state of ['succeeded', 'unconfirmed', 'partial', 'quarantined'] as const) {
      const seen = moment({ ...none, recent: [ended(subject, state)] })
      expect(checkOf(seen, { vaults: [vaultDeclared] })).toBe('launched_not_shown')
    }
    const failed = moment({ ...none, recent: [ended(subject, 'reverted')] })
    expect(stepOf(failed, { vaults: [vaultDeclared] }).kind).toBe('launch')
  })

  it('is said to differ where no workflow changes its terms', () => {
    const [difference] = differencesOf(moment(), {
      vaults: [{ ...vaultDeclared, exitTermKind: 'notice', noticeSeconds: 10 }],
    })
    expect(difference?.outcome).toMatchObject({ check: 'terms_differ' })
    expect(difference?.changes).toEqual([
      { field: 'exitTermKind', from: 'instant', to: 'notice' },
      { field: 'noticeSeconds', from: '0', to: '10' },
    ])
  })

  it('is not deployed past its maturity, in an asset that is not pinned, or where there are two', () => {
    const late = { ...vaultDeclared, exitTermKind: 'maturity', maturityTimestamp: NOW_S } as const
    expect(checkOf(none, { vaults: [late] })).toBe('maturity_passed')
    expect(checkOf(none, { vaults: [{ ...vaultDeclared, baseAsset: 'sEUR' }] })).toBe('asset_not_pinned')
    const twice = moment({ vaults: [vault(), vault({ row: vaultRow({ address: RIVAL }) })] })
    expect(checkOf(twice, { vaults: [vaultDeclared] })).toBe('vault_ambiguous')
  })
})

describe('a declared fund', () => {
  const declared: Declared['funds'][number] = {
    name: 'Fund',
    symbol: 'FND',
    quoteAsset: 'sUSD',
    epochDurationSeconds: 60,
    minSubscriptionAssets: 5n,
    maxSubscriptionAssets: 9n,
    carryRateBps: 1,
    performanceFeeBps: 2,
    preferredReturnBps: 3,
  }
  const terms: Partial<FundResource> = {
    epochDurationSeconds: '60',
    minSubscriptionAssets: '5',
    maxSubscriptionAssets: '9',
    carryRateBps: 1,
    performanceFeeBps: 2,
    preferredReturnBps: 3,
  }

  it('is launched where there is none', () => {
    const step = stepOf(moment({ funds: [] }), { funds: [declared] })
    expect(step.workflowType).toBe('role.asset_manager.distressedRecoveryFundV3SelfLaunch')
    expect(selfLaunchInput.parse(step.input)).toMatchObject({ quoteAssetAddress: USD, symbol: 'FND' })
  })

  it('is found while it waits for its approval', () => {
    const row = fundRow({ ...terms, status: 'pending_approval', fundReadinessApproved: false })
    expect(checkOf(moment({ funds: [fund({ row, figures: null })] }), { funds: [declared] })).toBe(
      'as_declared',
    )
  })

  it('is not found in another manager’s, and said to differ in its terms', () => {
    const others = fundRow({ ...terms, managerAddress: RIVAL })
    expect(stepOf(moment({ funds: [fund({ row: others })] }), { funds: [declared] }).kind).toBe('launch')
    const other = fundRow({ ...terms, carryRateBps: 9 })
    expect(checkOf(moment({ funds: [fund({ row: other })] }), { funds: [declared] })).toBe('terms_differ')
  })
})

describe('a declared channel policy', () => {
  const declared: Declared['channelPolicies'][number] = {
    fund: 'Fund',
    channel: 'rfq',
    ...channel(),
    allowLoosening: false,
  }
  const there = (rfq: FundFigures['channels']['rfq'], changes: Partial<Seen> = {}) =>
    moment({
      funds: [fund({ figures: figures({ channels: { ...figures().channels, rfq } }) })],
      ...changes,
    })

  it('is set where it is stricter than what is there', () => {
    const step = stepOf(there(channel({ maxPriceBps: 9_600 })), { channelPolicies: [declared] })
    expect(step).toMatchObject({ kind: 'tighten', summary: `Fund (${FUND}), rfq: maxPriceBps 96 % → 95 %` })
    expect(step.loosens).toBeUndefined()
    expect(channelPolicyInput.parse(step.input)).toEqual({
      fundAddress: FUND,
      channel: 'rfq',
      enabled: true,
      maxAssetsPerEpoch: String(usd(250_000)),
      maxPriceBps: 9_500,
      maxPositionBps: 2_500,
    })
  })

  it('is set figure by figure: what would be looser stays as it is', () => {
    const mixed = channel({ maxPriceBps: 9_600, maxPositionBps: 1_000, maxAssetsPerEpoch: 7n })
    expect(stepOf(there(mixed), { channelPolicies: [declared] }).input).toMatchObject({
      maxPriceBps: 9_500,
      maxPositionBps: 1_000,
      maxAssetsPerEpoch: '7',
    })
  })

  it('is not loosened unless that is allowed, and then so that a person is asked', () => {
    const strict = there(channel({ enabled: false }))
    expect(checkOf(strict, { channelPolicies: [declared] })).toBe('loosening_not_allowed')
    const step = stepOf(strict, { channelPolicies: [{ ...declared, allowLoosening: true }] })
    expect(step).toMatchObject({ kind: 'loosen', loosens: true, input: { enabled: true } })
  })

  it('is another opportunity when the same figures come back', () => {
    const loose = channel({ maxPriceBps: 9_600 })
    const first = stepOf(there(loose), { channelPolicies: [declared] })
    const again = stepOf(there(loose, { recent: [ended('channel:Fund:rfq', 'succeeded')] }), {
      channelPolicies: [declared],
    })
    expect(again.occurrence).not.toBe(first.occurrence)
  })

  it('follows nothing that was quarantined, and is repaired three times a day, as every setting', () => {
    const loose = channel({ maxPriceBps: 9_600 })
    const list = { channelPolicies: [declared] }
    const after = (states: readonly Ended['state'][], kind = 'tighten') =>
      there(loose, {
        recent: states.map((state) => ({
          ...ended('channel:Fund:rfq', state),
          kind,
          endedAtMs: NOW_S * 1_000,
        })),
      })
    expect(checkOf(after(['quarantined']), list)).toBe('quarantined_before')
    expect(stepOf(after(['succeeded', 'unconfirmed']), list).kind).toBe('tighten')
    expect(checkOf(after(['succeeded', 'succeeded', 'unconfirmed']), list)).toBe('set_back_again')
    // What a person approved is none of them.
    expect(stepOf(after(['succeeded', 'succeeded', 'succeeded'], 'loosen'), list).kind).toBe('tighten')
  })

  it('is made stricter at once, while what loosens it waits for a person', () => {
    const list = { channelPolicies: [{ ...declared, maxPriceBps: 1 }] }
    const waiting = (kind: string) => ({
      inFlight: [{ ...about('channel:Fund:rfq'), kind, held: true as const }],
    })
    const held = (kind: string) => moment(waiting(kind))
    expect(stepOf(held('loosen'), list).kind).toBe('tighten')
    expect(checkOf(held('tighten'), list)).toBe('already_in_flight')
    const looser = there(channel({ enabled: false }), waiting('loosen'))
    expect(checkOf(looser, { channelPolicies: [{ ...declared, allowLoosening: true }] })).toBe(
      'already_in_flight',
    )
  })

  it('waits for its fund: to be there, to be pinned, to be read', () => {
    const list = { channelPolicies: [{ ...declared, maxPriceBps: 1 }] }
    expect(checkOf(moment({ funds: [] }), list)).toBe('fund_not_read')
    const unpinned = moment()
    expect(checkOf({ ...unpinned, deployment: { ...unpinned.deployment, funds: [] } }, list)).toBe(
      'fund_not_pinned',
    )
    expect(checkOf(moment({ funds: [fund({ figures: null })] }), list)).toBe('fund_not_read')
    expect(checkOf(moment({ inFlight: [about('channel:Fund:rfq')] }), list)).toBe('already_in_flight')
  })
})

describe('a declared mobility', () => {
  const bare: Declared['mobility'][number] = { vault: 'Vault', allowLoosening: false }
  const emergencyPause = { reason: 'trouble', pauseSeconds: 60, badDebtBpsMax: 100 }
  const at = (changes: Partial<MobilityFigures>, more: Partial<Seen> = {}) =>
    moment({ vaults: [vault({ mobility: mobility(changes) })], ...more })
  const sick = [
    market({ oracleState: 'stale' }, { priceWad: 1n, sourceAsOfS: NOW_S - 999, state: 2 }),
  ] as const

  it('changes nothing that is not declared', () => {
    const odd = at({ transferProfile: 2, paused: true, pauseReason: 'x', trustedRecipients: [RIVAL] })
    expect(checkOf(odd, { mobility: [bare] })).toBe('as_declared')
  })

  it('makes the profile stricter, and looser only where that is allowed', () => {
    const trusted = { ...bare, transferProfile: 'trusted_recipients' } as const
    const step = stepOf(at({}), { mobility: [trusted] })
    expect(step).toMatchObject({ kind: 'tighten', occurrence: 'mobilityEpoch:0' })
    expect(shareMobilityInput.parse(step.input)).toEqual({
      vaultAddress: VAULT,
      action: 'set_transfer_profile',
      transferProfile: 'trusted_recipients',
    })
    expect(checkOf(at({ transferProfile: 2 }), { mobility: [trusted] })).toBe('loosening_not_allowed')
    const allowed = { ...trusted, allowLoosening: true }
    expect(stepOf(at({ transferProfile: 2 }), { mobility: [allowed] }).loosens).toBe(true)
    expect(checkOf(at({ transferProfile: 1 }), { mobility: [trusted] })).toBe('as_declared')
  })

  it('takes trust away at once, and gives it only where that is allowed', () => {
    const recipients = (trusted: boolean, allowLoosening: boolean) => ({
      mobility: [{ ...bare, allowLoosening, trustedRecipients: [{ address: RIVAL, trusted }] }],
    })
    expect(stepOf(at({ trustedRecipients: [RIVAL] }), recipients(false, false))).toMatchObject({
      kind: 'tighten',
      input: { action: 'set_trusted_recipient', recipientAddress: RIVAL, trusted: false },
    })
    expect(checkOf(at({}), recipients(true, false))).toBe('loosening_not_allowed')
    expect(stepOf(at({}), recipients(true, true)).loosens).toBe(true)
  })

  it('pauses while an oracle is in trouble by the service and by our own reading', () => {
    const step = stepOf(at({}, { markets: sick }), { mobility: [{ ...bare, emergencyPause }] })
    expect(step.kind).toBe('pause')
    expect(shareMobilityInput.parse(step.input)).toEqual({
      vaultAddress: VAULT,
      action: 'pause',
      restoreAfterTimestamp: String(NOW_S + 60),
      reason: 'trouble',
    })
    const waiting = { ...about('mobility:Vault'), kind: 'loosen', held: true } as const
    const held = at({}, { markets: sick, inFlight: [waiting] })
    expect(stepOf(held, { mobility: [{ ...bare, emergencyPause }] }).kind).toBe('pause')
    const declared = { mobility: [{ ...bare, emergencyPause }] }
    expect(checkOf(at({}, { markets: [market({ oracleState: 'stale' })] }), declared)).toBe('oracle_disputed')
    expect(checkOf(at({}, { markets: [] }), declared)).toBe('market_unknown')
    expect(checkOf(at({}, { markets: [market({}, null)] }), declared)).toBe('as_declared')
  })

  it('pauses past the bad debt that the rule allows, not at it', () => {
    const declared = { mobility: [{ ...bare, emergencyPause }] }
    const owing = (badDebtAssets: bigint | null) =>
      at({}, { markets: [market({}, market().oracle, badDebtAssets)] })
    expect(checkOf(owing(usd(10_000)), declared)).toBe('as_declared')
    expect(stepOf(owing(usd(10_000) + 1n), declared).kind).toBe('pause')
    expect(checkOf(owing(null), declared)).toBe('bad_debt_unknown')
  })

  it('pauses for no bad debt that the service alone knows', () => {
    const invented = [market({ totalBadDebt: String(usd(900_000)) })]
    expect(checkOf(at({}, { markets: invented }), { mobility: [{ ...bare, emergencyPause }] })).toBe(
      'as_declared',
    )
  })

  it('leaves alone what lends nothing to the market in trouble', () => {
    const row = vaultRow({
      allocations: [
        {
          vaultId: VAULT,
          vaultAddress: VAULT,
          marketId: MARKET,
          marketAddress: MARKET,
          allocatedAssets: '0',
        },
      ],
    })
    const seen = moment({ markets: sick, vaults: [vault({ row })] })
    expect(checkOf(seen, { mobility: [{ ...bare, emergencyPause }] })).toBe('as_declared')
  })

  it('ends its own pause once it has lasted and the trouble is over, and nobody else’s', () => {
    const declared = { mobility: [{ ...bare, emergencyPause }] }
    const paused = (restoreAfterS: number) => ({ paused: true, pauseReason: 'trouble', restoreAfterS })
    const step = stepOf(at(paused(NOW_S)), declared)
    expect(step).toMatchObject({ kind: 'restore', input: { action: 'restore' } })
    expect(step.loosens).toBeUndefined()
    expect(step.summary).toMatch(/: paused true until 2027-01-15T08:00:00\.000Z → false$/)
    expect(checkOf(at(paused(NOW_S + 1)), declared)).toBe('loosening_not_allowed')
    expect(checkOf(at(paused(NOW_S), { markets: sick }), declared)).toBe('pause_stands')
    const byAnother = { paused: true, pauseReason: 'other', restoreAfterS: 0 }
    expect(checkOf(at(byAnother), declared)).toBe('paused_by_another')
    expect(outcomeOf(at({ ...byAnother, restoreAfterS: NOW_S }), declared)).toMatchObject({
      message: 'Somebody else paused it, until 2027-01-15T08:00:00.000Z.',
    })
    const early = { mobility: [{ ...bare, emergencyPause, allowLoosening: true }] }
    expect(stepOf(at(paused(NOW_S + 1)), early).loosens).toBe(true)
  })

  it('knows its vault by the name that the deployment gives it: the service may swap the names of two', () => {
    const [first, other] = [vault(), vault({ row: vaultRow({ address: RIVAL, name: 'Other' }) })]
    const { deployment } = moment()
    const both = { ...deployment, vaults: [...deployment.vaults, { name: 'Other', address: RIVAL }] }
    const swapped = [
      { ...first, row: { ...first.row, name: 'Other', symbol: 'vOTH' } },
      { ...other, row: { ...other.row, name: 'Vault', symbol: 'vVLT' } },
    ]
    for (const vaults of [[first, other], swapped]) {
      const frozen = { mobility: [{ ...bare, transferProfile: 'frozen' as const }] }
      const step = stepOf(moment({ vaults, deployment: both }), frozen)
      expect(step.input.vaultAddress).toBe(VAULT)
      expect(step.summary).toBe(`Vault (${VAULT}): transferProfile open → frozen`)
    }
  })

  it('waits for its vault: to be there, to be pinned, to be read, to be ours', () => {
    const list = { mobility: [{ ...bare, transferProfile: 'frozen' as const }] }
    expect(checkOf(moment({ vaults: [] }), list)).toBe('vault_not_found')
    const seen = moment()
    expect(checkOf({ ...seen, deployment: { ...seen.deployment, vaults: [] } }, list)).toBe(
      'vault_not_pinned',
    )
    expect(checkOf(moment({ vaults: [vault({ mobility: null })] }), list)).toBe('vault_not_read')
    expect(checkOf(at({ isManager: false }), list)).toBe('not_manager')
    expect(checkOf(at({}, { inFlight: [about('mobility:Vault')] }), list)).toBe('already_in_flight')
  })
})

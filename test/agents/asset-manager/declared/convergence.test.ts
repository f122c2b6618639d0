import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CHANNELS, type Channel, type Declared } from '../../../../agents/asset-manager/declared/declared.ts'
import { reconcile } from '../../../../agents/asset-manager/declared/reconcile.ts'
import type {
  ChannelPolicy,
  FundSeen,
  MobilityFigures,
  VaultSeen,
} from '../../../../agents/asset-manager/seen.ts'
import { TRANSFER_PROFILES } from '../../../../src/service/contract/workflow-inputs.ts'
import type { Proposal } from '../../../../src/workflow/proposal.ts'
import { figures, fundRow, moment, NOW_S, RIVAL, SELLER, SIGNER, USD, vaultRow } from '../fixtures.ts'

type Seen = ReturnType<typeof moment>

const BASE = moment()
const TERMS = {
  epochDurationSeconds: '60',
  minSubscriptionAssets: '5',
  maxSubscriptionAssets: '9',
  carryRateBps: 1,
  performanceFeeBps: 2,
  preferredReturnBps: 3,
}
const ROWS = { fund: fundRow(TERMS), vault: vaultRow() }
const PEOPLE = [RIVAL, SELLER] as const
const PROFILES: readonly string[] = TRANSFER_PROFILES

const policies = fc.record({
  enabled: fc.boolean(),
  maxAssetsPerEpoch: fc.bigInt({ min: 0n, max: 5n }),
  maxPriceBps: fc.nat(3),
  maxPositionBps: fc.nat(3),
})
const mobilities = fc.record({
  transferProfile: fc.nat(2),
  paused: fc.boolean(),
  pauseReason: fc.constantFrom('trouble', 'another'),
  late: fc.boolean(),
  trusted: fc.tuple(fc.boolean(), fc.boolean()),
})
const optionally = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

const declarations = fc.record({
  hasVault: fc.boolean(),
  hasFund: fc.boolean(),
  channels: fc.record({
    acquisition: optionally(policies),
    auction: optionally(policies),
    rfq: optionally(policies),
  }),
  profile: optionally(fc.constantFrom(...TRANSFER_PROFILES)),
  trusted: fc.tuple(optionally(fc.boolean()), optionally(fc.boolean())),
  pauses: fc.boolean(),
  allowLoosening: fc.boolean(),
})
const worlds = fc.record({
  fund: fc.boolean(),
  vault: fc.boolean(),
  channels: fc.record({ acquisition: policies, auction: policies, rfq: policies }),
  mobility: mobilities,
  sick: fc.boolean(),
})
type World = typeof worlds extends fc.Arbitrary<infer T> ? T : never
type Declaration = typeof declarations extends fc.Arbitrary<infer T> ? T : never

const fundWith = (channels: Readonly<Record<Channel, ChannelPolicy>>): FundSeen => ({
  row: ROWS.fund,
  figures: { ...figures(), channels },
})
const vaultWith = (mobility: MobilityFigures): VaultSeen => ({ row: ROWS.vault, mobility, settings: null })

function seenOf({ fund, vault, channels, mobility, sick }: World): Seen {
  const { late, trusted, paused, pauseReason, transferProfile } = mobility
  const figuresOf: MobilityFigures = {
    isManager: true,
    transferProfile,
    paused,
    pauseReason: paused ? pauseReason : '',
    restoreAfterS: paused ? NOW_S + (late ? -1 : 1) : 0,
    mobilityEpoch: 5n,
    trustedRecipients: PEOPLE.filter((_, index) => trusted[index]),
  }
  const [well] = BASE.markets
  if (well === undefined) throw new Error('the fixtures have a market')
  const row = { ...well.row, oracleState: 'stale' }
  const ill = { ...well, row, oracle: { priceWad: 1n, sourceAsOfS: 1, state: 2 } }
  return {
    ...BASE,
    funds: fund ? [fundWith(channels)] : [],
    vaults: vault ? [vaultWith(figuresOf)] : [],
    markets: [sick ? ill : well],
  }
}

function declaredOf(declaration: Declaration): Declared {
  const { hasVault, hasFund, channels, profile, trusted, pauses, allowLoosening } = declaration
  const trustedRecipients = PEOPLE.flatMap((address, index) => {
    const wanted = trusted[index]
    return wanted === undefined ? [] : [{ address, trusted: wanted }]
  })
  return {
    vaults: hasVault ? [VAULT] : [],
    funds: hasFund ? [FUND] : [],
    channelPolicies: CHANNELS.flatMap((channel) => {
      const wanted = channels[channel]
      return wanted === undefined ? [] : [{ fund: 'Fund', channel, ...wanted, allowLoosening }]
    }),
    mobility: [
      {
        vault: 'Vault',
        transferProfile: profile,
        trustedRecipients,
        emergencyPause: pauses ? { reason: 'trouble', pauseSeconds: 60, badDebtBpsMax: 100 } : undefined,
        allowLoosening,
      },
    ],
    vaultSettings: [],
  }
}

const VAULT: Declared['vaults'][number] = {
  name: 'Vault',
  symbol: 'vVLT',
  baseAsset: 'sUSD',
  owner: 'self',
  allocator: 'self',
  liquidityBufferBps: 500,
  exitTermKind: 'instant',
  noticeSeconds: 0,
  intervalSeconds: 0,
  maturityTimestamp: 0,
}
const FUND: Declared['funds'][number] = {
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
const NEW_CHANNEL: ChannelPolicy = {
  enabled: false,
  maxAssetsPerEpoch: 0n,
  maxPriceBps: 0,
  maxPositionBps: 0,
}
const NEW_MOBILITY: MobilityFigures = {
  isManager: true,
  transferProfile: 0,
  paused: false,
  pauseReason: '',
  restoreAfterS: 0,
  mobilityEpoch: 0n,
  trustedRecipients: [],
}

/** What a step does, as the contracts and the service would show it. */
function applied(seen: Seen, { input, workflowType }: Proposal): Seen {
  const [fund] = seen.funds
  const [vault] = seen.vaults
  switch (workflowType) {
    case 'role.asset_manager.vaultDeploy':
      return { ...seen, vaults: [...seen.vaults, vaultWith(NEW_MOBILITY)] }
    case 'role.asset_manager.distressedRecoveryFundV3SelfLaunch': {
      const launched = fundWith({ acquisition: NEW_CHANNEL, auction: NEW_CHANNEL, rfq: NEW_CHANNEL })
      return { ...seen, funds: [...seen.funds, launched] }
    }
    case 'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet': {
      if (fund?.figures == null) throw new Error('a policy was set of no fund')
      const { channel, enabled, maxAssetsPerEpoch, maxPriceBps, maxPositionBps } = input
      const next = {
        enabled,
        maxAssetsPerEpoch: BigInt(String(maxAssetsPerEpoch)),
        maxPriceBps,
        maxPositionBps,
      }
      const channels = { ...fund.figures.channels, [String(channel)]: next }
      return { ...seen, funds: [{ ...fund, figures: { ...fund.figures, channels } }] }
    }
    default: {
      if (vault?.mobility == null) throw new Error('the mobility of no vault was changed')
      const { mobility } = vault
      const next = { ...mobility, mobilityEpoch: mobility.mobilityEpoch + 1n, ...changeOf(mobility, input) }
      return { ...seen, vaults: [{ ...vault, mobility: next }] }
    }
  }
}

function changeOf(mobility: MobilityFigures, input: Proposal['input']): Partial<MobilityFigures> {
  switch (input.action) {
    case 'pause':
      return {
        paused: true,
        pauseReason: String(input.reason),
        restoreAfterS: Number(input.restoreAfterTimestamp),
      }
    case 'restore':
      return { paused: false, pauseReason: '', restoreAfterS: 0 }
    case 'set_transfer_profile':
      return { transferProfile: PROFILES.indexOf(String(input.transferProfile)) }
    default: {
      const { recipientAddress, trusted } = input
      const others = mobility.trustedRecipients.filter((one) => one !== recipientAddress)
      const recipients = PEOPLE.filter((one) => one === recipientAddress && trusted === true)
      return { trustedRecipients: [...others, ...recipients] }
    }
  }
}

const stepsOf = (seen: Seen, declared: Declared): readonly Proposal[] =>
  reconcile(seen, declared).flatMap(({ outcome }) => ('workflowType' in outcome ? [outcome] : []))

/** Whether a step may be made without a person: then nothing that it leaves is looser than before. */
const isLoosened = (before: Seen, after: Seen): boolean => {
  const [from, to] = [before.funds[0]?.figures, after.funds[0]?.figures]
  if (from != null && to != null) {
    for (const name of CHANNELS) {
      const [was, is] = [from.channels[name], to.channels[name]]
      if (is.enabled && !was.enabled) return true
      if (is.maxAssetsPerEpoch > was.maxAssetsPerEpoch) return true
      if (is.maxPriceBps > was.maxPriceBps || is.maxPositionBps > was.maxPositionBps) return true
    }
  }
  const [had, has] = [before.vaults[0]?.mobility, after.vaults[0]?.mobility]
  if (had == null || has == null) return false
  if (has.transferProfile < had.transferProfile) return true
  if (had.paused && !has.paused && NOW_S < had.restoreAfterS) return true
  return has.trustedRecipients.some((one) => !had.trustedRecipients.includes(one))
}

describe('what is declared', () => {
  it('is reached in a few steps, then stays; nothing is loosened unasked, and nothing else is touched', () => {
    let steps = 0
    fc.assert(
      fc.property(worlds, declarations, (world, declaration) => {
        const declared = declaredOf(declaration)
        let seen = seenOf(world)
        for (let round = 0; round < 12; round += 1) {
          const next = stepsOf(seen, declared)
          if (next.length === 0) break
          expect(round).toBeLessThan(11)
          for (const step of next) {
            steps += 1
            const after = applied(seen, step)
            if (isLoosened(seen, after)) {
              expect(declaration.allowLoosening).toBe(true)
              expect(step.loosens).toBe(true)
            }
            seen = after
          }
        }
        expect(stepsOf(seen, declared)).toHaveLength(0)
        if (world.fund) {
          for (const name of CHANNELS) {
            if (declaration.channels[name] !== undefined) continue
            expect(seen.funds[0]?.figures?.channels[name]).toBe(world.channels[name])
          }
        }
        if (world.vault && declaration.profile === undefined) {
          expect(seen.vaults[0]?.mobility?.transferProfile).toBe(world.mobility.transferProfile)
        }
        if (declaration.allowLoosening && world.fund) {
          for (const name of CHANNELS) {
            const wanted = declaration.channels[name]
            if (wanted !== undefined) expect(seen.funds[0]?.figures?.channels[name]).toEqual(wanted)
          }
        }
      }),
      { numRuns: 10_000 },
    )
    expect(steps).toBeGreaterThan(20_000)
  })

  it('is launched once for each name, whatever is under way', () => {
    const declared = { ...declaredOf(EVERYTHING), channelPolicies: [], mobility: [] }
    const empty = { ...BASE, funds: [], vaults: [] }
    const launches = stepsOf(empty, declared)
    expect(launches.map(({ kind }) => kind)).toEqual(['launch', 'launch'])
    const inFlight = launches.map((step, index) => ({ workflowId: `w${index}`, ...step }))
    expect(stepsOf({ ...empty, inFlight }, declared)).toEqual([])
    expect(launches.map(({ subject }) => subject)).toEqual([
      `vault:Vault:vVLT:sUSD:${SIGNER}`,
      `fund:Fund:${SIGNER}`,
    ])
    expect(launches[0]?.input.baseAssetAddress).toBe(USD)
  })
})

const EVERYTHING: Declaration = {
  hasVault: true,
  hasFund: true,
  channels: { acquisition: undefined, auction: undefined, rfq: undefined },
  profile: undefined,
  trusted: [undefined, undefined],
  pauses: false,
  allowLoosening: false,
}

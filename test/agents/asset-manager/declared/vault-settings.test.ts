import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Ended, InFlight, Moment } from '../../../../agents/agent.ts'
import type { DeclaredSettings } from '../../../../agents/asset-manager/declared/declared-settings.ts'
import { reconcile } from '../../../../agents/asset-manager/declared/reconcile.ts'
import type { ManagerSeen } from '../../../../agents/asset-manager/seen.ts'
import type { Proposal } from '../../../../src/workflow/proposal.ts'
import { policy, RIVAL, SIGNER, USD, VAULT } from '../fixtures.ts'
import { checksOf, differencesOf, NOTHING, stepsOf } from './settings-cases.ts'
import { applied, BARE, CHANNEL, PEOPLE, RESELLER, seenOf } from './settings-model.ts'

type Seen = Moment & ManagerSeen
const [SELF, ONE, TWO] = PEOPLE
if (SELF === undefined || ONE === undefined || TWO === undefined) throw new Error('three people')

const about = (step: Proposal, changes: Partial<InFlight> = {}): InFlight => ({
  workflowId: 'w1',
  workflowType: step.workflowType,
  kind: step.kind,
  subject: step.subject,
  occurrence: step.occurrence,
  input: step.input,
  exposure: step.exposure,
  ...changes,
})
const ended = (step: Proposal, state: Ended['state']): Ended => ({
  ...about(step),
  state,
  begunAtMs: 0,
  endedAtMs: 1,
  check: null,
})
const first = (seen: Seen, one: DeclaredSettings): Proposal => {
  const [step, ...others] = stepsOf(seen, one)
  if (step === undefined) throw new Error(`nothing is proposed: ${checksOf(seen, one).join(', ')}`)
  expect(others).toEqual([])
  return step
}

/** Every kind of setting, over a vault of which nothing is set. */
const ALL: DeclaredSettings = {
  ...NOTHING,
  markets: [
    { market: 'oneMarket', absoluteCapAssets: 9n, relativeCapBps: 5_000, allocationEnabled: true },
    { market: 'twoMarket', absoluteCapAssets: 0n, relativeCapBps: 0, allocationEnabled: false },
  ],
  allocators: [{ address: ONE, granted: true }],
  managers: [{ address: TWO, granted: true }],
  curators: [{ address: 'self', granted: true }],
  fees: { managementFeeBps: 50, performanceFeeBps: 1_000, recipient: 'self' },
  borrowerManagerFee: { feeBps: 500, recipient: ONE },
  routing: ['oneMarket'],
  terms: {
    liquidityBufferBps: 100,
    exit: { exitTermKind: 'notice', noticeSeconds: 60, intervalSeconds: 0, maturityTimestamp: 0 },
    minDepositAssets: 5n,
    maxDepositAssets: 50n,
  },
  channels: [
    {
      channel: 'partner',
      name: 'Partner',
      symbol: 'ptn',
      reseller: RESELLER,
      curator: 'self',
      shareClass: 'Retail',
      resellerFeeBps: 100,
      borrowerFeeBps: 200,
      capAssets: 7n,
      blocked: [
        { address: ONE, blocked: true },
        { address: 'everyone', blocked: false },
      ],
    },
  ],
  management: { managerName: 'A', website: 'https://a.example', logoUrl: 'https://a.example/logo' },
  classification: { shareClass: 'A', riskScore: 40 },
  newOwner: TWO,
}

it('brings a bare vault to all of it in an order that is safe, the ownership offer last', () => {
  const told: string[] = []
  let model = BARE
  for (let steps = stepsOf(seenOf(model), ALL); steps[0] !== undefined; steps = stepsOf(seenOf(model), ALL)) {
    told.push(`${steps[0].loosens === true ? '↑' : ' '} ${steps[0].summary.replace(/^.*?\), /, '')}`)
    model = applied(model, steps[0])
  }
  expect(told).toMatchInlineSnapshot(`
    [
      "  terms: minDepositAssets 0 sUSD → 0.000005 sUSD, maxDepositAssets 0 sUSD → 0.00005 sUSD",
      "  management: managerName nothing → A, website nothing → https://a.example, logoUrl nothing → https://a.example/logo",
      "  classification: shareClass nothing → A, riskScore nothing → 40",
      "  market oneMarket: absoluteCapAssets 0.000009 sUSD, relativeCapBps 50 %, allocationEnabled false",
      "  market twoMarket: absoluteCapAssets 0 sUSD, relativeCapBps 0 %, allocationEnabled false",
      "↑ fees: managementFeeBps 0 % → 0.5 %, performanceFeeBps 0 % → 10 %, recipientAddress 0x0000000000000000000000000000000000000000 → 0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
      "↑ borrowerManagerFee: borrowerManagerFeeBps 0 % → 5 %, recipientAddress 0x0000000000000000000000000000000000000000 → 0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1",
      "↑ manager 0xa2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2: manager nobody → 0xa2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2",
      "↑ curator 0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: curator nobody → 0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
      "↑ allocator 0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1: allocator nobody → 0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1",
      "↑ market oneMarket: allocationEnabled false → true",
      "↑ terms: liquidityBufferBps 5 % → 1 %, exitTermKind instant → notice, noticeSeconds 0 s → 1 min",
      "↑ routing: routing nowhere → oneMarket",
      "  channel partner: name Partner, symbol ptn, resellerAddress 0xdddddddddddddddddddddddddddddddddddddddd, curatorAddress 0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, shareClass Retail, resellerFeeBps 1 %, borrowerFeeBps 2 %, capAssets 0.000007 sUSD",
      "  channel partner 0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1: blocked false → true",
      "↑ owner: offeredTo nobody → 0xa2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2",
    ]
  `)
  expect(new Set(checksOf(seenOf(model), ALL))).toEqual(new Set(['as_declared']))
  expect(checksOf(seenOf(model), ALL)).toHaveLength(15)
})

/** A vault that we deployed. */
const EXIT = {
  exitTermKind: 'instant',
  noticeSeconds: 0,
  intervalSeconds: 0,
  maturityTimestamp: 0,
} as const
const MADE = {
  name: 'Vault',
  symbol: 'vVLT',
  baseAsset: 'sUSD',
  owner: 'self',
  allocator: 'self',
} as const

describe('a step', () => {
  const [open, shut] = [
    { approved: true, allocationEnabled: true, relativeCapBps: 9_000, absoluteCapAssets: 90n },
    { approved: true, allocationEnabled: false, relativeCapBps: 9_000, absoluteCapAssets: 90n },
  ]
  const listed = { ...BARE, listings: [open, shut, open] }
  const caps = (market: string, absoluteCapAssets: bigint, allocationEnabled = true) => ({
    market,
    absoluteCapAssets,
    relativeCapBps: 9_000,
    allocationEnabled,
  })

  it('waits for the one before: carried out it holds up all, held for a person all that is not stricter', () => {
    const declared = { ...NOTHING, markets: [caps('twoMarket', 90n)], fees: ALL.fees }
    const seen = seenOf(listed)
    const [step] = stepsOf(seen, declared)
    if (step === undefined) throw new Error('something is to be done')
    expect(step.subject).toBe('settings:Vault:fees')
    expect(checksOf({ ...seen, inFlight: [about(step)] }, declared)).toEqual([
      'already_in_flight',
      'waits_its_turn',
    ])
    const tighter = { ...declared, markets: [caps('oneMarket', 9n)] }
    expect(checksOf({ ...seen, inFlight: [about(step)] }, tighter)).toEqual([
      'waits_its_turn',
      'already_in_flight',
    ])
    expect(checksOf({ ...seen, inFlight: [about(step, { held: true })] }, tighter)).toEqual([
      'tighten',
      'already_in_flight',
    ])
    expect(checksOf({ ...seen, inFlight: [about(step, { held: true })] }, declared)).toEqual([
      'already_in_flight',
      'waits_its_turn',
    ])
  })

  it('goes behind the others once it failed, and never before what is stricter', () => {
    const declared = { ...NOTHING, markets: [caps('oneMarket', 9n), caps('twoMarket', 90n)], fees: ALL.fees }
    const seen = seenOf(listed)
    const tighten = first(seen, declared)
    expect(tighten.subject).toBe('settings:Vault:market:oneMarket')
    expect(first({ ...seen, recent: [ended(tighten, 'reverted')] }, declared).subject).toBe(tighten.subject)
    const after = seenOf(applied(listed, tighten))
    const charge = first(after, declared)
    expect(charge.subject).toBe('settings:Vault:fees')
    expect(first({ ...after, recent: [ended(charge, 'refused')] }, declared).subject).toBe(
      'settings:Vault:market:twoMarket',
    )
  })

  it('is another opportunity when the same figures come back, and the same one until then', () => {
    const declared = { ...NOTHING, markets: [caps('oneMarket', 9n)] }
    const step = first(seenOf(listed), declared)
    expect(first(seenOf(listed), declared).occurrence).toBe(step.occurrence)
    const again = first({ ...seenOf(listed), recent: [ended(step, 'succeeded')] }, declared)
    expect(again.occurrence).not.toBe(step.occurrence)
  })

  it('keeps what is stricter of each field, and asks before the rest', () => {
    const declared = {
      ...NOTHING,
      terms: { liquidityBufferBps: 100, minDepositAssets: 5n, maxDepositAssets: 50n },
    }
    const seen = seenOf({ ...BARE, terms: { ...BARE.terms, maxDepositAssets: 20n } })
    expect(first(seen, declared)).toMatchObject({
      kind: 'tighten',
      input: { liquidityBufferBps: 500, minDepositAssets: '5', maxDepositAssets: '20' },
    })
    expect(first(seen, declared).loosens).toBeUndefined()
    // Limits that do not meet: nothing is let through meanwhile that is not today.
    const apart = { ...NOTHING, terms: { minDepositAssets: 30n, maxDepositAssets: 50n } }
    expect(first(seen, apart).input).toMatchObject({ minDepositAssets: '20', maxDepositAssets: '20' })
  })

  it('classes a vault as less risky or for others on approval alone, as riskier at once', () => {
    const seen = seenOf({ ...BARE, classification: { shareClass: 'A', riskScore: 40 } })
    for (const classification of [
      { shareClass: 'A', riskScore: 39 },
      { shareClass: 'B', riskScore: 40 },
      { shareClass: 'B', riskScore: 90 },
    ]) {
      expect(checksOf(seen, { ...NOTHING, classification, allowLoosening: false })).toEqual([
        'loosening_not_allowed',
      ])
      expect(first(seen, { ...NOTHING, classification }).loosens).toBe(true)
    }
    const riskier = { ...NOTHING, classification: { shareClass: 'A', riskScore: 41 }, allowLoosening: false }
    expect(first(seen, riskier).loosens).toBeUndefined()
  })

  it('takes an offer back before it offers the vault to another', () => {
    const seen = seenOf({ ...BARE, pendingOwner: ONE })
    expect(first(seen, { ...NOTHING, newOwner: TWO })).toMatchObject({
      kind: 'tighten',
      input: { action: 'cancel' },
    })
    expect(checksOf(seen, { ...NOTHING, newOwner: ONE })).toEqual(['as_declared'])
    expect(checksOf(seenOf({ ...BARE, owner: TWO }), { ...NOTHING, newOwner: TWO })).toEqual(['as_declared'])
  })

  it('offers the vault to nobody while anything of it is left', () => {
    const declared = { ...NOTHING, newOwner: TWO, fees: ALL.fees }
    expect(checksOf(seenOf(BARE), { ...declared, allowLoosening: false })).toContain('loosening_not_allowed')
    const channel = { curator: RIVAL, blocked: new Set<`0x${string}`>() }
    const left = { ...NOTHING, newOwner: TWO, channels: ALL.channels }
    expect(checksOf(seenOf({ ...BARE, channel }), left)).toContain('offered_last')
    expect(checksOf(seenOf(BARE), { ...NOTHING, newOwner: TWO })).toEqual(['loosen'])
  })

  it('is never proposed of a vault of another, nor of a channel that another curates', () => {
    const found = differencesOf(seenOf({ ...BARE, owner: RIVAL }), { ...NOTHING, fees: ALL.fees })
    expect(found).toMatchObject([{ direction: 'none', outcome: { check: 'not_owner' } }])
    expect(found[0]?.changes).toHaveLength(3)
    const channel = { curator: RIVAL, blocked: new Set<`0x${string}`>() }
    expect(checksOf(seenOf({ ...BARE, channel }), { ...NOTHING, channels: ALL.channels })).toEqual([
      'terms_differ',
      'not_curator',
      'as_declared',
    ])
    expect(
      checksOf(seenOf({ ...BARE, roles: new Set([`curator:${SIGNER}`]) }), {
        ...NOTHING,
        channels: ALL.channels,
      }),
    ).toContain('not_manager')
  })

  it('closes a market whose cap goes below what is lent there, and opens it once that is taken back', () => {
    const declared = { ...NOTHING, markets: [caps('oneMarket', 9n)] }
    const inputOf = (lent: bigint) => first(seenOf({ ...listed, lent }), declared).input
    expect(inputOf(9n)).toMatchObject({ absoluteCapAssets: '9', allocationEnabled: true })
    expect(inputOf(10n)).toMatchObject({ absoluteCapAssets: '9', allocationEnabled: false })
    const lowered = { ...shut, absoluteCapAssets: 9n }
    const after = (lent: bigint) => seenOf({ ...listed, listings: [lowered, shut, open], lent })
    expect(checksOf(after(10n), declared)).toEqual(['cap_below_lent'])
    expect(first(after(9n), declared)).toMatchObject({ kind: 'loosen', input: { allocationEnabled: true } })
    // The relative one as well; what interest alone brought above an old cap closes nothing.
    const relative = { ...NOTHING, markets: [{ ...caps('oneMarket', 90n), relativeCapBps: 9 }] }
    expect(first(seenOf({ ...listed, lent: 10n }), relative).input).toMatchObject({
      allocationEnabled: false,
    })
    expect(
      checksOf(seenOf({ ...listed, lent: 91n }), { ...NOTHING, markets: [caps('oneMarket', 90n)] }),
    ).toEqual(['as_declared'])
  })

  it('lists no market that does not let the vault lend to it', () => {
    const seen = seenOf(BARE)
    const [vault] = seen.vaults
    if (vault?.settings == null) throw new Error('the model has a vault')
    const listings = new Map(
      [...vault.settings.listings].map(([at, one]) => [at, { ...one, admitted: false }]),
    )
    const vaults = [{ ...vault, settings: { ...vault.settings, listings } }]
    expect(checksOf({ ...seen, vaults }, { ...NOTHING, markets: [caps('oneMarket', 1n)] })).toEqual([
      'vault_not_listed_at_market',
    ])
  })

  it('leaves an account that is declared both ways, under its address and as self or everyone', () => {
    const both = (address: Address) => [
      { address: 'self' as const, granted: true },
      { address, granted: false },
    ]
    for (const roles of [new Set<string>(), new Set([`allocator:${SIGNER}`])]) {
      const seen = seenOf({ ...BARE, roles })
      expect(checksOf(seen, { ...NOTHING, allocators: both(SIGNER) })).toEqual([
        'declared_both_ways',
        'declared_both_ways',
      ])
    }
    expect(checksOf(seenOf(BARE), { ...NOTHING, allocators: both(ONE) })).toEqual(['as_declared', 'loosen'])
    const [channel] = ALL.channels
    if (channel === undefined) throw new Error('one is declared')
    const blocked = [
      { address: 'everyone' as const, blocked: false },
      { address: CHANNEL, blocked: true },
    ]
    const open = { ...BARE, channel: { curator: SIGNER, blocked: new Set<Address>() } }
    const declared = { ...NOTHING, channels: [{ ...channel, curator: 'self' as const, blocked }] }
    expect(checksOf(seenOf(open), declared).filter((check) => check !== 'as_declared')).toEqual([
      'declared_both_ways',
      'declared_both_ways',
    ])
  })

  it('never deploys a channel twice, and none that it cannot know of', () => {
    const declared = { ...NOTHING, channels: ALL.channels.map((one) => ({ ...one, blocked: [] })) }
    const seen = seenOf({ ...BARE, roles: new Set([...BARE.roles, `curator:${SIGNER}`]) })
    const step = first(seen, declared)
    expect(step).toMatchObject({ kind: 'launch', input: { assetAddress: USD, capAssets: '7' } })
    expect(step.loosens).toBeUndefined()
    // What its amounts are of is said beside it.
    expect(differencesOf(seen, declared).find(({ outcome }) => 'input' in outcome)).toMatchObject({
      asset: USD,
    })
    expect(checksOf({ ...seen, recent: [ended(step, 'succeeded')] }, declared)).toEqual([
      'launched_not_shown',
    ])
    expect(checksOf({ ...seen, wrappers: null }, declared)).toEqual(['channels_unknown'])
    const wrapper = {
      id: CHANNEL,
      chainId: 1,
      address: CHANNEL,
      vaultId: VAULT,
      resellerAddress: RESELLER,
      shareClass: 'Retail',
    }
    const [there] = differencesOf({ ...seen, wrappers: [wrapper] }, declared)
    expect(there).toMatchObject({
      outcome: { check: 'channel_not_pinned' },
      pin: { list: 'contracts', name: 'partner', address: CHANNEL },
    })
    // A stranger's is neither in the way nor to be pinned.
    const strange = { ...seen, wrappers: [{ ...wrapper, managerId: null }] }
    expect(differencesOf(strange, declared)).toEqual(differencesOf(seen, declared))
  })

  it('waits for its vault: to be there, to be pinned, to be read, to be of its asset', () => {
    const seen = seenOf(BARE)
    const [vault] = seen.vaults
    if (vault === undefined) throw new Error('the model has a vault')
    const { deployment } = seen
    const bare = { ...seen, deployment: { ...deployment, vaults: [] } }
    expect(checksOf(bare, ALL)).toEqual(['vault_not_pinned'])
    expect(checksOf({ ...seen, vaults: [] }, ALL)).toEqual(['vault_not_found'])
    expect(checksOf({ ...seen, vaults: [{ ...vault, settings: null }] }, ALL)).toEqual(['vault_not_read'])
    expect(checksOf(seen, { ...ALL, baseAsset: 'sBTC' })).toEqual(['base_asset_differs'])
    const vaults = [{ ...MADE, liquidityBufferBps: 500, ...EXIT }]
    const ours = { ...ALL, vault: 'vVLT' }
    const [found] = differencesOf(bare, ours, { vaults })
    expect(found).toMatchObject({
      outcome: { check: 'vault_not_pinned' },
      pin: { list: 'vaults', name: 'vVLT', address: VAULT, asset: USD },
    })
    expect(checksOf({ ...bare, vaults: [] }, ours, { vaults })).toEqual(['vault_not_deployed'])
  })

  it('leaves to it the terms of a vault that we deployed', () => {
    const [seen] = [seenOf(BARE)]
    const termsOf = (terms: DeclaredSettings['terms']) => {
      const declared = { vaults: [{ ...MADE, liquidityBufferBps: 900, ...EXIT }] }
      const one = { ...NOTHING, vault: 'vVLT', terms }
      const [vault] = reconcile(seen, policy({}, { ...declared, vaultSettings: [one] }).declared)
      return vault?.outcome
    }
    expect(termsOf(undefined)).toMatchObject({ check: 'terms_differ' })
    expect(termsOf({ liquidityBufferBps: 1_000 })).toMatchObject({ check: 'as_declared' })
  })
})

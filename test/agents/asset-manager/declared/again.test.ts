import { expect, it } from 'vitest'
import type { Ended } from '../../../../agents/agent.ts'
import type { DeclaredSettings } from '../../../../agents/asset-manager/declared/declared-settings.ts'
import { reconcile } from '../../../../agents/asset-manager/declared/reconcile.ts'
import type { Proposal } from '../../../../src/workflow/proposal.ts'
import { policy, SIGNER } from '../fixtures.ts'
import { BARE, type Model, RESELLER, seenOf } from './settings-model.ts'

const BASE: DeclaredSettings = {
  vault: 'Vault',
  baseAsset: 'sUSD',
  markets: [],
  allocators: [],
  managers: [],
  curators: [],
  channels: [],
  allowLoosening: true,
}
const ENDED_AT_MS = 1_000_000

const outcomesOf = (model: Model, one: DeclaredSettings, recent: readonly Ended[], nowMs = ENDED_AT_MS) =>
  reconcile({ ...seenOf(model), nowMs, recent }, policy({}, { vaultSettings: [one] }).declared)
    .filter(({ subject }) => subject.startsWith('settings:'))
    .map(({ outcome }) => outcome)
const stepOf = (model: Model, one: DeclaredSettings, recent: readonly Ended[] = []): Proposal => {
  const [step] = outcomesOf(model, one, recent)
  if (step === undefined || 'check' in step) throw new Error(`nothing is proposed: ${step?.check}`)
  return step
}
const ended = (step: Proposal, state: Ended['state'], workflowId = 'w1'): Ended => ({
  workflowId,
  workflowType: step.workflowType,
  kind: step.kind,
  subject: step.subject,
  occurrence: step.occurrence,
  input: step.input,
  exposure: step.exposure,
  state,
  begunAtMs: ENDED_AT_MS - 1,
  endedAtMs: ENDED_AT_MS,
  check: null,
})

it('saves no record twice that the service says it has: after five minutes a person hears of it', () => {
  const declared = { ...BASE, classification: { shareClass: 'A', riskScore: 1 } }
  const step = stepOf(BARE, declared)
  for (const state of ['succeeded', 'unconfirmed', 'partial'] as const) {
    const recent = [ended(step, state)]
    const [young] = outcomesOf(BARE, declared, recent, ENDED_AT_MS + 299_999)
    expect(young).toMatchObject({ check: 'saved_not_shown' })
    expect(young).not.toHaveProperty('alarm')
    const [old] = outcomesOf(BARE, declared, recent, ENDED_AT_MS + 300_000)
    expect(old).toMatchObject({ check: 'saved_not_shown', alarm: {} })
  }
  // Another record is another matter, and so is a try without effect.
  const other = { ...BASE, classification: { shareClass: 'B', riskScore: 1 } }
  expect(stepOf(BARE, other, [ended(step, 'succeeded')]).input).toMatchObject({ shareClass: 'B' })
  expect(stepOf(BARE, declared, [ended(step, 'refused')]).occurrence).toBe(step.occurrence)
})

it('lets a setting come back in the same figures, but opens no channel twice', () => {
  const terms = stepOf(BARE, { ...BASE, terms: { liquidityBufferBps: 900 } })
  expect(terms).toMatchObject({ comesBack: true, kind: 'tighten' })
  const opens: DeclaredSettings['channels'][number] = {
    channel: 'partner',
    name: 'Partner',
    symbol: 'ptn',
    reseller: RESELLER,
    curator: 'self',
    shareClass: 'Retail',
    resellerFeeBps: 100,
    borrowerFeeBps: 200,
    capAssets: 7n,
    blocked: [],
  }
  const roles = new Set([...BARE.roles, `curator:${SIGNER}`])
  const launch = stepOf({ ...BARE, roles }, { ...BASE, channels: [opens] })
  expect(launch.kind).toBe('launch')
  expect(launch).not.toHaveProperty('comesBack')
})

it('takes in shadow one step after another, each once', () => {
  const declared = { ...BASE, terms: { liquidityBufferBps: 900 } }
  const step = stepOf(BARE, declared)
  expect(outcomesOf(BARE, declared, [ended(step, 'shadowed')])).toMatchObject([{ check: 'shadowed' }])
})

it('lets nothing follow by itself what was quarantined', () => {
  for (const declared of [
    { ...BASE, classification: { shareClass: 'A', riskScore: 1 } },
    { ...BASE, terms: { liquidityBufferBps: 900 } },
  ]) {
    const recent = [ended(stepOf(BARE, declared), 'quarantined')]
    expect(outcomesOf(BARE, declared, recent)).toMatchObject([{ check: 'quarantined_before', alarm: {} }])
  }
})

it('lets the same not follow by itself a day later either, whatever was done before it, but another', () => {
  const declared = { ...BASE, terms: { liquidityBufferBps: 900 } }
  const first = ended(stepOf(BARE, declared), 'succeeded', 'w0')
  const left = ended(stepOf(BARE, declared, [first]), 'quarantined')
  const [same] = outcomesOf(BARE, declared, [left], ENDED_AT_MS + 86_400_000)
  expect(same).toMatchObject({ check: 'quarantined_before', alarm: {} })
  const other = { ...BASE, terms: { liquidityBufferBps: 800 } }
  const kindOf = (at: number) => outcomesOf(BARE, other, [left], ENDED_AT_MS + at)
  expect(kindOf(86_399_999)).toMatchObject([{ check: 'quarantined_before' }])
  expect(kindOf(86_400_000)).toMatchObject([{ kind: 'tighten' }])
})

it('repairs a setting three times in a day, and then asks who sets it back; what a person approves counts as none', () => {
  const declared = { ...BASE, terms: { liquidityBufferBps: 900 } }
  const recent: Ended[] = []
  for (const id of ['w1', 'w2', 'w3']) {
    const step = stepOf(BARE, declared, recent)
    expect(step.kind).toBe('tighten')
    recent.unshift(ended(step, 'succeeded', id))
  }
  expect(outcomesOf(BARE, declared, recent)).toMatchObject([{ check: 'set_back_again', alarm: {} }])
  // The others of the vault go on, and what a person is asked about as well.
  const more = { ...declared, classification: { shareClass: 'A', riskScore: 1 } }
  expect(outcomesOf(BARE, more, recent).map((one) => ('check' in one ? one.check : one.subject))).toEqual([
    'set_back_again',
    'settings:Vault:classification',
  ])
  expect(stepOf(BARE, { ...BASE, terms: { liquidityBufferBps: 100 } }, recent).kind).toBe('loosen')
  const asked = recent.map((one): Ended => ({ ...one, kind: 'loosen' }))
  expect(stepOf(BARE, declared, asked).kind).toBe('tighten')
})

it('asks nobody again for a fee that the guard refuses to raise so far at once, and for a lower one', () => {
  const charging = (managementFeeBps: number): DeclaredSettings => ({
    ...BASE,
    fees: { managementFeeBps, performanceFeeBps: 0, recipient: 'self' },
  })
  const step = stepOf(BARE, charging(500))
  const refused = { ...ended(step, 'refused'), check: 'fee_raised_too_far' }
  expect(outcomesOf(BARE, charging(500), [refused])).toMatchObject([
    { check: 'fee_raised_too_far', alarm: {} },
  ])
  expect(stepOf(BARE, charging(100), [refused]).input).toMatchObject({ managementFeeBps: 100 })
  const raised = { ...BARE, fees: { ...BARE.fees, managementFeeBps: 450, recipient: SIGNER } }
  expect(stepOf(raised, charging(500), [refused]).input).toMatchObject({ managementFeeBps: 500 })
  expect(stepOf(BARE, charging(500), [{ ...refused, check: 'fee_cap' }]).kind).toBe('loosen')
})

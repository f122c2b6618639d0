import fc from 'fast-check'
import { zeroAddress } from 'viem'
import { describe, expect, it } from 'vitest'
import type { DeclaredSettings } from '../../../../agents/asset-manager/declared/declared-settings.ts'
import { SIGNER } from '../fixtures.ts'
import { differencesOf, NOTHING, stepsOf } from './settings-cases.ts'
import {
  applied,
  BARE,
  CHANNEL,
  loosened,
  MARKETS,
  type Model,
  NAMES,
  PEOPLE,
  RESELLER,
  seenOf,
} from './settings-model.ts'

const [SELF, ONE, TWO] = PEOPLE
if (SELF === undefined || ONE === undefined || TWO === undefined) throw new Error('three people')

const exits = fc.constantFrom<
  Pick<Model['terms'], 'exitTermKind' | 'noticeSeconds' | 'intervalSeconds' | 'maturityTimestamp'>
>(
  { exitTermKind: 'instant', noticeSeconds: 0, intervalSeconds: 0, maturityTimestamp: 0 },
  { exitTermKind: 'notice', noticeSeconds: 60, intervalSeconds: 0, maturityTimestamp: 0 },
  { exitTermKind: 'notice', noticeSeconds: 120, intervalSeconds: 0, maturityTimestamp: 0 },
  { exitTermKind: 'interval', noticeSeconds: 0, intervalSeconds: 60, maturityTimestamp: 0 },
  { exitTermKind: 'interval', noticeSeconds: 0, intervalSeconds: 90, maturityTimestamp: 0 },
  { exitTermKind: 'maturity', noticeSeconds: 0, intervalSeconds: 0, maturityTimestamp: 9 },
)
const deposits = fc.tuple(fc.nat(3), fc.nat(3)).map(([min, more]) => ({
  minDepositAssets: BigInt(min),
  maxDepositAssets: more === 0 ? 0n : BigInt(min + more),
}))
const recipients = fc.constantFrom(SELF, ONE)
const optionally = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const records = {
  management: fc.constantFrom('A', 'B').map((managerName) => ({
    managerName,
    website: 'https://a.example',
    logoUrl: 'https://a.example/logo',
  })),
  classification: fc.record({ shareClass: fc.constantFrom('A', 'B'), riskScore: fc.nat(2) }),
}

const models = fc
  .record({
    pendingOwner: fc.constantFrom(null, ONE, TWO),
    lent: fc.constantFrom(0n, 0n, 2n),
    listings: fc.tuple(
      ...NAMES.map(() =>
        fc.record({
          approved: fc.boolean(),
          allocationEnabled: fc.boolean(),
          relativeCapBps: fc.nat(3),
          absoluteCapAssets: fc.nat(3).map(BigInt),
        }),
      ),
    ),
    roles: fc.subarray(
      ['allocator', 'manager', 'curator'].flatMap((role) => PEOPLE.map((who) => `${role}:${who}`)),
    ),
    rates: fc.tuple(fc.nat(2), fc.nat(2), fc.nat(2)),
    recipient: recipients,
    routing: fc.shuffledSubarray([...MARKETS]),
    terms: fc.tuple(fc.nat(3), exits, deposits),
    tighteningLocked: fc.boolean(),
    channel: fc.option(fc.subarray([...PEOPLE, CHANNEL])),
    management: fc.option(records.management),
    classification: fc.option(records.classification),
  })
  .map(
    ({
      rates: [management, performance, borrower],
      recipient,
      terms: [buffer, exit, limits],
      ...is
    }): Model => ({
      ...BARE,
      ...is,
      roles: new Set(is.roles),
      // A fee without a recipient is no state of the contract.
      fees: {
        managementFeeBps: management,
        performanceFeeBps: performance,
        recipient: management + performance === 0 ? zeroAddress : recipient,
        borrowerManagerFeeBps: borrower,
        curatorRecipient: borrower === 0 ? zeroAddress : recipient,
      },
      routing: is.routing.filter((market) => is.listings[MARKETS.indexOf(market)]?.approved),
      terms: { liquidityBufferBps: buffer, ...exit, ...limits },
      channel: is.channel === null ? null : { curator: SIGNER, blocked: new Set(is.channel) },
    }),
  )

const grants = fc
  .subarray([SELF, ONE, TWO] as const)
  .chain((people) =>
    fc.tuple(...people.map((address) => fc.boolean().map((granted) => ({ address, granted })))),
  )
const declarations = fc
  .record({
    markets: fc.subarray([...NAMES]).chain((names) =>
      fc.tuple(
        ...names.map((market) =>
          fc.record({
            market: fc.constant(market),
            allocationEnabled: fc.boolean(),
            relativeCapBps: fc.integer({ min: 1, max: 3 }),
            absoluteCapAssets: fc.integer({ min: 1, max: 3 }).map(BigInt),
          }),
        ),
      ),
    ),
    allocators: grants,
    managers: fc.boolean().map((granted) => [
      { address: 'self' as const, granted: true },
      { address: ONE, granted },
    ]),
    curators: fc.boolean().map((granted) => [
      { address: 'self' as const, granted: true },
      { address: TWO, granted },
    ]),
    fees: optionally(
      fc.record({ managementFeeBps: fc.nat(2), performanceFeeBps: fc.nat(2), recipient: recipients }),
    ),
    borrowerManagerFee: optionally(fc.record({ feeBps: fc.nat(2), recipient: recipients })),
    routed: optionally(fc.shuffledSubarray([...NAMES])),
    terms: optionally(fc.tuple(optionally(fc.nat(3)), optionally(exits), optionally(deposits))),
    blocked: optionally(
      fc
        .subarray(['everyone', SELF, ONE] as const)
        .chain((who) =>
          fc.tuple(...who.map((address) => fc.boolean().map((blocked) => ({ address, blocked })))),
        ),
    ),
    management: optionally(records.management),
    classification: optionally(records.classification),
    newOwner: optionally(fc.constantFrom(ONE, TWO)),
    allowLoosening: fc.boolean(),
  })
  .map(
    ({ routed, terms, blocked, ...is }): DeclaredSettings => ({
      ...NOTHING,
      ...is,
      routing: routed?.filter((name) =>
        is.markets.some((one) => one.market === name && one.allocationEnabled),
      ),
      terms: terms && { liquidityBufferBps: terms[0], exit: terms[1], ...terms[2] },
      channels:
        blocked === undefined
          ? []
          : [
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
                blocked: [...blocked],
              },
            ],
    }),
  )

/** No vault of three markets, three people and one channel takes more. */
const STEPS_MAX = 60

describe('what is declared of a vault', () => {
  it('is reached one safe step after the other, then stays; nothing is loosened unasked', () => {
    let steps = 0
    fc.assert(
      fc.property(models, declarations, (present, declared) => {
        let model = present
        for (let round = 0; ; round += 1) {
          expect(round).toBeLessThan(STEPS_MAX)
          const [step, ...others] = stepsOf(seenOf(model), declared)
          expect(others).toEqual([])
          if (step === undefined) break
          steps += 1
          const next = applied(model, step)
          const found = loosened(model, next)
          if (found.length > 0) {
            expect([found, step.loosens, declared.allowLoosening]).toEqual([found, true, true])
            // What is stricter comes before all that is looser.
            expect(step.kind).toBe('loosen')
          }
          // Whoever is declared to be kept out is so before a channel is opened to everyone.
          if (model.channel?.blocked.has(CHANNEL) && !next.channel?.blocked.has(CHANNEL)) {
            for (const { address, blocked } of declared.channels[0]?.blocked ?? []) {
              if (address !== 'everyone' && address !== 'self' && blocked) {
                expect(model.channel.blocked.has(address)).toBe(true)
              }
            }
          }
          model = next
        }
        const left = differencesOf(seenOf(model), declared).flatMap(({ outcome }) =>
          'check' in outcome && outcome.check !== 'as_declared' ? [outcome.check] : [],
        )
        const allowed = [
          ...(declared.allowLoosening
            ? []
            : ['loosening_not_allowed', 'market_not_open', 'curator_not_of_vault', 'not_manager']),
          ...(present.tighteningLocked ? ['exit_terms_locked'] : []),
          ...(present.lent > 0n ? ['cap_below_lent', 'market_not_open', 'offered_last'] : []),
          ...(declared.allowLoosening && !present.tighteningLocked
            ? []
            : ['offered_last', 'channel_not_pinned']),
        ]
        expect(left.filter((check) => !allowed.includes(check))).toEqual([])
        // What is not declared is as it was.
        NAMES.forEach((name, index) => {
          if (declared.markets.some(({ market }) => market === name)) return
          expect(model.listings[index]).toBe(present.listings[index])
        })
        if (declared.fees === undefined)
          expect(model.fees.managementFeeBps).toBe(present.fees.managementFeeBps)
        if (declared.routing === undefined) expect(model.routing).toBe(present.routing)
        if (declared.terms === undefined) expect(model.terms).toBe(present.terms)
        if (declared.newOwner === undefined) expect(model.pendingOwner).toBe(present.pendingOwner)
      }),
      { numRuns: 1_000 },
    )
    expect(steps).toBeGreaterThan(4_000)
  })
})

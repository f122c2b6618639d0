import { expect, it } from 'vitest'
import type { DeclaredSettings } from '../../../../agents/asset-manager/declared/declared-settings.ts'
import { reconcile } from '../../../../agents/asset-manager/declared/reconcile.ts'
import { unopenedOf } from '../../../../agents/asset-manager/declared/unopened.ts'
import type { Unopened } from '../../../../agents/asset-manager/seen.ts'
import { policy, SIGNER } from '../fixtures.ts'
import { BARE, CHANNEL, type Model, PEOPLE, RESELLER, seenOf } from './settings-model.ts'

const [, ONE, TWO] = PEOPLE
if (ONE === undefined || TWO === undefined) throw new Error('three people')

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

/** Looks at a vault of which nothing changes, one after the other, while nothing that is proposed is opened. */
function createLooks(model: Model, one: DeclaredSettings) {
  const { declared } = policy({}, { vaultSettings: [one] })
  let unopened: Unopened = new Map()
  return (nowMs: number) => {
    const seen = { ...seenOf(model), nowMs, unopened }
    unopened = unopenedOf(seen, declared)
    return reconcile({ ...seen, unopened }, declared).filter(({ subject }) => subject.startsWith('settings:'))
  }
}
const proposed = (differences: ReturnType<typeof reconcile>) =>
  differences.flatMap(({ subject, outcome }) => ('workflowType' in outcome ? [subject] : []))

it('lets no step that cannot be opened hold up the others, asks for it in its turn, and says so to a person', () => {
  const model = { ...BARE, roles: new Set([...BARE.roles, `allocator:${ONE}`, `curator:${TWO}`]) }
  const look = createLooks(model, {
    ...BASE,
    allocators: [{ address: ONE, granted: false }],
    curators: [{ address: TWO, granted: false }],
    fees: { managementFeeBps: 50, performanceFeeBps: 0, recipient: 'self' },
  })
  const [curator, allocator, fees] = [
    ...[`settings:Vault:curator:${TWO}`, `settings:Vault:allocator:${ONE}`],
    'settings:Vault:fees',
  ]
  expect(proposed(look(0))).toEqual([curator])
  expect(proposed(look(299_999))).toEqual([curator])
  // At five minutes, and the next ones as much later, what is looser as well.
  const found = look(300_000)
  expect(proposed(found)).toEqual([allocator])
  expect(found.map(({ outcome }) => ('check' in outcome ? outcome.check : outcome.kind))).toEqual([
    'tighten',
    'waits_its_turn',
    'not_opened',
    'not_opened',
  ])
  const told = found.at(-1)?.outcome
  expect(told).toMatchObject({ subject: 'settings:Vault', alarm: { fix: expect.stringContaining('submit') } })
  look(300_001)
  expect(proposed(look(600_001))).toEqual([fees])
  look(600_002)
  // All three are stuck: each is asked for again, the one first that was left alone for longest.
  const turns = [900_002, 900_003, 900_004, 900_005].map((atMs) => proposed(look(atMs)))
  expect(new Set(turns.flat())).toEqual(new Set([curator, allocator, fees]))
})

it('opens a channel to nobody while one that is to be kept out is not', () => {
  const channel = { curator: SIGNER, blocked: new Set([CHANNEL]) }
  const model = { ...BARE, roles: new Set([...BARE.roles, `curator:${SIGNER}`]), channel }
  const look = createLooks(model, {
    ...BASE,
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
          { address: 'everyone', blocked: false },
          { address: ONE, blocked: true },
        ],
      },
    ],
  })
  const block = [`settings:Vault:channel:partner:${ONE}`]
  for (const atMs of [0, 300_000, 600_000]) expect(proposed(look(atMs))).toEqual(block)
})

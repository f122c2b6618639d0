import { expect, it } from 'vitest'
import type { Moment } from '../../../agents/agent.ts'
import { board } from '../../../agents/allocator/board.ts'
import { decide } from '../../../agents/allocator/decide.ts'
import type { AllocatorSeen } from '../../../agents/allocator/seen.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { allocation, BTC_MARKET, books, observation, policy, usd, VAULT, vault } from './fixtures.ts'

const shown = (changes: Partial<Moment & AllocatorSeen>) => {
  const seen = observation(changes)
  return board(seen, decide(seen, policy())).allocations ?? []
}

const move = {
  workflowType: 'role.allocator.vaultDeallocate',
  kind: 'deallocate',
  subject: VAULT,
  occurrence: '1',
  input: { marketAddress: BTC_MARKET, assets: String(usd(500_000)) },
  summary: 'take 500,000 back',
} as unknown as Proposal

it.each([
  ['proposed', { proposals: [move], passedOver: [] }, {}, 'proposed'],
  ['under way', { proposals: [], passedOver: [] }, { inFlight: [move as never] }, null],
])(
  'shows what a vault has in a market, and as its target what the move that is %s brings it to',
  (_, decision, around, check) => {
    const [first, other] = board(observation(around), decision).allocations ?? []
    expect(first).toMatchObject({
      subject: VAULT,
      market: 'sBTC/sUSD',
      held: '2,000,000 sUSD',
      target: '1,500,000 sUSD',
      heldPart: 0.4,
      targetPart: 0.3,
      capPart: 0.8,
      check,
    })
    expect(other).toMatchObject({
      market: 'sETH/sUSD',
      held: '2,000,000 sUSD',
      target: '2,000,000 sUSD',
    })
  },
)

it('has as its target what is there, where nothing is to move', () => {
  const rows = shown({ freshness: { ok: false, ageMs: 60_000, message: 'old' } })
  expect(rows.length).toBeGreaterThan(0)
  for (const { held, target, heldPart, targetPart } of rows) {
    expect([target, targetPart]).toEqual([held, heldPart])
  }
})

it('shows the tighter of two caps, none where none is listed, and no figure that it does not have', () => {
  const listing = { ...allocation().listing, absoluteCapAssets: usd(250_000), relativeCapBps: 4_000 }
  const rowOf = (changes: Parameters<typeof allocation>[0]) =>
    shown({
      vaults: [
        vault({
          books: books({ totalAssets: usd(1_000_000) }),
          allocations: [allocation({ marketAddress: BTC_MARKET, ...changes })],
        }),
      ],
    })[0]
  expect(rowOf({ listing } as never)?.capPart).toBeCloseTo(0.25, 6)
  expect(rowOf({ listing: null })?.capPart).toBeNull()
  expect(rowOf({ heldAssets: null })).toMatchObject({ held: '?', heldPart: 0 })
})

import { describe, expect, it } from 'vitest'
import { createLotScores, type ListedLot, lotOutcome } from '../../src/pipeline/shadow-lots.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { proposalOf, workflowOf } from '../support/workflows.ts'

const DESK = `0x${'Ab'.repeat(20)}`
const ASSET = `0x${'a5'.repeat(20)}` as const
const QUOTE = `0x${'70'.repeat(20)}` as const
const lot = (changes: Partial<ListedLot> = {}): ListedLot => ({
  id: `${DESK.toLowerCase()}:7`,
  status: 'open',
  assetAddress: ASSET,
  assetAmount: '3',
  quoteAssetAddress: QUOTE,
  reserveAssets: '900',
  proceedsAssets: null,
  ...changes,
})

describe('a lot', () => {
  it.each([
    ['open', lot(), null],
    ['closed and not final', lot({ status: 'closed' }), null],
    ['sold for one less', lot({ status: 'sold', proceedsAssets: '999' }), 'won'],
    ['sold for as much, to who came first', lot({ status: 'sold', proceedsAssets: '1000' }), 'lost'],
    ['awarded for more', lot({ status: 'awarded', proceedsAssets: '1001' }), 'lost'],
    ['unsold at our price', lot({ status: 'unsold', reserveAssets: '1000' }), 'won'],
    ['unsold above our price', lot({ status: 'unsold', reserveAssets: '1001' }), 'lost'],
  ])('that is %s', (_, listed, outcome) => {
    expect(lotOutcome(1_000n, listed)).toBe(outcome)
  })
})

describe('bids in shadow', () => {
  const bid = (id: string, rfqId: string, undecided = true): Workflow =>
    workflowOf('shadowed', {
      id,
      shadow: true,
      proposal: proposalOf({
        workflowType: 'role.lender.distressedRecoveryFundV3RfqPlaceBid',
        input: { rfqAddress: DESK, rfqId, bidAssets: '1000', expiresTimestamp: '1' },
      }),
      shadowed: {
        calls: [],
        ask: null,
        outcome: {
          verdict: 'won',
          blockNumber: 1n,
          gasWei: 0n,
          ...(undecided ? { lot: 'undecided' as const } : {}),
        },
      },
    })

  it('are followed until their lot is decided, each list read once', async () => {
    const written: (readonly [string, unknown, unknown])[] = []
    const decided: string[] = []
    let lots = [lot()]
    let reads = 0
    const none = async () => {
      throw new TypeError('nobody bid there')
    }
    const scores = createLotScores({
      collections: {
        rfqs: async () => {
          reads += 1
          return { items: lots }
        },
        auctions: none,
        acquisitions: none,
      },
      journal: {
        write: async (workflow) => {
          const { lot, came } = workflow.shadowed?.outcome ?? {}
          written.push([workflow.id, lot, came])
          return workflow
        },
      },
      nowMs: () => 9_000,
      onDecided: ({ id }) => decided.push(id),
    })
    await scores.look()
    expect(reads).toBe(0)
    scores.add(bid('a', '7'))
    scores.add(bid('b', '8'))
    scores.add(bid('decided', '7', false))
    scores.add(workflowOf('succeeded'))
    await scores.look()
    expect({ reads, written }).toEqual({ reads: 1, written: [] })
    lots = [lot({ status: 'sold', proceedsAssets: '800' })]
    await scores.look()
    await scores.look()
    const won = [
      { token: ASSET, assets: 3n },
      { token: QUOTE, assets: -1_000n },
    ]
    expect(written).toEqual([['a', 'won', { assets: won, atMs: 9_000 }]])
    lots = [lot({ id: `${DESK.toLowerCase()}:8`, status: 'sold', proceedsAssets: '2000' })]
    await scores.look()
    await scores.look()
    expect({ reads, written }).toEqual({
      reads: 4,
      written: [
        ['a', 'won', { assets: won, atMs: 9_000 }],
        ['b', 'lost', { assets: [], atMs: 9_000 }],
      ],
    })
    expect(decided).toEqual(['a', 'b'])
  })
})

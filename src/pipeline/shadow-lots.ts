import type { Address } from 'viem'
import type { Journal } from '../journal/journal.ts'
import { tradeEntityId } from '../service/contract/trade-resources.ts'
import type { WorkflowType } from '../service/contract/workflow-types.ts'
import type { TokenFlow, Workflow } from '../workflow/workflow.ts'

/** The lists of lots that bids are for. */
export type Trades = Readonly<
  Record<'rfqs' | 'auctions' | 'acquisitions', () => Promise<{ readonly items: readonly ListedLot[] }>>
>

/** Where the lot of each bid is listed, and the members of its input that name it. */
const LOTS: Readonly<
  Partial<
    Record<WorkflowType, { readonly list: keyof Trades; readonly contract: string; readonly number: string }>
  >
> = {
  'role.lender.distressedRecoveryFundV3RfqPlaceBid': {
    list: 'rfqs',
    contract: 'rfqAddress',
    number: 'rfqId',
  },
  'role.lender.distressedRecoveryFundV3RfqReplaceBid': {
    list: 'rfqs',
    contract: 'rfqAddress',
    number: 'rfqId',
  },
  'role.lender.distressedRecoveryFundV3AuctionBid': {
    list: 'auctions',
    contract: 'auctionAddress',
    number: 'lotId',
  },
  'role.asset_manager.distressedRecoveryAcquisitionV3Bid': {
    list: 'acquisitions',
    contract: 'acquisitionAddress',
    number: 'lotId',
  },
}

/** A lot as it is listed, as far as a bid's score needs it. */
export type ListedLot = {
  readonly id: string
  readonly assetAddress: Address
  readonly assetAmount: string
  readonly quoteAssetAddress: Address
  readonly status: string
  readonly reserveAssets: string
  readonly proceedsAssets: string | null
}

/** Whether a type bids on a lot that is decided later. Pure. */
export const isBid = (type: WorkflowType): boolean => LOTS[type] !== undefined

/**
 * Say whether a bid would have won its lot: it is above what the lot went for, or the lot stayed unsold and it met the
 * reserve. An equal bid came later and has lost. Null while the lot is not decided. Pure.
 */
export function lotOutcome(bidAssets: bigint, lot: ListedLot): 'won' | 'lost' | null {
  if (lot.status === 'unsold') return bidAssets >= BigInt(lot.reserveAssets) ? 'won' : 'lost'
  if (lot.proceedsAssets === null) return null
  return bidAssets > BigInt(lot.proceedsAssets) ? 'won' : 'lost'
}

/** What following the lots of bids in shadow needs. */
type LotScoresDeps = {
  readonly collections: Trades
  readonly journal: Pick<Journal, 'write'>
  readonly nowMs: () => number
  /** What is decided now is to be marked. */
  readonly onDecided: (workflow: Workflow) => void
}

/** Follows the lots that bids in shadow were for, until each is decided. */
export type LotScores = {
  /** Follow the lot of a workflow that ended in shadow; any other is left alone. */
  readonly add: (workflow: Workflow) => void
  /** Look at the lists that undecided bids are in, and keep what was decided. Throws what the reads throw. */
  readonly look: () => Promise<void>
}

/** Create the scores of bids in shadow. */
export function createLotScores({ collections, journal, nowMs, onDecided }: LotScoresDeps): LotScores {
  const undecided = new Map<string, Workflow>()
  return {
    add: (workflow) => {
      if (workflow.shadowed?.outcome?.lot === 'undecided') undecided.set(workflow.id, workflow)
    },
    look: async () => {
      const bids = [...undecided.values()].flatMap((workflow) => bidOf(workflow) ?? [])
      for (const list of new Set(bids.map((bid) => bid.list))) {
        const { items } = await collections[list]()
        const lots = new Map<string, ListedLot>(items.map((lot) => [lot.id.toLowerCase(), lot]))
        for (const bid of bids.filter((each) => each.list === list)) {
          const lot = lots.get(bid.lotId)
          const outcome = lot === undefined ? null : lotOutcome(bid.assets, lot)
          if (lot === undefined || outcome === null) continue
          const assets = outcome === 'won' ? wonBy(bid.assets, lot) : []
          const decided = withLot(bid.workflow, outcome, { assets, atMs: nowMs() })
          const written = await journal.write(decided)
          undecided.delete(bid.workflow.id)
          onDecided(written)
        }
      }
    },
  }
}

function bidOf(workflow: Workflow) {
  const { workflowType, input } = workflow.proposal
  const place = LOTS[workflowType]
  if (place === undefined) return null
  const lotId = tradeEntityId(String(input[place.contract]), String(input[place.number]))
  return { workflow, list: place.list, lotId: lotId.toLowerCase(), assets: BigInt(String(input.bidAssets)) }
}

/** What a bid brings that wins its lot: to the signer, or to the fund that it bids for. Pure. */
const wonBy = (bidAssets: bigint, lot: ListedLot): readonly TokenFlow[] => [
  { token: lot.assetAddress, assets: BigInt(lot.assetAmount) },
  { token: lot.quoteAssetAddress, assets: -bidAssets },
]

function withLot(
  workflow: Workflow,
  lot: 'won' | 'lost',
  came: { readonly assets: readonly TokenFlow[]; readonly atMs: number },
): Workflow {
  const { shadowed } = workflow
  if (shadowed?.outcome === undefined) return workflow
  return { ...workflow, shadowed: { ...shadowed, outcome: { ...shadowed.outcome, lot, came } } }
}

import type { Reason } from '../../src/workflow/proposal.ts'
import type { Decision, Moment } from '../agent.ts'
import { type Board, byClosing, judgedBy, type LotRow, ROWS_MAX } from '../board.ts'
import { tokens } from '../protocol/text.ts'
import type { LotSeen, ManagerSeen } from './seen.ts'

type Observed = Moment & ManagerSeen

/** Show the lots that funds bid for, what closes first before all, what is closed last. Pure. */
export function board(seen: Observed, decided: Decision): Board {
  const judged = judgedBy(decided)
  const limits = new Map(
    [...decided.proposals, ...decided.passedOver].map(({ subject, reason }) => [subject, limitOf(reason)]),
  )
  const mine = new Set(
    seen.funds.filter(({ row }) => row.managerAddress === seen.signer).map(({ row }) => row.address),
  )
  const rows = seen.lots.map(({ row }): LotRow => {
    const quote = assetOf(row.quoteAssetAddress, seen)
    const what = assetOf(row.assetAddress, seen)
    const limit = limits.get(row.id)
    return {
      subject: row.id,
      ...judged(row.id),
      venue: 'acquisition',
      status: row.status,
      what: `${what.text(BigInt(row.assetAmount))}, ${row.lane}`,
      reserve: quote.text(BigInt(row.reserveAssets)),
      reserveAmount: quote.number(row.reserveAssets),
      closesAtS: Math.floor(Date.parse(row.closesAt) / 1_000),
      limit: limit === undefined ? null : quote.text(limit),
      limitAmount: limit === undefined ? null : quote.number(limit),
      bids: bidsOf(row, mine, quote),
    }
  })
  return { lots: rows.toSorted(byClosing(seen.chain.timestampS)).slice(0, ROWS_MAX) }
}

/** The most that any of a bid's bounds allows: what is bid never exceeds it. */
function limitOf(reason: Reason): bigint | undefined {
  const limits = Object.entries(reason).flatMap(([name, assets]) =>
    name.endsWith('LimitAssets') ? BigInt(assets) : [],
  )
  return limits.reduce<bigint | undefined>(
    (least, one) => (least === undefined || one < least ? one : least),
    undefined,
  )
}

const bidsOf = (
  { bids }: LotSeen['row'],
  mine: ReadonlySet<string>,
  { text, number }: ReturnType<typeof assetOf>,
): LotRow['bids'] =>
  bids
    .toSorted((one, other) => (BigInt(one.assets) > BigInt(other.assets) ? -1 : 1))
    .slice(0, ROWS_MAX)
    .map(({ fundAddress, assets, status }) => ({
      who: fundAddress,
      ours: mine.has(fundAddress),
      status,
      text: text(BigInt(assets)),
      amount: number(assets),
    }))

function assetOf(address: string, { deployment }: Observed) {
  const found = deployment.assets.find((one) => one.address === address)
  return {
    text: (assets: bigint) => (found === undefined ? '?' : tokens(assets, found.decimals, found.symbol)),
    number: (assets: string | bigint) => Number(assets) / 10 ** (found?.decimals ?? 0),
  }
}

import type { Address } from 'viem'
import type { Decision, Moment } from '../agent.ts'
import { type AllocationRow, type Board, judgedBy, ROWS_MAX } from '../board.ts'
import { tokens } from '../protocol/text.ts'
import type { AllocationSeen, AllocatorSeen, VaultLook } from './seen.ts'
import { changeIn } from './together.ts'

type Observed = Moment & AllocatorSeen

/** Show what each vault has where, beside what the moves that are proposed or under way bring it to. Pure. */
export function board(seen: Observed, decided: Decision): Board {
  const judged = judgedBy(decided)
  const rows = seen.vaults.flatMap((vault) => {
    const moves = [
      ...decided.proposals.filter(({ subject }) => subject === vault.address),
      ...seen.inFlight.filter(({ subject }) => subject === vault.address),
    ]
    // What is under way is proposed by no decision: one of the two is there.
    const change = moves[0] === undefined ? new Map<Address, bigint>() : changeIn(moves[0])
    return vault.allocations.map((allocation) => ({
      ...rowOf(vault, allocation, change.get(allocation.marketAddress) ?? 0n, seen),
      ...judged(`${vault.address}:${allocation.marketAddress}`, vault.address),
    }))
  })
  return { allocations: rows.slice(0, ROWS_MAX) }
}

function rowOf(
  { address, books }: VaultLook,
  { marketAddress, heldAssets, listing }: AllocationSeen,
  change: bigint,
  { deployment, markets }: Observed,
) {
  const asset = deployment.assets.find((one) => one.address === books?.asset)
  const symbol = markets.find((one) => one.address === marketAddress)?.collateralSymbol
  const held = heldAssets ?? 0n
  const partOf = (assets: bigint) => Number(assets) / Math.max(1, Number(books?.totalAssets ?? 0n))
  const text = (assets: bigint) => (asset === undefined ? '?' : tokens(assets, asset.decimals, asset.symbol))
  return {
    subject: address,
    vault: deployment.vaults.find((one) => one.address === address)?.name ?? address,
    market: `${symbol ?? '?'}/${asset?.symbol ?? '?'}`,
    held: heldAssets === null ? '?' : text(held),
    target: text(held + change),
    heldPart: partOf(held),
    targetPart: partOf(held + change),
    capPart:
      listing === null ? null : Math.min(partOf(listing.absoluteCapAssets), listing.relativeCapBps / 10_000),
  } satisfies Omit<AllocationRow, 'check' | 'message'>
}

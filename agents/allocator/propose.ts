import type { Proposal } from '../../src/workflow/proposal.ts'
import { ceilDiv, tokenUnit } from '../protocol/health.ts'
import { tokens } from '../protocol/text.ts'
import type { OpenVault } from './judge-vault.ts'
import { supplyRate } from './lane.ts'
import { movesOf, type SeatMove, type Targets } from './plan.ts'
import { toTokens, type VaultMarket } from './vault-markets.ts'

/** What a move is for, and the numbers that led to it. */
type Cause = {
  readonly kind: 'redemptions' | 'leave' | 'yield'
  readonly why: string
  readonly reason: Proposal['reason']
  readonly gain?: Pick<Proposal, 'gainUsdMicros' | 'worthUsdMicros'>
  readonly said?: Proposal['said']
}

const SECONDS_A_YEAR = 31_536_000

/**
 * Write the proposal to bring a vault to its targets: one call for one move, a batch for more, withdrawals first. Pure.
 * `occurrence` is the vault's shares, queue and idle assets, and the cash of every market that is touched: interest does
 * not move them, and whatever we do does.
 */
export function proposeMoves(
  vault: OpenVault,
  vaultMarkets: readonly VaultMarket[],
  targets: Targets,
  cause: Cause,
): Proposal {
  const { withdrawals, supplies } = movesOf(vaultMarkets, targets)
  const { books } = vault
  const moves = [...withdrawals, ...supplies]
  const cash = moves.map(({ vaultMarket }) => `${vaultMarket.marketAddress}=${vaultMarket.cashAssets}`)
  const turnoverAssets = greatest(sumOf(withdrawals), sumOf(supplies))
  return {
    ...requestOf(vault.look.address, withdrawals, supplies),
    kind: cause.kind,
    subject: vault.look.address,
    occurrence: [
      `shares=${books.totalShares}`,
      `queue=${books.queueHead}-${books.queueEnd}`,
      `idle=${books.idleAssets}`,
      ...cash,
    ].join(','),
    exposure: {
      token: null,
      assets: 0n,
      usdMicros: ceilDiv(turnoverAssets * vault.priceUsdMicros, tokenUnit(vault.decimals)),
    },
    ...cause.gain,
    ...(cause.said === undefined ? {} : { said: cause.said }),
    summary: cause.why,
    reason: {
      idleAssets: String(books.idleAssets),
      queuedAssets: String(books.queuedAssets),
      neededAssets: String(vault.neededAssets),
      totalAssets: String(books.totalAssets),
      turnoverAssets: String(turnoverAssets),
      ...cause.reason,
      ...Object.fromEntries(
        vaultMarkets.flatMap((vaultMarket, index) =>
          figuresOf(vaultMarket, targets[index] ?? 0n, vault.decimals),
        ),
      ),
    },
  }
}

function requestOf(
  vaultAddress: OpenVault['look']['address'],
  withdrawals: readonly SeatMove[],
  supplies: readonly SeatMove[],
): Pick<Proposal, 'workflowType' | 'input'> {
  const [out, ...outs] = withdrawals.map(moveInput)
  const [into, ...ins] = supplies.map(moveInput)
  if (out === undefined && into !== undefined && ins.length === 0) {
    return { workflowType: 'role.allocator.vaultAllocate', input: { vaultAddress, ...into } }
  }
  if (into === undefined && out !== undefined && outs.length === 0) {
    return { workflowType: 'role.allocator.vaultDeallocate', input: { vaultAddress, ...out } }
  }
  const batch = { withdrawals: withdrawals.map(moveInput), supplies: supplies.map(moveInput) }
  return { workflowType: 'role.allocator.vaultReallocationBatch', input: { vaultAddress, ...batch } }
}

const moveInput = ({ vaultMarket, assets }: SeatMove) => ({
  marketAddress: vaultMarket.marketAddress,
  assets: String(assets),
})

const sumOf = (moves: readonly SeatMove[]) => moves.reduce((sum, { assets }) => sum + assets, 0n)
const greatest = (one: bigint, other: bigint) => (one > other ? one : other)

/** Now and then of one market: what is there, what it pays a year, and what experience says of supplying there. */
function figuresOf(
  { name, marketAddress, heldAssets, lane, expected }: VaultMarket,
  target: bigint,
  decimals: number,
) {
  const bpsAt = (assets: bigint) =>
    Math.round(supplyRate(lane, toTokens(assets, decimals)) * SECONDS_A_YEAR * 10_000)
  const key = `${name} ${marketAddress}`
  return [
    [`${key} heldAssets`, String(heldAssets)],
    [`${key} targetAssets`, String(target)],
    [`${key} supplyRateBps`, bpsAt(heldAssets)],
    [`${key} supplyRateBpsAfter`, bpsAt(target)],
    ...(target > heldAssets
      ? ([
          [`${key} expectedBps`, Math.round(expected.mean * 10_000)],
          [`${key} expectedBy`, expected.basis],
          [`${key} cases`, Math.round(expected.won)],
        ] as const)
      : []),
  ] as const
}

/** Write the moves for people: `withdraw 400,000 sUSD from sBTC/sUSD, supply 400,000 sUSD to sETH/sUSD`. Pure. */
export function movesText(
  vaultMarkets: readonly VaultMarket[],
  targets: Targets,
  { decimals, symbol }: Pick<OpenVault, 'decimals' | 'symbol'>,
): string {
  const { withdrawals, supplies } = movesOf(vaultMarkets, targets)
  const write =
    (verb: string, way: string) =>
    ({ assets, vaultMarket }: SeatMove) =>
      `${verb} ${tokens(assets, decimals, symbol)} ${way} ${vaultMarket.name}`
  return [...withdrawals.map(write('withdraw', 'from')), ...supplies.map(write('supply', 'to'))].join(', ')
}

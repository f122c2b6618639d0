import { type Address, encodeFunctionData, type Hex, isHex, parseAbi, parseEventLogs } from 'viem'
import { eventually } from '../eventually.ts'
import { admit, fund, newcomer, placeOf } from '../people.ts'
import type { Json } from '../shape-check.ts'
import { createStoryHold, type StoryHold } from '../story-hold.ts'
import { createKmsWallet, type Wallet } from '../wallet.ts'
import type { Story } from '../workflow-run.ts'
import { itemsOf, type World } from '../world.ts'

const LIQUIDATED = parseAbi([
  'event Liquidated(uint256 indexed claimId, address indexed vault, address indexed borrower, address liquidator, address recipient, uint256 repayAssets, uint256 collateralSeized, uint256 badDebtAssets)',
])
const BORROWING = parseAbi([
  'function approve(address spender, uint256 amount) returns (bool)',
  'function depositCollateral(uint256 assets)',
  'function borrow(address vault, uint256 assets) returns (uint256 shares)',
])

/** Anybody who is admitted liquidates; and the role's key in the KMS. */
export const LIQUIDATOR = liquidating('liquidate', 'settleLiquidationClaim', (world) =>
  newcomer(world, placeOf(world, 'sUSD')),
)
export const ROLE_LIQUIDATOR = liquidating(
  'role.liquidator.liquidate',
  'role.liquidator.settleLiquidationClaim',
  async (world) => {
    const wallet = createKmsWallet(world.info, 'liquidator')
    await admit(world, wallet)
    await fund(world, wallet, placeOf(world, 'sUSD'))
    return wallet
  },
)

function liquidating(take: string, settle: string, arrive: (world: World) => Promise<Wallet>): Story {
  return {
    types: [take, settle],
    play: async (stage) => {
      const { world, carry } = stage
      const { chain } = world
      // Debts of our own: nobody else is after them, and their borrower does nothing to save them.
      const [wallet, ...debts] = await Promise.all([
        arrive(world),
        ...MARKETS.map((market) => pledge(world, market)),
      ])
      const [first] = debts
      if (first === undefined) throw new Error('we owe nothing')
      // Which of them goes under water is seen when it does.
      let found: Place = {
        marketAddress: first.market,
        vaultAddress: first.vault,
        borrowerAddress: first.borrower.address,
      }
      const recipientAddress = wallet.address
      const owed = () =>
        chain.number(
          found.marketAddress,
          'debtOf(address,address)',
          found.vaultAddress,
          found.borrowerAddress,
        )
      const hold = createStoryHold(world)
      const liquidation = carry(take, {
        wallet,
        input: { ...found, repayAssets: '1', minCollateralAssets: '1', recipientAddress },
        when: async () => {
          const position = await underWater(world, debts, hold)
          found = {
            marketAddress: addressOf(position.marketAddress),
            vaultAddress: addressOf(position.vaultAddress),
            borrowerAddress: addressOf(position.borrowerAddress),
          }
          return { ...found, repayAssets: String(BigInt(String(position.repayAssets)) / 2n) }
        },
        read: owed,
        moved: (before, after) => after < before,
      })
      const receipts = await liquidation.finally(hold.release)
      const { marketAddress } = found
      const [liquidated] = parseEventLogs({ abi: LIQUIDATED, logs: receipts.flatMap(({ logs }) => logs) })
      const collateral = placeOf(
        world,
        marketAddress === placeOf(world, 'btcMarket').toLowerCase() ? 'sBTC' : 'sETH',
      )
      await carry(settle, {
        wallet,
        input: { marketAddress, claimId: String(liquidated?.args.claimId) },
        read: () => chain.number(collateral, 'balanceOf(address)', wallet.address),
        moved: (before, after) => after === before + (liquidated?.args.collateralSeized ?? 0n),
      })
    },
  }
}

/** Where we borrow: each price falls and recovers about once a minute, one half a minute after the other. */
const MARKETS = [
  { market: 'btcMarket', collateral: 'sBTC' },
  { market: 'ethMarket', collateral: 'sETH' },
] as const
/** Of what the faucet gives, one part in so many is pledged: a debt that any vault has the cash for. */
const PLEDGED_PART = 100n

/** Where a debt is, and whose. */
type Place = {
  readonly marketAddress: Address
  readonly vaultAddress: Address
  readonly borrowerAddress: Address
}

/** A debt of a borrower of ours, who pledges once. */
type Debt = {
  readonly borrower: Wallet
  readonly market: Address
  readonly vault: Address
  /** What the collateral allowed to owe at the last look. */
  limit: bigint
}

async function pledge(world: World, at: (typeof MARKETS)[number]): Promise<Debt> {
  const collateral = placeOf(world, at.collateral)
  const market = placeOf(world, at.market)
  const borrower = await newcomer(world, collateral)
  const owned = await world.chain.number(collateral, 'balanceOf(address)', borrower.address)
  const assets = owned / PLEDGED_PART
  await world.chain.send(borrower, [
    call(collateral, encodeFunctionData({ abi: BORROWING, functionName: 'approve', args: [market, assets] })),
    call(market, encodeFunctionData({ abi: BORROWING, functionName: 'depositCollateral', args: [assets] })),
  ])
  return { borrower, market, vault: placeOf(world, 'primeVault'), limit: 0n }
}

const call = (target: Address, calldata: Hex) => ({ target, calldata, value: 0n })

/**
 * Borrow what the collateral allows unless the price is falling. A debt of the last moment before a fall goes under
 * water in the middle of it, with a dozen seconds until the price is back; one that began in a fall might not.
 */
async function borrowMore({ chain }: World, debt: Debt): Promise<void> {
  const { borrower, market, vault, limit } = debt
  const [owed, room] = await Promise.all([
    chain.number(market, 'debtOf(address,address)', vault, borrower.address),
    chain.number(market, 'maxBorrowable(address)', borrower.address),
  ])
  debt.limit = owed + room
  const falling = debt.limit * 1_000n < limit * 997n
  const margin = debt.limit / 100n
  if (limit === 0n || falling || room < 2n * margin) return
  const args = [vault, room - margin] as const
  const data = encodeFunctionData({ abi: BORROWING, functionName: 'borrow', args })
  // A price that fell meanwhile reverts it, and the next look sees what is possible then.
  await chain.mined(borrower, [call(market, data)])
}

/**
 * Wait until one of our debts can be liquidated, and hold the story there, as the price is back soon. Each price falls
 * once a minute, and what fell before we owed does not count.
 */
function underWater(world: World, debts: readonly Debt[], hold: StoryHold): Promise<Json> {
  const ours = debts.map(({ borrower }) => borrower.address.toLowerCase())
  const liquidatable = async () => {
    const rows = itemsOf(await world.ask('GET /v1/liquidation-recovery', {}))
    return rows.find(
      ({ borrowerAddress, liquidatable, executable }) =>
        ours.includes(String(borrowerAddress)) && liquidatable === true && executable === true,
    )
  }
  const look = async () => {
    if ((await liquidatable()) !== undefined) {
      await hold.take()
      const found = await liquidatable()
      if (found !== undefined) return found
      await hold.release()
    }
    await Promise.all(debts.map((debt) => borrowMore(world, debt)))
    return undefined
  }
  return eventually(look, 'none of our debts went under water', 3)
}

function addressOf(value: unknown): Address {
  if (!isHex(value)) throw new TypeError(`no address: ${String(value)}`)
  return value
}

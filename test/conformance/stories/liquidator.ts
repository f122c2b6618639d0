import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from 'viem'
import { isHex, parseAbi, parseEventLogs } from 'viem'
import { admit, fund, newcomer, placeOf } from '../people.ts'
import type { Json } from '../shape-check.ts'
import { createKmsWallet, type Wallet } from '../wallet.ts'
import type { Story } from '../workflow-run.ts'
import { itemsOf, type World } from '../world.ts'

const LIQUIDATED = parseAbi([
  'event Liquidated(uint256 indexed claimId, address indexed vault, address indexed borrower, address liquidator, address recipient, uint256 repayAssets, uint256 collateralSeized, uint256 badDebtAssets)',
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
      const wallet = await arrive(world)
      const position = await underWater(world)
      const marketAddress = addressOf(position.marketAddress)
      const recipientAddress = wallet.address
      // A sixteenth leaves the position under water, for whoever else is to liquidate it.
      const repayAssets = BigInt(String(position.repayAssets)) / 16n
      const { vaultAddress, borrowerAddress } = position
      const owed = () =>
        chain.number(
          marketAddress,
          'debtOf(address,address)',
          addressOf(vaultAddress),
          addressOf(borrowerAddress),
        )
      const receipts = await carry(take, {
        wallet,
        input: {
          marketAddress,
          vaultAddress,
          borrowerAddress,
          repayAssets: String(repayAssets),
          minCollateralAssets: '1',
          recipientAddress,
        },
        read: owed,
        moved: (before, after) => after < before,
      })
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

const WEATHER_MS_MAX = 60_000
const POLL_MS = 300

/** Wait for a position that can be liquidated: the sandbox's weather makes one every few seconds. */
async function underWater(world: World): Promise<Json> {
  const deadline = Date.now() + WEATHER_MS_MAX
  while (Date.now() < deadline) {
    const rows = itemsOf(await world.ask('GET /v1/liquidation-recovery', {}))
    const found = rows.find(({ liquidatable, executable }) => liquidatable === true && executable === true)
    if (found !== undefined) return found
    await sleep(POLL_MS)
  }
  throw new Error('no position went under water')
}

function addressOf(value: unknown): Address {
  if (!isHex(value)) throw new TypeError(`no address: ${String(value)}`)
  return value
}

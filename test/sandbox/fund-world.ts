import { type Address, getContract, type Hex, stringToHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts'
import {
  acquisitionHouseAbi,
  assetAbi,
  fundFactoryAbi,
  navOracleAbi,
  recoveryAuctionAbi,
  recoveryFundAbi,
  rfqDeskAbi,
} from '../../sandbox/contracts/abis.ts'
import { testChainId } from '../support/anvil.ts'
import { by, createWorld, eth, from, usd } from './contracts/world.ts'

/** A short name as contracts hold it. */
export const word = (name: string) => stringToHex(name, { size: 32 })

/** A NAV report before it is signed. */
export type NavReport = {
  readonly asset: Address
  readonly reportType: Hex
  readonly value: bigint
  readonly decimals: number
  readonly valuationTime: bigint
  readonly revision: number
  readonly revisionLabel: string
  readonly deadline: bigint
}

/** The fields of a NAV report as EIP-712 types them. */
export const navReportTypes = {
  NavReport: [
    { name: 'asset', type: 'address' },
    { name: 'reportType', type: 'bytes32' },
    { name: 'value', type: 'uint256' },
    { name: 'decimals', type: 'uint8' },
    { name: 'valuationTime', type: 'uint64' },
    { name: 'revision', type: 'uint32' },
    { name: 'revisionLabel', type: 'string' },
    { name: 'deadline', type: 'uint64' },
  ],
} as const

export type FundWorld = Awaited<ReturnType<typeof createFundWorld>>

/**
 * Start a chain with the sandbox deployed, and beside its own fund another: of 1,000 to 1,000,000 sUSD an epoch of
 * 60 s, approved, its channels open wide. The market is the sETH one.
 */
export async function createFundWorld() {
  const world = await createWorld()
  const { client, admin, sUSD, sETH, market, contracts } = world
  const signer = privateKeyToAccount(generatePrivateKey())
  const manager = privateKeyToAddress(generatePrivateKey())
  await client.impersonateAccount({ address: manager })
  await client.setBalance({ address: manager, value: eth('1000') })

  const factory = getContract({ address: contracts.fundFactory.address, abi: fundFactoryAbi, client })
  const house = getContract({ address: contracts.acquisitionHouse.address, abi: acquisitionHouseAbi, client })
  const auction = getContract({ address: contracts.recoveryAuction.address, abi: recoveryAuctionAbi, client })
  const desk = getContract({ address: contracts.rfqDesk.address, abi: rfqDeskAbi, client })

  const terms = {
    name: 'Recovery One',
    symbol: 'REC1',
    quoteAsset: sUSD.address,
    epochDurationSeconds: 60n,
    minSubscriptionAssets: usd('1000'),
    maxSubscriptionAssets: usd('1000000'),
    carryRateBps: 2_000,
    performanceFeeBps: 1_000,
    preferredReturnBps: 800,
  }
  const fundAt = (address: Address) => getContract({ address, abi: recoveryFundAbi, client })
  const oracleAt = (address: Address) => getContract({ address, abi: navOracleAbi, client })
  await factory.write.setReporter([signer.address], by(admin))
  /** Launch a fund that is approved and may deal everywhere, and sells no shares yet. */
  const launch = async () => {
    const { result } = await factory.simulate.launchFor([manager, terms], from(admin))
    await factory.write.launchFor([manager, terms], by(admin))
    const launched = fundAt(result)
    await launched.write.setApprovals([true, true], by(admin))
    await launched.write.setPurchasesEnabled([true], by(manager))
    for (const channel of ['acquisition', 'auction', 'rfq'] as const) {
      const policy = [word(channel), true, usd('500000'), 10_000, 10_000] as const
      await launched.write.setChannelPolicy(policy, by(manager))
    }
    return launched
  }
  const fund = await launch()
  const navOracle = oracleAt(await fund.read.navOracle())

  const now = async () => (await client.getBlock()).timestamp
  const sign = async (report: NavReport, { account = signer, chainId = testChainId } = {}): Promise<Hex> =>
    account.signTypedData({
      domain: { name: 'NavOracle', version: '1', chainId, verifyingContract: navOracle.address },
      types: navReportTypes,
      primaryType: 'NavReport',
      message: report,
    })
  /** A report that would be accepted now, with what differs. */
  const report = async (differs: Partial<NavReport> = {}): Promise<NavReport> => ({
    asset: fund.address,
    reportType: word('nav'),
    value: 10n ** 18n,
    decimals: 18,
    valuationTime: await now(),
    revision: 0,
    revisionLabel: '',
    deadline: (await now()) + 3_600n,
    ...differs,
  })

  return {
    ...world,
    factory,
    fund,
    navOracle,
    house,
    auction,
    desk,
    terms,
    signer,
    manager,
    launch,
    oracleAt,
    now,
    sign,
    report,
    assetAt: (address: Address) => getContract({ address, abi: assetAbi, client }),
    /** Sign and submit a NAV of this value. */
    value: async (value: bigint) => {
      const one = await report({ value })
      await navOracle.write.submitReport([one, await sign(one)], by(admin))
    },
    /** Make a person whose subscriptions the fund may pull. */
    investor: async (usdAssets: bigint) => {
      const address = await world.person(usdAssets, 0n)
      await sUSD.write.approve([fund.address, usdAssets], by(address))
      return address
    },
    /** Go to the close of the open epoch, and close it. */
    close: async () => {
      const { scheduledCloseAt } = await fund.read.epoch([await fund.read.epochId()])
      if ((await now()) < scheduledCloseAt)
        await client.setNextBlockTimestamp({ timestamp: scheduledCloseAt })
      await fund.write.closeEpoch(by(admin))
    },
    /** Put so much sETH up at the house, for 60 s unless said, and return its lot. */
    offer: async (
      amount: bigint,
      reserveAssets: bigint,
      differs: { lane?: string; positionId?: string; openS?: bigint } = {},
    ) => {
      await sETH.write.mint([admin, amount], by(admin))
      await sETH.write.approve([house.address, amount], by(admin))
      const lotId = (await house.read.lastLotId()) + 1n
      const lot = {
        positionId: word(differs.positionId ?? `position ${lotId}`),
        lane: word(differs.lane ?? 'liquid'),
        market: market.address,
        borrower: admin,
        asset: sETH.address,
        amount,
        quoteAsset: sUSD.address,
        reserveAssets,
        closesAt: (await now()) + (differs.openS ?? 60n),
      }
      await house.write.open([lot], by(admin))
      return { ...lot, lotId }
    },
  }
}

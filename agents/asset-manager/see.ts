import type { Address } from 'viem'
import type { PinnedDeployment } from '../../src/service/contract/deployment.ts'
import type { FundResource } from '../../src/service/contract/fund-resources.ts'
import type { AcquisitionResource } from '../../src/service/contract/trade-resources.ts'
import type { VaultResource } from '../../src/service/contract/vault-resources.ts'
import type { Answer, Look, Moment } from '../agent.ts'
import { askPrice, askSecondPrice } from '../protocol/price.ts'
import { createWave, type Wave } from '../protocol/reading.ts'
import {
  FUND_VIEWS,
  HOUSE_VIEWS,
  LOT_OPEN,
  MANAGER_ROLE,
  MARKET_VIEWS,
  MOBILITY_VIEWS,
  RESERVATION_ACTIVE,
  textOf,
  wordOf,
} from '../protocol/recovery.ts'
import type { Rows } from '../rows.ts'
import { askChannels, askSettings } from './declared/see-settings.ts'
import { unopenedOf } from './declared/unopened.ts'
import { isKnown, lower, type Reader } from './known.ts'
import type { ManagerPolicy } from './policy.ts'
import type { FundAtLot, FundFigures, LotSeen, ManagerSeen, MobilityFigures, PricedMarket } from './seen.ts'

const NOBODY = '0x0000000000000000000000000000000000000000'

type Answers = readonly Answer[]

/**
 * Look at funds, lots, markets and vaults, and ask the chain what the rows do not say: what our funds have and may, what
 * houses hold of lots, prices, and who may hold shares. Pure. Two waves; the second asks for what the first names.
 */
export function see(
  rows: Partial<Rows>,
  moment: Moment,
  policy: ManagerPolicy,
  previous: ManagerSeen | null,
): Look<ManagerSeen> {
  const wave = createWave()
  const { sold, funds, lots, markets, vaults, channels } = askOfRows(wave, rows, moment, policy)
  return {
    ask: wave.questions,
    next: (answers) => {
      const second = createWave()
      const known = {
        sold,
        markets: markets.map(({ row, read }) => ({
          row,
          ...(read === null ? { oracle: null, reference: null, books: null } : read(answers)),
        })),
        vaults: vaults.map(({ row, mobility, settings }) => ({
          row,
          mobility: mobility?.(answers) ?? null,
          settings: settings?.(answers) ?? null,
        })),
        channels: channels(answers),
        wrappers: rows.wrappers ?? null,
        unopened: previous?.unopened ?? new Map(),
      }
      const fundsAsked = funds.map(({ row, read }) => {
        const figures = read?.(answers) ?? null
        return { row, figures, used: figures && askUsed(second, row.address, figures.epochId) }
      })
      const lotsAsked = lots.map(({ row, read }) => ({ row, read: read(answers, second) }))
      const join = (more: Answers): ManagerSeen => ({
        ...known,
        funds: fundsAsked.map(({ row, figures, used }) => {
          const usedAssets = used?.(more) ?? null
          return { row, figures: figures && usedAssets !== null ? { ...figures, usedAssets } : null }
        }),
        lots: lotsAsked.map(({ row, read: readMore }) => ({ row, ...readMore(more) })),
      })
      const remember = (seen: ManagerSeen): ManagerSeen => ({
        ...seen,
        unopened: unopenedOf({ ...moment, ...seen }, policy.declared),
      })
      return { ask: second.questions, next: (more) => ({ seen: remember(join(more)) }) }
    },
  }
}

/** Ask of each row what it does not say; what has no place in the deployment is asked nothing. */
function askOfRows(wave: Wave, rows: Partial<Rows>, moment: Moment, policy: ManagerPolicy) {
  const { deployment, signer } = moment
  const all = { funds: rows.funds ?? [], vaults: rows.vaults ?? [], markets: rows.markets ?? [] }
  const isPinned = (pins: readonly { readonly address: Address }[], address: Address) =>
    pins.some((pin) => pin.address === address)
  const mine = all.funds.filter(
    ({ address, managerAddress }) => managerAddress === signer && isPinned(deployment.funds, address),
  )
  const lots = (rows.acquisitions ?? [])
    .filter(({ status }) => status === 'open' || status === 'closed')
    .map((row) => ({ row, read: askLot(wave, row, mine) }))
  const sold = (rows.acquisitions ?? []).filter(({ status }) => status === 'awarded')
  const funds = all.funds.map((row) => ({
    row,
    read: mine.includes(row) ? askFund(wave, row.address) : null,
  }))
  const markets = all.markets.map((row) => {
    const pinned = deployment.markets.find(({ address }) => address === row.address)
    return { row, read: pinned === undefined ? null : askMarket(wave, pinned, deployment, policy) }
  })
  const vaults = all.vaults.map((row) => {
    const pinned = deployment.vaults.find(({ address }) => address === row.address)
    const declared = policy.declared.vaultSettings.find(({ vault }) => vault === pinned?.name)
    return {
      row,
      mobility: pinned === undefined ? null : askMobility(wave, row, signer),
      settings: declared === undefined ? null : askSettings(wave, row.address, declared, moment),
    }
  })
  const channels = askChannels(wave, policy.declared.vaultSettings, moment)
  return { sold, funds, lots, markets, vaults, channels }
}

type Unused = Omit<FundFigures, 'usedAssets'>

function askFund(wave: Wave, fund: Address): Reader<Unused> {
  const manager = wave.ask(FUND_VIEWS, fund, 'manager', [])
  const idle = wave.ask(FUND_VIEWS, fund, 'idleAssets', [])
  const reserved = wave.ask(FUND_VIEWS, fund, 'reservedAssets', [])
  const net = wave.ask(FUND_VIEWS, fund, 'netAssets', [])
  const epoch = wave.ask(FUND_VIEWS, fund, 'epochId', [])
  const [acquisition, auction, rfq] = [
    askChannel(wave, fund, 'acquisition'),
    askChannel(wave, fund, 'auction'),
    askChannel(wave, fund, 'rfq'),
  ]
  return (answers) => {
    const figures = {
      manager: lower(manager(answers)),
      idleAssets: idle(answers),
      reservedAssets: reserved(answers),
      netAssets: net(answers),
      epochId: epoch(answers),
    }
    const channels = { acquisition: acquisition(answers), auction: auction(answers), rfq: rfq(answers) }
    return isKnown(figures) && isKnown(channels) ? { ...figures, channels } : null
  }
}

function askChannel(wave: Wave, fund: Address, channel: string) {
  const read = wave.ask(FUND_VIEWS, fund, 'channelPolicy', [wordOf(channel)])
  return (answers: Answers) => {
    const policy = read(answers)
    if (policy === null) return null
    const [enabled, maxAssetsPerEpoch, maxPriceBps, maxPositionBps] = policy
    return { enabled, maxAssetsPerEpoch, maxPriceBps, maxPositionBps }
  }
}

const askUsed = (wave: Wave, fund: Address, epochId: bigint) =>
  wave.ask(FUND_VIEWS, fund, 'usedAssets', [epochId, wordOf('acquisition')])

/** Ask a lot's house, and what each fund of ours makes of it; a reservation that is named there is asked for next. */
function askLot(wave: Wave, row: AcquisitionResource, funds: readonly FundResource[]) {
  const { acquisitionAddress: house, positionId, assetAddress, assetAmount, marketAddress } = row
  const lot = wave.ask(HOUSE_VIEWS, house, 'lot', [BigInt(row.lotId)])
  const atFunds = funds.map(({ address }) => ({
    fundAddress: address,
    appraised: wave.ask(FUND_VIEWS, address, 'appraise', [assetAddress, BigInt(assetAmount), marketAddress]),
    newest: wave.ask(FUND_VIEWS, address, 'reservationAt', [house, positionId]),
  }))
  return (answers: Answers, next: Wave) => {
    const found = lot(answers)
    const houseSeen: LotSeen['house'] = found && {
      open: found.state === LOT_OPEN,
      lane: textOf(found.terms.lane),
      bestFundAddress: found.bestBidder === NOBODY ? null : lower(found.bestBidder),
      bestAssets: found.bestAssets,
    }
    const asked = atFunds.map(({ fundAddress, appraised, newest }) => {
      const id = newest(answers) ?? 0n
      return {
        fundAddress,
        appraisedAssets: appraised(answers),
        read: id === 0n ? null : next.ask(FUND_VIEWS, fundAddress, 'reservation', [id]),
      }
    })
    return (more: Answers): Pick<LotSeen, 'house' | 'funds'> => ({
      house: houseSeen,
      funds: asked.map(({ read, ...at }) => ({ ...at, reservation: reservationSeen(read?.(more) ?? null) })),
    })
  }
}

function reservationSeen(
  read: readonly [number, Address, bigint, bigint, bigint] | null,
): FundAtLot['reservation'] {
  if (read === null) return null
  const [status, , , epochId, assets] = read
  return status === RESERVATION_ACTIVE ? { assets, epochId } : null
}

function askMarket(
  wave: Wave,
  { address, oracle, collateralAsset }: PinnedDeployment['markets'][number],
  deployment: PinnedDeployment,
  { bidding }: ManagerPolicy,
) {
  const symbol = deployment.assets.find((asset) => asset.address === collateralAsset)?.symbol
  const terms = symbol === undefined ? undefined : bidding.assets[symbol]
  const reference = askSecondPrice(wave, oracle, terms?.referenceContract, deployment)
  const price = askPrice(wave, oracle)
  const badDebt = wave.ask(MARKET_VIEWS, address, 'totalBadDebt', [])
  const debt = wave.ask(MARKET_VIEWS, address, 'totalDebt', [])
  const cash = wave.ask(MARKET_VIEWS, address, 'totalCash', [])
  return (answers: Answers): Pick<PricedMarket, 'oracle' | 'reference' | 'books'> => {
    const figures = { badDebt: badDebt(answers), debt: debt(answers), cash: cash(answers) }
    return {
      oracle: price(answers),
      reference: reference(answers),
      books: isKnown(figures)
        ? { badDebtAssets: figures.badDebt, suppliedAssets: figures.debt + figures.cash }
        : null,
    }
  }
}

function askMobility(wave: Wave, { address }: VaultResource, signer: Address): Reader<MobilityFigures> {
  const isManager = wave.ask(MOBILITY_VIEWS, address, 'hasRole', [MANAGER_ROLE, signer])
  const transferProfile = wave.ask(MOBILITY_VIEWS, address, 'transferProfile', [])
  const paused = wave.ask(MOBILITY_VIEWS, address, 'shareMobilityPaused', [])
  const restoreAfter = wave.ask(MOBILITY_VIEWS, address, 'restoreAfter', [])
  const pauseReason = wave.ask(MOBILITY_VIEWS, address, 'pauseReason', [])
  const mobilityEpoch = wave.ask(MOBILITY_VIEWS, address, 'mobilityEpoch', [])
  const trusted = wave.ask(MOBILITY_VIEWS, address, 'trustedRecipients', [])
  return (answers) => {
    const restoreAfterS = restoreAfter(answers)
    const figures = {
      isManager: isManager(answers),
      transferProfile: transferProfile(answers),
      paused: paused(answers),
      restoreAfterS: restoreAfterS === null ? null : Number(restoreAfterS),
      pauseReason: pauseReason(answers),
      mobilityEpoch: mobilityEpoch(answers),
      trustedRecipients: trusted(answers)?.map((address) => lower(address)) ?? null,
    }
    return isKnown(figures) ? figures : null
  }
}

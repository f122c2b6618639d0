import { encodeDeployData } from 'viem'
import { acquisitionHouseAbi, recoveryAuctionAbi, rfqDeskAbi } from '../contracts/abis.ts'
import type { DeployedContract, Planner } from './planner.ts'

/** Where distressed positions and holdings are traded. */
export type TradeContracts = {
  readonly acquisitionHouse: DeployedContract
  readonly recoveryAuction: DeployedContract
  readonly rfqDesk: DeployedContract
}

/** Bids go up by 1 % at least; one in the last five seconds leaves five more, up to a minute in all. */
const AUCTION_TERMS = [100n, 5n, 60n] as const

/** Create the acquisition house, the auction and the RFQ desk. Nobody owns them: their rules are all there is. */
export function planTrade(planner: Planner): TradeContracts {
  return {
    acquisitionHouse: planner.create('AcquisitionHouse', (bytecode) =>
      encodeDeployData({ abi: acquisitionHouseAbi, bytecode }),
    ),
    recoveryAuction: planner.create('RecoveryAuction', (bytecode) =>
      encodeDeployData({ abi: recoveryAuctionAbi, bytecode, args: AUCTION_TERMS }),
    ),
    rfqDesk: planner.create('RfqDesk', (bytecode) => encodeDeployData({ abi: rfqDeskAbi, bytecode })),
  }
}

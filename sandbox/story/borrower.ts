import { type Address, createPublicClient, encodeFunctionData, http, maxUint256 } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import type { SandboxKeys } from '../cast/keys.ts'
import { TO_CHAIN } from '../chain/to-chain.ts'
import type { Call } from '../chain/transactions.ts'
import { lendingMarketAbi } from '../contracts/abis.ts'
import type { Deployment } from '../deploy/deploy.ts'
import { marketContracts } from '../deploy/markets.ts'
import type { BorrowerAct, MarketWeather } from './story.ts'

/** What a borrower has when it acts. */
type Position = { readonly collateralAssets: bigint; readonly debts: readonly (readonly [Address, bigint])[] }

/** Turn what borrowers do in the story into calls, by what they have on the chain. */
type BorrowerCalls = (
  acts: readonly BorrowerAct[],
  markets: readonly MarketWeather[],
) => Promise<readonly Call[]>

const BPS = 10_000n
const WAD = 10n ** 18n
const LOAN_UNIT = 10n ** 6n

/** Create the borrowers of a deployment. Rejects with viem's error when a position cannot be read. */
export function createBorrowerCalls(
  rpcUrl: string,
  deployment: Deployment,
  keys: SandboxKeys,
): BorrowerCalls {
  const reader = createPublicClient({
    cacheTime: 0,
    transport: http(rpcUrl, { ...TO_CHAIN, batch: true }),
  })
  const { primeVault, growthVault } = deployment.contracts
  const vaults = { prime: primeVault.address, growth: growthVault.address }

  const readPosition = async (market: Address, borrower: Address): Promise<Position> => {
    const contract = { address: market, abi: lendingMarketAbi } as const
    const read = (vault: Address) =>
      reader.readContract({ ...contract, functionName: 'debtOf', args: [vault, borrower] })
    const [collateralAssets, prime, growth] = await Promise.all([
      reader.readContract({ ...contract, functionName: 'collateralOf', args: [borrower] }),
      read(vaults.prime),
      read(vaults.growth),
    ])
    return {
      collateralAssets,
      debts: [[vaults.prime, prime] as const, [vaults.growth, growth] as const].filter(
        ([, debt]) => debt > 0n,
      ),
    }
  }

  const callsOf = async (act: BorrowerAct, markets: readonly MarketWeather[]): Promise<readonly Call[]> => {
    const from = keys.borrowers[act.borrower]
    const weather = markets.find(({ market }) => market === act.market)
    if (from === undefined || weather === undefined) return []
    const terms = marketContracts(deployment, act.market)
    const { collateralAssets, debts } = await readPosition(terms.market, privateKeyToAddress(from))
    const call = (data: Call['data']): Call => ({ from, to: terms.market, data })
    const repayShare = (bps: bigint) =>
      debts.map(([vault, debt]) =>
        call(repay(vault, privateKeyToAddress(from), bps === BPS ? maxUint256 : (debt * bps) / BPS)),
      )
    if (act.act === 'repay') return repayShare(act.debtBps)
    if (act.act === 'topUp') {
      const assets = (collateralAssets * act.collateralBps) / BPS
      return assets === 0n ? [] : [call(depositCollateral(assets))]
    }
    if (act.act === 'close') {
      return [
        ...repayShare(BPS),
        ...(collateralAssets === 0n ? [] : [call(withdrawCollateral(collateralAssets))]),
      ]
    }
    const worthAssets = (act.debtAssets * BPS * BPS) / (terms.lltvBps * act.limitBps)
    const wanted =
      (worthAssets * 10n ** BigInt(terms.collateralDecimals) * WAD) / (weather.priceWad * LOAN_UNIT)
    const more = wanted - collateralAssets
    const move = more > 0n ? [depositCollateral(more)] : more < 0n ? [withdrawCollateral(-more)] : []
    const part = act.debtAssets / BigInt(act.vaults.length)
    return [
      ...repayShare(BPS),
      ...move.map(call),
      ...act.vaults.map((vault) => call(borrow(vaults[vault], part))),
    ]
  }

  return async (acts, markets) => (await Promise.all(acts.map((act) => callsOf(act, markets)))).flat()
}

const abi = lendingMarketAbi
const repay = (vault: Address, borrower: Address, assets: bigint) =>
  encodeFunctionData({ abi, functionName: 'repay', args: [vault, borrower, assets] })
const borrow = (vault: Address, assets: bigint) =>
  encodeFunctionData({ abi, functionName: 'borrow', args: [vault, assets] })
const depositCollateral = (assets: bigint) =>
  encodeFunctionData({ abi, functionName: 'depositCollateral', args: [assets] })
const withdrawCollateral = (assets: bigint) =>
  encodeFunctionData({ abi, functionName: 'withdrawCollateral', args: [assets] })

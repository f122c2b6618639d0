import { randomUUID } from 'node:crypto'
import { type Address, encodeFunctionData, parseEther, stringToHex } from 'viem'
import type { Clock } from '../../../src/clock.ts'
import { invariant } from '../../../src/errors.ts'
import { assetAbi, eligibilityRegistryAbi } from '../../contracts/abis.ts'
import { ApiError } from '../http/api-error.ts'
import type { Caller, Handlers, Performed } from '../http/handler.ts'
import type { ServedDeployment } from '../reads/deployment-reads.ts'
import type { Grant, GrantRows } from './grant-rows.ts'
import { type DonorCall, type Grants, grantEvent, grantHash } from './grants.ts'

/** Of one wallet in a UTC day, under whichever application. */
const CLAIMS_PER_DAY = 10
const DAY_MS = 86_400_000
/** Comes with every claim: gas for thousands of transactions at the sandbox's prices. */
const GAS_WEI = parseEther('1')

/** In base units: what one claim of each asset gives. */
const FAUCET_AMOUNTS = { sUSD: 100_000n * 10n ** 6n, sBTC: 2n * 10n ** 8n, sETH: 30n * 10n ** 18n }

type Contracts = ServedDeployment['contracts']

/** What one claim gives, by asset. Pure. */
const faucetAmounts = (contracts: Contracts): ReadonlyMap<Address, bigint> =>
  new Map([
    [lower(contracts.sUSD.address), FAUCET_AMOUNTS.sUSD],
    [lower(contracts.sBTC.address), FAUCET_AMOUNTS.sBTC],
    [lower(contracts.sETH.address), FAUCET_AMOUNTS.sETH],
  ])

/** Describe what the faucet gives, as `faucetQuota` of a sandbox. Pure. */
export const faucetQuota = (contracts: Contracts) => ({
  claimsPerWalletAndDay: CLAIMS_PER_DAY,
  amounts: Object.fromEntries(
    [...faucetAmounts(contracts)].map(([asset, amount]) => [asset, String(amount)]),
  ),
  gasWei: String(GAS_WEI),
})

/** What the operations on grants are given. */
export type GrantOperationDeps = {
  readonly rows: GrantRows
  readonly grants: Grants
  readonly clock: Clock
  readonly chainId: number
  readonly contracts: Contracts
}

/** POST /v1/sandbox/admissions and /v1/sandbox/faucet-claims; both answer before the chain does. */
export function grantOperations(deps: GrantOperationDeps) {
  const { rows, clock, contracts } = deps
  const amounts = faucetAmounts(contracts)
  return {
    requestSandboxAdmission: ({ caller }) => {
      const { wallet, applicationId } = walletOf(caller)
      // Asked again, it is the same admission; another application gets one of its own, with events of its own.
      const known = rows.admission(wallet, applicationId)
      if (known !== null) {
        return { body: grantBody(known, deps.chainId), commit: () => {} }
      }
      const grant = newGrant({ kind: 'admission', applicationId, wallet, asset: null, amount: 0n }, clock)
      return request(grant, grantBody(grant, deps.chainId), deps)
    },
    claimFaucet: ({ caller, body }) => {
      const { wallet, applicationId } = walletOf(caller)
      const asset = body.assetAddress ?? lower(contracts.sUSD.address)
      const amount = amounts.get(asset)
      if (amount === undefined) throw new ApiError(400, 'unknown_asset', 'The faucet has no such asset.')
      if (!rows.isAdmitted(wallet)) {
        const blockedReason = 'wallet_not_admitted'
        const message =
          'The faucet serves admitted wallets; ask for admission and wait for its final success.'
        throw new ApiError(403, 'wallet_not_admitted', message, { blockedReason })
      }
      const grant = newGrant({ kind: 'faucet', applicationId, wallet, asset, amount }, clock)
      const about = { assetAddress: asset, amount: String(amount) }
      const performed = request(grant, { ...grantBody(grant, deps.chainId), ...about }, deps)
      return {
        ...performed,
        commit: () => {
          assertQuota(rows, grant)
          performed.commit()
        },
      }
    },
  } satisfies Partial<Handlers>
}

/** Encode what the chain is sent for a grant: the same calls whenever they are asked for. Pure. */
export const grantCalls =
  ({ registry, ethMarket, fundFactory, recoveryFund }: Contracts) =>
  ({ kind, wallet, asset, amount }: Grant): readonly DonorCall[] => {
    if (kind === 'faucet') {
      invariant(asset !== null, 'a faucet claim names its asset')
      const data = encodeFunctionData({ abi: assetAbi, functionName: 'mint', args: [wallet, amount] })
      return [
        { to: asset, data, value: 0n },
        { to: wallet, data: '0x', value: GAS_WEI },
      ]
    }
    const places = [
      ['liquidate', ethMarket],
      ['selfLaunch', fundFactory],
      ['subscribe', recoveryFund],
    ] as const
    return places.map(([action, scope]) => ({
      to: registry.address,
      data: encodeFunctionData({
        abi: eligibilityRegistryAbi,
        functionName: 'setAuthorization',
        args: [wallet, stringToHex(action, { size: 32 }), scope.address, true],
      }),
      value: 0n,
    }))
  }

function request(grant: Grant, body: object, { rows, grants }: GrantOperationDeps): Performed {
  return {
    body,
    events: [grantEvent(grant)],
    commit: () => rows.insert(grant),
    committed: () => grants.evaluate(),
  }
}

/** Judged when it is recorded, so that claims that come at once are counted one after the other. */
function assertQuota(rows: GrantRows, { wallet, requestedMs }: Grant): void {
  const midnightMs = requestedMs - (requestedMs % DAY_MS)
  if (rows.claimsSince(wallet, midnightMs) < CLAIMS_PER_DAY) return
  const retryAfterS = Math.ceil((midnightMs + DAY_MS - requestedMs) / 1_000)
  const details = { retryable: true, retryAfterS }
  throw new ApiError(429, 'faucet_quota', `A wallet has ${CLAIMS_PER_DAY} claims a day (UTC).`, details)
}

function walletOf({ wallet, applicationId }: Caller) {
  invariant(
    wallet !== null && applicationId !== null,
    'the operation permits no caller without key and wallet',
  )
  return { wallet, applicationId }
}

const newGrant = (
  wanted: Pick<Grant, 'kind' | 'applicationId' | 'wallet' | 'asset' | 'amount'>,
  clock: Clock,
): Grant => ({
  ...wanted,
  id: `${wanted.kind === 'admission' ? 'adm' : 'fct'}_${randomUUID()}`,
  status: 'requested',
  signed: [],
  sentBlock: 0n,
  requestedMs: clock.nowMs(),
})

const grantBody = (grant: Grant, chainId: number) => ({
  id: grant.id,
  walletAddress: grant.wallet,
  chainId,
  status: grant.status,
  txHash: grantHash(grant),
  requestedAt: new Date(grant.requestedMs).toISOString(),
})

const lower = (address: Address) => address.toLowerCase() as Address

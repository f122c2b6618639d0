import {
  type Abi,
  type AbiFunction,
  type Address,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  parseAbi,
  toFunctionSignature,
} from 'viem'
import type { Call, Nodes } from '../chain/nodes.ts'
import { RolekeeperError } from '../errors.ts'

/** The reads of markets and oracles that observation and arming make. */
const VIEWS = parseAbi([
  'function read() view returns (uint256 priceWad, uint64 sourceAsOf, uint64 updatedAt, uint8 state)',
  'function openClaims(address liquidator) view returns (uint256[])',
  'function claim(uint256 claimId) view returns (address liquidator, address recipient, address vault, address borrower, uint256 collateralAssets, uint64 settleableAt, bool settled)',
  'function collateralOf(address borrower) view returns (uint256)',
  'function totalDebtOf(address borrower) view returns (uint256)',
  'function debtOf(address vault, address borrower) view returns (uint256)',
  'function debtSharesOf(address vault, address borrower) view returns (uint256)',
  'function healthFactorWad(address borrower) view returns (uint256)',
])

/** Source: EIP-20. */
const TOKEN = parseAbi([
  'function balanceOf(address owner) view returns (uint256)',
  'function decimals() view returns (uint8)',
])

/** One read: the call, and what its answer means. */
type Read<T> = { readonly call: Call; readonly decode: (data: Hex) => T }

const view = (to: Address, data: Hex) => ({ to, data })

/** Read an oracle: price as a wad, the source's own time in seconds, and the state that its feeder vouches for. */
export const readOracle = (
  oracle: Address,
): Read<{ readonly priceWad: bigint; readonly sourceAsOfS: number; readonly state: number }> => ({
  call: view(oracle, encodeFunctionData({ abi: VIEWS, functionName: 'read' })),
  decode: (data) => {
    const [priceWad, sourceAsOf, , state] = decodeFunctionResult({ abi: VIEWS, functionName: 'read', data })
    return { priceWad, sourceAsOfS: Number(sourceAsOf), state }
  },
})

/** Read the numbers of a liquidator's unsettled claims in a market. */
export const readOpenClaims = (market: Address, liquidator: Address): Read<readonly bigint[]> => ({
  call: view(market, encodeFunctionData({ abi: VIEWS, functionName: 'openClaims', args: [liquidator] })),
  decode: (data) => decodeFunctionResult({ abi: VIEWS, functionName: 'openClaims', data }),
})

/** Read one claim: base units of collateral, and the chain's second from which it can be settled. */
export const readClaim = (
  market: Address,
  claimId: bigint,
): Read<{ readonly collateralAssets: bigint; readonly settleableAtS: number }> => ({
  call: view(market, encodeFunctionData({ abi: VIEWS, functionName: 'claim', args: [claimId] })),
  decode: (data) => {
    const claim = decodeFunctionResult({ abi: VIEWS, functionName: 'claim', data })
    return { collateralAssets: claim[4], settleableAtS: Number(claim[5]) }
  },
})

const ofBorrower =
  (functionName: 'collateralOf' | 'totalDebtOf' | 'healthFactorWad') =>
  (market: Address, borrower: Address): Read<bigint> => ({
    call: view(market, encodeFunctionData({ abi: VIEWS, functionName, args: [borrower] })),
    decode: (data) => decodeFunctionResult({ abi: VIEWS, functionName, data }),
  })

/** Read a borrower's collateral in a market, base units. */
export const readCollateral = ofBorrower('collateralOf')
/** Read a borrower's debt to all vaults of a market, base units. */
export const readTotalDebt = ofBorrower('totalDebtOf')
/** Read a borrower's health factor, a wad. */
export const readHealthFactor = ofBorrower('healthFactorWad')

const ofFacility =
  (functionName: 'debtOf' | 'debtSharesOf') =>
  (market: Address, vault: Address, borrower: Address): Read<bigint> => ({
    call: view(market, encodeFunctionData({ abi: VIEWS, functionName, args: [vault, borrower] })),
    decode: (data) => decodeFunctionResult({ abi: VIEWS, functionName, data }),
  })

/** Read a borrower's debt to one vault of a market, base units. */
export const readDebt = ofFacility('debtOf')
/** Read a borrower's debt shares with one vault of a market. */
export const readDebtShares = ofFacility('debtSharesOf')

/** Read a balance, base units of the token. */
export const readBalance = (token: Address, owner: Address): Read<bigint> => ({
  call: view(token, encodeFunctionData({ abi: TOKEN, functionName: 'balanceOf', args: [owner] })),
  decode: (data) => decodeFunctionResult({ abi: TOKEN, functionName: 'balanceOf', data }),
})

/** Read a token's decimals. */
export const readDecimals = (token: Address): Read<number> => ({
  call: view(token, encodeFunctionData({ abi: TOKEN, functionName: 'decimals' })),
  decode: (data) => decodeFunctionResult({ abi: TOKEN, functionName: 'decimals', data }),
})

/** Reads that go to the node together, in one round trip. */
export type Batch = {
  /** Add a read; the returned function gives its answer after `run`, null when it failed or did not decode. */
  readonly ask: <T>(read: Read<T>) => () => T | null
  /** Send what was added, at a block or at the node's newest. Sends nothing when nothing was added. */
  readonly run: (nodes: Pick<Nodes, 'calls'>, blockNumber?: bigint) => Promise<void>
}

/** Create an empty batch. */
export function createBatch(): Batch {
  const calls: Call[] = []
  let answers: readonly (Hex | null)[] = []
  return {
    ask: (read) => {
      const index = calls.push(read.call) - 1
      return () => {
        const data = answers[index]
        if (data === undefined || data === null) return null
        try {
          return read.decode(data)
        } catch {
          // Another contract's answer, or none at all: not known, which stops whoever needs it.
          return null
        }
      }
    },
    run: async (nodes, blockNumber) => {
      if (calls.length > 0) answers = await nodes.calls(calls, blockNumber)
    },
  }
}

const shape = (item: AbiFunction) =>
  `${toFunctionSignature(item)} ${item.stateMutability} (${item.outputs.map(({ type }) => type).join(',')})`

/**
 * Check that the policy's views name every read we make, with the same types: the operator's policy, not this file,
 * says what a contract of the deployment looks like.
 * @param signatures `guard.views` of the policy, as in "function collateralOf(address) view returns (uint256)".
 * @throws RolekeeperError `policy.view_invalid` or `policy.view_missing`.
 */
export function assertViews(signatures: readonly string[]): void {
  const given = new Set(signatures.flatMap((signature) => functionsOf(signature).map(shape)))
  for (const item of VIEWS) {
    if (given.has(shape(item))) continue
    throw new RolekeeperError('policy.view_missing', `The policy's guard.views lack ${shape(item)}.`, {
      fix: `add this function to guard.views with these types, or correct its entry.`,
    })
  }
}

function functionsOf(signature: string): AbiFunction[] {
  let abi: Abi
  try {
    abi = parseAbi([signature])
  } catch (cause) {
    throw new RolekeeperError(
      'policy.view_invalid',
      `guard.views has "${signature}", which is no function.`,
      {
        fix: 'write it as Solidity does, for example "function collateralOf(address) view returns (uint256)".',
        cause,
      },
    )
  }
  return abi.filter((item) => item.type === 'function')
}

import { type Abi, type AbiFunction, encodeFunctionResult, type Hex, toFunctionSelector } from 'viem'
import { z } from 'zod'
import type { Call } from '../../../src/chain/nodes.ts'
import type { Refusal } from '../../../src/errors.ts'
import { createReads, TOKEN_VIEWS } from '../../../src/guard/reads/views.ts'
import { CHANNEL_VIEWS } from '../../../src/guard/sanity/channel/views.ts'
import { HOLDER_VIEWS, OWNERSHIP_VIEWS } from '../../../src/guard/sanity/vault-views.ts'
import type { Role } from '../../../src/service/contract/roles.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { shippedPolicyOf } from '../../support/policies.ts'
import { judgementsOf, LOAN, SELF, VAULT } from '../fixtures.ts'
import { deployment, kindOf } from '../kinds.ts'
import { OTHER_SIGNER } from '../kinds-by-hand.ts'

export const NOW_S = 1_800_000_000
export const ZERO = `0x${'00'.repeat(20)}`
export const SHARES = 2_000_000_000_000_000n
export const ASSETS = 5_000_000_000n
export const fees = {
  managementFeeBps: 20,
  performanceFeeBps: 800,
  borrowerManagerFeeBps: 200,
  recipient: SELF,
  curatorRecipient: SELF,
}
export const listing = {
  approved: false,
  allocationEnabled: true,
  relativeCapBps: 5_000,
  absoluteCapAssets: 1_000_000_000_000n,
}
export const request = {
  owner: SELF,
  receiver: SELF,
  requestedAt: 1n,
  dueAt: BigInt(NOW_S),
  shares: SHARES,
  paid: false,
}

/** What the chain says by view, whatever it is asked about; a function tells by the arguments. */
const CHAIN: Readonly<Record<string, unknown>> = {
  owner: SELF,
  pendingDefaultAdmin: [ZERO, 0],
  feeConfig: fees,
  liquidityBufferBps: 500,
  exitTerms: { kind: 1, noticeSeconds: 3_600n, intervalSeconds: 0n, maturityTimestamp: 0n },
  minDepositAssets: 0n,
  maxDepositAssets: 0n,
  routing: [],
  hasRole: false,
  listing,
  asset: LOAN,
  totalAssets: 10n ** 12n,
  totalSupply: 4n * 10n ** 17n,
  convertToAssets: ASSETS,
  idleAssets: 10n ** 12n,
  redemptionFrozen: false,
  queueEnd: 7n,
  request,
  transferProfile: 0,
  shareMobilityPaused: false,
  restoreAfter: 0n,
  trustedRecipients: [],
  vault: VAULT,
  reseller: SELF,
  curator: SELF,
  isBlocked: false,
  previewDeposit: SHARES,
  previewRedeem: ASSETS,
  feeShares: SHARES,
  borrowerFeeAssets: ASSETS,
  feeSharesClaimed: 0n,
  borrowerFeeClaimed: 0n,
  balanceOf: SHARES,
}
export type Said = Readonly<Record<string, unknown>>

const VIEWS: readonly AbiFunction[] = [...OWNERSHIP_VIEWS, ...HOLDER_VIEWS, ...CHANNEL_VIEWS, ...TOKEN_VIEWS]

function answer({ data }: Call, said: Said): Hex | null {
  const item = VIEWS.find((view) => toFunctionSelector(view) === data.slice(0, 10))
  if (item === undefined) throw new TypeError(`no view has the selector of ${data}`)
  const value = { ...CHAIN, ...said }[item.name]
  const result: unknown = typeof value === 'function' ? value(data) : value
  if (result === null) return null
  return encodeFunctionResult({
    abi: [item] as Abi,
    functionName: item.name,
    result: result as readonly unknown[],
  })
}

const limits = (role: Role) =>
  z.object({ guard: z.object({ sanity: z.unknown() }) }).parse(shippedPolicyOf(role)).guard.sanity

/** One case: what is asked for, and what the chain says before and after it where that is not as in {@link CHAIN}. */
export type Given = {
  readonly input?: Said
  /** Who asks, where it is no person, and what it says of its step. */
  readonly by?: Pick<Proposal, 'kind'> & Partial<Pick<Proposal, 'loosens' | 'reason'>>
  readonly before?: Said
  readonly after?: Said
  readonly changes?: Said
  readonly atS?: number
}

/** The first refusal, of the position or of the outcome. */
export function refusalOf(role: Role, name: string, given: Given): Refusal | null {
  const { proposal } = kindOf(name)
  const check = judgementsOf(role, limits(role)).get(proposal.workflowType)
  if (check === undefined) throw new TypeError(`the ${role} judges ${name}`)
  const input = { ...proposal.input, ...given.input } as typeof proposal.input
  const [before, after] = [createReads(), createReads()]
  const vault = { address: VAULT, codeHash: '0x' as const }
  const effects = { out: [], in: [], moves: [] }
  const subject = {
    input,
    self: SELF,
    ours: [SELF, OTHER_SIGNER],
    deadlineS: 0n,
    market: null,
    vault,
    fund: null,
    deployment,
    effects,
  }
  const judgement = check.judge({
    subject,
    proposal: { ...proposal, ...given.by, input },
    calls: [],
    before,
    after,
  })
  before.fill(before.calls.map((call) => answer(call, given.before ?? {})))
  after.fill(after.calls.map((call) => answer(call, { ...given.before, ...given.after })))
  const timestampS = given.atS ?? NOW_S
  const changeOf = (token: string) => BigInt(String(given.changes?.[token] ?? 0))
  return (
    judgement.checkState(timestampS) ?? judgement.checkOutcome({ timestampS, gasWei: 0n, changeOf }) ?? null
  )
}

/** The name of that refusal; null when it may be signed. */
export const judged = (role: Role, name: string, given: Given): string | null =>
  refusalOf(role, name, given)?.check ?? null

/** The data of a call as addresses of ours are written. */
export const asked = (data: Hex) => data.toLowerCase()
export const listed = { listing: { ...listing, approved: true } }
/** A listing as it is of one market alone. */
export const one = (market: string, is: unknown, else_: unknown) => ({
  listing: (data: Hex) => (asked(data).includes(market.slice(2)) ? is : else_),
})
export const newFees = { feeConfig: { ...fees, managementFeeBps: 50, performanceFeeBps: 1_000 } }
/** An allocator's or a curator's role as it is of one account alone. */
export const role = (account: string, has: boolean, of = 'grant') => ({
  // The allocator's role alone is of the account.
  hasRole: (data: Hex) =>
    asked(data).includes(account.slice(2)) &&
    asked(data).includes(of === 'grant' ? '68bf109b' : '850d585e') &&
    has,
})

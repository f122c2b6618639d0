import { type Address, type Hex, keccak256 } from 'viem'
import { ELIGIBILITY } from '../../../src/service/contract/assumptions.ts'
import { SANDBOX_STAGES } from '../../../src/service/contract/tenant-resources.ts'
import type { Canonical } from '../../indexer/canonical.ts'
import type { EventLog } from '../events/events.ts'
import type { EventDraft } from '../http/handler.ts'
import type { Messages } from '../reads/messages.ts'
import { same } from '../same.ts'
import type { Grant, GrantRows, GrantStatus } from './grant-rows.ts'

/** The sandbox's chain finalises a block when this many are on top of it. */
const FINALITY_BLOCKS = 2n

/** A transaction that no indexed block holds after this many is sent again. */
const RESEND_BLOCKS = 5n

/** One call of the account that owns the sandbox's assets and its registry. */
export type DonorCall = { readonly to: Address; readonly data: Hex; readonly value: bigint }

/** Sends that account's transactions. */
export type Donor = {
  /** Send calls in order; `keep` gets the signed bytes of all before any of them leaves. */
  readonly send: (calls: readonly DonorCall[], keep: (signed: readonly Hex[]) => void) => Promise<unknown>
  /** Send signed bytes again unless the chain holds them; false when another transaction has taken their nonce. */
  readonly resend: (signed: Hex) => Promise<boolean>
}

/** Carries grants to their end. */
export type Grants = {
  /** Look at every open grant; a look that is running is followed by one more. */
  readonly evaluate: () => void
  /** Settles when no look is running. */
  readonly idle: () => Promise<void>
}

/** What grants are followed with. `callsOf` is the same for a grant whenever it is asked. */
export type GrantDeps = {
  readonly rows: GrantRows
  readonly canonical: Canonical
  readonly log: EventLog
  readonly messages: Pick<Messages, 'post'>
  readonly donor: Donor
  readonly callsOf: (grant: Grant) => readonly DonorCall[]
  readonly onCrash: (error: unknown) => void
}

/**
 * Follow grants on the indexed chain, announcing each stage once and in order. What is signed is on disk before it is
 * sent, so that a restart sends the same bytes again; a call is signed anew only when another transaction of the
 * account has taken its nonce.
 */
export function createGrants(deps: GrantDeps): Grants {
  let running: Promise<void> | null = null
  let again = false
  const look = async () => {
    for (const grant of deps.rows.open()) {
      // One that fails must not keep the others from their end.
      await step(grant, deps).catch(deps.onCrash)
    }
  }
  return {
    evaluate: () => {
      again = true
      running ??= (async () => {
        while (again) {
          again = false
          await look()
        }
        running = null
      })()
    },
    idle: async () => running ?? undefined,
  }
}

async function step(grant: Grant, deps: GrantDeps): Promise<void> {
  if (grant.status === 'requested') {
    moveTo(await sent(grant, deps), 'submitted', deps)
    return
  }
  const { canonical } = deps
  const seen = await Promise.all(grant.signed.map((bytes) => canonical.transaction(keccak256(bytes))))
  const { block, eligibility } = canonical.snapshot()
  if (seen.some((one) => one?.status === 'reverted')) {
    moveTo(grant, 'failed', deps)
    return
  }
  const blocks = seen.flatMap((one) => (one === null ? [] : [one.blockNumber]))
  if (blocks.length < seen.length) {
    if (block.number >= grant.sentBlock + RESEND_BLOCKS) await sent(grant, deps)
    return
  }
  const last = blocks.reduce((a, b) => (a > b ? a : b), 0n)
  const authorized = eligibility.filter(
    (row) => same(row.walletAddress, grant.wallet) && row.authorizationStatus === ELIGIBILITY.authorized,
  )
  const visible = grant.kind === 'faucet' || authorized.length >= grant.signed.length
  if (block.number < last) moveTo(grant, 'mined', deps)
  else if (!visible) moveTo(grant, 'indexed', deps)
  else moveTo(grant, block.number < last + FINALITY_BLOCKS ? 'persisted_visible' : 'final_success', deps)
}

/** Send what the chain does not hold, signing what is not signed or has lost its nonce. */
async function sent(grant: Grant, { rows, canonical, donor, callsOf }: GrantDeps): Promise<Grant> {
  const sentBlock = canonical.snapshot().block.number
  let current = { ...grant, sentBlock }
  const keep = (signed: readonly Hex[]) => {
    current = { ...current, signed }
    rows.update(current)
  }
  const calls = callsOf(grant)
  if (grant.signed.length === 0) {
    await donor.send(calls, keep)
    return current
  }
  for (const [index, call] of calls.entries()) {
    const bytes = current.signed[index]
    if (bytes !== undefined && (await donor.resend(bytes))) continue
    await donor.send([call], (signed) => keep(current.signed.with(index, signed[0] ?? '0x')))
  }
  keep(current.signed)
  return current
}

/** Announce every stage up to one, in the transaction that records it. A grant does not go back. */
function moveTo(grant: Grant, status: GrantStatus, { rows, log, messages }: GrantDeps): void {
  const next = { ...grant, status }
  const order: readonly GrantStatus[] = SANDBOX_STAGES
  const passed = order.slice(order.indexOf(grant.status) + 1, order.indexOf(status) + 1)
  if (passed.length === 0 && status !== 'failed') return
  const welcomed = grant.kind === 'admission' && status === 'final_success'
  const { applicationId, wallet } = grant
  const welcome = {
    type: 'messaging.updated',
    subject: wallet,
    data: { walletAddress: wallet },
    applicationId,
  }
  const drafts = passed.map((stage) => grantEvent({ ...next, status: stage }))
  log.append([...drafts, ...(welcomed ? [welcome] : [])], () => {
    rows.update(next)
    if (welcomed) messages.post({ applicationId, walletAddress: wallet, ...WELCOME })
  })
}

const WELCOME = {
  subject: 'Welcome to the sandbox',
  body: 'Your wallet is admitted: it may act on the gated contracts, and claim test tokens from the faucet.',
}

const EVENT_PREFIXES = { admission: 'sandbox.admission', faucet: 'sandbox.faucet.claim' } as const

/** Write a grant's stage as an event of its application. Pure. */
export const grantEvent = (grant: Grant): EventDraft => ({
  type: `${EVENT_PREFIXES[grant.kind]}.${grant.status}`,
  subject: grant.id,
  data: {
    id: grant.id,
    walletAddress: grant.wallet,
    status: grant.status,
    txHash: grantHash(grant),
    ...(grant.asset === null ? {} : { assetAddress: grant.asset, amount: String(grant.amount) }),
  },
  applicationId: grant.applicationId,
})

/** Return the hash of a grant's first transaction; null before it is signed. Pure. */
export const grantHash = ({ signed: [first] }: Grant): Hex | null =>
  first === undefined ? null : keccak256(first)

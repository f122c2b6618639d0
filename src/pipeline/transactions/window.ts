import type { Slot } from '../../workflow/slot.ts'
import type { ReplaceView } from './replace.ts'

/** What nodes keep of one sender; what is urgent may go as far. */
const URGENT_WINDOW = 64

/**
 * Whether a signer's window has room for a workflow. One bundle fits any window when nothing else is in flight. Pure.
 * @param inFlight nonces that the ledger holds beyond those that the chain counts.
 * @param wanted nonces that the workflow takes.
 */
export const hasRoom = (inFlight: number, wanted: number, window: number, urgent: boolean): boolean =>
  inFlight <= 0 || inFlight + wanted <= (urgent ? URGENT_WINDOW : window)

/** The same bytes go to every node again once this many blocks have passed, for the nonces whose turn it is. */
const RESEND_BLOCKS = 2n
/** So many nonces from the chain's own have their turn: what a node forgot lands in order. */
const RESEND_NONCES = 16
/** Those behind them are sent again this seldom, each at another head: a thousand must not go out with one. */
const RESEND_ALL_BLOCKS = 128

/** How often the turn of a slot far behind the chain's nonce has come by a head. Pure. */
const turnsOf = ({ nonce }: Pick<Slot, 'nonce'>, headNumber: bigint): bigint =>
  (headNumber + BigInt(RESEND_ALL_BLOCKS - (nonce % RESEND_ALL_BLOCKS))) / BigInt(RESEND_ALL_BLOCKS)

/** Whether what went out at a head goes out again at another; undefined where this process has not sent it. Pure. */
export const isResendDue = (
  slot: Pick<Slot, 'nonce'>,
  lastAt: bigint | undefined,
  { headNumber, chainNonce }: Pick<ReplaceView, 'headNumber' | 'chainNonce'>,
): boolean =>
  // No head is waited for by its number: where each look takes long, heads are passed over.
  lastAt === undefined ||
  // A head below the one it was sent at is a chain that lost blocks, and the transaction with them.
  lastAt > headNumber ||
  (slot.nonce < chainNonce + RESEND_NONCES
    ? headNumber - lastAt >= RESEND_BLOCKS
    : turnsOf(slot, headNumber) > turnsOf(slot, lastAt))

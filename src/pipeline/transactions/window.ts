/** What nodes keep of one sender; what is urgent may go as far. */
const URGENT_WINDOW = 64

/**
 * Whether a signer's window has room for a workflow. One bundle fits any window when nothing else is in flight. Pure.
 * @param inFlight nonces that the ledger holds beyond those that the chain counts.
 * @param wanted nonces that the workflow takes.
 */
export const hasRoom = (inFlight: number, wanted: number, window: number, urgent: boolean): boolean =>
  inFlight <= 0 || inFlight + wanted <= (urgent ? URGENT_WINDOW : window)

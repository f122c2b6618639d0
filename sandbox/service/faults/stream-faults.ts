import type { WebSocket } from 'ws'
import type { StreamFault } from './faults.ts'

/** Sends a numbered message over one connection, as a bad network would. */
export type Transmit = (socket: WebSocket, text: string) => void

/**
 * Create what sends stream messages.
 * @param faultNow read at every message; undefined is a good network.
 */
export function createTransmit(faultNow: () => StreamFault | undefined): Transmit {
  let fault: StreamFault | undefined
  let draw = drawer(0)
  /** Messages that wait for the one after them. */
  const held = new WeakMap<WebSocket, string>()

  const deliver = (socket: WebSocket, text: string) => {
    socket.send(text)
    const late = held.get(socket)
    if (late === undefined) return
    held.delete(socket)
    socket.send(late)
  }

  return (socket, text) => {
    const now = faultNow()
    if (now !== fault) draw = drawer(now?.seed ?? 0)
    fault = now
    if (now === undefined) deliver(socket, text)
    else if (now.silent !== true) {
      const [lost, later, twice] = [draw(), draw(), draw()]
      if (lost < (now.drop ?? 0)) return
      if (later < (now.reorder ?? 0) && !held.has(socket)) {
        held.set(socket, text)
        return
      }
      deliver(socket, text)
      if (twice < (now.duplicate ?? 0)) socket.send(text)
    }
  }
}

/** Draw numbers from 0 to 1, the same for the same seed. Source: the public-domain generator mulberry32. */
function drawer(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

import { setTimeout as wait } from 'node:timers/promises'
import { WebSocket } from 'ws'

/** It is looked this often all the same: a chain that was set back does not tell, and a connection that broke is not made again. */
const LOOK_MS = 200

/**
 * Look now, and again after each block that anvil tells of, one look at a time, until the signal says stop.
 * @param nodeUrl of anvil itself, over HTTP: it tells over WebSocket on the same port.
 */
export async function atEachHead(
  nodeUrl: string,
  look: () => Promise<void>,
  stop: AbortSignal,
): Promise<void> {
  let mined = Promise.withResolvers<void>()
  const socket = new WebSocket(nodeUrl.replace(/^http/, 'ws'))
  const subscribe = { jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }
  socket.on('open', () => socket.send(JSON.stringify(subscribe)))
  socket.on('message', () => mined.resolve())
  socket.on('error', () => undefined)
  while (!stop.aborted) {
    mined = Promise.withResolvers()
    await look()
    const over = new AbortController()
    const signal = AbortSignal.any([over.signal, stop])
    await Promise.race([mined.promise, wait(LOOK_MS, undefined, { signal }).catch(() => undefined)])
    over.abort()
  }
  socket.terminate()
}

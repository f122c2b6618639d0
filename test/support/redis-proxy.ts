import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { listenOnLoopback } from './loopback.ts'

/** A way to a Redis that loses what a test wants lost. */
export type RedisProxy = {
  readonly port: number
  /** Asked at each answer to a script: whether the line breaks instead of carrying it. */
  readonly losing: (isLost: (() => boolean) | null) => void
  /** Keep what clients send on lines that are open now; `release` lets it arrive, whoever has left meanwhile. */
  readonly hold: () => { readonly release: () => void }
  /** Lead new lines to another server, and cut those that are open: a failover. */
  readonly lead: (target: number) => void
  /** How many answers were lost. */
  readonly lost: () => number
  readonly stop: () => Promise<void>
}

/** Start a proxy of a Redis on loopback. */
export async function startRedisProxy(port: number): Promise<RedisProxy> {
  let target = port
  let isLost: (() => boolean) | null = null
  let lost = 0
  const open = new Set<{ hold: Buffer[] | null; readonly upstream: Socket }>()
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    const pair = { hold: null as Buffer[] | null, upstream }
    open.add(pair)
    let isScript = false
    client.on('data', (chunk) => {
      isScript = chunk.includes('EVALSHA')
      if (pair.hold === null) upstream.write(chunk)
      else pair.hold.push(chunk)
    })
    upstream.on('data', (chunk) => {
      if (isScript && isLost?.()) {
        lost += answersIn(chunk)
        client.destroy()
      } else client.write(chunk)
    })
    upstream.on('close', () => {
      open.delete(pair)
      client.destroy()
    })
    client.on('close', () => {
      if (pair.hold === null) upstream.destroy()
    })
    for (const socket of [client, upstream]) socket.on('error', () => undefined)
  })
  return {
    port: await listenOnLoopback(server),
    losing: (next) => {
      isLost = next
    },
    hold: () => {
      const held = [...open]
      for (const pair of held) pair.hold = []
      return {
        release: () => {
          for (const { hold, upstream } of held) upstream.write(Buffer.concat(hold ?? []))
        },
      }
    },
    lead: (next) => {
      target = next
      for (const { upstream } of open) upstream.destroy()
    },
    lost: () => lost,
    stop: async () => {
      server.close()
      for (const { upstream } of open) upstream.destroy()
      if (server.listening) await once(server, 'close')
    },
  }
}

/** Every script of ours answers with an array that begins with a code. Pure. */
const answersIn = (chunk: Buffer): number => chunk.toString('latin1').split('$2\r\nOK\r\n').length - 1

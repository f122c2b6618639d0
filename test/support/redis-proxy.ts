import { startTcpProxy } from './tcp-proxy.ts'

/** A way to a Redis that loses what a test wants lost. */
export type RedisProxy = {
  readonly port: number
  /** Asked at each answer to a script: whether the line breaks instead of carrying it. */
  readonly losing: (isLost: (() => boolean) | null) => void
  /** Keep the next piece that holds a text; `release` lets it arrive, whoever has left meanwhile. */
  readonly holdNext: (text: string) => { readonly release: () => void }
  /** Lead new lines to another server, and cut those that are open: a failover. */
  readonly lead: (port: number) => Promise<void>
  /** How many answers were lost. */
  readonly lost: () => number
  readonly stop: () => Promise<void>
}

/** Start a proxy of a Redis on loopback. */
export async function startRedisProxy(port: number): Promise<RedisProxy> {
  const target = { host: '127.0.0.1', port }
  const proxy = await startTcpProxy(target)
  let lost = 0
  return {
    port: proxy.port,
    losing: (isLost) =>
      proxy.setRule('toClient', (piece) => {
        const answers = answersIn(piece)
        if (answers === 0 || !isLost?.()) return null
        lost += answers
        return { kind: 'cut', afterBytes: 0 }
      }),
    holdNext: (text) => {
      let isHeld = false
      proxy.setRule('toServer', (piece) => {
        if (isHeld || !piece.includes(text)) return null
        isHeld = true
        return { kind: 'hold' }
      })
      return { release: () => proxy.setRule('toServer', null) }
    },
    lead: async (next) => {
      await proxy.down()
      target.port = next
      await proxy.up()
    },
    lost: () => lost,
    stop: proxy.stop,
  }
}

/** Every script of ours answers with an array that begins with a code. Pure. */
const answersIn = (piece: Buffer): number => piece.toString('latin1').split('$2\r\nOK\r\n').length - 1

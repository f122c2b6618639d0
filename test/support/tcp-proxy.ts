import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { systemClock } from '../../src/clock.ts'
import { listenOnLoopback } from './loopback.ts'

/** Which way bytes go: the client is who connected, as a replica is its master's. */
type Direction = 'toServer' | 'toClient'

/** What is done to a piece of bytes on its way. */
export type TcpDeed =
  /** It waits until the rule changes, and all behind it: a partition that ends before anybody gives up. */
  | { readonly kind: 'hold' }
  /** It is lost, with all that ever follows on its line; both ends think that the line is open. */
  | { readonly kind: 'drop' }
  /** It comes so much later; the order stays. */
  | { readonly kind: 'delay'; readonly ms: number }
  /**
   * So many bytes of it still arrive, then the line is cut at both ends. Of what goes to the client, 0: the request was
   * served, and nobody hears of it.
   */
  | { readonly kind: 'cut'; readonly afterBytes: number }

/** Asked for each piece as it arrives at the head of its direction; null passes it. */
export type TcpRule = TcpDeed | ((piece: Buffer) => TcpDeed | null)

/** A server on loopback that is as good as the one behind it until a rule says otherwise. */
export type TcpProxy = {
  readonly host: '127.0.0.1'
  readonly port: number
  /** Do this to every line from now on, in one direction; null passes all. */
  readonly setRule: (direction: Direction, rule: TcpRule | null) => void
  /** Carry nothing more on the lines that are open, and let neither end know; new ones are not concerned. */
  readonly loseLines: () => void
  /** Cut every line and refuse new ones; `up` listens at the same port again. */
  readonly down: () => Promise<void>
  readonly up: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Start a proxy in front of a server. A line ends at once where the server cannot be reached. */
export async function startTcpProxy(target: {
  readonly host: string
  readonly port: number
}): Promise<TcpProxy> {
  const rules: Record<Direction, TcpRule | null> = { toServer: null, toClient: null }
  let changed = Promise.withResolvers<void>()
  const lines = new Set<Line>()

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true })
    const line: Line = { client, upstream, isLost: false }
    lines.add(line)
    const ruleOf = (direction: Direction) => ({ rule: rules[direction], changed: changed.promise })
    pump(line, 'toServer', ruleOf)
    pump(line, 'toClient', ruleOf)
    client.on('close', () => {
      if (upstream.destroyed) lines.delete(line)
    })
    upstream.on('close', () => {
      if (client.destroyed) lines.delete(line)
    })
  })
  const close = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const { client, upstream } of lines) {
      client.resetAndDestroy()
      upstream.resetAndDestroy()
    }
    await closed
  }
  const port = await listenOnLoopback(server)
  return {
    host: '127.0.0.1',
    port,
    setRule: (direction, rule) => {
      rules[direction] = rule
      changed.resolve()
      changed = Promise.withResolvers()
    },
    loseLines: () => {
      for (const line of lines) line.isLost = true
    },
    down: close,
    up: async () => {
      if (!server.listening) await listenOnLoopback(server, port)
    },
    stop: close,
  }
}

type Line = { readonly client: Socket; readonly upstream: Socket; isLost: boolean }

type RuleOf = (direction: Direction) => { readonly rule: TcpRule | null; readonly changed: Promise<void> }

/** Carry one direction of a line, piece by piece; its end is a piece of its own. */
function pump(line: Line, direction: Direction, ruleOf: RuleOf): void {
  const [from, to] = direction === 'toServer' ? [line.client, line.upstream] : [line.upstream, line.client]
  let isDropped = false
  const carry = async (piece: Buffer | null, arrivedAt: number): Promise<void> => {
    const { rule, changed } = ruleOf(direction)
    const deed = typeof rule !== 'function' ? rule : piece === null ? null : rule(piece)
    if (deed?.kind === 'hold') {
      await changed
      return carry(piece, arrivedAt)
    }
    if (deed?.kind === 'drop') isDropped = true
    if (deed?.kind === 'delay') await systemClock.sleep(Math.max(0, arrivedAt + deed.ms - Date.now()))
    if (isDropped || line.isLost) return
    if (piece === null) to.end()
    else if (deed?.kind === 'cut') {
      // What still arrives is followed by an end, as a reset would take it back.
      to.end(piece.subarray(0, deed.afterBytes), () => to.destroy())
      from.resetAndDestroy()
    } else to.write(piece)
  }
  let last = Promise.resolve()
  const push = (piece: Buffer | null) => {
    const arrivedAt = Date.now()
    last = last.then(() => carry(piece, arrivedAt))
  }
  from.on('data', push)
  // An end can be said by itself, or be all that is left of a line that was reset.
  from.once('end', () => push(null))
  from.once('close', () => push(null))
  from.on('error', () => undefined)
}

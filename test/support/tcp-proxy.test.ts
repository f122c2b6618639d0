import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { listenOnLoopback } from './loopback.ts'
import { startRedis, type TestRedis } from './redis.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

describe('a line through the proxy', () => {
  let server: Server
  let proxy: TcpProxy
  /** What the server has received, all lines together, and how many ended; it answers each piece with the piece. */
  let seen: { received: string; ended: number; pieces: { text: string; atMs: number }[] }
  const clients = new Set<Socket>()
  const line = async () => {
    const client = connect(proxy.port, proxy.host)
    clients.add(client)
    let heard = ''
    let closed: string | null = null
    client.setEncoding('utf8').on('data', (piece) => {
      heard += piece
    })
    client.on('error', (error: NodeJS.ErrnoException) => {
      closed = error.code ?? error.message
    })
    client.on('close', () => {
      closed ??= 'closed'
    })
    await new Promise<void>((resolve) => {
      client.once('connect', resolve).once('close', () => resolve())
    })
    return {
      client,
      say: (text: string) => client.write(text),
      heard: () => heard,
      closed: () => closed,
    }
  }
  const soon = <T>(read: () => T) => expect.poll(read, { interval: 2 })

  beforeEach(async () => {
    // Of this test alone: the lines of the one before may still be ending.
    const own: typeof seen = { received: '', ended: 0, pieces: [] }
    seen = own
    server = createServer((socket) => {
      socket.setEncoding('utf8').on('data', (piece) => {
        own.received += piece
        own.pieces.push({ text: String(piece), atMs: performance.now() })
        socket.write(piece)
      })
      socket.on('error', () => undefined)
      socket.on('close', () => {
        own.ended += 1
      })
    })
    proxy = await startTcpProxy({ host: '127.0.0.1', port: await listenOnLoopback(server) })
  })
  afterEach(async () => {
    for (const client of clients) client.destroy()
    await proxy.stop()
    const closed = once(server, 'close')
    server.close()
    await closed
    clients.clear()
  })

  it('passes all bytes both ways, and the end', async () => {
    const { client, heard, closed } = await line()
    const bytes = randomBytes(1_000_000).toString('hex')
    client.end(bytes)
    await soon(() => closed()).toBe('closed')
    expect(seen.received).toBe(bytes)
    expect(heard()).toBe(bytes)
    expect(seen.ended).toBe(1)
  })

  it('loses what goes to the server, and what follows on that line when new ones pass again', async () => {
    const one = await line()
    let dropped = 0
    proxy.setRule('toServer', () => {
      dropped += 1
      return { kind: 'drop' }
    })
    one.say('lost')
    await soon(() => dropped).toBe(1)
    proxy.setRule('toServer', null)
    one.say('lost too')
    const other = await line()
    other.say('new')
    await soon(() => other.heard()).toBe('new')
    expect([seen.received, one.heard(), one.closed(), seen.ended]).toEqual(['new', '', null, 0])
    one.client.destroy()
    other.client.destroy()
    await soon(() => seen.ended).toBe(1)
  })

  it('loses what goes to the client alone', async () => {
    proxy.setRule('toClient', { kind: 'drop' })
    const one = await line()
    one.say('served')
    await soon(() => seen.received).toBe('served')
    await sleep(50)
    expect([one.heard(), one.closed()]).toEqual(['', null])
  })

  it('loses the lines that are open, and no new one', async () => {
    const one = await line()
    one.say('a')
    await soon(() => one.heard()).toBe('a')
    proxy.loseLines()
    one.say('b')
    const other = await line()
    other.say('c')
    await soon(() => other.heard()).toBe('c')
    expect([seen.received, one.heard(), one.closed()]).toEqual(['ac', 'a', null])
  })

  it('holds bytes and the end behind them until the rule changes', async () => {
    proxy.setRule('toServer', { kind: 'hold' })
    const one = await line()
    one.say('a')
    one.client.end('b')
    await sleep(50)
    expect([seen.received, seen.ended]).toEqual(['', 0])
    proxy.setRule('toServer', null)
    await soon(() => one.heard()).toBe('ab')
    await soon(() => seen.ended).toBe(1)
  })

  it('delays each piece, in order, in one direction', async () => {
    proxy.setRule('toClient', { kind: 'delay', ms: 100 })
    const one = await line()
    const heard: typeof seen.pieces = []
    one.client.on('data', (piece) => heard.push({ text: String(piece), atMs: performance.now() }))
    for (const text of ['a', 'b', 'c']) {
      one.say(text)
      await soon(() => seen.received).toContain(text)
    }
    await soon(() => one.heard()).toBe('abc')
    const atMsOf = (pieces: typeof heard, text: string) =>
      pieces.find((piece) => piece.text.includes(text))?.atMs ?? Number.NaN
    // It went to the server at once: on the way back it took all of that, less what a clock of whole milliseconds rounds.
    for (const text of ['a', 'b', 'c'])
      expect(atMsOf(heard, text) - atMsOf(seen.pieces, text)).toBeGreaterThan(98)
  })

  it('cuts a line after so many bytes have arrived at the server', async () => {
    proxy.setRule('toServer', { kind: 'cut', afterBytes: 3 })
    const one = await line()
    one.say('abcdef')
    await soon(() => one.closed()).toBe('ECONNRESET')
    await soon(() => seen.ended).toBe(1)
    expect([seen.received, one.heard()]).toEqual(['abc', ''])
  })

  it('cuts a line after so many bytes have arrived at the client, once if the rule says so', async () => {
    let cuts = 0
    proxy.setRule('toClient', () => {
      cuts += 1
      return cuts === 1 ? { kind: 'cut', afterBytes: 2 } : null
    })
    const one = await line()
    one.say('abcdef')
    await soon(() => one.closed()).toBe('closed')
    expect([seen.received, one.heard()]).toEqual(['abcdef', 'ab'])
    const other = await line()
    other.say('gh')
    await soon(() => other.heard()).toBe('gh')
  })

  it('ends a line at once whose server cannot be reached', async () => {
    server.close()
    const one = await line()
    await soon(() => one.closed()).toBe('closed')
    // For the hook, which closes it.
    await listenOnLoopback(server)
  })

  it('cuts all lines and refuses new ones while it is down', async () => {
    const one = await line()
    await proxy.down()
    await soon(() => one.closed()).toBe('ECONNRESET')
    expect((await line()).closed()).toBe('ECONNREFUSED')
    await proxy.up()
    const other = await line()
    other.say('a')
    await soon(() => other.heard()).toBe('a')
  })
})

describe('between parts of a fleet', () => {
  let redis: TestRedis
  let proxy: TcpProxy
  beforeAll(async () => {
    redis = await startRedis()
    proxy = await startTcpProxy(redis)
  })
  afterAll(async () => {
    await proxy.stop()
    await redis.stop()
  })
  afterEach(() => {
    proxy.setRule('toServer', null)
    proxy.setRule('toClient', null)
  })

  it('has a command run whose reply never comes', async () => {
    const client = new Redis({
      host: proxy.host,
      port: proxy.port,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      commandTimeout: 1_000,
    })
    client.on('error', () => undefined)
    expect(await client.incr('count')).toBe(1)
    proxy.setRule('toClient', { kind: 'cut', afterBytes: 0 })
    await expect(client.incr('count')).rejects.toThrow()
    expect(await redis.client().get('count')).toBe('2')
    client.disconnect()
  })

  it('keeps a replica behind its master, and lets it follow again', async () => {
    const replica = await startRedis({ replicaof: `${proxy.host} ${proxy.port}` })
    const master = redis.client()
    const follows = async (withinMs: number) => {
      await master.incr('count')
      return master.wait(1, withinMs)
    }
    await expect.poll(() => follows(200)).toBe(1)
    proxy.setRule('toClient', { kind: 'hold' })
    expect(await follows(200)).toBe(0)
    proxy.setRule('toClient', null)
    expect(await follows(5_000)).toBe(1)
    await replica.stop()
  })
})

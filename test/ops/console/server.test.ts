import { readFileSync, rmSync, statSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RolekeeperError } from '../../../src/errors.ts'
import { linkOf, readPlace } from '../../../src/ops/console/access.ts'
import { isThere } from '../../../src/ops/console/is-there.ts'
import { type Console, type ConsoleDeps, type Deed, startConsole } from '../../../src/ops/console/server.ts'
import { newDirectory } from '../../support/directory.ts'

const NOW = 1_790_000_000_000
let [nowMs, directory, shown] = [NOW, '', {} as Record<string, unknown>]
let deeds: { deed: Deed; by: string }[] = []
let reads = 0
const consoles: Console[] = []
const warned: unknown[][] = []
const cleaned: string[] = []

const deps: ConsoleDeps = {
  nowMs: () => nowMs,
  monotonicMs: () => nowMs,
  read: async () => {
    reads += 1
    return shown
  },
  why: async (about) => ({ about }),
  act: async (deed, by) => {
    if (deed.reason === 'no') throw new RolekeeperError('some.code', 'It is not so.', { fix: 'do it so.' })
    deeds.push({ deed, by })
    return 'Done.'
  },
  clean: (text) => {
    cleaned.push(text)
    return text.replaceAll('secret', '[scrubbed]')
  },
  log: { info: () => {}, warn: (...line) => warned.push(line) },
}

beforeEach(() => {
  ;[nowMs, deeds, reads, shown] = [NOW, [], 0, { keeper: { nowMs: 1 } }]
  directory = newDirectory()
  warned.length = 0
  cleaned.length = 0
})

afterEach(async () => {
  await Promise.all(consoles.splice(0).map((one) => one.close()))
  rmSync(directory, { recursive: true })
})

async function start(port = 0): Promise<string> {
  const opened = await startConsole({ host: '127.0.0.1', port, directory }, deps)
  consoles.push(opened)
  return opened.url
}

type Answer = { status: number; headers: IncomingHttpHeaders; body: string }
type Asked = { method?: string; headers?: Record<string, string>; body?: unknown }

/** Ask with any headers, which fetch would not send. */
const ask = (url: string, { method = 'GET', headers = {}, body }: Asked = {}) =>
  new Promise<Answer>((resolve, reject) => {
    const own = method === 'GET' ? {} : { origin: new URL(url).origin, 'content-type': 'application/json' }
    const sent = request(url, { method, headers: { ...own, ...headers }, agent: false }, (response) => {
      let text = ''
      response.on('data', (part) => {
        text += part
      })
      const done = () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text })
      response.on('end', done)
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })

/** Sign in by a link, as the page does. */
async function signIn(url: string, user = 'ann@desk') {
  const place = readPlace(directory)
  if (place === null) throw new TypeError('no console was opened')
  const key = decodeURIComponent(new URL(linkOf(place, user, nowMs)).hash.slice(1))
  const answer = await ask(`${url}/session`, { method: 'POST', body: { key } })
  const cookie = answer.headers['set-cookie']?.[0] ?? ''
  return { key, answer, cookie: cookie.split(';')[0] ?? '', setCookie: cookie, ...JSON.parse(answer.body) }
}

/** Open an event stream; `text` is what came so far. */
function listen(url: string, cookie: string) {
  const stream = { status: 0, text: '', isOver: false, close: () => sent.destroy() }
  const sent = request(`${url}/events`, { headers: { cookie }, agent: false }, (response) => {
    stream.status = response.statusCode ?? 0
    response.on('data', (part) => {
      stream.text += part
    })
  })
  sent.on('close', () => {
    stream.isOver = true
  })
  sent.on('error', () => {})
  sent.end()
  return stream
}

describe('the console', () => {
  it('lets in by a link once, within ten minutes, and shows what its parts are', async () => {
    const url = await start()
    const { key, answer, setCookie, cookie, user } = await signIn(url)
    expect(answer.status).toBe(200)
    expect(user).toBe('ann@desk')
    expect(setCookie).toMatch(
      /^rolekeeper-\d+=session[^;]+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
    )
    expect((await ask(`${url}/session`, { method: 'POST', body: { key } })).status).toBe(401)
    const stream = listen(url, cookie)
    await expect.poll(() => stream.text).toContain('event: keeper\ndata: {"nowMs":1}\n\n')
    shown = { keeper: { nowMs: 1 }, roles: ['a secret <b>'] }
    await expect.poll(() => stream.text).toContain('data: ["a [scrubbed] <b>"]')
    expect(stream.text.split('event: keeper')).toHaveLength(2)
    stream.close()
  })

  it('cleans a text once however often it is read, and anew after ten seconds', async () => {
    const url = await start()
    const { cookie } = await signIn(url)
    shown = { keeper: { text: 'a secret' } }
    const stream = listen(url, cookie)
    const times = () => cleaned.filter((text) => text === 'a secret').length
    await expect.poll(() => stream.text).toContain('a [scrubbed]')
    const before = reads
    await expect.poll(() => reads).toBeGreaterThan(before + 1)
    expect(times()).toBe(1)
    nowMs += 10_001
    await expect.poll(times).toBe(2)
    stream.close()
  })

  it('keeps its secret for its owner, and lets nobody in by a link that is old or of another', async () => {
    const url = await start()
    expect(statSync(join(directory, 'console.json')).mode & 0o777).toBe(0o600)
    const place = { url, secret: JSON.parse(readFileSync(join(directory, 'console.json'), 'utf8')).secret }
    const keyOf = (secret: string, atMs: number) =>
      decodeURIComponent(new URL(linkOf({ url, secret }, 'ann', atMs)).hash.slice(1))
    const isIn = async (key: string) =>
      (await ask(`${url}/session`, { method: 'POST', body: { key } })).status === 200
    expect(await isIn(keyOf('0'.repeat(64), NOW))).toBe(false)
    expect(await isIn(keyOf(place.secret, NOW - 1))).toBe(false)
    const key = keyOf(place.secret, NOW)
    nowMs = NOW + 600_001
    expect(await isIn(key)).toBe(false)
    nowMs = NOW + 600_000
    expect(await isIn(key)).toBe(true)
    // A cookie is no link, and a link is no cookie.
    const { cookie } = await signIn(url)
    expect(await isIn(decodeURIComponent(cookie.split('=').slice(1).join('=')))).toBe(false)
  })

  it('keeps sessions over a restart, on the port of before, for twelve hours', async () => {
    const url = await start()
    const { cookie } = await signIn(url)
    await consoles.splice(0)[0]?.close()
    expect(await isThere(url)).toBe(false)
    expect(await start()).toBe(url)
    expect(await isThere(url)).toBe(true)
    nowMs = NOW + 12 * 3_600_000 - 1
    expect((await ask(`${url}/session`, { headers: { cookie } })).status).toBe(200)
    nowMs += 1
    expect((await ask(`${url}/session`, { headers: { cookie } })).status).toBe(401)
  })

  it.each([
    ['another name', { headers: { host: 'evil.example' } }, 403],
    ['another site', { headers: { origin: 'https://evil.example' } }, 403],
    ['another port of this host', { headers: { origin: 'http://127.0.0.1:1' } }, 403],
    ['a frame of another site', { headers: { 'sec-fetch-site': 'cross-site' } }, 403],
    [
      'a link of another site',
      { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' } },
      200,
    ],
  ])('asked from %s, answers as it should', async (_, asked, status) => {
    expect((await ask(`${await start()}/`, asked)).status).toBe(status)
  })

  it('shows nothing without a session, and takes no secret from an address', async () => {
    const url = await start()
    const { token, cookie } = await signIn(url)
    for (const path of ['/events', '/why?about=0x1234', '/session'])
      expect((await ask(`${url}${path}`)).status).toBe(401)
    expect((await ask(`${url}/events?token=${token}`, { headers: { cookie } })).status).toBe(400)
    expect((await ask(`${url}/why?about=0x1234&token=${token}`, { headers: { cookie } })).status).toBe(400)
    expect((await ask(`${url}/why?about=abc`, { headers: { cookie } })).status).toBe(400)
    expect((await ask(`${url}/why?about=0x12 34`.replace(' ', '%20'), { headers: { cookie } })).body).toBe(
      '{"about":"0x12 34"}',
    )
    expect((await ask(`${url}/../console.json`, { headers: { cookie } })).status).toBe(404)
  })

  it('acts for a session with its token in a header, and for nothing less', async () => {
    const url = await start()
    const { cookie, token } = await signIn(url)
    const other = await signIn(url)
    const body = { verb: 'pause', reason: 'why not' }
    const act = (headers: Record<string, string>, sent: unknown = body) =>
      ask(`${url}/act`, { method: 'POST', headers, body: sent })
    const header = { 'x-rolekeeper-token': token }
    expect((await act(header)).status).toBe(401)
    expect((await act({ cookie })).status).toBe(403)
    expect((await act({ cookie, 'x-rolekeeper-token': other.token })).status).toBe(403)
    // Whoever listens at another port of the host is sent the cookie.
    expect((await ask(`${url}/session`, { headers: { cookie } })).body).not.toContain(token)
    expect((await act({ cookie, ...header, origin: 'http://evil.example' })).status).toBe(403)
    expect((await act({ cookie, ...header, 'content-type': 'text/plain' })).status).toBe(415)
    expect((await act({ cookie, ...header }, { ...body, token })).status).toBe(400)
    expect((await act({ cookie, ...header }, { verb: 'submit', reason: '' })).status).toBe(400)
    expect((await act({ cookie, ...header }, { ...body, reason: 'x'.repeat(5_000) })).status).toBe(413)
    expect(deeds).toEqual([])
    expect((await act({ cookie, ...header })).body).toBe('{"said":"Done."}')
    expect(deeds).toEqual([{ deed: body, by: 'console session of ann@desk' }])
    const refused = await act({ cookie, ...header }, { ...body, reason: 'no' })
    expect(refused.status).toBe(409)
    expect(JSON.parse(refused.body)).toEqual({
      code: 'some.code',
      message: 'It is not so.',
      fix: 'do it so.',
    })
  })

  it('sends its own files alone, with nothing inline and a policy that lets nothing else run', async () => {
    const url = await start()
    const page = await ask(`${url}/`)
    expect(page.headers['content-security-policy']).toMatchInlineSnapshot(
      `"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"`,
    )
    expect(page.body).not.toMatch(/<style|<script>|style=|onclick=|https?:/)
    const script = await ask(`${url}/uplot.js`)
    expect([script.status, script.headers['content-type']]).toEqual([200, 'text/javascript; charset=utf-8'])
  })

  it('says what is wrong where its port is taken', async () => {
    const port = Number(new URL(await start()).port)
    await expect(start(port)).rejects.toMatchObject({ code: 'console.port_in_use' })
  })
})

describe('ten thousand event streams', () => {
  it('are sixteen, and the keeper is read once for all of them', async () => {
    const url = await start()
    const { cookie } = await signIn(url)
    const streams = Array.from({ length: 16 }, () => listen(url, cookie))
    const isTold = (what: string) => streams.every(({ text }) => text.includes(what))
    await expect.poll(() => isTold('"nowMs":1')).toBe(true)
    const refused = await ask(`${url}/events`, { headers: { cookie } })
    expect(JSON.parse(refused.body)).toEqual({
      code: 'console.too_many',
      message: '16 pages are open, and no more may be.',
      fix: 'close one.',
    })
    expect(JSON.parse((await ask(`${url}/session`, { headers: { cookie } })).body)).toMatchObject({
      isFull: true,
    })
    const readBefore = reads
    const over: ReturnType<typeof listen>[] = []
    for (let opened = 0; opened < 10_000; opened += 250) {
      const some = Array.from({ length: 250 }, () => listen(url, cookie))
      await expect.poll(() => some.every(({ status, isOver }) => isOver || status === 503)).toBe(true)
      over.push(...some.filter(({ status }) => status === 200))
      for (const each of some) each.close()
    }
    expect(over).toEqual([])
    // Once a minute, however many ask.
    expect(warned).toEqual([['the console is full', { what: 'pages', most: 16 }]])
    // Twice a second, however many ask: for thousands at once a few times.
    expect(reads - readBefore).toBeLessThan(1_000)
    shown = { keeper: { nowMs: 2 } }
    await expect.poll(() => isTold('"nowMs":2')).toBe(true)
    for (const each of streams) each.close()
    await expect.poll(async () => (await signIn(url)).answer.status).toBe(200)
  })

  it('leave sixty-four connections to strangers who say nothing, and the log says so once', async () => {
    const port = Number(new URL(await start()).port)
    const opened = Array.from({ length: 100 }, () => connect(port, '127.0.0.1').on('error', () => {}))
    const isOver = () => opened.filter(({ closed }) => closed).length
    await expect.poll(isOver).toBe(36)
    expect(warned).toEqual([['the console is full', { what: 'connections', most: 64 }]])
    for (const socket of opened) socket.destroy()
  })

  it('one of which takes nothing is let go after ten seconds, and holds one reading at most', async () => {
    const url = await start()
    const { cookie } = await signIn(url)
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => {})
    socket.write(`GET /events HTTP/1.1\r\nhost: ${new URL(url).host}\r\ncookie: ${cookie}\r\n\r\n`)
    await new Promise((resolve) => socket.once('data', resolve))
    socket.pause()
    let count = 0
    const grow = () => {
      count += 1
      shown = { keeper: { nowMs: count, text: 'x'.repeat(16_000_000) } }
      nowMs += 2_000
    }
    const timer = setInterval(grow, 250)
    try {
      // Its end is seen once what the kernel holds is taken.
      await expect.poll(() => count > 12).toBe(true)
      socket.resume()
      await closed
    } finally {
      clearInterval(timer)
    }
  })
})

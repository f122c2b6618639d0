import { request } from 'node:http'
import { hostname } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import type { Facet } from '../../src/ops/facet.ts'
import { type OpsServer, startOpsServer } from '../../src/ops/server.ts'
import { askStatus, type KeeperStatus } from '../../src/ops/status.ts'

const WELL: Facet = { facet: 'service', about: '', state: 'ok', code: 'ok', message: 'fresh', sinceMs: 0 }
const STATUS: KeeperStatus = {
  at: '1970-01-01T00:00:00.000Z',
  environment: 'sandbox',
  chainId: 1,
  directory: '/state',
  version: '0.1.0',
  startedAt: '1970-01-01T00:00:00.000Z',
  ready: true,
  auditHead: `7:${'ab'.repeat(32)}`,
  facets: [],
  roles: [],
  nodes: [],
  approvals: [],
}
let facets: readonly Facet[] = [WELL]
const servers: OpsServer[] = []

async function start(host = '127.0.0.1', port = 0): Promise<OpsServer> {
  const server = await startOpsServer(
    { host, port },
    { metrics: async () => 'up 1\n', facets: () => facets, status: async () => STATUS },
  )
  servers.push(server)
  return server
}

afterEach(async () => {
  facets = [WELL]
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

/** GET with any headers, which fetch would not send. */
const get = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Promise<{ status: number; type: string; body: string }>((resolve, reject) => {
    request(url, { headers, method, agent: false }, (response) => {
      let body = ''
      response.on('data', (part) => {
        body += part
      })
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', body }),
      )
    })
      .on('error', reject)
      .end()
  })

describe("the operator's listener", () => {
  it('serves metrics, health and readiness', async () => {
    const { url } = await start()
    expect(await get(`${url}/metrics`)).toEqual({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
      body: 'up 1\n',
    })
    expect(await get(`${url}/healthz`)).toMatchObject({ status: 200, body: 'alive\n' })
    expect(JSON.parse((await get(`${url}/readyz`)).body)).toEqual({
      ready: true,
      facets: { service: { state: 'ok', code: 'ok', message: 'fresh', since: '1970-01-01T00:00:00.000Z' } },
    })
  })

  it('is not ready while a facet is failing, and names the one to mend', async () => {
    const late: Facet = {
      ...WELL,
      facet: 'duty',
      about: 'allocator',
      state: 'failing',
      because: 'node/read-1',
    }
    facets = [WELL, late, { ...WELL, facet: 'node', about: 'read-1', state: 'failing' }]
    const page = await get(`${(await start()).url}/readyz`)
    expect(page.status).toBe(503)
    expect(JSON.parse(page.body)).toMatchObject({
      ready: false,
      cause: 'node/read-1',
      facets: { 'duty/allocator': { because: 'node/read-1' } },
    })
  })

  it('says how the keeper stands, and is believed only where it says so as this release does', async () => {
    const { url } = await start()
    expect(await askStatus(url)).toEqual(STATUS)
    await expect(askStatus(`${url}/metrics?`)).rejects.toMatchObject({ code: 'keeper.silent' })
    await expect(askStatus('http://127.0.0.1:1')).rejects.toMatchObject({ code: 'keeper.silent' })
  })

  it('is ready while a facet only warns', async () => {
    facets = [{ ...WELL, state: 'warning' }]
    expect((await get(`${(await start()).url}/readyz`)).status).toBe(200)
  })

  it.each([
    ['its address', '127.0.0.1:1', 200],
    ['its name', 'localhost:9464', 200],
    ["its machine's name, as a Prometheus asks", `${hostname()}:9464`, 200],
    ['another address, which no page can forge', '[::1]', 200],
    ['a name that points here', 'evil.example', 403],
    ['a name with the address in it', '127.0.0.1.evil.example', 403],
    ['what is no name', 'a:b:c', 403],
  ])('asked by %s, answers as it should', async (_, host, status) => {
    expect((await get(`${(await start()).url}/healthz`, { host })).status).toBe(status)
  })

  it('refuses a page of another site, other methods and other paths', async () => {
    const { url } = await start()
    expect((await get(`${url}/metrics`, { origin: 'https://evil.example' })).status).toBe(403)
    expect((await get(`${url}/metrics`, {}, 'POST')).status).toBe(405)
    expect((await get(`${url}/metrics`, {}, 'HEAD')).body).toBe('')
    expect((await get(`${url}/metrics?x`)).status).toBe(404)
    expect((await get(`${url}/../etc/passwd`)).status).toBe(404)
  })

  it('answers 500 without detail when a page fails', async () => {
    const server = await startOpsServer(
      { host: '127.0.0.1', port: 0 },
      {
        metrics: async () => Promise.reject(new Error('canary')),
        facets: () => [WELL],
        status: async () => STATUS,
      },
    )
    servers.push(server)
    expect(await get(`${server.url}/metrics`)).toMatchObject({ status: 500, body: 'internal error\n' })
  })

  it('says that its port is in use, and what to do', async () => {
    const { port } = new URL((await start()).url)
    await expect(start('127.0.0.1', Number(port))).rejects.toThrow(
      `Port ${port} on 127.0.0.1 is in use. Fix: stop the process that holds it, or set another ops.port`,
    )
  })

  it('says that it cannot listen at an address that is not here', async () => {
    await expect(start('192.0.2.1')).rejects.toThrow('Listening on 192.0.2.1 port 0 failed (EADDRNOTAVAIL).')
  })
})

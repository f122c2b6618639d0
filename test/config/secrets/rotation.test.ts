import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createBatches } from '../../../src/chain/batches.ts'
import { systemClock } from '../../../src/clock.ts'
import { openRunConfig, type RunConfig, secretsOf } from '../../../src/config/config.ts'
import { storeConfigOf } from '../../../src/config/fleet.ts'
import { loadPlace } from '../../../src/config/place.ts'
import { openService } from '../../../src/keeper/startup/connect.ts'
import { createLog } from '../../../src/ops/log.ts'
import { newDirectory } from '../../support/directory.ts'
import { type SecretManagers, startSecretManagers } from '../../support/secret-managers.ts'

/** What each request to the service and to the node came with: Authorization and path. */
const seen: string[] = []
let there: SecretManagers
let server: Server
let port: number
const folder = newDirectory()
const file = join(folder, 'run.yaml')

beforeAll(async () => {
  there = await startSecretManagers('canary-token')
  server = createServer((request, response) => {
    seen.push(`${request.headers.authorization ?? ''} ${request.url}`)
    const status = request.url?.startsWith('/node') ? 200 : 401
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end('{"jsonrpc":"2.0","id":0,"result":"0x1"}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  port = address !== null && typeof address === 'object' ? address.port : 0
  put('one')
  writeFileSync(
    file,
    readFileSync('config/example.yaml', 'utf8')
      .replace('environment: production', 'environment: sandbox')
      .replace('"env:ROLEKEEPER_NODE_A", "env:ROLEKEEPER_NODE_B"', '"vault:kv/nodes#a", "env:NODE_B"')
      .replace('"env:ROLEKEEPER_NODE_SEND"', '"env:NODE_B"')
      .replace('https://api.service.example', `http://127.0.0.1:${port}`)
      .replace('env:ROLEKEEPER_SECRET_KEY', 'aws:keeper#service')
      .replace(
        '  region: us-east-1\n',
        '  region: us-east-1\n  accessKeyId: aws:keeper#id\n  secretAccessKey: aws:keeper#key\n',
      )
      .concat(
        'journal: { redis: { url: "redis://r:6379", password: "file:redis" } }\n',
        'fleet: { name: main, instance: a, roster: [a] }\n',
        `secrets:\n  aws: { region: eu-1, endpoint: "${there.url}", accessKeyId: AK, secretAccessKey: "env:AWS_KEY" }\n`,
        `  vault: { url: "${there.url}", token: "env:TOKEN" }\n`,
      ),
  )
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await there.close()
})

function put(version: string): void {
  there.aws.set(
    'keeper',
    JSON.stringify({ service: `canary-s-${version}`, id: `AK${version}`, key: `canary-k-${version}` }),
  )
  there.vault.set('kv/nodes', { a: `http://127.0.0.1:${port}/node/canary-n-${version}` })
  writeFileSync(join(folder, 'redis'), `canary-r-${version}\n`)
}

const env = { NODE_B: 'https://b.example', AWS_KEY: 'canary-aws', TOKEN: 'canary-token' }
const open = () => openRunConfig(file, { env, isWellKnown: () => false })

const kmsOf = ({ kms }: RunConfig) => [kms?.accessKeyId?.reveal(), kms?.secretAccessKey?.reveal()]

it('gives the next request the new value, of the service, a node, the KMS and Redis, and scrubs both', async () => {
  const config = await open()
  const lines: string[] = []
  const log = createLog({
    level: 'info',
    secrets: () => secretsOf(config),
    write: (line) => lines.push(line),
  })
  const client = openService(config, systemClock)
  const [node] = config.chain.nodes.read
  const rpc = createBatches(() => node?.reveal() ?? '', 2_000, systemClock)
  const { endpoint } = storeConfigOf(config)
  const ask = async () => {
    seen.length = 0
    await client.pollEvents({}).catch(() => undefined)
    await rpc.ask('eth_chainId', [])
    return { seen: seen.join('\n'), kms: kmsOf(config), redis: endpoint.password?.() }
  }
  const before = await ask()
  expect(before.seen).toMatch(/^Bearer canary-s-one \/.*\n.*\/node\/canary-n-one$/s)
  expect(before).toMatchObject({ kms: ['AKone', 'canary-k-one'], redis: 'canary-r-one' })
  put('two')
  expect(await config.store?.refresh()).toBeNull()
  const after = await ask()
  expect(after.seen).toMatch(/^Bearer canary-s-two \/.*\n.*\/node\/canary-n-two$/s)
  expect(after).toMatchObject({ kms: ['AKtwo', 'canary-k-two'], redis: 'canary-r-two' })
  for (const each of ['one', 'two']) {
    log.warn('all of them', { what: `canary-s-${each} canary-k-${each} canary-n-${each} canary-r-${each}` })
  }
  expect(lines.join('')).not.toContain('canary')
  await Promise.all([client.close(), rpc.close()])
  config.store?.close()
  put('one')
})

it.each([
  ['https://elsewhere.example/canary', 'keeps a node where it is'],
  ['http://user:canary%@127.0.0.1:PORT/node', 'keeps a node whose new password no request could carry'],
])('%s: %s', async (url) => {
  const config = await open()
  there.vault.set('kv/nodes', { a: url.replace('PORT', String(port)) })
  expect(await config.store?.refresh()).toMatchObject({ code: 'secrets.unfit' })
  expect(config.chain.nodes.read[0]?.reveal()).toContain(`127.0.0.1:${port}/node`)
  config.store?.close()
  put('one')
})

it('names what cannot be read at the start, and reads for a command what it needs alone', async () => {
  there.fault = 'drop'
  await expect(open()).rejects.toMatchObject({ code: 'secrets.unavailable' })
  const { shared } = await loadPlace(file, env)
  expect(shared?.store.endpoint.password?.()).toBe('canary-r-one')
  there.fault = 'none'
})

it.each(['plain-canary', 'vault:kv/keeper', 'aws:', 'env:a b', 'vault:kv/../sys#a'])(
  'refuses the secret %s, and does not show what is none',
  async (text) => {
    const other = join(folder, 'other.yaml')
    writeFileSync(other, readFileSync(file, 'utf8').replace('aws:keeper#service', `"${text}"`))
    const error = await openRunConfig(other, { env, isWellKnown: () => false }).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'config.invalid', facts: { path: 'service.secretKey' } })
    expect(error.message).toContain(
      'write "env:NAME", "file:PATH", "aws:NAME#FIELD" or "vault:MOUNT/PATH#FIELD"',
    )
    expect(error.message).not.toContain('canary')
  },
)

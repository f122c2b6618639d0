import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { checkRunConfig, loadRunConfig, secretsOf } from '../../src/config/config.ts'
import { parseYaml } from '../../src/config/yaml.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { ASSUMPTIONS } from '../../src/service/contract/assumptions.ts'
import { newDirectory } from '../support/directory.ts'

const EXAMPLE = 'config/example.yaml'
const text = readFileSync(EXAMPLE, 'utf8')
const WELL_KNOWN = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const env = {
  ROLEKEEPER_NODE_A: 'https://a.example/v2/canary-node-key',
  ROLEKEEPER_NODE_B: 'https://b.example',
  ROLEKEEPER_NODE_SEND: 'https://send.example',
  ROLEKEEPER_SECRET_KEY: 'canary-secret-key',
}
const deps = { env, isWellKnown: (address: string) => address === WELL_KNOWN }

/** The example with one change, checked; the error's one line. */
function refusal(from: string, to: string, environment: Record<string, string | undefined> = env): string {
  if (!text.includes(from)) throw new TypeError(`the example does not hold ${from}`)
  try {
    const yaml = parseYaml('run.yaml', text.replace(from, to))
    checkRunConfig(yaml, '/etc/keeper', { ...deps, env: environment })
  } catch (error) {
    expect(error).toBeInstanceOf(RolekeeperError)
    return (error as RolekeeperError).message
  }
  return 'accepted'
}

const load = (from: string, to: string) =>
  checkRunConfig(parseYaml('run.yaml', text.replace(from, to)), '/etc/keeper', deps)

describe('the run configuration', () => {
  it('accepts the example, with references resolved and paths absolute', () => {
    const config = loadRunConfig(EXAMPLE, deps)
    expect(config.chain.id).toBe(8453)
    expect(config.service.secretKey?.reveal()).toBe('canary-secret-key')
    expect(config.directory).toBe(resolve('.rolekeeper'))
    expect(config.agents[0]?.policy).toBe(resolve('policies/liquidator.yaml'))
    expect(config.agents[0]?.signer.kind).toBe('kms')
    expect(config.deployment.assets.map(({ decimals }) => decimals)).toEqual([6, 8])
  })

  it('takes a second folder for the watermark, but not the directory itself', () => {
    const check = (folder: string) =>
      checkRunConfig(parseYaml('run.yaml', `${text}watermark: ${folder}\n`), '/etc/keeper', deps)
    expect(check('../copy').watermark).toBe('/etc/copy')
    expect(() => check('../.rolekeeper/')).toThrow(
      /watermark is .*would be lost with it.* Fix: name a folder/,
    )
  })

  it.each(['~/keeper', '~', '$' + '{HOME}/keeper', '$HOME/keeper', 'a/$HOME'])(
    'takes %s for no path: nobody puts anything in its place',
    (path) => {
      const check = (key: string, from: string) => refusal(from, `${key}: "${path}"`)
      for (const told of [
        check('directory', 'directory: ../.rolekeeper'),
        check('policy', 'policy: ../policies/liquidator.yaml'),
      ])
        expect(told).toMatch(/expected a path as it is: ~ and \$NAME are only a shell’s.* Fix: write it out/)
    },
  )

  it('takes sources by URL or file, and counts a URL among the secrets', () => {
    const given = `sources:
  - { name: administrator, url: "env:ROLEKEEPER_NODE_A" }
  - { name: custodian, file: custodian.csv }
`
    const check = (sources: string) => checkRunConfig(parseYaml('run.yaml', text + sources), '/etc', deps)
    const { sources } = check(given)
    expect(sources.map(({ name, kind }) => [name, kind])).toEqual([
      ['administrator', 'http'],
      ['custodian', 'file'],
    ])
    expect(sources[1]).toMatchObject({ file: '/etc/custodian.csv' })
    expect(secretsOf(check(given))).toContain(env.ROLEKEEPER_NODE_A)
    const plain = 'sources:\n  - { name: a, url: "http://a.example" }\n'
    expect(() => check(plain)).toThrow('sources[0].url')
    expect(() => check(plain.replace('http:', 'https:').replace(' }', ', file: a.csv }'))).toThrow(
      'exactly one of url and file',
    )
    expect(() => check(given.replace('custodian,', 'administrator,'))).toThrow('a name is there twice')
  })

  it('takes headers and keys of sources as secrets, and refuses what a source cannot have', () => {
    const environment = { ...env, ROLEKEEPER_TOKEN: 'canary-token', ROLEKEEPER_HMAC: 'canary-hmac' }
    const check = (place: string) =>
      checkRunConfig(parseYaml('run.yaml', `${text}sources:\n  - { name: a, ${place} }\n`), '/etc', {
        ...deps,
        env: environment,
      })
    const url = 'url: "https://a.example"'
    const hmac = 'hmac: "env:ROLEKEEPER_HMAC"'
    const token = 'headers: { authorization: "env:ROLEKEEPER_TOKEN" }'
    const config = check(`${url}, ${token}, signature: { header: x-signature, ${hmac} }`)
    expect(secretsOf(config)).toEqual(expect.arrayContaining(['canary-token', 'canary-hmac']))
    expect(check(`file: a.csv, signature: { ${hmac} }`).sources[0]).toMatchObject({ kind: 'file' })
    expect(() => check(`${url}, signature: { ${hmac} }`)).toThrow('expected signature.header')
    expect(() => check(`${url}, signature: { header: x-signature }`)).toThrow('exactly one of hmac and ecdsa')
    expect(() => check(`${url}, signature: { header: x-signature, ecdsa: a }`)).toThrow(
      'elliptic curve, in PEM',
    )
    expect(() => check(`${url}, headers: { authorization: plain }`)).toThrow('write "env:NAME"')
    expect(() => check(`file: a.csv, ${token}`)).toThrow('no headers')
    expect(() => check(`file: a.csv, signature: { header: b, ${hmac} }`)).toThrow('FILE.sig')
  })

  it('takes a webhook listener, and counts its secrets among the secrets', () => {
    const uncommented = text.replaceAll(
      /^ {2}# (webhook:| {2}(?:host|port|path|publicHost|secrets):)/gm,
      '  $1',
    )
    const environment = { ...env, ROLEKEEPER_WEBHOOK_SECRET: 'canary-webhook' }
    const config = checkRunConfig(parseYaml('run.yaml', uncommented), '/', { ...deps, env: environment })
    expect(config.service.webhook).toMatchObject({
      port: 9465,
      path: '/webhooks',
      publicHost: 'keeper.example',
    })
    expect(secretsOf(config)).toContain('canary-webhook')
    expect(() => checkRunConfig(parseYaml('run.yaml', uncommented), '/', deps)).toThrow(
      'ROLEKEEPER_WEBHOOK_SECRET',
    )
  })

  it('takes what a deployment does otherwise, and the defaults for the rest', () => {
    expect(loadRunConfig(EXAMPLE, deps).service.assumptions).toEqual({
      ...ASSUMPTIONS,
      streamQuery: { token: 'token', cursor: 'cursor', types: 'types' },
      rateLimitHeaders: { remaining: 'x-ratelimit-remaining', resetSeconds: 'x-ratelimit-reset' },
    })
    const uncommented = text.replaceAll(
      /^ {2}# (assumptions:| {2}(?:query|credentialHeaders|webhookHeaders|healthyOracleState|challenge|rfq|revalidations):)/gm,
      '  $1',
    )
    expect(checkRunConfig(parseYaml('run.yaml', uncommented), '/', deps).service.assumptions).toMatchObject({
      query: { cursor: 'after', pageSize: 'pageSize', fields: 'fields' },
      webhookHeaders: { signature: 'brand-signature', deliveryId: 'brand-delivery-id' },
      healthyOracleState: 'ok',
      normalMarketRegime: 'normal',
      priceScale: 10n ** 18n,
      challenge: { statement: 'Sign in to Example.', path: '/login' },
      rfq: { ...ASSUMPTIONS.rfq, book: 'sealed', finalizer: 'winner' },
      revalidations: { positionIsLiquidatable: 'position_liquidatable' },
    })
  })

  it.each([
    ['a check that we do not have', 'revalidations: { any: be_lucky }'],
    ['a scale that is no power of ten', 'priceScale: "12"'],
    ['a name that is no parameter', 'query: { cursor: "a=b" }'],
    ['a book that is neither open nor sealed', 'rfq: { book: torn }'],
    ['a statement of two lines', 'challenge: { statement: "Sign in.\\nGive all." }'],
    ['a word that nothing reads', 'oracleWord: fine'],
  ])('refuses an assumption of %s', (_, line) => {
    const from = '  # Signed deliveries of the same events'
    expect(refusal(from, `  assumptions:\n    ${line}\n${from}`)).toMatch(/service\.assumptions\./)
  })

  it('takes a key of an agent’s own, and counts it among the secrets', () => {
    const line = '# secretKey: env:ROLEKEEPER_LIQUIDATOR_SECRET_KEY'
    const yaml = parseYaml('run.yaml', text.replace(line, line.slice(2)))
    const environment = { ...env, ROLEKEEPER_LIQUIDATOR_SECRET_KEY: 'canary-own' }
    expect(secretsOf(checkRunConfig(yaml, '/', { ...deps, env: environment }))).toContain('canary-own')
  })

  it('takes a number of confirmations as finality', () => {
    const yaml = parseYaml(
      'run.yaml',
      text.replace('finality: finalized', 'finality: { confirmations: "12" }'),
    )
    expect(checkRunConfig(yaml, '/', deps).chain.finality).toEqual({ confirmations: 12n })
  })

  it('asks two nodes where there are two, and one where there is one', () => {
    const one = text
      .replace('environment: production', 'environment: sandbox')
      .replace('"env:ROLEKEEPER_NODE_A", ', '')
      .replace('    agree: "2"\n', '')
    const agreeOf = (yaml: string) => checkRunConfig(parseYaml('run.yaml', yaml), '/', deps).chain.nodes.agree
    expect(agreeOf(one)).toBe(1)
    expect(agreeOf(text.replace('    agree: "2"\n', ''))).toBe(2)
  })

  it.each([
    ['an unknown key', 'region: us-east-1', 'regoin: us-east-1'],
    ['an unknown key at the top', 'environment: production', 'environment: production\nmodee: live'],
    [
      'an unquoted address',
      '"0x6666666666666666666666666666666666666666"',
      '0x6666666666666666666666666666666666666666',
    ],
    ['a short address', '"0x6666666666666666666666666666666666666666"', '"0x66"'],
    ['a number with a unit', 'port: "9464"', 'port: "9464ms"'],
    ['a port one past the last', 'port: "9464"', 'port: "65536"'],
    [
      'a port that another listens at',
      '# console:\n#   host: 127.0.0.1\n#   port: "9466"',
      'console:\n  port: "9464"',
    ],
    ['a missing section', 'service:\n  url', 'servicf:\n  url'],
    ['a value outside its set', 'mode: live', 'mode: fast'],
    ['a mapping where a list belongs', 'agents:\n  - role', 'agents:\n    role'],
    ['a secret in the file', 'env:ROLEKEEPER_SECRET_KEY', 'canary-in-file'],
    [
      'a URL with a password',
      'https://api.service.example',
      'https://me:canary-password@api.service.example',
    ],
    [
      'an alias of a key',
      'arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555',
      'alias/mine',
    ],
    [
      'the ARN of an alias',
      'arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555',
      'arn:aws:kms:us-east-1:123456789012:alias/mine',
    ],
    ['no KMS', 'kms:\n  region: us-east-1', ''],
    ['half a pair of KMS credentials', 'region: us-east-1', 'region: us-east-1\n  accessKeyId: AKIA'],
    ['zero confirmations', 'finality: finalized', 'finality: { confirmations: "0" }'],
    ['no node', 'send: ["env:ROLEKEEPER_NODE_SEND"]', 'send: []'],
    ['a quorum of zero', 'agree: "2"', 'agree: "0"'],
    ['a quorum of more nodes than there are', 'agree: "2"', 'agree: "3"'],
    ['a quorum of one in production', 'agree: "2"', 'agree: "1"'],
    ['one node in production', ', "env:ROLEKEEPER_NODE_B"]\n', ']\n'],
    ['two nodes at one URL', 'env:ROLEKEEPER_NODE_B', 'env:ROLEKEEPER_NODE_A'],
    ['plain http in production', 'https://api.service.example', 'http://api.service.example'],
    ['a plain stream in production', '# streamUrl: wss:', 'streamUrl: ws:'],
    ['a plain node in production', '"env:ROLEKEEPER_NODE_B"', '"http://node.example/canary-key"'],
    [
      'a KMS on this machine in production',
      'region: us-east-1',
      'region: us-east-1\n  endpoint: https://127.0.0.1:9',
    ],
    [
      'a KMS on this machine by another name in production',
      'region: us-east-1',
      'region: us-east-1\n  endpoint: https://localhost.:9',
    ],
    ['a published key in production', '"0x6666666666666666666666666666666666666666"', `"${WELL_KNOWN}"`],
  ])('refuses %s', (_, from, to) => {
    expect(refusal(from, to)).toMatchSnapshot()
  })

  it.each(['\ufeffhttps://a.example/canary', '"https://a.example/canary"', 'https://a.example/canary\u00a0'])(
    'says where the URL %j is wanted that is none, and not what it is',
    (url) => {
      const told = refusal('mode: live', 'mode: live', { ...env, ROLEKEEPER_NODE_A: url })
      expect(told).toMatch(/^run\.yaml:47:12: chain\.nodes\.read\[0\] is "env:ROLEKEEPER_NODE_A"; /)
      expect(told).not.toContain('canary')
    },
  )

  it.each(['HTTP://node.example', ' http://node.example', 'ht\ttp://node.example'])(
    'lets no spelling of an unencrypted node (%j) into production',
    (url) => {
      const told = refusal('mode: live', 'mode: live', { ...env, ROLEKEEPER_NODE_A: url })
      expect(told).toMatch(/^run\.yaml:47:12: chain\.nodes\.read\[0\] is "env:ROLEKEEPER_NODE_A"; /)
    },
  )

  it.each([
    'https://b.example.',
    'https://me:canary@b.example',
    'https://B.example:443//',
    'https://b.example/?#2',
  ])('counts a node once though it is spelt another way, as %s', (url) => {
    const told = refusal('mode: live', 'mode: live', { ...env, ROLEKEEPER_NODE_A: url })
    expect(told).toContain('this is the node of read[0] again, and a node counts once')
  })

  it.each(['https://api.service.example/v1?key=canary', 'https://api.service.example/#canary'])(
    'refuses the service at %s, whose end would be asked of nobody',
    (url) => {
      const told = refusal('url: https://api.service.example', `url: "${url}"`)
      expect(told).toBe(
        'run.yaml:54:3: service.url is "https://api.service.example/…"; expected a URL without ? and #: what follows them would be left out. Fix: correct `service.url` there',
      )
    },
  )

  it('refuses a keystore in production and takes it in the sandbox', () => {
    const keystore = `keystore: { path: key.json, password: "env:PASSWORD", address: "${WELL_KNOWN}" }`
    const withKeystore = `${text.slice(0, text.lastIndexOf('      kms:'))}      ${keystore}\n`
    const environment = { ...env, PASSWORD: 'canary-password' }
    const check = (yaml: string) =>
      checkRunConfig(parseYaml('run.yaml', yaml), '/etc/keeper', { ...deps, env: environment })
    expect(() => check(withKeystore)).toThrow(
      'agents[0].signer.keystore is a mapping; a keystore is for the sandbox only',
    )
    const config = check(withKeystore.replace('environment: production', 'environment: sandbox'))
    expect(config.agents[0]?.signer).toMatchObject({ kind: 'keystore', path: '/etc/keeper/key.json' })
    expect(secretsOf(config)).toContain('canary-password')
  })

  it('names the variable and the path of a secret that the environment lacks', () => {
    const message = refusal('mode: live', 'mode: live', { ...env, ROLEKEEPER_SECRET_KEY: undefined })
    expect(message).toMatchInlineSnapshot(
      `"run.yaml:58:3: service.secretKey is "env:ROLEKEEPER_SECRET_KEY"; the environment variable ROLEKEEPER_SECRET_KEY is not set. Fix: set ROLEKEEPER_SECRET_KEY in the environment that starts rolekeeper"`,
    )
  })

  it.each([
    ['canary\r', 'ends with U+000D'],
    ['canary\u00a0', 'ends with U+00A0'],
    ['\ufeffcanary', 'begins with U+FEFF'],
    [' ', 'begins with U+0020'],
  ])('names what nobody sees at an edge of a secret: %j %s', (value, edge) => {
    const message = refusal('mode: live', 'mode: live', { ...env, ROLEKEEPER_SECRET_KEY: value })
    expect(message).toBe(
      `run.yaml:58:3: service.secretKey is "env:ROLEKEEPER_SECRET_KEY"; what ROLEKEEPER_SECRET_KEY holds ${edge}, which nobody sees. Fix: take that away from ROLEKEEPER_SECRET_KEY`,
    )
  })

  it.each([
    ['price: "1 USD"', 'price: "1\u00a0USD"', '(with U+00A0 in it); expected an amount with its unit'],
    ['price: "1 USD"', 'price: "1 U\u0405D"', '(with U+0405 in it); expected an amount with its unit'],
    ['price: "1 USD"', 'price: "\u22121 USD"', '(with U+2212 in it); expected an amount with its unit'],
    [
      `"0x${'6'.repeat(40)}"`,
      `"\u200b0x${'6'.repeat(40)}"`,
      '(with U+200B in it); expected an address: 0x and 40 hex digits',
    ],
    ['mode: live', 'mode: "live\u00a0"', '(with U+00A0 in it); allowed: live, shadow'],
  ])('names what looks like another character: %s as %s', (from, to, told) => {
    expect(refusal(from, to)).toContain(told)
  })

  it('refuses a role that is there twice with one key, and takes it with several', () => {
    const agent = text.slice(text.indexOf('  - role: liquidator'))
    expect(refusal(agent, agent + agent)).toMatch(
      /agents\[0\] is the liquidator with the signer 0x\S+ already\. Fix: give each/,
    )
    const [address = ''] = /0x[0-9a-fA-F]{40}/.exec(agent) ?? []
    const another = agent.slice(0, agent.indexOf('\n#')).replaceAll(address, `0x${'ab'.repeat(20)}`)
    expect(load(agent, `${another.trimEnd()}\n${agent}`).agents.map(({ role }) => role)).toEqual([
      'liquidator',
      'liquidator',
    ])
  })

  it('takes a window of 1 to 64 nonces in flight a signer, 16 where none is said', () => {
    expect(load('mode: live', 'mode: live').agents[0]?.signer.window).toBe(16)
    const windowed = (nonces: string) => ['    signer:', `    signer:\n      window: "${nonces}"`] as const
    for (const nonces of ['1', '16', '64'])
      expect(load(...windowed(nonces)).agents[0]?.signer.window).toBe(Number(nonces))
    for (const wrong of ['0', '65']) expect(refusal(...windowed(wrong))).toContain('allowed: 1 to 64')
  })

  it('never prints a secret, whichever way it is printed', () => {
    const config = loadRunConfig(EXAMPLE, deps)
    for (const printed of [
      inspect(config, { depth: 9 }),
      JSON.stringify(config, bigints),
      `${config.service.secretKey}`,
    ]) {
      expect(printed).not.toContain('canary')
    }
    expect(secretsOf(config)).toEqual(expect.arrayContaining(['canary-secret-key', env.ROLEKEEPER_NODE_A]))
  })

  it('hashes the same file alike whatever the secrets are, and another file otherwise', () => {
    const hash = (yaml: string, key: string) =>
      checkRunConfig(parseYaml('run.yaml', yaml), '/', {
        ...deps,
        env: { ...env, ROLEKEEPER_SECRET_KEY: key },
      }).hash
    expect(hash(text, 'one')).toBe(hash(text, 'two'))
    expect(hash(text, 'one')).not.toBe(hash(text.replace('9464', '9465'), 'one'))
  })

  it('names a file that is not there, and one that is too large', () => {
    const folder = newDirectory()
    expect(() => loadRunConfig(join(folder, 'no.yaml'), deps)).toThrow(/no\.yaml cannot be read \(ENOENT\)/)
    const large = join(folder, 'large.yaml')
    writeFileSync(large, '#'.repeat(256 * 1024))
    expect(() => loadRunConfig(large, deps)).toThrow('expected a mapping')
    writeFileSync(large, '#'.repeat(256 * 1024 + 1))
    expect(() => loadRunConfig(large, deps)).toThrow('is larger than 262144 bytes')
  })
})

const bigints = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BrokenInvariant, RolekeeperError } from '../../src/errors.ts'
import { createLog, type Facts } from '../../src/ops/log.ts'
import { createScrubber } from '../../src/ops/scrub.ts'

const NODE = 'https://user:canary-pass@node.example/v2/canary-path-key?apikey=canary-query'
const SECRETS = ['canary-secret/key+"quoted"', NODE, 'sk_live_canary']

/** One line of a log, as it would reach standard error. */
function logged(message: string, facts?: Facts, error?: unknown): string {
  const lines: string[] = []
  const log = createLog({ level: 'debug', secrets: SECRETS, write: (line) => lines.push(line) })
  log.error(message, facts, error)
  expect(lines).toHaveLength(1)
  return lines[0] ?? ''
}

describe('the log', () => {
  it('writes one line of JSON with level, time, facts and message', () => {
    const line = JSON.parse(
      logged('slot is open', { nonce: 4, gasWei: 10n ** 20n, hash: null, raw: undefined }),
    )
    expect(line).toEqual({
      level: 'error',
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      nonce: 4,
      gasWei: '100000000000000000000',
      hash: null,
      message: 'slot is open',
    })
  })

  it('is silent below its level', () => {
    const lines: string[] = []
    createLog({ level: 'warn', secrets: [], write: (line) => lines.push(line) }).info('quiet')
    expect(lines).toEqual([])
  })

  it('says of an error of ours its code, sentence, facts and fix', () => {
    const cause = Object.assign(new TypeError('https://node.example/canary'), { code: 'ECONNRESET' })
    const error = new RolekeeperError('node.unreachable', 'No node answered.', {
      fix: 'check it',
      facts: { tries: 3 },
      cause,
    })
    expect(JSON.parse(logged('failed', {}, error)).error).toEqual({
      code: 'node.unreachable',
      message: 'No node answered.',
      facts: { tries: 3 },
      fix: 'check it',
      cause: { name: 'TypeError', code: 'ECONNRESET', at: expect.any(Array) },
    })
  })

  it('keeps the message of a broken invariant, and of no error of others', () => {
    expect(logged('failed', {}, new BrokenInvariant('slot 4 goes back'))).toContain('slot 4 goes back')
    expect(logged('failed', {}, new Error('details of a vendor'))).not.toContain('details of a vendor')
    expect(logged('failed', {}, 'details of a vendor')).not.toContain('details of a vendor')
  })

  it('lets no secret out, whatever carries it', () => {
    const carriers: readonly (readonly [Facts, unknown?])[] = [
      ...[...SECRETS, ...SECRETS.map(encodeURIComponent)].map((value): [Facts] => [
        { value: `before ${value} after` },
      ]),
      [{ value: `Basic ${Buffer.from(SECRETS[0] ?? '').toString('base64')}` }],
      [{ value: 'Authorization: Bearer canary-unknown-token.x/y+z=' }],
      [{ value: 'AWS4-HMAC-SHA256 Credential=canary/20260101/us-east-1, Signature=canary' }],
      [{ value: 'GET https://other.example/canary/path?canary=1#canary failed' }],
      [{ value: 'wss://canary:canary@stream.example/v1?token=canary' }],
      [{ value: 'invalid api key canary-path-key' }],
      [
        {},
        new RolekeeperError('x.y', `key ${SECRETS[0]} was refused`, {
          fix: `not ${SECRETS[2]}`,
          facts: { url: NODE },
        }),
      ],
      [{}, new Error(NODE, { cause: new Error(NODE) })],
      [{}, Object.assign(new Error(NODE), { code: SECRETS[2] })],
    ]
    for (const [facts, error] of carriers) expect(logged('a line', facts, error)).not.toContain('canary')
  })

  it('keeps hashes and addresses, and takes out anything longer in hex', () => {
    const hash = `0x${'ab'.repeat(32)}`
    const line = logged('sent', {
      hash,
      address: `0x${'cd'.repeat(20)}`,
      raw: `0x02${'ef'.repeat(32)}`,
      bare: 'ef'.repeat(65),
    })
    expect(line).toContain(hash)
    expect(line).toContain(`0x${'cd'.repeat(20)}`)
    expect(JSON.parse(line)).toMatchObject({ raw: '[33 bytes]', bare: '[65 bytes]' })
  })

  it('keeps the scheme and host of a URL', () => {
    expect(
      JSON.parse(logged('x', { url: 'http://127.0.0.1:8545/', other: 'see http://a.example/b?c' })),
    ).toMatchObject({
      url: 'http://127.0.0.1:8545',
      other: 'see http://a.example/…',
    })
  })

  it('takes control and bidirectional characters out of facts', () => {
    const line = logged('x', { name: '\u001b[31mred\u202Etxet\u2066\u200b\nnext\u0000\u{E0041}' })
    expect(JSON.parse(line).name).toBe('[31mredtxet next')
  })

  it('drops what is not flat and plain', () => {
    const sly: Facts = JSON.parse('{"headers":{"authorization":"x"}}')
    expect(JSON.parse(logged('x', sly))).not.toHaveProperty('headers')
  })
})

describe('the scrubber', () => {
  it('finds any secret in any text', () => {
    const secret = fc.string({ minLength: 6, maxLength: 40, unit: 'binary' })
    fc.assert(
      fc.property(secret, fc.string(), fc.string(), (key, before, after) => {
        expect(createScrubber([key])(`${before}${key}${after}`)).not.toBe(`${before}${key}${after}`)
        expect(JSON.stringify({ text: createScrubber([key])(key) })).not.toContain(
          JSON.stringify(key).slice(1, -1),
        )
      }),
    )
  })

  it('leaves ordinary text alone', () => {
    const text = 'The position snapshot is 48 s old; the policy allows 30 s. Fix: raise freshness.ageMsMax.'
    expect(createScrubber(SECRETS)(text)).toBe(text)
    expect(createScrubber(['', 'short'])(text)).toBe(text)
  })
})

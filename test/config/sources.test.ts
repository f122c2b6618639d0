import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { sources, upstreamsOf } from '../../src/config/sources.ts'
import { newDirectory } from '../support/directory.ts'

const folder = newDirectory()
writeFileSync(join(folder, 'values.csv'), '')
symlinkSync('values.csv', join(folder, 'link.csv'))
afterAll(() => rmSync(folder, { recursive: true }))

const env = {
  HERE: 'https://Values.example:8443/a',
  DOTTED: 'https://values.example./b',
  NUMBER: 'https://127.0.0.1/a',
  SHORT: 'https://127.1/b',
  ELSEWHERE: 'https://other.example/a',
  SECRET: 'hmac-secret-of-a-vendor',
  AGAIN: 'hmac-secret-of-a-vendor',
  OTHER: 'hmac-secret-of-another',
}
/** A key of which only the x of its point is written. */
const shortOf = (of: string) => {
  const { x, y } = createPublicKey(of).export({ format: 'jwk' })
  const odd = Buffer.from(y ?? '', 'base64url').at(-1) ?? 0
  const head = '3039301306072a8648ce3d020106082a8648ce3d030107032200'
  const der = Buffer.concat([
    Buffer.from(head, 'hex'),
    Buffer.from([2 + (odd & 1)]),
    Buffer.from(x ?? '', 'base64url'),
  ])
  return `-----BEGIN PUBLIC KEY-----\n${der.toString('base64')}\n-----END PUBLIC KEY-----\n`
}
const pem = (namedCurve = 'P-256') =>
  generateKeyPairSync('ec', { namedCurve }).publicKey.export({ type: 'spki', format: 'pem' }).toString()
const key = pem()
const rare = pem('brainpoolP256r1')
const http = (url: string) => ({ url: `env:${url}` })
const file = (name: string) => ({ file: name })
const signed = (by: object, of: string) => ({ file: of, signature: by })

const upstreams = (given: object) =>
  upstreamsOf(
    sources(folder, { env })
      .parse([{ name: 'one', ...given }])
      .at(0) ?? expect.fail('no source'),
  )

it.each([
  ['a host in another case, at another port and with a dot behind it', http('HERE'), http('DOTTED'), true],
  ['an address in short', http('NUMBER'), http('SHORT'), true],
  ['two hosts', http('HERE'), http('ELSEWHERE'), false],
  ['a file by another way', file('values.csv'), file(`../${folder.split('/').at(-1)}/./values.csv`), true],
  ['a link to a file', file('values.csv'), file('link.csv'), true],
  ['two files', file('values.csv'), file('others.csv'), false],
  ['two secrets that are one', signed({ hmac: 'env:SECRET' }, 'a'), signed({ hmac: 'env:AGAIN' }, 'b'), true],
  ['two secrets', signed({ hmac: 'env:SECRET' }, 'a'), signed({ hmac: 'env:OTHER' }, 'b'), false],
  ['a key with other breaks', signed({ ecdsa: key }, 'a'), signed({ ecdsa: `\n${key}\n\n` }, 'b'), true],
  ['a key with a shorter point', signed({ ecdsa: key }, 'a'), signed({ ecdsa: shortOf(key) }, 'b'), true],
  ['a key of a rare curve', signed({ ecdsa: rare }, 'a'), signed({ ecdsa: `${rare}\n` }, 'b'), true],
  ['two keys', signed({ ecdsa: key }, 'a'), signed({ ecdsa: pem() }, 'b'), false],
])('knows of %s whether it is the same', (_, one, other, isSame) => {
  const found = upstreams(other)
  expect(upstreams(one).some((each) => found.includes(each))).toBe(isSame)
})

it('shows no secret', () => {
  expect(upstreams(signed({ hmac: 'env:SECRET' }, 'a')).join()).not.toContain(env.SECRET)
})

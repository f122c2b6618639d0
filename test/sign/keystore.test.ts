import { createCipheriv, randomBytes, scryptSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bytesToHex, type Hex, hexToBytes, keccak256, recoverAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKeystoreSigner } from '../../src/sign/keystore.ts'

const privateKey = `0x${'17'.repeat(32)}` as const
const { address } = privateKeyToAccount(privateKey)
const hex = (bytes: Uint8Array) => bytesToHex(bytes).slice(2)

/** A file that another library (ox 0.14) wrote; its password is `testpassword`. */
const OTHER_TOOLS = {
  crypto: {
    cipher: 'aes-128-ctr',
    ciphertext: 'd211ab5b3ce87d591e48ff07a4a76fa8707dfc5c1323e55bcc5eadf3c73e636d',
    cipherparams: { iv: '406542d3eb3fc0a254fe4dc861f0b3c3' },
    kdf: 'scrypt',
    kdfparams: {
      dklen: 32,
      n: 8192,
      p: 8,
      r: 1,
      salt: '2a4d832623cec1a3c530ae2e73102b07acd2f811a0644546b8becd4030b7221a',
    },
    mac: '2bf8047459cbfdbbbb389a2cc0097e03903a564e23ddc0e7a73a2621e20208f8',
  },
  id: 'a28a2f7c-4293-4a1d-8962-2e78b8e765ca',
  version: 3,
}

function encrypt(key: Hex, password: string) {
  const [salt, iv] = [randomBytes(32), randomBytes(16)]
  const derived = scryptSync(password, salt, 32, { N: 1024, r: 8, p: 1 })
  const cipher = createCipheriv('aes-128-ctr', derived.subarray(0, 16), iv)
  const ciphertext = Buffer.concat([cipher.update(hexToBytes(key)), cipher.final()])
  return {
    version: 3,
    crypto: {
      cipher: 'aes-128-ctr',
      cipherparams: { iv: hex(iv) },
      ciphertext: hex(ciphertext),
      kdf: 'scrypt',
      kdfparams: { dklen: 32, n: 1024, r: 8, p: 1, salt: hex(salt) },
      mac: keccak256(Buffer.concat([derived.subarray(16), ciphertext])).slice(2),
    },
  }
}

const withCrypto = (change: object) => ({ ...OTHER_TOOLS, crypto: { ...OTHER_TOOLS.crypto, ...change } })

let directory = ''
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'keystore-'))
})
afterAll(() => rm(directory, { recursive: true }))

async function open(content: unknown, change: Partial<Parameters<typeof createKeystoreSigner>[0]> = {}) {
  const path = join(directory, `${randomBytes(8).toString('hex')}.json`)
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return createKeystoreSigner({ path, password: 'right', address, environment: 'sandbox', ...change })
}

const refusal = (code: string) => expect.objectContaining({ code: `keystore.${code}`, retry: 'never' })

describe('a keystore', () => {
  it('that another library wrote opens', async () => {
    const pinned = '0xD77429B0Ec867F0377099082515139D259f61fB2'
    const signer = await open(OTHER_TOOLS, { password: 'testpassword', address: pinned })
    expect(signer.address).toBe(pinned)
  })

  it('opens with 0x before its hex, and where it is as long as one may be', async () => {
    const pinned = '0xD77429B0Ec867F0377099082515139D259f61fB2'
    const { crypto } = OTHER_TOOLS
    const prefixed = withCrypto({ ciphertext: `0x${crypto.ciphertext}`, mac: `0x${crypto.mac}` })
    const signer = await open(JSON.stringify(prefixed).padEnd(16_384), {
      password: 'testpassword',
      address: pinned,
    })
    expect(signer.address).toBe(pinned)
  })

  it('signs so that the signature recovers to its address', async () => {
    const signer = await open(encrypt(privateKey, 'right'))
    const hash = keccak256('0x01')
    expect(await recoverAddress({ hash, signature: await signer.signDigest(hash) })).toBe(address)
  })

  it('does not sign for an aborted caller', async () => {
    const signer = await open(encrypt(privateKey, 'right'))
    await expect(signer.signDigest(keccak256('0x01'), AbortSignal.abort('killed'))).rejects.toBe('killed')
  })

  it('is refused outside the sandbox before the file is read', async () => {
    const settings = { path: '/nowhere', password: '', address, environment: 'production' }
    await expect(createKeystoreSigner(settings)).rejects.toThrow(refusal('not_sandbox'))
  })

  it('is refused with another password', async () => {
    await expect(open(encrypt(privateKey, 'right'), { password: 'wrong' })).rejects.toThrow(
      refusal('wrong_password'),
    )
  })

  it('is refused when a byte of the key was changed', async () => {
    const file = encrypt(privateKey, 'right')
    const ciphertext = file.crypto.ciphertext.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
    await expect(open({ ...file, crypto: { ...file.crypto, ciphertext } })).rejects.toThrow(
      refusal('wrong_password'),
    )
  })

  it('is refused when its key is not of the pinned address', async () => {
    const other = `0x${'18'.repeat(32)}` as const
    await expect(open(encrypt(other, 'right'))).rejects.toThrow(refusal('wrong_address'))
  })

  it("is refused when its key is anvil's first", async () => {
    const anvil = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
    const account = privateKeyToAccount(anvil)
    await expect(open(encrypt(anvil, 'right'), { address: account.address })).rejects.toThrow(
      refusal('well_known'),
    )
  })

  const withScrypt = (change: object) =>
    withCrypto({ kdfparams: { ...OTHER_TOOLS.crypto.kdfparams, ...change } })
  const malformed: [string, unknown][] = [
    ['is no JSON', '{'],
    ['is an array', '[]'],
    ['is of version 1', { ...OTHER_TOOLS, version: 1 }],
    ['uses another cipher', withCrypto({ cipher: 'aes-128-cbc' })],
    ['uses another kdf', withCrypto({ kdf: 'pbkdf2' })],
    ['has a mac that is cut short', withCrypto({ mac: 'ab' })],
    ['asks scrypt for no work', withScrypt({ n: 1 })],
    ['asks scrypt for a cost that is no power of two', withScrypt({ n: 8191 })],
    ['asks scrypt for more than r = 1 allows', withScrypt({ n: 2 ** 16 })],
    ['asks scrypt for 512 MiB', withScrypt({ n: 2 ** 19, r: 8 })],
    ['holds a key of zero', encrypt(`0x${'00'.repeat(32)}`, 'right')],
    ['is over 16 kB', { ...OTHER_TOOLS, more: 'x'.repeat(16_384) }],
  ]

  it.each(malformed)('is refused when it %s', async (_, content) => {
    await expect(open(content)).rejects.toThrow(refusal('malformed'))
  })

  it.each([
    ['the largest cost that r = 1 allows', { n: 2 ** 15, r: 1, p: 1 }],
    ['256 MiB', { n: 2 ** 18, r: 8, p: 1 }],
  ])('may ask scrypt for %s', async (_, change) => {
    await expect(open(withScrypt(change))).rejects.toThrow(refusal('wrong_password'))
  })

  it('says where it is malformed, and what to write', async () => {
    const says = (message: string) => expect.objectContaining({ message: expect.stringContaining(message) })
    const at = 'is not valid at crypto.kdfparams.n: '
    await expect(open(withScrypt({ n: 1 }))).rejects.toThrow(says(at))
    await expect(open('{')).rejects.toThrow(says('is not valid at its root: not JSON'))
    await expect(open('{')).rejects.toThrow(says('Fix: write a Web3 Secret Storage version 3 file'))
  })

  it('is refused when it does not exist', async () => {
    const settings = { path: join(directory, 'none'), password: '', address, environment: 'sandbox' }
    await expect(createKeystoreSigner(settings)).rejects.toThrow(refusal('unreadable'))
  })

  it('never shows its password in an error', async () => {
    const error = await open(encrypt(privateKey, 'right'), { password: 'canary-7f3a' }).catch(String)
    expect(error).not.toContain('canary-7f3a')
  })
})

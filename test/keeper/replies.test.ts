import { once } from 'node:events'
import { get } from 'node:http'
import { expect, it } from 'vitest'
import { answerText, createPersonKey, signText } from '../../src/guard/approval/person-key.ts'
import { isProven, listenForReplies } from '../../src/keeper/replies.ts'
import { readAnswers } from '../../src/ops/orders.ts'
import { REPLIES_PATH } from '../../src/ops/reply-listener.ts'
import { newDirectory } from '../support/directory.ts'
import { freePort } from '../support/loopback.ts'

const [anna, ben] = [createPersonKey(), createPersonKey()]
const [ID, HASH] = ['ab'.repeat(16), '5d'.repeat(32)]
const SIGNER = '0x51'

const hold = {
  check: 'approval_always',
  message: 'Asked.',
  hash: HASH,
  untilMs: Number.MAX_SAFE_INTEGER,
  approvals: [],
}
const workflow = {
  id: ID,
  role: 'allocator',
  signer: SIGNER,
  state: 'discovered',
  hold,
  proposal: { askedBy: 'ben' },
}
const approvers = {
  anna: { key: anna.publicKey },
  ben: { key: ben.publicKey },
  carol: { user: 'carol@ops-2' },
}

/** What a keeper has, as far as an answer is held against it. */
const depsOf = (change: object = {}, named: object = approvers) =>
  ({
    live: () => [{ ...workflow, ...change }],
    candidates: [
      {
        agent: { role: 'allocator', signer: { address: SIGNER } },
        policy: { approval: { approvers: named, quorum: 1 } },
      },
    ],
  }) as never

const signed = (
  name: string,
  { privatePem }: { privatePem: string },
  verdict: 'approve' | 'reject' = 'approve',
  hash = HASH,
) => ({
  id: ID,
  verdict,
  hash,
  name,
  signature: signText(answerText(verdict, ID, hash), privatePem),
})

it('counts what an approver signed for exactly what waits, and nothing else', () => {
  const yes = signed('anna', anna)
  expect(isProven(yes, depsOf())).toBe(true)
  expect(isProven(signed('ben', ben, 'reject'), depsOf())).toBe(true)
  for (const [reply, deps] of [
    [signed('anna', ben), depsOf()],
    [{ ...yes, verdict: 'reject' as const }, depsOf()],
    [signed('anna', anna, 'approve', '5e'.repeat(32)), depsOf()],
    // Who asked for it approves it never; one who is known by a user is not known outside.
    [signed('ben', ben), depsOf()],
    [signed('carol', anna), depsOf()],
    [yes, depsOf({}, {})],
    [yes, depsOf({ state: 'requested' })],
    [yes, depsOf({ role: 'liquidator' })],
  ] as const)
    expect(isProven(reply, deps)).toBe(false)
})

it('takes a posted answer as one of a file, and tells a stranger nothing', async () => {
  const directory = newDirectory()
  const port = await freePort()
  const close = await listenForReplies(
    { directory, replies: { host: '127.0.0.1', port, publicHost: 'keeper.example' } },
    depsOf(),
  )
  try {
    const post = async (body: unknown, headers: Record<string, string> = {}, path = REPLIES_PATH) =>
      (
        await fetch(`http://127.0.0.1:${port}${path}`, {
          method: 'POST',
          headers,
          body: typeof body === 'string' ? body : JSON.stringify(body),
        })
      ).status
    /** A page of another site can point a name of its own at this address. */
    const named = async (host: string) => {
      const [response] = await once(
        get({ host: '127.0.0.1', port, path: REPLIES_PATH, headers: { host } }),
        'response',
      )
      return response.resume().statusCode
    }
    const yes = signed('anna', anna)
    expect(await post({ ...yes, signature: signed('anna', ben).signature })).toBe(403)
    expect(await post({ ...yes, more: true })).toBe(400)
    expect(await post('{')).toBe(400)
    expect(await post(JSON.stringify(yes) + ' '.repeat(5_000))).toBe(413)
    expect(await post(yes, { origin: 'https://other.example' })).toBe(403)
    expect(await post(yes, {}, '/')).toBe(404)
    expect(await named('keeper.example')).toBe(405)
    expect(await named('other.example')).toBe(403)
    expect(readAnswers(directory, ID)).toEqual([])
    expect(await post(yes)).toBe(202)
    expect(await post(yes)).toBe(202)
    const { verdict, hash, name, signature } = yes
    expect(readAnswers(directory, ID)).toEqual([{ verdict, hash, by: { user: 'reply', name, signature } }])
  } finally {
    await close()
  }
})

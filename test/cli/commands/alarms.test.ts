import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { rolekeeper } from '../../../src/cli/dispatch.ts'
import { countAnswers } from '../../../src/guard/approval/approvers.ts'
import { newDirectory } from '../../support/directory.ts'
import { listenOnLoopback } from '../../support/loopback.ts'

const directory = newDirectory()
const told: unknown[] = []
const server = createServer(async (request, response) => {
  told.push(await json(request))
  response.writeHead(request.url === '/good' ? 200 : 403).end('canary-answer')
})
let port = 0
beforeAll(async () => {
  port = await listenOnLoopback(server)
})
afterAll(() => {
  server.close()
})

async function run(...args: readonly string[]) {
  let [out, err] = ['', '']
  const env = {
    ROLEKEEPER_NODE_A: 'https://a.example',
    ROLEKEEPER_NODE_B: 'https://b.example',
    ROLEKEEPER_NODE_SEND: 'https://send.example',
    ROLEKEEPER_SECRET_KEY: 'sk_canary',
    GOOD: `http://127.0.0.1:${port}/good`,
    BAD: `http://127.0.0.1:${port}/bad-canary-path`,
    KEY: 'rk_canary',
  }
  const code = await rolekeeper(args, {
    env,
    outIsTty: false,
    errIsTty: false,
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
  })
  return { code, out, err }
}

/** The example with these alarms, in the sandbox's environment, which allows plain HTTP. */
function configWith(alarms: readonly object[]): string {
  const file = join(directory, `${alarms.length}.yaml`)
  const example = readFileSync('config/example.yaml', 'utf8').replace(
    'environment: production',
    'environment: sandbox',
  )
  writeFileSync(file, `${example}\n${stringify({ alarms }, { defaultStringType: 'QUOTE_DOUBLE' })}`)
  return file
}

it('tells every target of a test and its end, and fails where one does not take it', async () => {
  const good = { name: 'good', kind: 'webhook', url: 'env:GOOD' }
  const pager = { name: 'pager', kind: 'pagerduty', key: 'env:KEY', url: 'env:BAD' }
  expect(await run('alarms', 'test', '--config', configWith([good]))).toEqual({
    code: 0,
    out: 'ok      good  webhook\n',
    err: '',
  })
  expect(told).toMatchObject([{ action: 'trigger', code: 'alarms.test' }, { action: 'resolve' }])
  const both = await run('alarms', 'test', '--config', configWith([good, pager]))
  expect(both).toMatchObject({
    code: 1,
    out: expect.stringContaining('failed  pager  pagerduty  it answers 403\n'),
  })
  expect(JSON.stringify(both)).not.toContain('canary')
  expect(await run('alarms', 'test', '--config', configWith([]))).toMatchObject({
    code: 1,
    err: expect.stringContaining('names no target'),
  })
})

it('refuses a target that lacks what its kind needs, with the fix', async () => {
  const { code, err } = await run(
    'alarms',
    'test',
    '--config',
    configWith([
      { name: 'a', kind: 'slack' },
      { name: 'a', kind: 'pagerduty' },
      { name: 'b', kind: 'webhook', url: 'env:GOOD', key: 'plain' },
    ]),
  )
  expect(code).toBe(2)
  expect(err).toContain('a slack has a URL')
})

it('signs an answer without a keeper at hand, which counts as any other', async () => {
  const file = join(directory, 'anna.key')
  const { out } = await run('approver', 'new', 'anna', '--out', file)
  const key = /ed25519:[^"]+/.exec(out)?.[0] ?? ''
  const [id, hash] = ['ab'.repeat(16), '5d'.repeat(32)]
  const { out: line } = await run('approver', 'reply', id, '--hash', hash, '--key', file)
  const { verdict, name, signature } = JSON.parse(line)
  const workflow = { id, hold: { hash }, proposal: {} } as never
  const answers = [{ verdict, hash, by: { user: 'reply', name, signature } }]
  expect(countAnswers(workflow, answers, { approvers: { anna: { key } }, quorum: 1 }).approved).toMatchObject(
    [{ by: 'anna' }],
  )
  expect((await run('approver', 'reply', 'ab', '--hash', hash, '--key', file)).code).toBe(2)
})

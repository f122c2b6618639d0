import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createOutlet } from '../../src/ops/outlet.ts'

const OUTLET = new URL('../../src/ops/outlet.ts', import.meta.url).href
const LINES = 3_000
/** Write more than a pipe holds, say what was lost, and end. */
const PROGRAM = `
  const { createOutlet } = await import('${OUTLET}')
  const log = createOutlet('log', process.stderr.fd, () => 7)
  for (let line = 0; line < ${LINES}; line += 1) log.write(line + ' ' + 'x'.repeat(999) + '\\n')
  process.stdout.write(JSON.stringify(log.lost()) + '\\n')
  for await (const _ of process.stdin) log.write('again\\n')
`

function start() {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM])
  const said = once(child.stdout, 'data').then(([data]) => JSON.parse(String(data)))
  return { child, said }
}

it('writes on where its reader stalls, loses whole lines, and goes on once it reads again', async () => {
  const { child, said } = start()
  const lost = await said
  expect(lost).toEqual({ count: expect.any(Number), problem: 'its reader does not read', atMs: 7 })
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (data) => {
    text += data
    if (text.split('\n').length > LINES - lost.count) child.stdin.end('.')
  })
  await once(child.stderr, 'end')
  const lines = text.trimEnd().split('\n')
  expect(lines.at(-1)).toBe('again')
  expect(lines.slice(0, -1).every((line) => /^\d+ x{999}$/.test(line))).toBe(true)
  expect(lines.length - 1 + lost.count).toBe(LINES)
})

it('says that its reader has left', async () => {
  const { child, said } = start()
  child.stderr.destroy()
  expect(await said).toMatchObject({ problem: 'its reader has left' })
  child.stdin.end()
})

it('says that its disk is full', () => {
  const log = createOutlet('log', openSync('/dev/full', 'w'), () => 7)
  log.write('one\n')
  log.write('two\n')
  expect(log.lost()).toEqual({ count: 2, problem: 'its disk is full', atMs: 7 })
})

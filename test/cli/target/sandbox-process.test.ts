import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { lockSandbox } from '../../../sandbox/files.ts'
import { prepareDirectory, startSandboxProcess } from '../../../src/cli/target/sandbox-process.ts'
import { lockDirectory } from '../../../src/journal/directory/lock.ts'
import { newDirectory } from '../../support/directory.ts'

/** Start a program in the sandbox's place. */
function start(source: string, seed?: number, waits = false, onProgress = () => {}) {
  const directory = newDirectory()
  const file = join(directory, 'program.mjs')
  writeFileSync(file, source)
  const said: string[] = []
  const sandbox = startSandboxProcess({
    program: pathToFileURL(file),
    directory,
    seed,
    waits,
    onProgress: (text) => {
      said.push(text)
      onProgress()
    },
  })
  return { directory, said, sandbox }
}

const LIVES = `process.on('disconnect', () => process.exit()); process.send({ type: 'ready' })`

/** Whether a process is there. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Let nothing happen here until something is so elsewhere. */
function standStill(isSo: () => boolean): void {
  while (!isSo()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
}

/** Whether a child has ended of which we do not know it yet; where it wrote its pid. */
function isOver(directory: string): boolean {
  const file = join(directory, 'pid')
  if (!existsSync(file)) return false
  return execFileSync('ps', ['-o', 'stat=', '-p', readFileSync(file, 'utf8')], {
    encoding: 'utf8',
  }).startsWith('Z')
}

it('is ready when the program says so, and says meanwhile what it does', async () => {
  const { directory, said, sandbox } = start(
    `process.send({ type: 'progress', text: 'deploying\\u001b[2J' }); process.send('odd'); console.log(process.argv.slice(2).join(' ')); ${LIVES}`,
    7,
  )
  await sandbox.ready
  expect(said).toEqual(['deploying [2J'])
  await sandbox.stop()
  expect(readFileSync(join(directory, 'sandbox.log'), 'utf8')).toBe(`--directory ${directory} --seed 7\n`)
})

it('lets a story that waits begin', async () => {
  const { directory, sandbox } = start(
    `console.log(process.argv.at(-1)); process.on('message', (said) => { console.log(said); process.exit() }); ${LIVES}`,
    undefined,
    true,
  )
  await sandbox.ready
  sandbox.begin()
  await expect(sandbox.ended).rejects.toMatchObject({ code: 'sandbox.ended' })
  sandbox.begin()
  expect(readFileSync(join(directory, 'sandbox.log'), 'utf8')).toBe('--waits\nbegin\n')
})

it('fails with what the program gives as the reason, and leaves nothing behind', async () => {
  const { sandbox } = start(
    `process.send({ type: 'failed', code: 'chain.absent', message: 'There is no anvil.', fix: 'npm install.' }); setInterval(() => {}, 1000)`,
  )
  await expect(sandbox.ready).rejects.toMatchObject({
    code: 'chain.absent',
    message: 'There is no anvil. Fix: npm install.',
  })
  await sandbox.stop()
})

it('fails with the reason of a program that ended while we looked elsewhere', async () => {
  const program = (then: string) =>
    `import { existsSync, writeFileSync, renameSync } from 'node:fs'; const at = process.argv[3]; writeFileSync(at + '/part', String(process.pid)); renameSync(at + '/part', at + '/pid'); ${then}`
  const told = `{ type: 'failed', code: 'chain.absent', message: 'There is no anvil.', fix: 'npm install.' }`
  const late = start(
    program(
      `while (!existsSync(at + '/go')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5); process.send(${told}, () => process.exit(1))`,
    ),
  )
  // We hear of this one's message and its end at once, and with its end of every other's: but not of their messages.
  const early = start(
    program(`process.send({ type: 'progress', text: 'ends' }, () => process.exit())`),
    undefined,
    false,
    () => {
      writeFileSync(join(late.directory, 'go'), '')
      standStill(() => isOver(late.directory))
    },
  )
  standStill(() => isOver(early.directory))
  await Promise.all([
    expect(late.sandbox.ready).rejects.toMatchObject({ code: 'chain.absent' }),
    expect(late.sandbox.ended).rejects.toMatchObject({ code: 'chain.absent' }),
    expect(early.sandbox.ready).rejects.toMatchObject({ code: 'sandbox.ended' }),
  ])
})

it('fails when the program ends before it is ready, and when it ends later without being asked', async () => {
  const early = start('process.exit(3)')
  await expect(early.sandbox.ready).rejects.toThrow(/^The sandbox ended \(code 3\)\. Fix: see .*sandbox\.log/)
  const later = start(`process.send({ type: 'ready' }, () => process.kill(process.pid, 'SIGTERM'))`)
  await later.sandbox.ready
  await expect(later.sandbox.ended).rejects.toMatchObject({ code: 'sandbox.ended' })
  const told = `{ type: 'failed', code: 'chain.gone', message: 'The chain ended.', fix: 'start again.' }`
  const reasoned = start(`${LIVES}; process.send(${told}); process.disconnect()`)
  await reasoned.sandbox.ready
  await expect(reasoned.sandbox.ended).rejects.toMatchObject({ code: 'chain.gone' })
})

it('ends a program that takes no notice', async () => {
  const { directory, sandbox } = start(
    `import { writeFileSync } from 'node:fs'; writeFileSync(process.argv[3] + '/pid', String(process.pid)); process.send({ type: 'ready' }); setInterval(() => {}, 1000)`,
  )
  await sandbox.ready
  const pid = Number(readFileSync(join(directory, 'pid'), 'utf8'))
  expect(isAlive(pid)).toBe(true)
  await sandbox.stop()
  await expect.poll(() => isAlive(pid)).toBe(false)
})

it('forgets everything of a directory but its locks when it starts over, and not while another works in it', () => {
  const directory = newDirectory()
  const file = join(directory, 'journal.sqlite')
  writeFileSync(file, '')
  prepareDirectory(directory, false)
  expect(existsSync(file)).toBe(true)
  const lock = lockDirectory(directory)
  expect(() => prepareDirectory(directory, true)).toThrow('Another rolekeeper process works in')
  expect(existsSync(file)).toBe(true)
  lock.release()
  const sandbox = lockSandbox(directory)
  expect(() => prepareDirectory(directory, true)).toThrow('Another sandbox runs in')
  sandbox.release()
  prepareDirectory(directory, true)
  expect(existsSync(file)).toBe(false)
})

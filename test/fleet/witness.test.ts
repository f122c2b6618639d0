import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { openWitness as open, type Witness } from '../../src/fleet/witness.ts'
import { newDirectory } from '../support/directory.ts'

const opened: Witness[] = []
afterEach(async () => {
  for (const witness of opened.splice(0)) await witness.close()
})
const openWitness = async (path: string) => {
  const witness = await open(path)
  opened.push(witness)
  return witness
}
const gen = '0123456789abcdef'
const run = 'f'.repeat(40)
const folder = () => newDirectory()

it('shows the newest of what it kept, however it ended', async () => {
  const path = folder()
  const first = await openWitness(path)
  expect(first.known).toBe(null)
  await Promise.all([4, 9, 7].map((seq) => first.record({ gen, seq, run })))
  const second = await openWitness(path)
  expect(second.known).toEqual({ gen, seq: 9, run })
  await second.record({ gen, seq: 12, run })
  expect((await openWitness(path)).known).toEqual({ gen, seq: 12, run })
})

it.each([0, 1])('shows what it had before where a crash spoilt line %s', async (place) => {
  const path = folder()
  const witness = await openWitness(path)
  for (const seq of place === 0 ? [1, 2, 3] : [1, 2]) await witness.record({ gen, seq })
  const file = join(path, 'acknowledged')
  const bytes = readFileSync(file)
  bytes.fill('x', place * 128 + 12, place * 128 + 40)
  writeFileSync(file, bytes)
  expect((await openWitness(path)).known).toEqual({ gen, seq: place === 0 ? 2 : 1 })
})

it('is refused where no line is as it was written', async () => {
  const path = folder()
  const witness = await openWitness(path)
  for (const seq of [1, 2]) await witness.record({ gen, seq })
  const file = join(path, 'acknowledged')
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('0123', '3210'))
  await expect(openWitness(path)).rejects.toMatchObject({ code: 'fleet.witness' })
})

it('begins a generation that follows, though its lines are of the one before', async () => {
  const path = folder()
  const witness = await openWitness(path)
  await witness.record({ gen, seq: 5 })
  await witness.record({ gen: 'next', seq: 6 })
  expect((await openWitness(path)).known).toEqual({ gen: 'next', seq: 6 })
})

it('keeps the highest nonce that a key was asked to sign, whatever came after it', async () => {
  const path = folder()
  const witness = await openWitness(path)
  await witness.record({ gen, seq: 5, run, top: 7 })
  await witness.record({ gen, seq: 6, run, top: 3 })
  await witness.record({ gen: 'next', seq: 9, run })
  expect(witness.top()).toBe(7)
  expect((await openWitness(path)).known).toEqual({ gen: 'next', seq: 9, run, top: 7 })
})

it('ends the process, which others then stand in for, where the disk takes nothing any more', () => {
  const code = `import { openWitness } from './src/fleet/witness.ts'
    const witness = await openWitness(process.argv[1])
    await witness.record({ gen: 'g', seq: 1 }).catch(({ code }) => console.log(code))
    setTimeout(() => console.log('it goes on'), 1_000)`
  const args = [
    '-c',
    'ulimit -f 0; exec "$0" "$@"',
    process.execPath,
    '--input-type=module',
    '-e',
    code,
    folder(),
  ]
  const { stdout, stderr, status } = spawnSync('sh', args, { encoding: 'utf8' })
  expect({ stdout, status }).toEqual({ stdout: 'fleet.witness\n', status: 1 })
  expect(stderr).toContain('does not take what is acknowledged')
})

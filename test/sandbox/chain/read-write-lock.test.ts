import { expect, test } from 'vitest'
import { createReadWriteLock } from '../../../sandbox/chain/read-write-lock.ts'

/** Work that is told in a list when it begins, and ends when it is told to. */
function createWorks() {
  const began: string[] = []
  const works = new Map<string, PromiseWithResolvers<string>>()
  const work = (name: string) => () => {
    began.push(name)
    const one = Promise.withResolvers<string>()
    works.set(name, one)
    return one.promise
  }
  const settle = async (name: string, error?: Error) => {
    if (error === undefined) works.get(name)?.resolve(name)
    else works.get(name)?.reject(error)
    // Whatever waits for it goes on.
    await new Promise(setImmediate)
  }
  return { began, work, settle }
}

test('reads go side by side, a write alone, and who reads after it waits for it', async () => {
  const { read, write } = createReadWriteLock()
  const { began, work, settle } = createWorks()
  const reads = [read(work('a')), read(work('b'))]
  await settle('')
  const written = write(work('write'))
  const later = read(work('later'))
  await settle('')
  expect(began).toEqual(['a', 'b'])
  await settle('a')
  expect(began).toEqual(['a', 'b'])
  await settle('b')
  expect(began).toEqual(['a', 'b', 'write'])
  await settle('write')
  expect(began).toEqual(['a', 'b', 'write', 'later'])
  await settle('later')
  expect(await Promise.all([...reads, written, later])).toEqual(['a', 'b', undefined, 'later'])
})

test('who waits for a write waits for the next one too, and none is held up by one that failed', async () => {
  const { read, write } = createReadWriteLock()
  const { began, work, settle } = createWorks()
  const failed = expect(write(work('fails'))).rejects.toThrow('no block')
  const later = read(work('later'))
  const next = write(work('next'))
  await settle('')
  await settle('fails', new TypeError('no block'))
  await failed
  expect(began).toEqual(['fails', 'next'])
  await settle('next')
  expect(began).toEqual(['fails', 'next', 'later'])
  await settle('later')
  expect(await Promise.all([next, later])).toEqual([undefined, 'later'])
})

test('a read that failed holds nothing up', async () => {
  const { read, write } = createReadWriteLock()
  const { began, work, settle } = createWorks()
  const failed = expect(read(work('fails'))).rejects.toThrow('no answer')
  await settle('')
  const written = write(work('write'))
  await settle('fails', new TypeError('no answer'))
  await failed
  await settle('write')
  await written
  expect(began).toEqual(['fails', 'write'])
})

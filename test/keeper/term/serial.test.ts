import { expect, it } from 'vitest'
import { createSerial } from '../../../src/keeper/term/run-queue.ts'

it('runs works of one name in turn, what is urgent before all that waits, and other names beside them', async () => {
  const alone = createSerial()
  const ran: string[] = []
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const work = (name: string) => async () => {
    ran.push(name)
    return name
  }
  const first = alone('signer', async () => {
    ran.push('first')
    await held
  })
  const reports = ['report 1', 'report 2'].map((name) => alone('signer', work(name)))
  const liquidation = alone('signer', work('liquidation'), 'urgent')
  expect(await alone('other', work('other'))).toBe('other')
  release()
  expect(await Promise.all([first, ...reports, liquidation])).toEqual([
    undefined,
    'report 1',
    'report 2',
    'liquidation',
  ])
  expect(ran).toEqual(['first', 'other', 'liquidation', 'report 1', 'report 2'])
})

it('goes on after a work that failed, and answers its caller alone', async () => {
  const alone = createSerial()
  const failing = alone('signer', () => Promise.reject(new Error('no')))
  const next = alone('signer', async () => 'next')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('next')
  expect(await alone('signer', async () => 'again')).toBe('again')
})

it('says who waits behind a work, in their order, what is urgent first', async () => {
  const alone = createSerial()
  const seen: (readonly string[])[] = []
  const work = async (inLine: () => readonly string[]) => {
    await Promise.resolve()
    seen.push(inLine())
  }
  await Promise.all([
    alone('signer', work, 'usual', 'a'),
    alone('signer', work, 'usual', 'b'),
    alone('signer', work, 'urgent', 'c'),
    alone('other', work, 'usual', 'd'),
  ])
  expect(seen).toEqual([['c', 'b'], [], ['b'], []])
})

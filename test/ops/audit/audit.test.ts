import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AuditRecord } from '../../../src/ops/audit/chain.ts'
import { type AuditLog, openAudit } from '../../../src/ops/audit/log.ts'
import { auditFolder, segmentName } from '../../../src/ops/audit/segments.ts'
import { verifyAudit } from '../../../src/ops/audit/verify.ts'
import { newDirectory } from '../../support/directory.ts'

const open = (
  directory: string,
  more: { bytesMax?: number; segmentsMax?: number; monotonicMs?: () => number } = {},
) =>
  openAudit(directory, {
    nowMs: () => 1_750_000_000_000,
    monotonicMs: () => 0,
    onFailed: (failure) => {
      throw failure
    },
    ...more,
  })

/** A directory with an audit of some records, each with a name that people and machines write otherwise. */
async function written(
  count: number,
  more = {},
): Promise<{ directory: string; folder: string; log: AuditLog }> {
  const directory = newDirectory()
  const log = await open(directory, more)
  for (let index = 1; index <= count; index += 1) log.record('note', { index, text: 'né "quoted" \u{1F511}' })
  await log.flush()
  return { directory, folder: auditFolder(directory), log }
}

const file = (folder: string, at = 0) => join(folder, readdirSync(folder).toSorted()[at] ?? '')
const problems = (folder: string, noted: { seq: number; hash: string }[] = []) =>
  verifyAudit(folder, noted).problems.map(({ what }) => what)

describe('the audit', () => {
  it('is found whole, with every record in order, also after starts', async () => {
    const { directory, folder, log } = await written(3)
    await log.close()
    const again = await open(directory)
    again.record('note', { index: 4 })
    await again.close()
    const seen: AuditRecord[] = []
    const { records, head, problems } = verifyAudit(
      folder,
      [again.state().head, log.state().head],
      (record) => seen.push(record),
    )
    expect({ records, problems, seq: head.seq }).toEqual({ records: 5, problems: [], seq: 5 })
    expect(seen.map(({ kind, index }) => [kind, index])).toEqual([
      ['segment', undefined],
      ...[1, 2, 3, 4].map((index) => ['note', index]),
    ])
  })

  it('shows every byte that is altered, in whichever bit', async () => {
    const { folder, log } = await written(2)
    await log.close()
    const path = file(folder)
    const whole = readFileSync(path)
    const missed: number[] = []
    for (let at = 0; at < whole.length; at += 1) {
      const altered = Buffer.from(whole)
      altered[at] = (altered[at] ?? 0) ^ (1 << (at % 8))
      writeFileSync(path, altered)
      if (verifyAudit(folder, [log.state().head]).problems.length === 0) missed.push(at)
    }
    expect(missed).toEqual([])
  })

  it('shows a record that was removed, two that were swapped, and one that was written twice', async () => {
    const { folder, log } = await written(5)
    await log.close()
    const path = file(folder)
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
    const put = (...order: number[]) => writeFileSync(path, order.map((at) => `${lines[at]}\n`).join(''))
    for (let gone = 0; gone < lines.length - 1; gone += 1) {
      put(...[...lines.keys()].filter((at) => at !== gone))
      expect(problems(folder).join('; ')).toMatch(
        gone === 0 ? /is record 2, and 1 should/ : /records are missing/,
      )
    }
    put(0, 1, 3, 2, 4, 5)
    expect(problems(folder).join('; ')).toMatch(/missing, or stand elsewhere.*moved, or written in/s)
    put(0, 1, 1, 2, 3, 4, 5)
    expect(problems(folder).join('; ')).toMatch(/line 3|moved, or written in/)
    put(0, 1, 2, 3, 4, 5)
    expect(problems(folder)).toEqual([])
  })

  it('shows by a head that was noted that its end was cut, and that it went on otherwise', async () => {
    const { directory, folder, log } = await written(5)
    await log.close()
    const path = file(folder)
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
    writeFileSync(path, `${lines.slice(0, 4).join('\n')}\n`)
    expect(problems(folder)).toEqual([])
    expect(problems(folder, [log.state().head])).toEqual([
      'ends with record 4, and record 6 was noted: the end was cut off, or an older copy was put back',
    ])
    const again = await open(directory)
    for (const index of [1, 2, 3]) again.record('other', { index })
    await again.close()
    expect(problems(folder)).toEqual([])
    expect(problems(folder, [{ ...log.state().head, hash: log.state().head.hash.slice(0, 12) }])).toEqual([
      'record 6 has another hash than was noted: the log was rewritten, or an older copy was put back and written on',
    ])
  })

  it('takes away what a crash left of a line, and says so', async () => {
    const { directory, folder, log } = await written(2)
    await log.close()
    const path = file(folder)
    writeFileSync(path, '0000 {"seq":4', { flag: 'a' })
    expect(problems(folder).join()).toMatch(/no end: a crash cut it off/)
    const again = await open(directory)
    await again.close()
    expect(verifyAudit(folder, [log.state().head])).toMatchObject({
      problems: [],
      last: { kind: 'cut', bytes: 13 },
    })
  })

  it.each([
    ['the first', '', 0],
    ['the first, with half a line', '0000 {"seq":1', 0],
    ['a later one', '', 3],
    ['a later one, with half a line', '0000 {"seq":5', 3],
  ])('goes on where a crash or a full disk left %s segment without a record', async (_, left, count) => {
    const { directory, folder, log } = await written(count)
    await log.close()
    if (count === 0) rmSync(file(folder))
    writeFileSync(join(folder, segmentName(count === 0 ? 1 : count + 2)), left)
    const again = await open(directory)
    again.record('note', { index: count + 1 })
    await again.close()
    expect(again.state().damage).toBeNull()
    expect(verifyAudit(folder, count === 0 ? [] : [log.state().head])).toMatchObject({
      problems: [],
      last: { kind: 'note', index: count + 1 },
      records: count + 3,
    })
    expect(readdirSync(folder)).toHaveLength(1)
  })

  it('goes on in a segment of its own behind one that was altered, and shows the alteration on', async () => {
    const { directory, folder, log } = await written(3)
    await log.close()
    const path = file(folder)
    writeFileSync(path, readFileSync(path, 'utf8').replace('"index":2', '"index":7'))
    const again = await open(directory)
    again.record('note', { index: 4 })
    await again.close()
    expect(again.state().damage).toMatchObject({ code: 'audit.damaged' })
    expect(verifyAudit(folder, []).problems).toMatchObject([
      { line: 3, what: 'record 3 is not as it was written, or the one before it was replaced' },
    ])
    expect(readdirSync(folder)).toHaveLength(2)
  })

  it('is bounded: the oldest segments go, which the chain says; that others went is shown', async () => {
    const { directory, folder, log } = await written(0, { bytesMax: 500, segmentsMax: 4 })
    for (let index = 0; index < 100; index += 1) {
      log.record('note', { index })
      if (index % 3 === 0) await log.flush()
    }
    await log.close()
    expect(readdirSync(folder)).toHaveLength(4)
    expect(verifyAudit(folder, [log.state().head])).toMatchObject({ problems: [], last: { index: 99 } })
    const again = await open(directory, { bytesMax: 500, segmentsMax: 4 })
    again.record('note', { index: 100 })
    await again.close()
    expect(problems(folder)).toEqual([])
    const second = file(folder, 1)
    const kept = readFileSync(second)
    rmSync(second)
    expect(problems(folder).join()).toMatch(/records are missing/)
    writeFileSync(second, kept)
    rmSync(file(folder, 0))
    expect(problems(folder).join()).toMatch(/were not dropped by the keeper: they were removed/)
  })

  it('has on disk what is flushed, while more is taken down', async () => {
    const { folder, log } = await written(0)
    const flushes = Array.from({ length: 50 }, async (_, index) => {
      log.record('note', { index })
      await log.flush()
      const { head, last } = verifyAudit(folder, [])
      expect(last?.index).toBeGreaterThanOrEqual(index)
      expect(head.seq).toBeGreaterThanOrEqual(log.state().head.seq)
    })
    await Promise.all(flushes)
    await log.close()
    expect(verifyAudit(folder, [log.state().head]).problems).toEqual([])
  })

  it('shows as its head what is on disk alone, and since when something is not', async () => {
    let monotonicMs = 5_000
    const { folder, log } = await written(2, { monotonicMs: () => monotonicMs })
    const before = log.state()
    expect(before).toMatchObject({ waitingSinceMs: null, damage: null })
    log.record('note', { index: 3 })
    monotonicMs += 1_000
    log.record('note', { index: 4 })
    expect(log.state()).toEqual({ ...before, waitingSinceMs: 5_000 })
    await log.flush()
    expect(log.state()).toMatchObject({ head: verifyAudit(folder, []).head, waitingSinceMs: null })
    await log.close()
  })
})

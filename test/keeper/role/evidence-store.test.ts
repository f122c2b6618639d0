import { existsSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { changedIn, evidenceFolder, openWithEvidence } from '../../../src/keeper/role/evidence-store.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { newDirectory } from '../../support/directory.ts'
import { proposalOf } from '../../support/workflows.ts'

const directory = newDirectory()
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const FILES = { 'custodian-1.txt': 'asOf,micros\n1,2\n', 'pack.json': '{"value":"2n"}' }
const KEEP = { directory, packsMax: 10 }
const folderOf = ({ reason }: Proposal) => evidenceFolder(directory, String(reason.evidence))

it('has a pack on disk before the proposal that names it is opened', async () => {
  const opened = await openWithEvidence(proposalOf(), FILES, KEEP, async (proposal) => ({
    ok: true,
    proposal,
    kept: readdirSync(folderOf(proposal)).toSorted(),
  }))
  expect(opened.kept).toEqual(['SHA256SUMS', 'custodian-1.txt', 'pack.json'])
  expect(opened.proposal.reason).toMatchObject(proposalOf().reason)
  expect(readFileSync(join(folderOf(opened.proposal), 'pack.json'), 'utf8')).toBe(FILES['pack.json'])
})

it('keeps none of what is not opened, and opens what has none as it is', async () => {
  const refused = await openWithEvidence(proposalOf(), { ...FILES, more: '' }, KEEP, async (proposal) => ({
    ok: false,
    proposal,
  }))
  expect(existsSync(folderOf(refused.proposal))).toBe(false)
  const plain = await openWithEvidence(proposalOf(), null, KEEP, async (proposal) => ({ ok: true, proposal }))
  expect(plain.proposal).toEqual(proposalOf())
})

it('finds any changed byte of any file, and files that are gone or new', async () => {
  const { proposal } = await openWithEvidence(proposalOf(), FILES, KEEP, async (one) => ({
    ok: true,
    proposal: one,
  }))
  const id = String(proposal.reason.evidence)
  const sums = readFileSync(join(folderOf(proposal), 'SHA256SUMS'), 'utf8')
  const kept: Readonly<Record<string, string>> = { ...FILES, SHA256SUMS: sums }
  expect(changedIn(kept, id)).toEqual([])
  for (const [name, text] of Object.entries(kept)) {
    for (let at = 0; at < text.length; at += 1) {
      const other = String.fromCharCode(text.charCodeAt(at) ^ 1)
      const changed = text.slice(0, at) + other + text.slice(at + 1)
      expect(changedIn({ ...kept, [name]: changed }, id)).toEqual([
        expect.stringContaining(`${name} is not as it was kept`),
      ])
    }
    const { [name]: _, ...rest } = kept
    expect(changedIn(rest, id)).toHaveLength(1)
  }
  expect(changedIn({ ...kept, more: '' }, id)).toEqual(['more was not kept'])
})

it('lets the oldest packs go', async () => {
  const keep = { directory: join(directory, 'few'), packsMax: 3 }
  const packs: string[] = []
  for (const more of ['a', 'b', 'c', 'd', 'e']) {
    const files = { ...FILES, more }
    const opened = await openWithEvidence(proposalOf(), files, keep, async (proposal) => ({
      ok: true,
      proposal,
    }))
    const pack = evidenceFolder(keep.directory, String(opened.proposal.reason.evidence))
    utimesSync(pack, packs.length, packs.length)
    packs.push(pack)
  }
  expect(packs.map((pack) => existsSync(pack))).toEqual([false, false, true, true, true])
})

import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { decide } from '../../../agents/nav-reporter/decide.ts'
import { evidence } from '../../../agents/nav-reporter/evidence.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { evidenceFolder, openWithEvidence } from '../../../src/keeper/role/evidence-store.ts'
import {
  accepted,
  fund,
  iso,
  moment,
  NONE,
  NOW_S,
  policy,
  WAD,
  word,
} from '../../agents/nav-reporter/fixtures.ts'
import { look } from '../../agents/nav-reporter/world.ts'
import { runCommand } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'
import { workflowOf } from '../../support/workflows.ts'

const directory = newDirectory()
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const nav = (...args: readonly string[]) => runCommand(['nav', ...args])

/** A report of which the journal has the workflow, and the folder its evidence. */
async function reported(): Promise<string> {
  const world = {
    nav: accepted(),
    interim: NONE,
    fund: fund(),
    administrator: JSON.stringify({ perShare: { value: '1.04', asOf: iso(NOW_S) } }),
    custodian: `asOf,microsPerShare\n${iso(NOW_S)},1040000\n`,
    valuer: JSON.stringify({ valuations: [{ perShare: '1.04', asOf: iso(NOW_S) }] }),
    lens: word((104n * WAD) / 100n),
    idle: word(230_000_000_000n),
  }
  const at = { ...moment(), ...look(world, moment(), policy(), null).seen }
  const [made] = decide(at, policy()).proposals
  if (made === undefined) throw new TypeError('no report is made')
  const journal = openSqliteJournal(directory)
  const keep = { directory, packsMax: 1 }
  const { pack } = await openWithEvidence(made, evidence(made, at, policy()), keep, async (proposal) => {
    await journal.open(workflowOf('discovered', { id: 'ad'.repeat(16), role: 'nav-reporter', proposal }))
    return { ok: true, pack: String(proposal.reason.evidence) }
  })
  await journal.open(workflowOf('discovered', { id: 'be'.repeat(16), opportunity: 'cd'.repeat(32) }))
  await journal.close()
  return evidenceFolder(directory, pack)
}
const folder = await reported()

describe('nav verify', () => {
  it('computes a report again from what the journal names', async () => {
    const { code, out } = await nav('verify', 'adad', '--directory', directory)
    expect(out).toMatch(
      / is 1\.03\d+; reported is 1\.03\d+ for 2027-01-15T08:00:00Z\nThe report follows from /,
    )
    expect(code).toBe(0)
  })

  it('needs a copy of the folder and nothing else', async () => {
    const copies = newDirectory()
    const copy = join(copies, folder.slice(-64))
    cpSync(folder, copy, { recursive: true })
    expect(await nav('verify', '--pack', copy)).toMatchObject({ code: 0 })
    cpSync(folder, join(copies, 'report'), { recursive: true })
    expect(await nav('verify', '--pack', join(copies, 'report'))).toMatchObject({
      code: 1,
      out: expect.stringContaining('WRONG  SHA256SUMS is not as it was kept'),
    })
    rmSync(copies, { recursive: true })
  })

  it.each([
    'administrator-1.txt',
    'custodian-1.txt',
    'chain-1.txt',
    'holdings-1.txt',
    'pack.json',
    'SHA256SUMS',
  ])('fails on a changed byte of %s', async (name) => {
    const bytes = readFileSync(join(folder, name))
    const changed = Buffer.from(bytes)
    changed[bytes.length - 1] = 0x20
    writeFileSync(join(folder, name), changed)
    const { code, out } = await nav('verify', 'adad', '--directory', directory)
    writeFileSync(join(folder, name), bytes)
    expect(out).toContain(`WRONG  ${name} is not as it was kept`)
    expect(out).toContain('The report does NOT follow from')
    expect(code).toBe(1)
  })

  it('says of bad input what is wrong with it', async () => {
    const said = async (...args: readonly string[]) => (await nav(...args)).err
    expect(await said('verify')).toMatch(/Say what to verify/)
    expect(await said('verify', 'adad', '--pack', folder)).toMatch(/Say what to verify/)
    expect(await said('verify', 'bebe', '--directory', directory)).toMatch(
      /Workflow bebebebe names no evidence/,
    )
    expect(await said('verify', '--pack', join(directory, 'nowhere'))).toMatch(/nowhere" cannot be read/)
    const bytes = readFileSync(join(folder, 'custodian-1.txt'))
    writeFileSync(join(folder, 'custodian-1.txt'), Buffer.concat([bytes, Buffer.from([0xff])]))
    expect(await said('verify', '--pack', folder)).toMatch(/holds what is no text/)
    writeFileSync(join(folder, 'custodian-1.txt'), bytes)
  })
})

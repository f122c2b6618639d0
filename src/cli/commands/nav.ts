import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { Evidence } from '../../../agents/agent.ts'
import { agents } from '../../../agents/index.ts'
import { printable } from '../../errors.ts'
import { findWorkflow } from '../../journal/find/find-workflow.ts'
import { readJournal } from '../../journal/open.ts'
import { changedIn, evidenceFolder } from '../../keeper/role/evidence-store.ts'
import { command, type Io, unknownWord, usageError } from '../parse/command.ts'
import { type GivenPlace, PLACE, placeOf, placeText } from '../target/place.ts'

const LINE_MAX = 1_000

const WORDS = {
  known: ['verify'],
  a: 'a command of nav',
  asks: 'Say what to verify.',
  fix: 'write: rolekeeper nav verify ID, or nav verify --pack DIR',
}

/** `rolekeeper nav`: whether a NAV report follows from what it was made of. */
export const nav = command({
  name: 'nav',
  usage: 'verify ID | verify --pack DIR',
  help: `Compute a NAV report again from what it rests on: what each source answered, what of that counts, and the sum. ID is the
report's workflow; what it rests on is in a folder of the keeper's directory that its journal names. An auditor has a copy
of that folder, under its own name, and needs neither keeper nor network.

  rolekeeper nav verify 3f2a
  rolekeeper nav verify --pack copies/59d2…`,
  options: { ...PLACE, pack: { help: 'the folder, under the name that it was kept by', value: 'DIR' } },
  argumentsMax: 2,
  run: async ({ pack, ...given }, [what, id], io) => {
    if (what !== undefined && what !== 'verify') throw unknownWord(what, WORDS)
    if (what !== 'verify' || (id === undefined) === (pack === undefined))
      throw usageError(WORDS.asks, WORDS.fix)
    return verify(pack ?? (await packOf(id ?? '', given, io)), io)
  },
})

/** Find the folder that a report's workflow names. */
async function packOf(which: string, given: GivenPlace, io: Io): Promise<string> {
  const place = await placeOf(given, io)
  const { id, proposal } = await readJournal(place, (journal) =>
    findWorkflow(journal, which, placeText(given)),
  )
  const { evidence } = proposal.reason
  if (typeof evidence === 'string') return evidenceFolder(place.directory, evidence)
  throw usageError(
    `Workflow ${id.slice(0, 8)} names no evidence.`,
    'give a NAV report that no person ordered',
  )
}

/** @returns 0 where all of it holds, else 1. */
function verify(folder: string, io: Pick<Io, 'out'>): number {
  const files = filesOf(folder)
  const changed = changedIn(files, basename(resolve(folder))).map((text) => ({ ok: false, text }))
  // One role writes evidence, and knows how to read it.
  const again = agents.flatMap((agent) => agent.verify?.(files) ?? [])
  const lines = [...changed, ...again]
  for (const { ok, text } of lines) io.out(`${ok ? 'ok   ' : 'WRONG'}  ${printable(text, LINE_MAX)}\n`)
  const holds = again.length > 0 && lines.every(({ ok }) => ok)
  const verdict = holds ? 'The report follows from' : 'The report does NOT follow from'
  io.out(`${verdict} ${printable(folder, LINE_MAX)}\n`)
  return holds ? 0 : 1
}

function filesOf(folder: string): Evidence {
  try {
    return Object.fromEntries(
      // Byte for byte: what is no UTF-8 was not kept so.
      readdirSync(folder).map((name) => [name, UTF8.decode(readFileSync(join(folder, name)))]),
    )
  } catch {
    throw usageError(
      `"${printable(folder)}" cannot be read, or holds what is no text.`,
      'give the folder as it was kept; in a fleet it is on the instance that made the report',
    )
  }
}
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

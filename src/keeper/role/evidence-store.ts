import { createHash } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Evidence } from '../../../agents/agent.ts'
import type { Proposal } from '../../workflow/proposal.ts'

const FOLDER = 'evidence'
/** The checksums of the others, as `sha256sum -c` reads them; its own checksum names the pack. */
const SUMS = 'SHA256SUMS'
/** Of hourly reports these are two years, of daily ones 54. */
export const PACKS_MAX = 20_000
/** Where packs are kept, and how many: the oldest go before there are more. */
type Keep = { readonly directory: string; readonly packsMax: number }

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** Say where a keeper's directory keeps a pack. Pure. */
export const evidenceFolder = (directory: string, id: string): string => join(directory, FOLDER, id)

/** Keep a pack in a keeper's directory. Resolves with its id when it is on disk. */
async function keepEvidence({ directory, packsMax }: Keep, files: Evidence): Promise<string> {
  const sums = Object.entries(files)
    .map(([name, text]) => `${sha256(text)}  ${name}\n`)
    .join('')
  const id = sha256(sums)
  const [folder, last] = [join(directory, FOLDER), evidenceFolder(directory, id)]
  const fresh = join(folder, `.${id}`)
  await rm(fresh, { recursive: true, force: true })
  await mkdir(fresh, { recursive: true, mode: 0o700 })
  for (const [name, text] of Object.entries({ ...files, [SUMS]: sums })) await write(join(fresh, name), text)
  await sync(fresh)
  await rm(last, { recursive: true, force: true })
  await rename(fresh, last)
  await sync(folder)
  await dropOldest(folder, packsMax)
  return id
}

async function write(file: string, text: string): Promise<void> {
  const handle = await open(file, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Bring a folder's own entries to disk. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function dropOldest(folder: string, packsMax: number): Promise<void> {
  const names = await readdir(folder)
  if (names.length <= packsMax) return
  const aged = await Promise.all(
    names.map(async (name) => ({ name, atMs: (await stat(join(folder, name))).mtimeMs })),
  )
  const oldest = aged.sort((one, other) => one.atMs - other.atMs).slice(0, names.length - packsMax)
  for (const { name } of oldest) await rm(join(folder, name), { recursive: true, force: true })
}

/**
 * Open a proposal once what it rests on is on disk: its reason names the pack, so that the journal vouches for it. The pack
 * of one that is not opened goes again; a proposal without evidence is opened as it is.
 */
export async function openWithEvidence<Opened extends { readonly ok: boolean }>(
  proposal: Proposal,
  files: Evidence | null,
  keep: Keep,
  open: (proposal: Proposal) => Promise<Opened>,
): Promise<Opened> {
  if (files === null) return open(proposal)
  const id = await keepEvidence(keep, files)
  const opened = await open({ ...proposal, reason: { ...proposal.reason, evidence: id } })
  if (!opened.ok) await rm(evidenceFolder(keep.directory, id), { recursive: true, force: true })
  return opened
}

/** Say what of a pack is not as it was kept under an id; nothing where all of it is. Pure. */
export function changedIn(files: Evidence, id: string): readonly string[] {
  const { [SUMS]: sums = '', ...others } = files
  if (sha256(sums) !== id)
    return [`${SUMS} is not as it was kept: its sha256 is ${sha256(sums)}, and it was ${id}`]
  const kept = new Map(
    sums
      .trimEnd()
      .split('\n')
      .map((line) => [line.slice(66), line.slice(0, 64)]),
  )
  return [...new Set([...kept.keys(), ...Object.keys(others)])].flatMap((name) => {
    const text = others[name]
    if (!kept.has(name)) return [`${name} was not kept`]
    if (text === undefined) return [`${name} is not there`]
    return sha256(text) === kept.get(name) ? [] : [`${name} is not as it was kept`]
  })
}

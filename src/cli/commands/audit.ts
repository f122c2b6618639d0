import { printable } from '../../errors.ts'
import { readJournal } from '../../journal/open.ts'
import { type AuditRecord, type Head, headText } from '../../ops/audit/chain.ts'
import { auditFolder, segmentsIn } from '../../ops/audit/segments.ts'
import { type Verified, verifyAudit } from '../../ops/audit/verify.ts'
import { plural } from '../../readable.js'
import { SHIPPED_ROLES } from '../../service/contract/roles.ts'
import { command, type Io, unknownWord, usageError } from '../parse/command.ts'
import { perhaps } from '../parse/nearest.ts'
import { lookBackMs } from '../parse/options.ts'
import { type KeeperPlace, PLACE, placeOf } from '../target/place.ts'

/** Workflows of the journal whose signatures are looked for in the audit. */
const WORKFLOWS = 1_000

const WORDS = {
  known: ['verify', 'export'],
  a: 'a command of audit',
  asks: 'Say what to do.',
  fix: 'write `audit verify` or `audit export`',
}

/** `rolekeeper audit`: all that a keeper did, and whether the record of it is whole. */
export const audit = command({
  name: 'audit',
  usage: 'verify | export [--config FILE | --directory DIR] [--json]',
  help: `Check that the record of all that a keeper did is as it was written, or print it. Each record is bound to the one before
by its hash: one that was altered, removed, moved or written in shows. That its end was cut off shows by a head that was
noted elsewhere: the log and this command have it.

  rolekeeper audit verify --head 4711:9f86d081884c
  rolekeeper audit export --since 24h --role liquidator --json`,
  options: {
    ...PLACE,
    head: {
      help: 'heads noted elsewhere, NUMBER:HASH or the first 12 digits of it; several with commas',
      value: 'HEADS',
    },
    since: { help: 'only what is no older: 10m, 24h, 30d or a time as 2026-01-31T00:00:00Z', value: 'TIME' },
    until: { help: 'only what is older, in the same forms', value: 'TIME' },
    role: { help: 'only what names this role', value: 'ROLE' },
    json: { help: 'print JSON, one object a line' },
  },
  argumentsMax: 1,
  run: async ({ head, since, until, role, json, ...given }, [what], io) => {
    if (what !== 'verify' && what !== 'export') throw unknownWord(what, WORDS)
    const period = periodOf(since, until)
    const place = await placeOf(given, io)
    const folder = auditFolder(place.directory)
    if (segmentsIn(folder).length === 0) {
      throw usageError(
        `${folder} has no audit.`,
        'name the directory of a keeper that has run, with --directory or --config',
      )
    }
    if (what === 'verify') return verify(folder, place, headsIn(head), json === true, io)
    exportAll(folder, { ...period, role }, json === true, io)
    return 0
  },
})

/** What of an audit is printed. */
type AuditFilter = { readonly fromMs: number; readonly toMs: number; readonly role: string | undefined }

/** Throws RolekeeperError `usage` for a role that neither ships nor is named in any record. */
function exportAll(
  folder: string,
  { fromMs, toMs, role }: AuditFilter,
  json: boolean,
  io: Pick<Io, 'out'>,
): void {
  const known = new Set<string>(SHIPPED_ROLES)
  verifyAudit(folder, [], (record) => {
    const roles = rolesIn(record)
    for (const each of roles) known.add(each)
    const atMs = Date.parse(record.at)
    if (atMs < fromMs || atMs >= toMs || (role !== undefined && !roles.includes(role))) return
    io.out(json ? `${JSON.stringify(record)}\n` : `${lineOf(record)}\n`)
  })
  if (role === undefined || known.has(role)) return
  throw usageError(
    `--role is "${printable(role)}".`,
    `${perhaps(role, [...known])}give one of ${[...known].join(', ')}`,
  )
}

async function verify(
  folder: string,
  place: KeeperPlace,
  heads: readonly Head[],
  json: boolean,
  io: Io,
): Promise<number> {
  const digests = new Set<unknown>()
  const found = verifyAudit(folder, heads, ({ digest }) => void digests.add(digest))
  const lacking = await lackingOf(found, digests, place)
  const isWhole = found.problems.length === 0 && lacking.length === 0
  if (json) {
    const { records, first, last, head, problems } = found
    io.out(
      `${JSON.stringify({ isWhole, records, from: first?.at ?? null, to: last?.at ?? null, head, problems, lacking })}\n`,
    )
  } else io.out(textOf(found, lacking, heads.length))
  return isWhole ? 0 : 1
}

/** The digests that the journal says a key was asked for, and the audit does not, though it had begun by then. */
async function lackingOf(
  { first }: Verified,
  digests: ReadonlySet<unknown>,
  place: KeeperPlace,
): Promise<readonly string[]> {
  const sinceMs = first === null ? 0 : Date.parse(first.at)
  const workflows = await readJournal(place, (journal) => journal.list(WORKFLOWS)).catch(() => [])
  return workflows
    .filter(({ createdAtMs }) => createdAtMs >= sinceMs)
    .flatMap(({ slots }) => slots.flatMap(({ attempts }) => attempts.map(({ digest }) => digest)))
    .filter((digest) => !digests.has(digest))
}

function textOf(
  { records, first, last, head, problems }: Verified,
  lacking: readonly string[],
  noted: number,
): string {
  const span = first === null ? '' : `, from ${first.at} to ${last?.at}`
  const isWhole = problems.length === 0 && lacking.length === 0
  return [
    `${records} records${span}.`,
    ...problems.map(
      ({ segment, line, what }) => `  ${segment}${line === 0 ? '' : `, line ${line}`}: ${what}`,
    ),
    ...(lacking.length === 0
      ? []
      : [
          `  missing in it: ${plural(lacking.length, 'signature')} that the journal has, the first for ${lacking[0]}.`,
        ]),
    isWhole
      ? `Every record is as it was written${noted === 0 ? '; note the head elsewhere, and give it with --head another time' : ', and what was noted is in it'}.`
      : 'It is not as it was written. Where the directory was put back from a backup, the end is missing and no record is altered, and the keeper that started on it went into SAFE; anything else somebody did, or a disk.',
    `Head: ${headText(head)}`,
    '',
  ].join('\n')
}

/** Read heads as they are shown. Throws RolekeeperError `usage`. */
function headsIn(text: string | undefined): readonly Head[] {
  return (text?.split(',') ?? []).map((each) => {
    const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{12,64})$/.exec(each) ?? []
    if (seq === undefined || hash === undefined)
      throw usageError(`--head has "${each}".`, 'give NUMBER:HASH as the log and `audit verify` show it')
    return { seq: Number(seq), hash }
  })
}

/** Read from when to when. Throws RolekeeperError `usage`, also where nothing is between. */
function periodOf(
  since: string | undefined,
  until: string | undefined,
): Pick<AuditFilter, 'fromMs' | 'toMs'> {
  const nowMs = Date.now()
  const fromMs = timeOf('since', since, nowMs) ?? 0
  const toMs = timeOf('until', until, nowMs) ?? Number.POSITIVE_INFINITY
  if (fromMs < toMs) return { fromMs, toMs }
  throw usageError(
    `--since ${since ?? ''} is not before --until ${until ?? ''}: nothing is between them.`,
    'give the earlier time with --since',
  )
}

/** Read a time, or how long ago it was. Throws RolekeeperError `usage`. */
function timeOf(option: string, text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined
  const ms = Date.parse(text)
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(ms)) return ms
  return nowMs - lookBackMs(option, text, ', or a time as 2026-01-31T00:00:00Z')
}

/** The roles that a record names. */
function rolesIn({ role, roles }: AuditRecord): readonly string[] {
  const several = Array.isArray(roles) ? roles.map((each) => Object(each).role ?? each) : []
  return [role, ...several].filter((each) => typeof each === 'string')
}

/** A record for people, in a line. */
function lineOf({ seq, at, kind, ...facts }: AuditRecord): string {
  const texts = Object.entries(facts).flatMap(([name, value]) =>
    value === null || value === undefined
      ? []
      : [`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`],
  )
  return printable(`${seq}  ${at}  ${kind}  ${texts.join('  ')}`, 2_000)
}

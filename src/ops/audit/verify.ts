import { type AuditRecord, GENESIS, type Head, readLine } from './chain.ts'
import { prevOf } from './log.ts'
import { readSegment, type Segment, segmentsIn } from './segments.ts'

/** Something that is not as it was written. */
type AuditProblem = {
  readonly segment: string
  /** The line in it, from 1. */
  readonly line: number
  readonly what: string
}

/** What an audit was found to be. */
export type Verified = {
  readonly records: number
  readonly first: AuditRecord | null
  readonly last: AuditRecord | null
  readonly head: Head
  readonly problems: readonly AuditProblem[]
}

/** More than this many say nothing more. */
const PROBLEMS_MAX = 20

/**
 * Check every record of an audit against the one before it, and against heads that were noted elsewhere.
 * @param each called with every record that can be read, in order.
 */
export function verifyAudit(
  folder: string,
  noted: readonly Head[],
  each: (record: AuditRecord) => void = () => {},
): Verified {
  const problems: AuditProblem[] = []
  const found = { records: 0, first: null as AuditRecord | null, last: null as AuditRecord | null }
  const segments = segmentsIn(folder)
  const left = new Map(noted.map((head) => [head.seq, head]))
  let head: Head | null = null
  let droppedBefore = 1
  for (const [index, segment] of segments.entries()) {
    const say = (line: number, what: string) => problems.push({ segment: segment.name, line, what })
    const { lines, cut } = readSegment(segment)
    head = enter(head, segment, lines[0], say)
    for (const [at, line] of lines.entries()) {
      const { record, stated, fits } = readLine(line, head.hash)
      if (record === null) say(at + 1, 'is no record: it was altered')
      else {
        found.records += 1
        found.first ??= record
        found.last = record
        const dropped = droppedIn(record)
        if (dropped !== undefined) droppedBefore = dropped
        each(record)
      }
      const expected: number = head.seq + 1
      const seq: number = record?.seq ?? expected
      if (seq > expected)
        say(
          at + 1,
          `is record ${seq}, and ${expected} should stand here: records are missing, or stand elsewhere`,
        )
      else if (seq < expected)
        say(at + 1, `is record ${seq}, and ${expected} should stand here: it was moved, or written in`)
      else if (!fits) say(at + 1, `record ${seq} is not as it was written, or the one before it was replaced`)
      head = { seq, hash: stated }
      const known = left.get(seq)
      if (known !== undefined) {
        left.delete(seq)
        if (!stated.startsWith(known.hash)) say(at + 1, forked(seq))
      }
    }
    if (cut === 0) continue
    const isLast = index === segments.length - 1
    say(lines.length + 1, isLast ? ENDS_TORN : `${cut} bytes stand behind the last record`)
  }
  const end = head ?? GENESIS
  problems.push(...atTheEdges(segments, droppedBefore, [...left.values()], end))
  return { ...found, head: end, problems: problems.slice(0, PROBLEMS_MAX) }
}

/** Enter a segment: what it says it goes on from is what the one before ends with. */
function enter(
  head: Head | null,
  { first }: Segment,
  line: string | undefined,
  say: (line: number, what: string) => void,
): Head {
  if (line === undefined) {
    say(1, 'holds no record: they were removed')
    return head ?? { seq: first - 1, hash: GENESIS.hash }
  }
  const prev = prevOf(line)
  if (head === null) return { seq: first - 1, hash: prev }
  if (head.seq !== first - 1) {
    say(1, `begins with record ${first}, and the segment before ends with ${head.seq}: records are missing`)
    return { seq: first - 1, hash: prev }
  }
  return head
}

function atTheEdges(
  segments: readonly Segment[],
  droppedBefore: number,
  left: readonly Head[],
  end: Head,
): readonly AuditProblem[] {
  const [first] = segments
  const begin = first?.first ?? 1
  return [
    ...(first !== undefined && begin > droppedBefore
      ? [
          {
            segment: first.name,
            line: 1,
            what: `is the first, and records before ${begin} were not dropped by the keeper: they were removed`,
          },
        ]
      : []),
    ...left.map(({ seq }) => ({
      segment: segments.at(-1)?.name ?? 'audit',
      line: 0,
      what:
        seq > end.seq
          ? `ends with record ${end.seq}, and record ${seq} was noted: the end was cut off, or an older copy was put back`
          : `record ${seq}, which was noted, is not there any more`,
    })),
  ]
}

const forked = (seq: number) =>
  `record ${seq} has another hash than was noted: the log was rewritten, or an older copy was put back and written on`
const ENDS_TORN =
  'the last line has no end: a crash cut it off, or somebody did; the next start takes it away and says so'

function droppedIn({ dropped }: AuditRecord): number | undefined {
  const before: unknown = Object(dropped).before
  return typeof before === 'number' ? before : undefined
}

import { createHash } from 'node:crypto'
import type { RolekeeperError } from '../../errors.ts'
import type { HeldEvent, KeeperEvent } from '../events.ts'
import { facetKey } from '../facet.ts'
import { aboutOf } from './alarms.ts'
import type { Notice } from './shapes.ts'

/** An alarm is raised again each minute while it lasts: one that was not for so long is over. */
export const RECOVERED_MS = 600_000
/** Incidents that are open at once; of those beyond it one tells how many they are. */
const OPEN_MAX = 200
const FLOOD = {
  code: 'alarms.flood',
  message: `More than ${OPEN_MAX} alarms are open at once; the log and rolekeeper_alarms_total have the others.`,
  fix: 'look for one cause that they have in common: a node, the service, the disk.',
}

type Incident = Omit<Notice, 'action' | 'atMs'> & {
  readonly lastAtMs: number
  /** Ends it at once: the facet's being well again, or a move of the workflow. */
  readonly endsWith: string | null
}

/** What is open now: one incident for each code and what it is about. Its times are of a clock that nobody sets. */
export type Incidents = {
  /** An alarm was raised, or raised again. */
  readonly raise: (error: RolekeeperError, nowMs: number, facet?: string) => void
  /** What was reported: how a facet is, a proposal that waits for a person or does no more. */
  readonly hear: (event: KeeperEvent, nowMs: number) => void
  /** A proposal that waited for a person before this process began: its target has heard of it. */
  readonly adopt: (held: HeldEvent, nowMs: number) => void
  /** End what has been silent for long. */
  readonly look: (nowMs: number) => void
}

/** Keep incidents. @param of names the keeper, so that two never share an incident. @param tell gets each beginning and end. */
export function createIncidents(of: string, tell: (notice: Notice) => void): Incidents {
  const open = new Map<string, Incident>()
  /** The facets that are not well: what is of them lasts as long. */
  const unwell = new Set<string>()
  const begin = (incident: Omit<Incident, 'key'>, about: readonly string[], isTold = true): void => {
    const key = createHash('sha256')
      .update(JSON.stringify([of, incident.code, ...about]))
      .digest('hex')
      .slice(0, 32)
    const isNew = !open.has(key)
    if (isNew && open.size >= OPEN_MAX && incident.code !== FLOOD.code) {
      const { lastAtMs } = incident
      begin({ ...FLOOD, severity: 'error', about: '', lastAtMs, endsWith: null }, [])
      return
    }
    open.set(key, { ...incident, key })
    if (isNew && isTold) tell(noticeOf({ ...incident, key }, 'trigger', incident.lastAtMs))
  }
  const end = (key: string, incident: Incident, nowMs: number) => {
    open.delete(key)
    tell(noticeOf(incident, 'resolve', nowMs))
  }
  const endAllOf = (what: string, nowMs: number) => {
    for (const [key, incident] of open) if (incident.endsWith === what) end(key, incident, nowMs)
  }
  return {
    raise: (error, nowMs, facet) => {
      const { code, shortMessage: message, fix = '' } = error
      const about = aboutOf(error)
      const shown = about.filter((each) => each !== '').join(' ')
      const given = { code, about: shown, message, fix, severity: 'error' as const }
      begin({ ...given, lastAtMs: nowMs, endsWith: facet ?? null }, [...about, facet ?? ''])
    },
    hear: (event, nowMs) => {
      if (event.type === 'workflow') endAllOf(event.id, nowMs)
      if (event.type === 'facet') {
        const key = facetKey(event)
        if (event.state !== 'ok') unwell.add(key)
        else {
          unwell.delete(key)
          endAllOf(key, nowMs)
        }
      }
      if (event.type === 'held') begin(...waitsOf(event, nowMs))
    },
    adopt: (held, nowMs) => begin(...waitsOf(held, nowMs), false),
    look: (nowMs) => {
      for (const [key, incident] of open) {
        const lasts = incident.approval !== undefined || unwell.has(incident.endsWith ?? '')
        const isOver = !lasts && nowMs - incident.lastAtMs > RECOVERED_MS
        if (isOver) end(key, incident, nowMs)
      }
    },
  }
}

/** The incident of a proposal that waits, and what names it. */
function waitsOf(
  { id, hash, role, check, message, expiresAt }: HeldEvent,
  lastAtMs: number,
): [incident: Omit<Incident, 'key'>, about: readonly string[]] {
  const fix = `read it: rolekeeper approve ${id.slice(0, 8)}`
  const given = { code: 'approval.waits', about: `${role} ${id}`, message: `${check}: ${message}`, fix }
  const approval = { id, hash, expiresAt }
  return [{ ...given, severity: 'info', approval, lastAtMs, endsWith: id }, [id, hash]]
}

function noticeOf(
  { lastAtMs: _, endsWith: __, ...incident }: Incident,
  action: Notice['action'],
  atMs: number,
): Notice {
  return { ...incident, action, atMs }
}

import { printable } from '../../errors.ts'

/** What is told of an incident: that it began, or that it is over. */
export type Notice = {
  readonly action: 'trigger' | 'resolve'
  /** Names the incident, the same over restarts; 32 hex digits. */
  readonly key: string
  readonly code: string
  /** What it is about: role, signer, node, …; empty for the keeper. */
  readonly about: string
  readonly message: string
  readonly fix: string
  readonly severity: 'error' | 'info'
  readonly atMs: number
  /** Of a proposal that waits for a person: what an answer names. */
  readonly approval?: { readonly id: string; readonly hash: string; readonly expiresAt: string }
}

/** The pages of docs/runbooks, by what the codes of their alarms begin with. */
const RUNBOOKS: Readonly<Record<string, readonly string[]>> = {
  chain: ['chain', 'clock', 'node'],
  service: ['service', 'stream'],
  signing: ['allowance', 'broadcast', 'key', 'kms', 'nonce', 'signer', 'watermark'],
  roles: ['approval', 'approvals', 'budget', 'duty', 'policy', 'role', 'workflow'],
  records: ['audit', 'disk', 'journal'],
  fleet: ['fleet', 'queue', 'seat', 'seats'],
  keeper: ['alarms', 'control', 'deployment', 'output', 'secrets'],
}
/** That of money, and of codes that an agent leads with its role. */
const RESULTS = 'results'

/** Where what to do is written: the page of a code's area, at its heading. Pure. */
export function runbookOf(code: string): string {
  const [area = ''] = code.split('.')
  const [page] = Object.entries(RUNBOOKS).find(([, areas]) => areas.includes(area)) ?? [RESULTS]
  return `docs/runbooks/${page}.md#${code.replace('.', '')}`
}

const headOf = ({ code, about }: Notice) => (about === '' ? code : `${code} (${about})`)

/** Write a notice as our own JSON. Pure. */
export const webhookBody = (notice: Notice, source: string) => ({
  version: 1,
  source,
  ...notice,
  runbook: runbookOf(notice.code),
  at: new Date(notice.atMs).toISOString(),
})

/** Slack reads these three as markup. Source: Slack, "Formatting text for app surfaces". */
const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Write a notice as a Slack webhook takes it. Pure. */
export function slackBody(notice: Notice, source: string) {
  const { action, message, fix, approval } = notice
  const lines =
    action === 'resolve'
      ? [`:white_check_mark: ${source}: *${headOf(notice)}* is over.`]
      : [
          `${notice.severity === 'info' ? ':raised_hand:' : ':rotating_light:'} ${source}: *${headOf(notice)}*`,
          message,
          ...(fix === '' ? [] : [`Fix: ${fix}`]),
          ...(approval === undefined ? [] : [`ID ${approval.id}, hash ${approval.hash}`]),
          `Runbook: ${runbookOf(notice.code)}`,
        ]
  return { text: escaped(lines.join('\n')) }
}

/** Longer ones are refused. Source: PagerDuty, "Events API v2". */
const SUMMARY_MAX = 1_024

/** Write a notice as an event of PagerDuty's Events API v2. Pure. */
export const pagerdutyBody = (notice: Notice, source: string, routingKey: string) => ({
  routing_key: routingKey,
  event_action: notice.action,
  dedup_key: notice.key,
  payload: {
    summary: printable(`${headOf(notice)}: ${notice.message}`, SUMMARY_MAX),
    source,
    severity: notice.severity,
    timestamp: new Date(notice.atMs).toISOString(),
    component: notice.about,
    class: notice.code,
    custom_details: {
      message: notice.message,
      fix: notice.fix,
      runbook: runbookOf(notice.code),
      ...(notice.approval === undefined ? {} : { approval: notice.approval }),
    },
  },
})

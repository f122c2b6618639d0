import { printable } from '../../errors.ts'
import { directoryText } from '../../ops/directory.ts'
import { facetKey, failing } from '../../ops/facet.ts'
import type { KeeperStatus, RoleStatus } from '../../ops/status.ts'
import { budgetName, gain, short, span, usd } from '../../readable.js'
import { tableText } from './table.ts'

const safe = (text: string) => short(printable(text, 300))

/** Draw how a keeper stands: what is not well first, then each role, what keeps it, and what waits. Pure. */
export function statusScreen(status: KeeperStatus): string {
  const nowMs = Date.parse(status.at)
  const ago = (at: string | null) => (at === null ? 'never' : `${span(nowMs - Date.parse(at))} ago`)
  const in_ = (at: string) => `in ${span(Math.max(0, Date.parse(at) - nowMs))}`
  const { environment, chainId, version, startedAt, ready } = status
  const up = span(nowMs - Date.parse(startedAt))
  const head = `rolekeeper ${version} · ${environment} chain ${chainId} · up ${up} · ${ready ? 'ready' : 'NOT READY'}\n`
  const sections = [
    facetLines(status, nowMs),
    roleTable(status, ago),
    ...status.roles.map((role) => roleLines(role, ago, in_)),
    tableOf('node', ['state', 'newest block', 'behind', 'errors'], status.nodes, (node) => [
      ...[node.node, node.state, node.head ?? '-', String(node.blocksBehind ?? '-'), String(node.errors)],
    ]),
    tableOf('approval', ['role', 'expires', 'about', 'why'], status.approvals, (one) => [
      ...[one.id.slice(0, 8), one.role, in_(one.expires), safe(one.summary ?? one.workflowType)],
      safe(one.message),
    ]),
  ]
  // To be noted elsewhere: as much of it as `audit verify --head` takes.
  const audit = `audit head ${/^\d+:\w{12}/.exec(status.auditHead)?.[0]}\n`
  const at = directoryText(status.directory)
  const place = at === '' ? '' : `commands above take${at}\n`
  return [head, ...sections, audit, place].filter((text) => text !== '').join('\n')
}

function facetLines({ facets }: KeeperStatus, nowMs: number): string {
  // As /readyz: what is to be mended first is above what suffers from it.
  const lines = [...failing(facets), ...facets.filter(({ state }) => state === 'warning')].map(
    ({ state, message, fix, because, since, ...facet }) => {
      const mark = state === 'failing' ? '✗' : '!'
      const how =
        because === undefined
          ? fix === undefined
            ? ''
            : ` Fix: ${printable(fix, 1_000)}`
          : ` (because of ${because})`
      return `${mark} ${facetKey(facet)}, for ${span(nowMs - Date.parse(since))}: ${safe(message)}${how}\n`
    },
  )
  return lines.length === 0 ? `● ${facets.length} facets, all well\n` : lines.join('')
}

const money = (micros: string | null) => (micros === null ? '-' : gain(BigInt(micros)))

const roleTable = (status: KeeperStatus, ago: (at: string | null) => string) =>
  tableOf(
    'role',
    ['mode', 'last act', 'acts', 'under way', 'held', 'exposure', 'realised today', 'marked today'],
    status.roles,
    (role) => [
      ...[role.role, role.state === 'up' ? role.mode : role.state, ago(role.lastAct), String(role.acts)],
      ...[String(role.live), String(role.held), usd(BigInt(role.exposureUsdMicros))],
      ...[money(role.realizedTodayUsdMicros), money(role.markedTodayUsdMicros)],
    ],
  )

/** Whether a reason is that of something that is late, which stands above it. */
const isSame = (one: RoleStatus['late'][number], other: RoleStatus['because'][number]) =>
  one.check === other.check && one.message === other.message

/** What a role is late with, why it does no more, and the budget that it has the least left of. */
function roleLines(
  { role, why, late, lateCount, because, budgets, nextDue }: RoleStatus,
  ago: (at: string | null) => string,
  in_: (at: string) => string,
): string {
  const least = budgets.toSorted((a, b) => b.part - a.part)[0]
  const lines = [
    ...(why === null ? [] : [`down: ${safe(why)}`]),
    ...late.map(({ what, subject, since, amount, check, message }) => {
      const about = [what, safe(subject), ...(amount === null ? [] : [amount])].join(' ')
      return `late: ${about}, due ${ago(since)}${check === null ? '' : ` (${check}: ${safe(message)})`}`
    }),
    ...(lateCount > late.length ? [`late: ${lateCount - late.length} more`] : []),
    ...because
      .filter((reason) => !late.some((one) => isSame(one, reason)))
      .map(({ check, message, count, refusedAt }) => {
        const how = refusedAt === undefined ? 'left alone' : 'refused'
        const last = refusedAt === undefined ? '' : `, the last ${ago(refusedAt)}`
        return `${how}: ${count} by ${check}${last}: ${safe(message)}`
      }),
    ...(least === undefined
      ? []
      : [
          `budget: ${budgetName(least.name)}, ${least.used} of ${least.limit}, ${least.left} left${least.frees === null ? '' : `, some of it free again ${in_(least.frees)}`}`,
        ]),
    ...(nextDue === null ? [] : [`next due ${in_(nextDue)}`]),
  ]
  return lines.length === 0 ? '' : `${role}\n${lines.map((line) => `  ${line}\n`).join('')}`
}

/** A table, or nothing where it has no rows. */
function tableOf<T>(
  first: string,
  columns: readonly string[],
  rows: readonly T[],
  cellsOf: (row: T) => readonly string[],
): string {
  if (rows.length === 0) return ''
  return tableText(
    { columns: [first, ...columns], rows: rows.map((row) => ({ cells: cellsOf(row), data: {} })) },
    {},
  )
}

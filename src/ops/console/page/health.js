import { badge, h, list, mono, none, once, percent, row, section, short, table, when } from './dom.js'
import { attentionLine } from './overview.js'
import { budgetName, plural } from './readable.js'

/** What of each limit is used. */
export function budgets(place, { budgets: rows = [] }) {
  const roles = Object.entries(Object.groupBy(rows, ({ role }) => role))
  list(
    once(place, 'budgets', () => h('div', { class: 'cards' })),
    roles,
    ([role]) => role,
    ([role, all]) =>
      h(
        'article',
        { class: 'card' },
        h('h2', {}, role),
        all.map(({ budget, used, left, most, freesAtMs }) => {
          const state = used >= 1 ? 'failing' : used >= 0.8 ? 'warning' : 'ok'
          const name = budgetName(budget)
          return h(
            'div',
            { class: 'meter', 'data-state': state },
            h('span', {}, name),
            h('strong', {}, percent(used)),
            h(
              'div',
              {
                class: 'level',
                role: 'meter',
                'aria-label': `${role} ${name}`,
                'aria-valuemin': 0,
                'aria-valuemax': 100,
                'aria-valuenow': Math.round(used * 100),
              },
              h('span', { class: 'bar', part: Math.min(1, used) }),
            ),
            h(
              'span',
              { class: 'note' },
              left === null ? '' : `${left} left of ${most.replace(/ of role\..+/, '')}`,
              freesAtMs === null ? '' : ['; some of it is free again ', when(freesAtMs)],
            ),
          )
        }),
      ),
  )
  none(place, rows.length === 0, 'No budget is known yet.')
}

const isWell = ({ state }) => state === 'ok'
const nameOf = ({ facet, about }) => [facet, about].filter(Boolean).join(' ')

/** Each part by itself, what is not well before all; the keys, the nodes, and what was raised. */
export function health(place, { facets = [], roles = [], nodes = [], alarms = [] }) {
  const [well, others] = [facets.filter(isWell), facets.filter((each) => !isWell(each))]
  const unwell = section(place, 'facets', 'What is not well', () => h('ul', { class: 'attention' }))
  unwell.parentElement.hidden = others.length === 0
  list(
    unwell,
    others.toSorted((one, other) => one.state.localeCompare(other.state)),
    nameOf,
    ({ because, message, fix, sinceMs, ...each }) =>
      attentionLine({
        ...each,
        title: nameOf(each),
        text: because ? `${message} (because of ${because})` : message,
        fix: because ? undefined : fix,
        atMs: sinceMs,
      }),
  )
  list(
    fold(place, 'well', well, 'facet', ' well', () => h('dl', { class: 'figures' })),
    well.flatMap((each) => [
      { key: nameOf(each), tag: 'dt', text: nameOf(each) },
      { key: `${nameOf(each)} message`, tag: 'dd', text: short(each.message) },
    ]),
    ({ key }) => key,
    ({ tag, text }) => h(tag, {}, text),
  )
  const keyHeads = ['role', 'signer', 'key', 'open nonces', 'gas', 'doubt']
  const keys = section(place, 'signers', 'Signers', () => table('Signers and their keys', keyHeads).element)
  list(
    keys.tBodies[0],
    roles,
    ({ role, signer }) => `${role} ${signer}`,
    ({ role, mode, signer, key, openNonces, balance, safe }) =>
      row(
        keyHeads,
        [role, ' ', h('span', { class: 'mode' }, mode)],
        mono(signer),
        key === null ? 'not asked' : badge(key === 'ok' ? 'ok' : 'failing', key),
        String(openNonces),
        balance ?? '?',
        safe.length === 0
          ? 'none'
          : safe.map(({ check, message, fix }) =>
              h('p', { class: 'wrong' }, `SAFE (${check}): ${message} Fix: ${fix}`),
            ),
      ),
  )
  const nodeHeads = ['node', 'state', 'blocks behind']
  const chain = section(place, 'nodes', 'Nodes', () => table('Nodes that are read', nodeHeads).element)
  list(
    chain.tBodies[0],
    nodes,
    ({ node }) => node,
    ({ node, state, blocksBehind }) =>
      row(nodeHeads, node, badge(state === 'ok' ? 'ok' : 'failing', state), String(blocksBehind ?? '?')),
  )
  const attention = () => h('ul', { class: 'attention' })
  const wellKeys = new Set(well.map(({ facet, about }) => [facet, about].filter(Boolean).join('/')))
  const raised = alarms.map((alarm) => ({ ...alarm, isOver: wellKeys.has(alarm.facet) }))
  const [newest, older] = [raised.slice(0, ALARMS_OPEN), raised.slice(ALARMS_OPEN)]
  alarmLines(section(place, 'alarms', 'Alarms', attention), newest)
  alarmLines(fold(place, 'older', older, 'older alarm', '', attention), older)
}

/** The newest of them; the rest are folded. */
const ALARMS_OPEN = 8

const alarmLines = (into, alarms) =>
  list(
    into,
    alarms,
    ({ at, code, message }) => `${at} ${code} ${message}`,
    ({ at, code, message, fix, isOver }) =>
      attentionLine({
        state: isOver ? 'ok' : 'warning',
        title: isOver ? `${code}, over` : code,
        text: message,
        fix: isOver ? undefined : fix,
        atMs: Date.parse(at),
      }),
  )

/** What is not read first, behind a line that says how many there are; hidden where there are none. */
function fold(place, name, items, noun, state, make) {
  const folded = once(place, name, () => h('details', {}, h('summary'), make()))
  folded.hidden = items.length === 0
  folded.firstElementChild.textContent = `${plural(items.length, noun)}${state}`
  return folded.lastElementChild
}

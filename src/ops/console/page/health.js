import { badge, h, list, mono, none, once, percent, row, section, short, table, when } from './dom.js'
import { attentionLine } from './overview.js'

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
        h('h3', {}, role),
        all.map(({ budget, used, left, most, freesAtMs }) => {
          const state = used >= 1 ? 'failing' : used >= 0.8 ? 'warning' : 'ok'
          const name = budget.replaceAll('_', ' ')
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
              freesAtMs === null ? '' : ['; the first of it is free again ', when(freesAtMs)],
            ),
          )
        }),
      ),
  )
  none(place, rows.length === 0, 'No budget is known yet.')
}

/** Each part by itself, the keys, the nodes, and what was raised. */
export function health(place, { facets = [], roles = [], nodes = [], alarms = [] }) {
  const bad = { failing: 0, warning: 1, ok: 2 }
  const heads = ['part', 'state', 'what', 'since']
  const parts = section(place, 'facets', 'Parts', () => table('Parts that must be well', heads).element)
  list(
    parts.tBodies[0],
    facets.toSorted((a, b) => bad[a.state] - bad[b.state]),
    ({ facet, about }) => `${facet} ${about}`,
    ({ facet, about, state, message, fix, because, sinceMs }) =>
      row(
        heads,
        h('strong', {}, [facet, about].filter(Boolean).join(' ')),
        badge(state),
        [
          short(message),
          because ? h('span', { class: 'note' }, ` because of ${because}`) : '',
          fix ? h('span', { class: 'fix' }, ` Fix: ${fix}`) : '',
        ],
        sinceMs === undefined ? '' : when(sinceMs),
      ),
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
  list(
    section(place, 'alarms', 'Alarms', () => h('ul', { class: 'attention' })),
    alarms,
    ({ at, code, message }) => `${at} ${code} ${message}`,
    ({ at, code, message, fix }) =>
      attentionLine({ state: 'warning', title: code, text: message, fix, atMs: Date.parse(at) }),
  )
}

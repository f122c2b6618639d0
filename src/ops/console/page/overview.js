import { badge, h, list, nowMs, once, section, short, stateOf, usd, when, whyLink } from './dom.js'
import { flowLine } from './flows.js'
import { plural } from './readable.js'
import { roleSwitch } from './switches.js'

/** An alarm of before, that no facet stands for, is in the list of all of them. */
const ALARM_MS_MAX = 600_000

/** Of the alarms of late so many are shown; all of them count. */
const ALARMS_SHOWN = 3

/** What somebody has to look at, before all else, and how much there is of it: of many alarms one line stands for the rest. */
function attention({ facets = [], approvals = [], alarms = [] }) {
  const failing = facets.filter(
    ({ facet, state, because }) => facet !== 'approvals' && state !== 'ok' && because === undefined,
  )
  const recent = alarms.filter(
    ({ at, facet }) => facet === undefined && nowMs() - Date.parse(at) < ALARM_MS_MAX,
  )
  const lines = [
    ...failing.map(({ facet, about, state, message, fix }) => ({
      key: `facet ${facet}/${about}`,
      state,
      title: [facet, about].filter(Boolean).join(' '),
      text: message,
      fix,
    })),
    ...approvals.map(({ id, role, summary }) => ({
      key: id,
      state: 'warning',
      title: `${role} waits for an answer`,
      text: summary,
      href: '#/approvals',
    })),
    ...recent.slice(0, ALARMS_SHOWN).map(({ at, code, message, fix }) => ({
      key: `${code} ${at}`,
      state: 'warning',
      title: code,
      text: message,
      fix,
      atMs: Date.parse(at),
    })),
  ]
  const more = Math.max(0, recent.length - ALARMS_SHOWN)
  const rest = {
    key: 'more',
    state: 'warning',
    title: plural(more, 'more alarm'),
    text: '',
    href: '#/health',
    link: 'see all',
  }
  return { lines: more === 0 ? lines : [...lines, rest], count: lines.length + more }
}

export const attentionLine = ({ state, title, text, fix, href, link = 'read and answer', atMs }) =>
  h(
    'li',
    { class: 'line', 'data-state': state },
    badge(state, title),
    h('p', {}, short(text)),
    href === undefined ? h('span', {}, atMs === undefined ? '' : when(atMs)) : h('a', { href }, link),
    fix ? h('p', { class: 'fix' }, `Fix: ${fix}`) : '',
  )

/** The keeper in one glance: what is wrong, who works, what came of it. */
export function overview(place, parts) {
  const { roles = [], workflows: flows = [], money, keeper } = parts
  if (keeper === undefined) return
  const { lines, count } = attention(parts)
  const failing = lines.filter(({ state }) => state === 'failing').length
  const others = count - failing
  const word = failing > 0 ? 'failing' : others > 0 ? 'warning' : 'ok'
  const counts = [failing > 0 ? `${failing} failing` : '', others > 0 ? `${others} to look at` : '']
  const said = counts.filter(Boolean).join(', ') || 'All is well'
  list(
    once(place, 'glance', () => h('div')),
    [{ word, said, startedAtMs: keeper.startedAtMs }],
    () => 'glance',
    (glance) =>
      h(
        'p',
        { class: 'glance', 'data-state': glance.word },
        badge(glance.word, glance.said),
        h('span', {}, 'started ', when(glance.startedAtMs)),
      ),
  )
  list(
    once(place, 'attention', () => h('ul', { class: 'attention' })),
    lines,
    ({ key }) => key,
    attentionLine,
  )
  list(
    once(place, 'tiles', () => h('div', { class: 'tiles' })),
    tilesOf(money, flows),
    ({ name }) => name,
    tile,
  )
  list(
    section(place, 'roles', 'Roles', () => h('div', { class: 'cards' })),
    roles.map((each) => ({ ...each, ...switchOf(each, keeper) })),
    ({ role, signer }) => `${role} ${signer}`,
    roleCard,
  )
  const newest = section(place, 'newest', 'Workflows', () => h('ol', { class: 'flows' }))
  list(newest, flows.slice(0, 8), ({ id }) => id, flowLine)
}

/** Whether a role can do anything, and what keeps it from that. */
function standing({ state, safe, key, killed, paused }) {
  if (state !== 'up') return [state, state]
  if (killed) return ['failing', 'killed']
  if (safe.length > 0) return ['failing', 'SAFE: signs nothing']
  if (key !== null && key !== 'ok') return ['failing', `key ${key}`]
  return paused ? ['warning', 'paused'] : ['up', 'at work']
}

const switchOf = ({ role }, { control, acts }) => ({
  acts,
  killed: control.killed,
  pausedAll: control.paused,
  paused: control.pulled.some((each) => each.switch === 'pause' && each.role === role),
})

function tilesOf(money, flows) {
  const last = (index) => money?.points[index]?.at(-1) ?? 0
  const ended = flows.filter(({ state }) => stateOf(state) !== 'going')
  return [
    { name: 'realised', text: usd(last(1)), note: 'since the start, less gas' },
    { name: 'marked', text: usd(last(2)), note: 'by prices, nothing sold' },
    { name: 'gas', text: usd(last(3)), note: 'since the start' },
    {
      name: 'under way',
      text: String(flows.length - ended.length),
      note: `${ended.length} of the newest ${flows.length} ended`,
    },
  ]
}

const tile = ({ name, text, note }) =>
  h(
    'div',
    { class: 'tile' },
    h('span', { class: 'name' }, name),
    h('strong', {}, text),
    h('span', { class: 'note' }, note),
  )

/** The view of each board that a role may show. */
const BOARDS = {
  positions: ['positions', 'positions'],
  allocations: ['vaults', 'allocation'],
  navs: ['nav', 'reports'],
  lots: ['lots', 'lots'],
}

function roleCard({
  role,
  shows,
  mode,
  state,
  reason,
  isByHand,
  decidedAtMs,
  proposals,
  passedOver,
  checks,
  live,
  held,
  balance,
  safe,
  key,
  acts,
  killed,
  paused,
  pausedAll,
}) {
  const [word, said] = standing({ state, safe, key, killed, paused: paused || pausedAll })
  return h(
    'article',
    { class: 'card', 'data-state': word },
    h('h3', {}, role, h('span', { class: 'mode' }, mode)),
    h(
      'p',
      {},
      badge(word, said),
      isByHand
        ? h('span', { class: 'note' }, 'worked by hand: rolekeeper submit')
        : h('span', { class: 'note' }, 'decided ', when(decidedAtMs)),
    ),
    reason === null ? '' : h('p', { class: 'wrong' }, reason),
    h(
      'p',
      { class: 'figures' },
      `${live} under way`,
      held > 0 ? `, ${held} held` : '',
      isByHand ? '' : ` · ${proposals} proposed, ${passedOver} left alone`,
    ),
    h(
      'p',
      { class: 'filter' },
      h('a', { href: `#/workflows/${role}` }, 'workflows'),
      shows.map((board) => h('a', { href: `#/${BOARDS[board][0]}` }, BOARDS[board][1])),
    ),
    checks.length === 0
      ? ''
      : h(
          'ul',
          { class: 'checks' },
          checks
            .slice(0, 3)
            .map(({ check, count, subject, message }) =>
              h(
                'li',
                {},
                whyLink(subject, h('code', {}, check), count > 1 ? ` × ${count}` : ''),
                h('span', { class: 'note' }, short(message)),
              ),
            ),
        ),
    h(
      'p',
      { class: 'note foot' },
      `gas ${balance === null ? 'not known' : balance}`,
      acts ? roleSwitch({ role, paused }) : '',
    ),
  )
}

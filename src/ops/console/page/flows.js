import { badge, clock, h, list, mono, none, once, short, span, stateOf, when, whyLink } from './dom.js'
import { workflowName } from './readable.js'

/** Every workflow through its states, with each time; of one role alone where `role` names it. */
export function workflows(place, { workflows: flows = [], roles = [] }, role) {
  const names = [...new Set(roles.map((each) => each.role))]
  list(
    once(place, 'filter', () =>
      h('div', { class: 'filter', role: 'group', 'aria-label': 'Whose workflows' }),
    ),
    ['', ...names].map((name) => ({ name, isOn: name === role })),
    ({ name }) => name,
    ({ name, isOn }) =>
      h(
        'a',
        { href: name === '' ? '#/workflows' : `#/workflows/${name}`, 'aria-current': isOn ? 'true' : null },
        name === '' ? 'all roles' : name,
      ),
  )
  const shown = role === '' ? flows : flows.filter((flow) => flow.role === role)
  list(
    once(place, 'flows', () => h('ol', { class: 'flows' })),
    shown,
    ({ id }) => id,
    flowLine,
  )
  none(
    place,
    shown.length === 0,
    `No workflow${role === '' ? '' : ` of ${role}`} among the newest. Roles look every few seconds; the overview has the reasons of each.`,
  )
}

export function flowLine({
  id,
  role,
  workflowType,
  subject,
  name,
  summary,
  state,
  atMs,
  held,
  steps,
  check,
  message,
}) {
  const word = held ? 'warning' : stateOf(state)
  return h(
    'li',
    { class: 'flow', 'data-state': word },
    h(
      'div',
      { class: 'head' },
      badge(word, held ? 'held' : state.replace('_', ' ')),
      whyLink(id, h('span', { class: 'mono' }, id.slice(0, 8))),
      h('strong', {}, role),
      h('span', { title: workflowType }, workflowName(workflowType)),
      mono(subject, name),
      when(atMs),
    ),
    h('p', {}, short(summary)),
    h(
      'ol',
      { class: 'steps', 'aria-label': 'States' },
      steps.map((step, index) => {
        const before = steps[index - 1]
        return h(
          'li',
          { title: new Date(step.atMs).toISOString() },
          step.state.replace('_', ' '),
          h('small', {}, before === undefined ? clock(step.atMs) : `+${span(step.atMs - before.atMs)}`),
        )
      }),
    ),
    check === null ? '' : h('p', { class: 'note' }, h('code', {}, check), ` ${short(message ?? '')}`),
  )
}

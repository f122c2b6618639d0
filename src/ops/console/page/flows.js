import { badge, clock, h, list, mono, none, once, short, span, stateOf, when, whyLink } from './dom.js'
import { workflowName } from './readable.js'

/** Every workflow through its states, with each time. */
export function workflows(place, { workflows: flows = [] }) {
  const flowsList = once(place, 'flows', () => h('ol', { class: 'flows' }))
  list(flowsList, flows, ({ id }) => id, flowLine)
  none(
    place,
    flows.length === 0,
    'No workflow yet. Roles look every few seconds; the overview has the reasons of each.',
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

import { badge, h, mono, nothing, span, stateOf, when } from './dom.js'
import { why } from './link.js'
import { workflowName } from './readable.js'

/** Why something was done or left: what `explain` says. */
export function whyView(place, _parts, about) {
  if (place.dataset.about === about && place.childElementCount > 0) return
  place.dataset.about = about
  place.replaceChildren(
    nothing(
      about === ''
        ? 'Type an id, a borrower, a lot or a source into the box above, or press / and paste.'
        : 'Looking …',
    ),
  )
  document.getElementById('about').value = about
  if (about === '') return
  why(about).then(
    (found) => {
      if (place.dataset.about === about) place.replaceChildren(...foundOf(found, about))
    },
    (error) => place.replaceChildren(h('p', { class: 'wrong', role: 'alert' }, error.message)),
  )
}

function foundOf({ workflows: flows, decisions }, about) {
  if (flows.length + decisions.length === 0) return [nothing(`Nothing was decided about “${about}” of late.`)]
  return [
    ...flows.map((flow) =>
      h(
        'article',
        { class: 'card' },
        h(
          'h2',
          {},
          `${flow.role} · ${workflowName(flow.workflowType)}`,
          h('span', { class: 'mode' }, badge(stateOf(flow.state), flow.state.replace('_', ' '))),
        ),
        h('p', {}, flow.summary),
        flow.check === null ? '' : h('p', { class: 'wrong' }, `${flow.check}: ${flow.message}`),
        h('p', { class: 'note mono' }, flow.id),
        h('p', { class: 'note' }, `about ${flow.name} `, mono(flow.subject, flow.subject)),
        h(
          'ol',
          { class: 'steps' },
          flow.states.map((step, index) =>
            h(
              'li',
              { title: new Date(step.atMs).toISOString() },
              step.state.replace('_', ' '),
              h(
                'small',
                {},
                index === 0
                  ? new Date(step.atMs).toISOString().slice(0, 19).replace('T', ' ')
                  : `+${span(step.atMs - flow.states[index - 1].atMs)}`,
              ),
            ),
          ),
        ),
        flow.transactions.length === 0
          ? ''
          : h(
              'ul',
              {},
              flow.transactions.map(({ nonce, hash }) =>
                h('li', { class: 'mono' }, `nonce ${nonce} ${hash ?? ''}`),
              ),
            ),
        figuresOf(flow.figures),
      ),
    ),
    ...decisions.map((one) =>
      h(
        'article',
        { class: 'card' },
        h('h2', {}, `${one.role}: `, h('code', {}, one.check), h('span', { class: 'mode' }, when(one.atMs))),
        h('p', {}, one.message),
        h('p', { class: 'note' }, `about ${one.name} `, mono(one.subject, one.subject)),
        figuresOf(one.figures),
      ),
    ),
  ]
}

const figuresOf = (figures) =>
  figures.length === 0
    ? ''
    : h(
        'details',
        { open: figures.length < 12 },
        h('summary', {}, 'Figures'),
        h(
          'dl',
          { class: 'figures' },
          figures.map(([name, text]) => [h('dt', {}, name), h('dd', {}, text)]),
        ),
      )

import { confirm } from './dialogs.js'
import { h, list, mono, none, once, when, whyLink } from './dom.js'
import { workflowName } from './readable.js'

/** What waits for a person: all that is approved, in words, before the button. */
export function approvals(place, { approvals: held = [] }) {
  list(
    once(place, 'held', () => h('div', { class: 'wide' })),
    held,
    ({ id }) => id,
    approvalCard,
  )
  none(place, held.length === 0, 'Nothing waits for a person.')
}

function approvalCard(held) {
  const {
    id,
    role,
    signer,
    chainId,
    workflowType,
    summary,
    check,
    message,
    askedBy,
    untilMs,
    hash,
    here,
    approvedBy,
    quorum,
    approvers,
  } = held
  const command = (verb) =>
    `rolekeeper ${verb} ${id.slice(0, 8)}${verb === 'approve' ? ` --hash ${hash}` : ''}`
  const who =
    approvers === null
      ? 'anybody who may write to its directory'
      : approvers.map(({ name }) => name).join(', ')
  return h(
    'article',
    { class: 'card approval', 'data-state': 'warning' },
    h(
      'h2',
      {},
      `${role} · ${workflowName(workflowType)}`,
      h('span', { class: 'mode' }, 'expires ', when(untilMs)),
    ),
    h('p', {}, summary),
    h('p', { class: 'note' }, h('code', {}, check), ` ${message} Asked by ${askedBy}.`),
    whatIsSigned(held),
    h(
      'p',
      { class: 'note' },
      'Signed by ',
      mono(signer),
      ` on chain ${chainId}. `,
      `${approvedBy.length} of ${quorum} approved${approvedBy.length === 0 ? '' : ` (${approvedBy.join(', ')})`}; may answer: ${who}.`,
    ),
    here
      ? h(
          'div',
          { class: 'buttons' },
          h('button', { type: 'button', onclick: () => askApproval('reject', held) }, 'Reject …'),
          h(
            'button',
            { type: 'button', class: 'solid', onclick: () => askApproval('approve', held) },
            'Approve …',
          ),
          whyLink(id, 'why'),
        )
      : h(
          'div',
          {},
          h('p', {}, 'Answered from the command line, with a key of one’s own where the policy asks for it:'),
          h('pre', {}, `${command('approve')}\n${command('reject')}`),
        ),
  )
}

const whatIsSigned = ({ calls, effects, changes, day }) => [
  h('h3', {}, 'Nothing but these calls'),
  h(
    'ol',
    { class: 'calls' },
    calls.map(({ to, function: name, arguments: values, notes }) =>
      h(
        'li',
        {},
        h('strong', {}, `${to} `, h('code', {}, name)),
        notes.length === 0 ? '' : ` (${notes.join(', ')})`,
        h(
          'dl',
          {},
          values.map((each) => [h('dt', {}, each.name), h('dd', {}, each.value)]),
        ),
      ),
    ),
  ),
  changes.length === 0 ? '' : h('h3', {}, 'Changes'),
  changes.length === 0
    ? ''
    : h(
        'ul',
        {},
        changes.map(({ field, from, to }) =>
          h('li', {}, `${field}: ${from === null ? '' : `${from} → `}${to}`),
        ),
      ),
  h('h3', {}, 'Does'),
  h(
    'ul',
    {},
    effects.map((each) => h('li', {}, each)),
    h('li', {}, `adds up to: ${day}`),
  ),
]

function askApproval(verb, held) {
  const isYes = verb === 'approve'
  confirm({
    title: isYes ? 'Approve exactly this?' : 'Reject this?',
    word: isYes ? 'Approve' : 'Reject',
    danger: isYes,
    happens: [
      h('p', {}, held.summary),
      isYes
        ? whatIsSigned(held)
        : h(
            'p',
            {},
            'It ends, and is asked about again once it differs by a tenth, or the no is taken back.',
          ),
      h('p', { class: 'note' }, 'hash ', h('code', {}, held.hash)),
    ],
    deed: { verb, id: held.id, hash: held.hash },
  })
}

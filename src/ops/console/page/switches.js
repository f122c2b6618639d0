import { confirm } from './dialogs.js'
import { clock, h, stateOf } from './dom.js'
import { parts } from './link.js'

/** What a switch does, said before it is done. */
export function askSwitch(verb, role) {
  const mine = (each) => role === undefined || each.role === role
  const live = parts.workflows?.filter((each) => mine(each) && stateOf(each.state) === 'going') ?? []
  const open = (parts.roles ?? []).filter(mine).reduce((sum, { openNonces }) => sum + openNonces, 0)
  const underWay = `${live.length} workflows are under way now, with ${open} nonces that have not landed.`
  const who = role === undefined ? 'the keeper' : `the ${role}`
  const asks = {
    pause: {
      title: `Pause ${who}?`,
      word: 'Pause',
      lines: [
        `Nothing new begins, of ${role === undefined ? 'any role' : 'this role; the others go on'}.`,
        'What is public already is still followed, raised and closed.',
        underWay,
      ],
    },
    resume: {
      title: `Resume ${who}?`,
      word: 'Resume',
      lines: [
        `${role === undefined ? 'Every role that is not paused by itself' : 'It'} begins again what its policy allows.`,
        underWay,
      ],
    },
    kill: {
      title: 'Kill: sign nothing?',
      word: 'Kill',
      danger: true,
      lines: [
        'From the next instruction on, no key is asked and nothing is sent for the first time.',
        'What nodes have already may still land; it is followed.',
        underWay,
      ],
    },
    unkill: {
      title: 'Take the kill back?',
      word: 'Unkill',
      danger: true,
      lines: ['Keys sign again what the policies allow.', underWay],
    },
  }
  const { lines, ...ask } = asks[verb]
  confirm({
    ...ask,
    happens: h(
      'ul',
      {},
      lines.map((line) => h('li', {}, line)),
    ),
    deed: role === undefined ? { verb } : { verb, role },
  })
}

/** What is stopped, by whom, since when and why; '' where nothing is. */
export function stoppedText({ killed, paused, pulled, isUnreadable }) {
  if (isUnreadable) return 'The directory of this keeper cannot be read: nothing is signed.'
  return pulled
    .filter((each) => each.switch === 'kill' || !killed)
    .filter(({ role }) => role === undefined || !paused)
    .map((each) => `${what(each)}${whose(each)}`)
    .join(' ')
}

const what = ({ switch: name, role }) =>
  name === 'kill'
    ? 'Killed: nothing is signed.'
    : role === undefined
      ? 'Paused: nothing new begins; what is under way goes on.'
      : `Paused: the ${role}; the other roles go on.`

const whose = ({ by, atMs, reason }) =>
  ` By ${by ?? 'somebody, by hand'}, ${clock(atMs)} UTC${reason === null ? '' : `: ${reason}`}.`

/** The switch of one role alone, where the page may act. */
export const roleSwitch = ({ role, paused }) =>
  h(
    'button',
    {
      type: 'button',
      class: 'small',
      'aria-label': `${paused ? 'Resume' : 'Pause'} the ${role}`,
      onclick: () => askSwitch(paused ? 'resume' : 'pause', role),
    },
    paused ? 'Resume …' : 'Pause …',
  )

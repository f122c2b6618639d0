import { approvals } from './approvals.js'
import { read } from './dialogs.js'
import { h, span, tickAll } from './dom.js'
import { workflows } from './flows.js'
import { budgets, health } from './health.js'
import { legend } from './legend.js'
import { follow, parts } from './link.js'
import { lots, navs, positions, vaults } from './market-views.js'
import { money } from './money.js'
import { overview } from './overview.js'
import { askSwitch, stoppedText } from './switches.js'
import { whyView } from './why.js'

/** The views in the order of their keys; each is drawn anew when one of its parts changed. */
const VIEWS = [
  {
    name: 'overview',
    title: 'Overview',
    draw: overview,
    of: ['keeper', 'facets', 'roles', 'workflows', 'approvals', 'money', 'alarms'],
  },
  { name: 'workflows', title: 'Workflows', draw: workflows, of: ['workflows', 'roles'] },
  { name: 'positions', title: 'Positions', draw: positions, of: ['positions', 'roles'] },
  { name: 'vaults', title: 'Allocation', draw: vaults, of: ['allocations', 'roles'] },
  { name: 'nav', title: 'NAV', draw: navs, of: ['navs', 'roles'] },
  { name: 'lots', title: 'RFQ and auctions', draw: lots, of: ['lots', 'roles'] },
  { name: 'money', title: 'Money', draw: money, of: ['money'] },
  { name: 'budgets', title: 'Budgets', draw: budgets, of: ['budgets'] },
  {
    name: 'approvals',
    title: 'Approvals',
    draw: approvals,
    of: ['approvals'],
    count: () => parts.approvals?.length,
  },
  {
    name: 'health',
    title: 'Health',
    draw: health,
    of: ['facets', 'roles', 'nodes', 'alarms', 'keeper'],
    count: () => parts.facets?.filter(({ state }) => state !== 'ok').length,
  },
  { name: 'why', title: 'Why', draw: whyView, of: [] },
]

/** What is typed for each view; what is asked why has the key of its field. */
const KEYS = '1234567890'

const at = (id) => document.getElementById(id)
const routeOf = () => {
  const [, name, about] = /^#\/([a-z]+)(?:\/(.+))?$/.exec(location.hash) ?? []
  const view = VIEWS.find((one) => one.name === name) ?? VIEWS[0]
  return { view, about: about === undefined ? '' : decodeURIComponent(about) }
}

let shown = null
let isDue = false

/** Draw what is looked at, at most once a frame. */
function draw() {
  if (isDue) return
  isDue = true
  requestAnimationFrame(() => {
    isDue = false
    const { view, about } = routeOf()
    const route = `${view.name}/${about}`
    if (shown !== route) {
      const isFirst = shown === null
      shown = route
      at('view').replaceChildren()
      legend(at('words'), view.name)
      at('title').textContent = view.title
      document.title = `${view.title} · rolekeeper`
      if (!isFirst) at('main').focus()
      scrollTo(0, 0)
    }
    drawFrame(view)
    if (document.body.dataset.link === 'out') signedOut()
    else view.draw(at('view'), parts, about)
    tickAll()
  })
}

function drawFrame(current) {
  const nav = at('views')
  if (nav.children.length === 0) {
    nav.append(
      ...VIEWS.map(({ name, title }, index) =>
        h(
          'a',
          { href: `#/${name}`, 'data-view': name, title: `${title} (${KEYS[index] ?? '/'})` },
          title,
          h('span', { class: 'count' }),
        ),
      ),
    )
  }
  VIEWS.forEach(({ name, count }, index) => {
    const link = nav.children[index]
    if (name === current.name) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
    const number = count?.() ?? 0
    link.lastChild.textContent = number === 0 ? '' : String(number)
  })
  const { keeper } = parts
  if (keeper === undefined) return
  at('where').textContent = `${keeper.environment} · chain ${keeper.chainId}`
  const { killed, paused } = keeper.control
  at('pause').textContent = paused && !killed ? 'Resume' : 'Pause'
  at('kill').textContent = killed ? 'Unkill' : 'Kill'
  for (const id of ['pause', 'kill']) at(id).disabled = !keeper.acts || document.body.dataset.link !== 'live'
  const stopped = stoppedText(keeper.control)
  const banner = at('banner')
  if (banner.textContent !== stopped) banner.textContent = stopped
  banner.hidden = stopped === ''
}

function signedOut() {
  if (at('view').querySelector('.sign-in') !== null) return
  at('view').replaceChildren(
    h(
      'div',
      { class: 'card sign-in' },
      h('h2', {}, 'Nobody is signed in here'),
      h('p', {}, 'On the machine of the keeper, as the user that it runs as, type'),
      h('pre', {}, 'rolekeeper console'),
      h(
        'p',
        {},
        'and open the link that it prints. A link works once, within ten minutes; a session lasts twelve hours.',
      ),
    ),
  )
}

const LINKS = {
  live: 'live',
  away: 'the keeper is away, trying again',
  full: 'too many pages are open: close one; trying again',
  out: 'signed out',
}

const on = {
  part: (name) => {
    const { view } = routeOf()
    if (name === 'keeper' || view.of.includes(name) || name === 'approvals' || name === 'facets') draw()
  },
  link: (state, lostAtMs) => {
    document.body.dataset.link = state
    const text = LINKS[state]
    const back = state === 'live' && lostAtMs !== null && lostAtMs !== undefined
    at('link').textContent = back ? `live again after ${span(Date.now() - lostAtMs)}` : text
    draw()
  },
  refused: (message) => {
    at('said').textContent = message
  },
}

at('pause').addEventListener('click', () => askSwitch(at('pause').textContent.toLowerCase()))
at('kill').addEventListener('click', () => askSwitch(at('kill').textContent.toLowerCase()))
at('search').addEventListener('submit', (event) => {
  event.preventDefault()
  const about = at('about').value.trim()
  if (about.length >= 4) location.hash = `#/why/${encodeURIComponent(about)}`
})
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, dialog[open]') !== null
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key === 'Escape' && event.target === at('about')) at('about').blur()
  if (isTyping) return
  const index = KEYS.indexOf(event.key)
  if (index >= 0) location.hash = `#/${VIEWS[index].name}`
  else if (event.key === '/') at('about').focus()
  else if (event.key === 'p' && !at('pause').disabled) at('pause').click()
  else if (event.key === 'k' && !at('kill').disabled) at('kill').click()
  else if (event.key === '?') read('Keys', keys())
  else return
  event.preventDefault()
})

const keys = () =>
  h(
    'dl',
    { class: 'keys' },
    [
      ['1 … 9, 0', 'the views, in their order'],
      ['/', 'ask why'],
      ['p', 'pause or resume, asked again'],
      ['k', 'kill or take it back, asked again'],
      ['Esc', 'close'],
    ].map(([key, does]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, does)]),
  )

addEventListener('hashchange', draw)
setInterval(tickAll, 1_000)
draw()
follow(on)

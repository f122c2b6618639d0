import { setNow } from './dom.js'

/** What the keeper says, part by part, as it came last. */
export const parts = {}

/** Where what an action carries is kept: pages of this host and port alone can read it. */
const TOKEN = 'token'
let source = null
let watchdog = null
let triedTimes = 0
let lostAtMs = null

/** A keeper says something twice a second. */
const SILENT_MS_MAX = 4_000
const RETRY_MS = [500, 1_000, 2_000, 4_000]

const NAMES = [
  'keeper',
  'facets',
  'roles',
  'budgets',
  'workflows',
  'positions',
  'allocations',
  'navs',
  'lots',
  'approvals',
  'money',
  'alarms',
  'nodes',
]

/**
 * Follow the keeper: sign in by the link's key where there is one, then hear. What breaks is tried again until it works.
 * `on` is told of each part that changed, and of how the link is: live, away, one too many, or signed out.
 */
export async function follow(on) {
  const key = decodeURIComponent(location.hash.slice(1))
  if (key.startsWith('link.')) {
    history.replaceState(null, '', '/')
    const answer = await send('POST', '/session', { key }).catch(() => null)
    const said = await answer?.json()
    if (answer?.ok) localStorage.setItem(TOKEN, said.token)
    else if (answer) on.refused(said.message)
  }
  // A link that is opened in a page that is open already changes what is behind the # alone.
  addEventListener('hashchange', () => {
    if (location.hash.startsWith('#link.')) location.reload()
  })
  await open(on)
}

async function open(on) {
  clearTimeout(watchdog)
  const answer = await fetch('/session').catch(() => null)
  if (answer?.status === 401) return on.link('out')
  if (!answer?.ok) return away(on)
  const session = await answer.json()
  if (session.isFull) return away(on, 'full')
  source = new EventSource('/events')
  for (const name of NAMES) {
    source.addEventListener(name, (event) => {
      heard(on)
      parts[name] = JSON.parse(event.data)
      if (name === 'keeper') setNow(parts.keeper.nowMs)
      on.part(name)
    })
  }
  source.onerror = () => away(on)
  watchdog = setTimeout(() => away(on), SILENT_MS_MAX)
}

function heard(on) {
  clearTimeout(watchdog)
  watchdog = setTimeout(() => away(on), SILENT_MS_MAX)
  if (lostAtMs !== null || triedTimes === 0) on.link('live', lostAtMs)
  lostAtMs = null
  triedTimes = 1
}

function away(on, state = 'away') {
  clearTimeout(watchdog)
  source?.close()
  lostAtMs ??= Date.now()
  on.link(state, lostAtMs)
  const waitMs = RETRY_MS[Math.min(triedTimes, RETRY_MS.length - 1)]
  triedTimes += 1
  watchdog = setTimeout(() => open(on), waitMs)
}

const send = (method, path, body) =>
  fetch(path, {
    method,
    headers: { 'content-type': 'application/json', 'x-rolekeeper-token': localStorage.getItem(TOKEN) ?? '' },
    body: JSON.stringify(body),
  })

const refusal = ({ message, fix }) => new Error([message, fix].filter(Boolean).join(' Fix: '))

/** Do something; resolves with what was done, and throws what it was refused with. */
export async function act(deed) {
  const answer = await send('POST', '/act', deed)
  const said = await answer.json()
  if (answer.ok) return said.said
  throw refusal(said)
}

/** Ask why. */
export async function why(about) {
  const answer = await fetch(`/why?about=${encodeURIComponent(about)}`)
  const said = await answer.json()
  if (!answer.ok) throw refusal(said)
  return said
}

import { short, span, usd as written } from './readable.js'

export { short, span }

/** Make an element. Texts become text nodes and nothing else, whoever wrote them. */
export function h(tag, given = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else if (name === 'part') element.style.setProperty('--part', String(value))
    else element.setAttribute(name, value === true ? '' : String(value))
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== ''))
  return element
}

/**
 * Show a list: an item whose content is as before keeps its element, so that focus, selection and scrolling stay where they
 * are, and nothing is drawn twice.
 */
export function list(parent, items, keyOf, draw) {
  const known = new Map([...parent.children].map((child) => [child.dataset.key, child]))
  let before = parent.firstElementChild
  for (const item of items) {
    const key = String(keyOf(item))
    const content = JSON.stringify(item)
    let element = known.get(key)
    known.delete(key)
    if (element === undefined || element.drawnFrom !== content) {
      const next = draw(item)
      next.dataset.key = key
      next.drawnFrom = content
      if (element !== undefined) {
        const at = focusables(element).indexOf(document.activeElement)
        if (before === element) before = next
        element.replaceWith(next)
        if (at >= 0) focusables(next)[at]?.focus()
      }
      element = next
    }
    if (before === element) before = element.nextElementSibling
    else parent.insertBefore(element, before)
  }
  for (const gone of known.values()) gone.remove()
  return parent
}

const focusables = (element) => [
  ...(element.matches('a,button,summary') ? [element] : []),
  ...element.querySelectorAll('a,button,summary,input'),
]

/** The keeper's clock less ours, milliseconds. */
let apartMs = 0
export const setNow = (nowMs) => {
  apartMs = nowMs - Date.now()
}
export const nowMs = () => Date.now() + apartMs

/** A moment, as the time since or until it, which goes on by itself. */
export function when(atMs) {
  if (atMs === null || atMs === undefined || Number.isNaN(atMs)) return h('span', { class: 'none' }, 'never')
  const element = h('time', { datetime: new Date(atMs).toISOString(), 'data-at': atMs })
  element.title = element.dateTime
  tick(element)
  return element
}

function tick(element) {
  const ms = Math.floor((nowMs() - Number(element.dataset.at)) / 1_000) * 1_000
  const text = ms >= 0 ? `${span(ms)} ago` : `in ${span(-ms)}`
  if (element.textContent !== text) element.textContent = text
}

export const tickAll = () => {
  for (const element of document.querySelectorAll('time[data-at]')) tick(element)
}

export const clock = (atMs) => new Date(atMs).toISOString().slice(11, 19)

/** By its ends or its name; whole where one points at it. */
export const mono = (text, name = short(text)) => h('span', { class: 'mono', title: text }, name)

/** A figure that is not broken in two. */
export const whole = (text) => h('span', { class: 'whole' }, text)

/** Dollars, where they are known. */
export const usd = (dollars) => (dollars === null ? '?' : written(BigInt(Math.round(dollars * 1e6))))
export const percent = (part) => `${(part * 100).toFixed(part < 0.1 ? 2 : 1)} %`

/** A link to why something was done or left. */
export const whyLink = (about, ...content) =>
  h('a', { href: `#/why/${encodeURIComponent(about)}`, class: 'why', title: `Why? ${about}` }, ...content)

const MARKS = { ok: '●', warning: '▲', failing: '✗', up: '●', down: '✗', opening: '◌' }
/** A state as a mark, a word and a colour: none of them alone. */
export const badge = (state, text = state) =>
  h(
    'span',
    { class: 'badge', 'data-state': state },
    h('span', { 'aria-hidden': 'true' }, MARKS[state] ?? '●'),
    ` ${text}`,
  )

export const nothing = (text) => h('p', { class: 'nothing' }, text)

/** A table whose rows become cards on a phone. */
export function table(caption, heads, className) {
  const body = h('tbody')
  const element = h(
    'table',
    { class: className ?? '' },
    h('caption', {}, caption),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        heads.map((head) => h('th', { scope: 'col' }, head)),
      ),
    ),
    body,
  )
  return { element, body }
}
export const row = (heads, ...cells) =>
  h(
    'tr',
    {},
    cells.map((cell, index) => h('td', { 'data-label': heads[index] }, cell)),
  )

/** A part of a view, drawn into its place once: what is in it is drawn whenever it changed. */
export function once(place, name, make) {
  let element = place.querySelector(`[data-part="${name}"]`)
  if (element === null) {
    element = make()
    element.dataset.part = name
    place.append(element)
  }
  return element
}

/** Say that there is nothing, where there is nothing. */
export const none = (place, isEmpty, text) =>
  list(
    once(place, 'none', () => h('div')),
    isEmpty ? [text] : [],
    String,
    nothing,
  )

/** A part of a view under a title of its own. */
export const section = (place, name, title, make = () => h('div')) =>
  once(place, name, () => h('section', { 'aria-label': title }, h('h2', {}, title), make())).lastElementChild

/** How the end of a workflow is coloured. */
const STATES = {
  succeeded: 'ok',
  shadowed: 'ok',
  reverted: 'failing',
  partial: 'failing',
  unconfirmed: 'failing',
  quarantined: 'failing',
  refused: 'warning',
  expired: 'warning',
  superseded: 'warning',
  cancelled: 'warning',
}
export const stateOf = (state) => STATES[state] ?? 'going'

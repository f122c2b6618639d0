import {
  badge,
  h,
  list,
  mono,
  none,
  nowMs,
  once,
  percent,
  row,
  short,
  table,
  usd,
  when,
  whole,
  whyLink,
} from './dom.js'
import { plural } from './readable.js'

const judgement = ({ check, message, subject }) =>
  check === null
    ? ''
    : whyLink(subject, h('code', {}, check), h('span', { class: 'note' }, ` ${short(message ?? '')}`))

/** Which roles show this, and how old what they saw is: a table that stands still says so. */
const seenBy = (place, name, roles = []) =>
  list(
    once(place, 'seen', () => h('ul', { class: 'seen' })),
    roles.filter(({ shows }) => shows.includes(name)),
    ({ role, signer }) => `${role} ${signer}`,
    ({ role, block, decidedAtMs }) =>
      h('li', { class: 'note', 'data-role': role }, `${role}: block ${block}, looked at `, when(decidedAtMs)),
  )

const POSITIONS = [
  'market',
  'borrower',
  'health',
  'debt',
  'collateral',
  'oracle price, liquidated below',
  'last decision',
]

/** Cut off, as in words: 0.99996 never reads as 1. What a float lacks of its own decimals is no part of that. */
const cutOff = (health) => (Math.floor(health * 1e4 + 1e-6) / 1e4).toFixed(4)

/** How many owe how much, and how much of that may be liquidated now. */
function totals(rows) {
  const owed = (some) => usd(some.reduce((sum, { debtUsd }) => sum + (debtUsd ?? 0), 0))
  const under = rows.filter(({ health }) => health !== null && health < 1)
  const who = plural(new Set(rows.map(({ borrower }) => borrower)).size, 'borrower')
  const all = `${who}, ${plural(rows.length, 'position')}, ${owed(rows)} of debt`
  return `${all}; under water: ${under.length === 0 ? 'none' : `${plural(under.length, 'position')}, ${owed(under)}`}`
}

/** Borrowers by health and size, the nearest to liquidation first. */
export function positions(place, { positions: rows = [], roles }) {
  seenBy(place, 'positions', roles)
  list(
    once(place, 'totals', () => h('div')),
    rows.length === 0 ? [] : [totals(rows)],
    () => 'totals',
    (text) => h('p', { class: 'big' }, text),
  )
  const shown = once(
    place,
    'positions',
    () => table('Positions, the nearest to liquidation first', POSITIONS, 'positions').element,
  )
  shown.hidden = rows.length === 0
  const most = Math.max(1, ...rows.map(({ debtUsd }) => debtUsd ?? 0))
  list(
    shown.tBodies[0],
    rows.map((each) => ({ ...each, part: Math.sqrt((each.debtUsd ?? 0) / most).toFixed(2) })),
    ({ subject }) => subject,
    (each) => {
      const { market, borrower, health, debt, debtUsd, collateral, price, liquidatedBelow, debts, part } =
        each
      const state = health === null ? 'warning' : health < 1 ? 'failing' : health < 1.05 ? 'warning' : 'ok'
      return row(
        POSITIONS,
        market,
        whyLink(each.subject, mono(borrower)),
        h(
          'div',
          { class: 'health', 'data-state': state },
          h('span', { class: 'bar', part: Math.min(1, Math.max(0, ((health ?? 1) - 0.9) / 0.6)) }),
          h('strong', {}, health === null ? '?' : cutOff(health)),
        ),
        h(
          'div',
          { class: 'size' },
          h('span', { class: 'bar', part }),
          h('span', {}, usd(debtUsd)),
          h('small', {}, debt),
          debts.map((owed) => h('small', {}, `${short(owed.vault)} `, whole(owed.debt))),
        ),
        whole(collateral),
        h('div', { class: 'size' }, whole(price), h('small', {}, whole(liquidatedBelow))),
        judgement(each),
      )
    },
  )
  none(
    place,
    rows.length === 0,
    'No position is looked at: the liquidator has not looked yet, or is not at work here.',
  )
}

/** What each vault has where, beside what it is to have there. */
export function vaults(place, { allocations = [], roles }) {
  seenBy(place, 'allocations', roles)
  const all = Object.entries(Object.groupBy(allocations, ({ subject }) => subject))
  list(
    once(place, 'vaults', () => h('div', { class: 'wide' })),
    all,
    ([subject]) => subject,
    ([subject, rows]) =>
      h(
        'article',
        { class: 'card' },
        h('h2', {}, rows[0].vault, h('span', { class: 'mode' }, whyLink(subject, 'why'))),
        h(
          'p',
          { class: 'note' },
          h('span', { class: 'key held' }),
          ' held ',
          h('span', { class: 'key target' }),
          ' target ',
          h('span', { class: 'key cap' }),
          ' cap',
        ),
        rows.map(({ market, held, target, heldPart, targetPart, capPart }) =>
          h(
            'div',
            { class: 'allocation' },
            h('strong', {}, market),
            h(
              'div',
              {
                class: 'track',
                role: 'img',
                'aria-label': `${market}: ${percent(heldPart)} held, ${percent(targetPart)} target`,
              },
              h('span', { class: 'held', part: heldPart }),
              h('span', { class: 'target', part: targetPart }),
              capPart === null || capPart > 1 ? '' : h('span', { class: 'cap', part: capPart }),
            ),
            h(
              'span',
              {},
              `${held} (${percent(heldPart)})`,
              held === target ? '' : h('em', {}, ` → ${target}`),
            ),
          ),
        ),
        h('p', {}, judgement(rows.find(({ check }) => check !== null) ?? rows[0])),
      ),
  )
  none(
    place,
    all.length === 0,
    'No allocation is known: the allocator has not looked yet, or is not at work here.',
  )
}

/** Values on the band around their median within which they count, and what was reported last. */
function band({ sources, reportedValue, bandMin, bandMax }) {
  if (bandMin === null || bandMax === null) return ''
  const values = sources.flatMap(({ value }) => value ?? [])
  const all = [...values, ...(reportedValue === null ? [] : [reportedValue]), bandMin, bandMax]
  const [from, to] = [Math.min(...all), Math.max(...all)]
  const margin = (to - from) * 0.06 || 1
  const part = (value) => (value - from + margin) / (to - from + 2 * margin)
  const allowed = h('span', { class: 'allowed', part: part(bandMin) })
  allowed.style.setProperty('--width', String(part(bandMax) - part(bandMin)))
  return h(
    'div',
    {
      class: 'band',
      role: 'img',
      'aria-label': `${values.length} sources say ${values.join(', ')}; ${bandMin} to ${bandMax} count`,
    },
    allowed,
    reportedValue === null
      ? ''
      : h('span', { class: 'reported', part: part(reportedValue), title: `reported ${reportedValue}` }),
    sources
      .filter(({ value }) => value !== null)
      .map((each) =>
        h('span', {
          class: counts(each, { bandMin, bandMax }) ? 'source' : 'source out',
          part: part(each.value),
          title: `${each.source} ${each.value}`,
        }),
      ),
  )
}

/** Whether a source's value is one of those that a report is made of. */
const counts = ({ value, check }, { bandMin, bandMax }) =>
  check === null && (bandMin === null || bandMax === null || (value >= bandMin && value <= bandMax))

const SOURCES = ['source', 'says', 'of', 'counts']

/** Each report with its sources. */
export function navs(place, { navs: rows = [], roles }) {
  seenBy(place, 'navs', roles)
  list(
    once(place, 'navs', () => h('div', { class: 'wide' })),
    rows,
    ({ subject }) => subject,
    (nav) => {
      const { subject, reported, reportedAtS, nextDueAtS, sources, rule } = nav
      const shown = table(`Sources of ${subject}`, SOURCES)
      list(
        shown.body,
        sources,
        ({ source }) => source,
        (each) =>
          row(
            SOURCES,
            each.source,
            h('strong', {}, each.text ?? '?'),
            when(each.asOfS === null ? null : each.asOfS * 1_000),
            counts(each, nav)
              ? badge('ok', 'yes')
              : badge('failing', each.check ?? 'too far from the median'),
          ),
      )
      return h(
        'article',
        { class: 'card' },
        h(
          'h2',
          {},
          subject,
          h('span', { class: 'mode' }, 'next due ', when(nextDueAtS === null ? null : nextDueAtS * 1_000)),
        ),
        h(
          'p',
          { class: 'big' },
          reported ?? 'nothing reported',
          h('span', { class: 'note' }, ' of ', when(reportedAtS === null ? null : reportedAtS * 1_000)),
        ),
        band(nav),
        h('p', { class: 'note' }, rule),
        shown.element,
        h('p', {}, judgement(nav)),
      )
    },
  )
  none(
    place,
    rows.length === 0,
    'No report is known: the NAV reporter has not looked yet, or is not at work here.',
  )
}

/** What becomes of the state of a bid once bidding is over, until the lot is settled. */
const AT_THE_CLOSE = { leading: 'highest at the close', live: 'stood at the close' }

/** What is bid for, with the bids as a ladder: the reserve, our limit, and our own bids among the others. */
export function lots(place, { lots: rows = [], roles }) {
  seenBy(place, 'lots', roles)
  list(
    once(place, 'lots', () => h('div', { class: 'cards big' })),
    rows.map((lot) => ({ ...lot, isOver: lot.closesAtS * 1_000 < nowMs() })),
    ({ subject, venue }) => `${venue} ${subject}`,
    (lot) => {
      const {
        subject,
        name,
        venue,
        what,
        reserve,
        reserveAmount,
        closesAtS,
        isOver,
        status,
        limit,
        limitAmount,
        bids,
      } = lot
      const most = Math.max(reserveAmount, limitAmount ?? 0, ...bids.map(({ amount }) => amount)) || 1
      const rung = (className, name, text, amount, note) =>
        h(
          'li',
          { class: className },
          h('span', {}, name),
          h('span', { class: 'bar', part: amount / most }),
          h('strong', {}, text),
          h('small', {}, note),
        )
      const rungs = [
        ...bids.slice(0, 8).map(({ who, ours, text, amount, status: state }) => ({
          amount,
          draw: () =>
            rung(
              ours ? 'ours' : '',
              ours ? 'us' : short(who),
              text,
              amount,
              isOver ? (AT_THE_CLOSE[state] ?? state) : state,
            ),
        })),
        ...(limitAmount === null
          ? []
          : [{ amount: limitAmount, draw: () => rung('limit', 'our limit', limit, limitAmount, '') }]),
        { amount: reserveAmount, draw: () => rung('reserve', 'reserve', reserve, reserveAmount, '') },
      ]
      return h(
        'article',
        {
          class: 'card',
          'data-state': bids.some(
            ({ ours, status: state }) => ours && (state === 'live' || state === 'leading'),
          )
            ? 'ours'
            : '',
        },
        h(
          'h2',
          {},
          what,
          h(
            'span',
            { class: 'mode' },
            `${venue} · ${isOver && status === 'open' ? 'bidding is over' : status}`,
          ),
        ),
        h(
          'p',
          { class: 'note' },
          isOver ? 'closed ' : 'closes ',
          when(closesAtS * 1_000),
          ' · ',
          whyLink(subject, mono(subject, name)),
        ),
        h(
          'ol',
          { class: 'ladder' },
          rungs.toSorted((a, b) => b.amount - a.amount).map(({ draw }) => draw()),
        ),
        h('p', {}, judgement(lot)),
      )
    },
  )
  none(place, rows.length === 0, 'Nothing is on offer that a role here looks at.')
}

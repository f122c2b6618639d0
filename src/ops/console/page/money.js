import { h, list, nothing, row, table, usd, when, whyLink } from './dom.js'
import uPlot from './uplot.js'

const micros = (text) => usd(Number(text) / 1e6)

const HEADS = ['role', 'expected', 'realised', 'marked', 'gas']
const GAINS = ['when', 'role', 'paid', 'received', 'gas', 'gain']

let chart = null

/** What a colour of the page is now: a canvas knows neither variables nor schemes. */
function colour(name) {
  const probe = h('span', { class: 'probe' })
  probe.style.color = `var(${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

function makeChart(place, points) {
  const axis = {
    stroke: colour('--dim'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
  }
  const line = (label, name, dash) => ({
    label,
    stroke: colour(name),
    width: 2,
    points: { show: false },
    ...(dash ? { dash } : {}),
    value: (_, value) => (value == null ? '—' : usd(value)),
  })
  return new uPlot(
    {
      width: place.clientWidth - 32,
      height: 300,
      series: [
        { label: 'time' },
        line('realised', '--ok'),
        line('marked', '--accent', [6, 4]),
        line('gas', '--failing'),
      ],
      axes: [axis, { ...axis, size: 92, values: (_, values) => values.map((value) => usd(value)) }],
      legend: { live: true },
      cursor: { points: { size: 6 } },
    },
    points,
    place,
  )
}

/** What came, over time and by role; what is marked was not sold. */
export function money(place, { money: sums }) {
  if (sums === undefined) return
  if (place.childElementCount === 0) {
    const [roles, gains] = [table('By role, today (UTC)', HEADS), table('Gained lately', GAINS)]
    place.append(
      h('div', {
        id: 'chart',
        class: 'card',
        role: 'img',
        'aria-label': 'Realised, marked and gas in US dollars over time; the table below has the sums',
      }),
      h('section', {}, h('h2', {}, 'Today, by role'), roles.element),
      h('section', {}, h('h2', {}, 'Gained'), gains.element),
      h('div'),
    )
    chart?.destroy()
    chart = makeChart(place.firstChild, sums.points)
  } else chart?.setData(sums.points)
  const [, roles, gains, none] = place.children
  list(
    roles.querySelector('tbody'),
    Object.entries(sums.today ?? {}),
    ([role]) => role,
    ([role, { saidUsdMicros: expected, realizedUsdMicros, markedUsdMicros, gasUsdMicros }]) =>
      row(
        HEADS,
        role,
        expected === undefined ? '—' : micros(expected),
        h('strong', {}, micros(realizedUsdMicros)),
        micros(markedUsdMicros),
        micros(gasUsdMicros),
      ),
  )
  list(
    gains.querySelector('tbody'),
    sums.gains,
    ({ id, at }) => `${id} ${at}`,
    ({ id, role, at, paid, received, gas, profit, marked }) =>
      row(
        GAINS,
        when(Date.parse(at)),
        role,
        paid,
        received,
        gas,
        whyLink(id, h('strong', {}, profit), marked ? ' marked' : ''),
      ),
  )
  list(none, sums.gains.length === 0 ? ['Nothing was gained yet since the start.'] : [], String, nothing)
}

/** Draw it anew in the colours and the width of now. */
const again = () => {
  const place = document.getElementById('chart')
  if (place === null || chart === null) return
  const points = chart.data
  chart.destroy()
  chart = makeChart(place, points)
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again)
let resizing = null
addEventListener('resize', () => {
  clearTimeout(resizing)
  resizing = setTimeout(again, 150)
})

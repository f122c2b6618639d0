import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A file of the page, as it is sent. */
export type StaticPage = { readonly type: string; readonly body: Buffer }

const TYPES = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const

/** Our own, as they are: nothing is built. */
const OWN = [
  'index.html',
  'console.css',
  'icon.svg',
  'console.js',
  'approvals.js',
  'dialogs.js',
  'dom.js',
  'flows.js',
  'health.js',
  'legend.js',
  'link.js',
  'market-views.js',
  'money.js',
  'overview.js',
  'switches.js',
  'why.js',
]

/** Read every file of the page into memory: nothing is looked up by what a request says. */
export function readPages(): ReadonlyMap<string, StaticPage> {
  const page = (url: string): StaticPage => {
    const ending = url.slice(url.lastIndexOf('.') + 1) as keyof typeof TYPES
    return { type: TYPES[ending], body: readFileSync(fileURLToPath(url)) }
  }
  const index = page(import.meta.resolve('./page/index.html'))
  return new Map([
    ['/', index],
    ...OWN.map((name) => [`/${name}`, page(import.meta.resolve(`./page/${name}`))] as const),
    ['/readable.js', page(import.meta.resolve('../../readable.js'))],
    ['/uplot.js', page(import.meta.resolve('uplot/dist/uPlot.esm.js'))],
    ['/uplot.css', page(import.meta.resolve('uplot/dist/uPlot.min.css'))],
  ])
}

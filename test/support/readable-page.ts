import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** Runs in the page, whose types are not those of the tests. */
const UNREADABLE = String.raw`(() => {
  const { scrollWidth, clientWidth } = document.documentElement
  const faults = scrollWidth > clientWidth ? ['the page is ' + scrollWidth + ' wide, of ' + clientWidth] : []
  const place = document.querySelector('dialog[open]') ?? document.getElementById('main')
  for (const element of [place, ...place.querySelectorAll('*')]) {
    const isCut = element.clientWidth > 2 && element.scrollWidth > element.clientWidth + 1
    if (isCut && getComputedStyle(element).overflowX !== 'visible')
      faults.push(element.tagName + ' is cut: ' + element.textContent.slice(0, 60))
  }
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT)
  const texts = []
  for (let text = walker.nextNode(); text !== null; text = walker.nextNode())
    if (text.parentElement.closest('code, .mono, dd, pre, [hidden], caption') === null) texts.push(text)
  const findBroken = () => {
    for (const text of texts)
      for (const { 0: number, index } of text.textContent.matchAll(/(?<![\w…])\d[\d,.]*\d(?![\w…])/g)) {
        const range = document.createRange()
        range.setStart(text, index)
        range.setEnd(text, index + number.length)
        const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)))
        if (tops.size > 1) faults.push(number + ' is broken in ' + tops.size + ': ' + text.textContent.slice(0, 60))
      }
  }
  findBroken()
  // Amounts of this run are small ones: each as one of millions, and then as it was.
  const before = texts.map(({ textContent }) => textContent)
  for (const text of texts)
    text.textContent = text.textContent.replace(/(?<![\w…,.])[\d,]+\.\d\d(?![\w…])/g, '12,345,678.90')
  findBroken()
  texts.forEach((text, index) => (text.textContent = before[index]))
  return faults
})()`

/**
 * Find what a person could not read of a page, or of the dialog that is open: it scrolls sideways, a text is cut, or a number
 * is broken in two, as it is or as an amount of millions. An address or a hash may wrap.
 */
export const unreadable = async (page: Page): Promise<readonly string[]> => page.evaluate(UNREADABLE)

/** What axe finds, as far as it is read here. */
type Found = {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly html: string }[]
  }[]
}

/** Rows of a table are alike, and axe takes as long for each. */
const ALIKE = 'tbody tr:nth-child(n+9)'

/**
 * Find what of a page breaks a rule of accessibility, by axe: WCAG 2 A and AA, and best practices, or `rule` alone. Of each
 * table the first eight rows are looked at.
 */
export async function inaccessible(page: Page, rule?: string): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const how = { resultTypes: ['violations'], ...(rule === undefined ? {} : { runOnly: [rule] }) }
  const { violations }: Found = await page.evaluate(
    `axe.run({ exclude: [['${ALIKE}']] }, ${JSON.stringify(how)})`,
  )
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 100)}`))
}

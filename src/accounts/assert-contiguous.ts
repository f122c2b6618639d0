import { RolekeeperError } from '../errors.ts'
import type { Page } from '../journal/sqlite/accounts.ts'

/**
 * Demand that pages are whole: of one chain, each account's from its first page on and without a gap, and opening and lines
 * make each closing balance. Pure. Throws RolekeeperError `accounts.other_chain`, `accounts.gap` and `accounts.not_summing`.
 * @param chainId that they have to be of; absent: all of one.
 */
export function assertContiguous(pages: readonly Page[], chainId = pages[0]?.chainId): void {
  const other = pages.find((page) => page.chainId !== chainId)
  if (other !== undefined) {
    throw new RolekeeperError(
      'accounts.other_chain',
      `The accounts have a page of chain ${other.chainId}; chain ${chainId} was expected.`,
      { fix: 'give each chain a directory of its own, and this keeper the accounts.sqlite that it wrote.' },
    )
  }
  for (const own of Map.groupBy(pages, ({ signer }) => signer).values()) {
    for (const [index, page] of own.entries()) {
      const before = index === 0 ? null : (own[index - 1] ?? null)
      if ((page.from?.hash ?? null) !== (before?.to.hash ?? null)) throw gap(page, before)
      if (before !== null) assertSums(before, page)
    }
  }
}

const gap = ({ signer, from, to }: Page, before: Page | null) =>
  new RolekeeperError(
    'accounts.gap',
    `The accounts of ${signer} have a gap: the page that ends at block ${to.number} begins at ${from === null ? 'nothing' : `block ${from.number}`}, and the one before it ${before === null ? 'is not there' : `ends at block ${before.to.number}`}.`,
    {
      fix: "put accounts.sqlite of the keeper's directory back from a backup; what is missing cannot be made up.",
      facts: { signer },
    },
  )

function assertSums(before: Page, page: Page): void {
  for (const { token, assets: closing } of page.closing) {
    const opening = before.closing.find((each) => each.token === token)?.assets
    if (opening === undefined) continue
    const sum = page.lines.reduce((all, line) => (line.token === token ? all + line.assets : all), opening)
    if (sum === closing) continue
    throw new RolekeeperError(
      'accounts.not_summing',
      `The accounts of ${page.signer} do not sum at block ${page.to.number}: opening and lines of ${token ?? 'the native coin'} make ${sum}, and it closes at ${closing}.`,
      {
        fix: "put accounts.sqlite of the keeper's directory back from a backup: somebody changed it.",
        facts: { signer: page.signer },
      },
    )
  }
}

import { assertContiguous } from '../../accounts/assert-contiguous.ts'
import { type AccountRow, balancesOf } from '../../accounts/balances.ts'
import { reportsOf } from '../../accounts/nav-reports.ts'
import { opportunitiesOf } from '../../accounts/opportunities.ts'
import { type Period, periodOf } from '../../accounts/period.ts'
import { GROUPS, type Group, resultsOf } from '../../accounts/results.ts'
import { workedForOf } from '../../accounts/worked-for.ts'
import { workflowsOf } from '../../accounts/workflows-of.ts'
import type { RunConfig } from '../../config/config.ts'
import { RolekeeperError } from '../../errors.ts'
import type { JournalPlace } from '../../journal/open.ts'
import { type Page, readAccounts } from '../../journal/sqlite/accounts.ts'
import { plural } from '../../readable.js'
import { SHIPPED_ROLES } from '../../service/contract/roles.ts'
import { decimal } from '../../units.ts'
import { configAt } from '../orders/run-order.ts'
import {
  accountTable,
  balanceTable,
  lineTable,
  opportunityTable,
  priceTable,
  reportTable,
  resultTable,
} from '../output/pnl-tables.ts'
import { type Table, tableText } from '../output/table.ts'
import { command, type Io, usageError } from '../parse/command.ts'
import { perhaps } from '../parse/nearest.ts'
import { lookBackMs } from '../parse/options.ts'
import { PLACE, placeOf } from '../target/place.ts'

const BY = [...GROUPS, 'balance', 'line', 'account', 'opportunity', 'report', 'price'] as const
type By = (typeof BY)[number]

const isBy = (text: string): text is By => BY.some((each) => each === text)
const isGroup = (by: By): by is Group => GROUPS.some((each) => each === by)

/** `rolekeeper pnl`: what was expected, and what came of it. */
export const pnl = command({
  name: 'pnl',
  usage: `[--by ${BY.join('|')}] [--role ROLE] [--since TIME] [--config FILE | --directory DIR] [--json | --csv]`,
  help: `Say what came of what roles said, by the accounts that the keeper keeps of its signers: what moved, each at the price
when it moved, what gas cost, what changed in escrow, claims and shares, and what prices did to what was held. All of it
is final on chain. --by balance gives each account from its opening to its closing balance; --by line everything that
moved, with its transaction; --by account the vaults and funds that a role works for; --by opportunity what each came to
at its end, an hour later and when it was sold, and the block of the prices; --by report each report beside the next one;
--by price what each token was worth at last, who says so, and at which block.

  rolekeeper pnl --since 24h
  rolekeeper pnl --by opportunity --role liquidator
  rolekeeper pnl --by line --csv > accounts.csv
  rolekeeper pnl --check`,
  options: {
    ...PLACE,
    by: { help: 'what to sum up by (default: role)', value: 'WHAT' },
    role: { help: 'this role alone', value: 'ROLE' },
    since: { help: 'how far back, for example 24h or 30d (default: all there is)', value: 'TIME' },
    check: { help: 'compare --by balance with the chain at the same blocks; exits with 1 where they differ' },
    json: {
      help: 'print JSON, one object a line; money in millionths of a US dollar, amounts in base units',
    },
    csv: { help: 'print comma-separated values, with a header' },
  },
  argumentsMax: 0,
  run: async ({ by: wanted, role, since, check, json, csv, ...given }, _args, io) => {
    const how = { ...(json === true ? { json } : {}), ...(csv === true ? { csv } : {}) }
    const by = wanted ?? (check === true ? 'balance' : 'role')
    if (!isBy(by)) throw usageError(`--by is "${by}".`, `${perhaps(by, BY)}give one of ${BY.join(', ')}`)
    if (check === true && by !== 'balance')
      throw usageError(`--check is given with --by ${by}.`, 'leave --by out')
    if (role !== undefined && !SHIPPED_ROLES.some((each) => each === role))
      throw usageError(
        `--role is "${role}".`,
        `${perhaps(role, SHIPPED_ROLES)}give one of ${SHIPPED_ROLES.join(', ')}`,
      )
    if (how.json === true && how.csv === true)
      throw usageError('--json and --csv are both given.', 'give one')
    const place = await placeOf(given, io)
    const sinceMs = since === undefined ? 0 : Date.now() - lookBackMs('since', since)
    const all = await readPages(place.directory)
    const pages = all.filter((page) => role === undefined || page.role === role)
    const period = periodOf(pages, sinceMs)
    if (check === true) {
      // What compared nothing has not found that all is well.
      if (period.length === 0) throw nothingToCompare()
      const config = await configAt(given, io)
      assertContiguous(all, config.chain.id)
      return compare(balancesOf(period), config, how, io)
    }
    if (period.length === 0 && json !== true && csv !== true) {
      const isSince = since !== undefined && pages.length > 0
      io.out(isSince ? `Nothing is entered of the last ${since}.\n` : 'Nothing is entered yet.\n')
      return 0
    }
    const table = await tableOf(by, { pages, period, sinceMs, place })
    io.out(tableText(table, how))
    const unknown = new Set(table.unknown).size
    if (unknown > 0)
      io.err(
        `The journal lacks ${plural(unknown, 'workflow')} of these accounts, with what was expected there: was it restored from an earlier time?\n`,
      )
    const others = workedForOf(period)
    // Two tables in one file would be none.
    if (by === 'role' && json !== true && csv !== true && others.length > 0)
      io.out(
        `\nOf vaults and funds: none of it is the signers’ money.\n${tableText(accountTable(others), how)}`,
      )
    return 0
  },
})

/** What there is to print. */
type Entered = {
  readonly pages: readonly Page[]
  readonly period: Period
  readonly sinceMs: number
  readonly place: JournalPlace
}

/** A table, and the workflows in it that the journal does not have. */
type Printed = Table & { readonly unknown?: readonly string[] }

async function tableOf(by: By, { pages, period, sinceMs, place }: Entered): Promise<Printed> {
  const own = period.filter(({ page }) => page.owner === undefined)
  if (isGroup(by)) {
    const funds = period.filter(({ page }) => page.owner === 'fund')
    const results = resultsOf(own, by, await workflowsOf(own, place), funds)
    return { ...resultTable(by, results), unknown: results.flatMap(({ unknown }) => unknown) }
  }
  switch (by) {
    case 'balance':
      return balanceTable(balancesOf(period))
    case 'line':
      return lineTable(period)
    case 'account':
      return accountTable(workedForOf(period))
    case 'price':
      return priceTable(period)
    case 'report':
      return reportTable(reportsOf((await workflowsOf(own, place)).values()))
    case 'opportunity': {
      // What was held before is sold first: all pages count.
      const all = pages.filter(({ owner }) => owner === undefined).map((page) => ({ page }))
      const known = opportunitiesOf(pages, await workflowsOf(all, place))
      const opportunities = known.filter(({ movedAtMs }) => movedAtMs >= sinceMs)
      return {
        ...opportunityTable(opportunities),
        unknown: opportunities.flatMap(({ unknown }) => unknown),
      }
    }
  }
}

const nothingToCompare = () =>
  new RolekeeperError('accounts.nothing_entered', 'Nothing is entered yet, so nothing was compared.', {
    fix: 'wait for the second page of an account, at most an hour; or look back further with --since.',
    retry: 'later',
  })

async function readPages(directory: string): Promise<readonly Page[]> {
  const accounts = readAccounts(directory)
  try {
    const pages = await accounts.pages()
    assertContiguous(pages)
    return pages
  } finally {
    await accounts.close()
  }
}

/** How it is printed. */
type How = { readonly json?: true; readonly csv?: true }

/** Compare what accounts close at with the chain, and print that. @returns the exit code. */
async function compare(rows: readonly AccountRow[], config: RunConfig, how: How, io: Io): Promise<number> {
  const { checkAccounts } = await import('../../keeper/money/check-accounts.ts')
  const checked = await checkAccounts(rows, config)
  const table = balanceTable(rows)
  io.out(
    tableText(
      {
        columns: [...table.columns, 'on chain'],
        rows: table.rows.map(({ cells, data }, at) => {
          const { onChain = null, decimals } = checked[at] ?? { decimals: 0 }
          const text = onChain === null ? 'not read' : decimal(onChain, decimals)
          return {
            cells: [...cells, text],
            data: { ...data, onChain: onChain === null ? null : String(onChain) },
          }
        }),
      },
      how,
    ),
  )
  const differ = checked.filter(({ onChain, closing }) => onChain !== null && onChain !== closing).length
  const unread = checked.filter(({ onChain }) => onChain === null).length
  const unexplained = rows.filter((row) => row.unexplained !== 0n).length
  const of = `${plural(rows.length, 'account')}: opening and lines make each closing balance`
  io.err(
    `${of}; ${differ} differ from the chain, ${unread} the nodes do not have any more, ${unexplained} have something unexplained.\n`,
  )
  return differ + unread === 0 ? 0 : 1
}

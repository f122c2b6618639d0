import {
  type AccountRow,
  balancesOf,
  entriesOf,
  GROUPS,
  type Group,
  type Period,
  periodOf,
  type Result,
  resultsOf,
  symbolOf,
} from '../../accounts/pnl.ts'
import { assertWhole } from '../../accounts/whole.ts'
import { type WorkedFor, workedForOf } from '../../accounts/worked-for.ts'
import type { RunConfig } from '../../config/config.ts'
import { readAccounts } from '../../journal/accounts.ts'
import { type JournalPlace, readJournal } from '../../journal/open.ts'
import { decimal } from '../../units.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { command, type Io, usageError } from '../command.ts'
import { usd } from '../format.ts'
import { durationMs } from '../options.ts'
import { PLACE, placeOf } from '../place.ts'
import { configAt } from '../run-order.ts'
import { type Table, tableText } from '../table.ts'

const BY = [...GROUPS, 'balance', 'line', 'account'] as const
type By = (typeof BY)[number]

const isBy = (text: string): text is By => BY.some((each) => each === text)
const isGroup = (by: By): by is Group => GROUPS.some((each) => each === by)

/** `rolekeeper pnl`: what was said, and what came of it. */
export const pnl = command({
  name: 'pnl',
  usage: `[--by ${BY.join('|')}] [--role ROLE] [--since TIME] [--config FILE | --directory DIR] [--json | --csv]`,
  help: `Say what came of what roles said, by the accounts that the keeper keeps of its signers: what moved, each at the price
when it moved, what gas cost, what changed in escrow, claims and shares, and what prices did to what was held. All of it
is final on chain. --by balance gives each account from its opening to its closing balance; --by line everything that
moved, with its transaction.

  rolekeeper pnl --since 24h
  rolekeeper pnl --by workflow --role liquidator
  rolekeeper pnl --by line --csv > accounts.csv`,
  options: {
    ...PLACE,
    by: { help: 'what to sum up by (default: role)', value: 'WHAT' },
    role: { help: 'this role alone', value: 'ROLE' },
    since: { help: 'how far back, for example 24h (default: all there is)', value: 'TIME' },
    check: { help: 'compare --by balance with the chain at the same blocks; exits with 1 where they differ' },
    json: { help: 'print JSON, one object a line; money in millionths of a US dollar' },
    csv: { help: 'print comma-separated values, with a header' },
  },
  argumentsMax: 0,
  run: async ({ by: wanted, role, since, check, json, csv, ...given }, _args, io) => {
    const how = { ...(json === true ? { json } : {}), ...(csv === true ? { csv } : {}) }
    const by = wanted ?? (check === true ? 'balance' : 'role')
    if (!isBy(by)) throw usageError(`--by is "${by}".`, `give one of ${BY.join(', ')}`)
    if (check === true && by !== 'balance')
      throw usageError(`--check is given with --by ${by}.`, 'leave --by out')
    if (how.json === true && how.csv === true)
      throw usageError('--json and --csv are both given.', 'give one')
    const place = await placeOf(given, io)
    const sinceMs = since === undefined ? 0 : Date.now() - durationMs('since', since)
    const config = check === true ? await configAt(given, io) : undefined
    const period = (await readPeriod(place.directory, sinceMs, config?.chain.id)).filter(
      ({ page }) => role === undefined || page.role === role,
    )
    if (config !== undefined) return compare(balancesOf(period), config, how, io)
    const isForPeople = json !== true && csv !== true
    if (period.length === 0 && isForPeople) {
      io.out('Nothing is entered yet.\n')
      return 0
    }
    const own = period.filter(({ page }) => page.owner === undefined)
    if (isGroup(by))
      io.out(tableText(resultTable(by, resultsOf(own, by, await workflowsOf(own, place))), how))
    else if (by === 'balance') io.out(tableText(balanceTable(balancesOf(period)), how))
    else if (by === 'line') io.out(tableText(lineTable(period), how))
    const others = workedForOf(period)
    // Two tables in one file would be none.
    const isBelow = by === 'role' && isForPeople && others.length > 0
    if (isBelow) io.out('\nOf vaults and funds: none of it is the signers’ money.\n')
    if (isBelow || by === 'account') io.out(tableText(accountTable(others), how))
    return 0
  },
})

async function readPeriod(directory: string, sinceMs: number, chainId?: number): Promise<Period> {
  const accounts = readAccounts(directory)
  try {
    const pages = await accounts.pages()
    assertWhole(pages, chainId)
    return periodOf(pages, sinceMs)
  } finally {
    await accounts.close()
  }
}

/** The workflows that lines belong to. */
async function workflowsOf(period: Period, place: JournalPlace): Promise<ReadonlyMap<string, Workflow>> {
  const ids = new Set(entriesOf(period).flatMap(({ workflowId }) => workflowId ?? []))
  if (ids.size === 0) return new Map()
  return readJournal(place, async (journal) => {
    const found = new Map<string, Workflow>()
    for (const id of ids) {
      const workflow = await journal.get(id)
      if (workflow !== null) found.set(id, workflow)
    }
    return found
  })
}

/** How it is printed. */
type How = { readonly json?: true; readonly csv?: true }

const money = (micros: bigint | null) => (micros === null ? '' : usd(String(micros)))

function resultTable(by: Group, results: readonly Result[]): Table {
  return {
    columns: [by, 'said', 'moved', 'gas', 'positions', 'marked', 'total', 'workflows'],
    rows: results.map(({ key, said, moved, gas, positions, marked, workflows, hashes }) => {
      const total = moved + gas + (positions ?? 0n) + (marked ?? 0n)
      const text = (micros: bigint | null) => (micros === null ? null : String(micros))
      return {
        cells: [
          ...[key, ...[said, moved, gas, positions, marked, total].map(money)],
          String(workflows.length),
        ],
        data: {
          ...{ [by]: key, said: text(said), moved: text(moved), gas: text(gas), positions: text(positions) },
          ...{ marked: text(marked), total: text(total), workflows, hashes },
        },
      }
    }),
  }
}

/** Compare what accounts close at with the chain, and print that. @returns the exit code. */
async function compare(rows: readonly AccountRow[], config: RunConfig, how: How, io: Io): Promise<number> {
  const { checkAccounts } = await import('../../keeper/check-accounts.ts')
  const checked = await checkAccounts(rows, config)
  const table = balanceTable(rows)
  io.out(
    tableText(
      {
        columns: [...table.columns, 'on chain'],
        rows: table.rows.map(({ cells, data }, at) => {
          const { onChain = null, decimals } = checked[at] ?? { decimals: 0 }
          const text = onChain === null ? 'not read' : decimal(onChain, decimals)
          return { cells: [...cells, text], data: { ...data, onChain: onChain === null ? null : text } }
        }),
      },
      how,
    ),
  )
  const differ = checked.filter(({ onChain, closing }) => onChain !== null && onChain !== closing).length
  const unread = checked.filter(({ onChain }) => onChain === null).length
  const unexplained = rows.filter((row) => row.unexplained !== 0n).length
  const of = `${rows.length} accounts: opening and lines make each closing balance`
  io.err(
    `${of}; ${differ} differ from the chain, ${unread} the nodes do not have any more, ${unexplained} have something unexplained.\n`,
  )
  return differ + unread === 0 ? 0 : 1
}

/** A role, or of what is not its signer's whose it is. */
const nameOf = ({ role, owner }: { readonly role: string; readonly owner?: AccountRow['owner'] }) =>
  owner === undefined ? role : `${role}: ${owner}`

function balanceTable(rows: readonly AccountRow[]): Table {
  const columns = [
    ...['role', 'token', 'opening', 'received', 'paid', 'gas', 'unexplained', 'closing', 'block', 'account'],
  ]
  return {
    columns,
    rows: rows.map(({ role, owner, signer, symbol, decimals, block, ...amounts }) => {
      const { opening, received, paid, gas, unexplained, closing } = amounts
      const shown = [opening, received, paid, gas, unexplained, closing].map((each) =>
        decimal(each, decimals),
      )
      const cells = [nameOf({ role, owner }), symbol, ...shown, String(block), signer]
      return {
        cells,
        data: { signer, ...Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? ''])) },
      }
    }),
  }
}

function accountTable(accounts: readonly WorkedFor[]): Table {
  return {
    columns: ['account', 'role', 'flows', 'earned', 'marked', 'total'],
    rows: accounts.map(({ account, owner, role, flows, earned, marked, hashes }) => {
      const sums = { flows, earned, marked, total: flows + earned + marked }
      const texts = Object.entries(sums).map(([name, micros]) => [name, String(micros)] as const)
      return {
        cells: [`${owner} ${account}`, role, ...Object.values(sums).map(money)],
        data: { account, owner, role, ...Object.fromEntries(texts), hashes },
      }
    }),
  }
}

function lineTable(period: Period): Table {
  const columns = [
    'time',
    'block',
    'role',
    'kind',
    'amount',
    'token',
    'usd',
    'counterparty',
    'transaction',
    'workflow',
  ]
  return {
    columns,
    rows: entriesOf(period).map(({ page, line, usdMicros, workflowId }) => {
      const decimals = page.tokens.find(({ token }) => token === line.token)?.decimals ?? 0
      const cells = [
        ...[new Date(page.to.atMs).toISOString(), String(line.blockNumber), nameOf(page), line.kind],
        ...[decimal(line.assets, decimals), symbolOf(page, line), decimal(usdMicros, 6)],
        ...[line.counterparty ?? '', line.hash ?? '', workflowId ?? ''],
      ]
      return {
        cells,
        data: {
          signer: page.signer,
          ...Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? ''])),
        },
      }
    }),
  }
}

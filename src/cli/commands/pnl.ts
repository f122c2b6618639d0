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
import { readAccounts } from '../../journal/accounts.ts'
import { type JournalPlace, readJournal } from '../../journal/open.ts'
import { decimal } from '../../units.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { command, usageError } from '../command.ts'
import { usd } from '../format.ts'
import { durationMs } from '../options.ts'
import { PLACE, placeOf } from '../place.ts'

const BY = [...GROUPS, 'balance', 'line'] as const
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
    json: { help: 'print JSON, one object a line; money in millionths of a US dollar' },
    csv: { help: 'print comma-separated values, with a header' },
  },
  argumentsMax: 0,
  run: async ({ by = 'role', role, since, json, csv, ...given }, _args, io) => {
    if (!isBy(by)) throw usageError(`--by is "${by}".`, `give one of ${BY.join(', ')}`)
    if (json === true && csv === true) throw usageError('--json and --csv are both given.', 'give one')
    const place = await placeOf(given, io)
    const sinceMs = since === undefined ? 0 : Date.now() - durationMs('since', since)
    const period = (await readPeriod(place.directory, sinceMs)).filter(
      ({ page }) => role === undefined || page.role === role,
    )
    const table = isGroup(by)
      ? resultTable(by, resultsOf(period, by, await workflowsOf(period, place)))
      : by === 'balance'
        ? balanceTable(balancesOf(period))
        : lineTable(period)
    if (json === true) io.out(table.rows.map((row) => `${JSON.stringify(row.data)}\n`).join(''))
    else if (csv === true) io.out(csvOf(table))
    else io.out(period.length === 0 ? 'Nothing is entered yet.\n' : textOf(table))
    return 0
  },
})

async function readPeriod(directory: string, sinceMs: number): Promise<Period> {
  const accounts = readAccounts(directory)
  try {
    return periodOf(await accounts.pages(), sinceMs)
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

/** What is printed: columns, each cell as people read it, and each row as data. */
type Table = {
  readonly columns: readonly string[]
  readonly rows: readonly {
    readonly cells: readonly string[]
    readonly data: Readonly<Record<string, string | readonly string[] | null>>
  }[]
}

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

function balanceTable(rows: readonly AccountRow[]): Table {
  const columns = ['role', 'token', 'opening', 'received', 'paid', 'gas', 'unexplained', 'closing', 'block']
  return {
    columns,
    rows: rows.map(({ role, signer, symbol, decimals, block, ...amounts }) => {
      const { opening, received, paid, gas, unexplained, closing } = amounts
      const shown = [opening, received, paid, gas, unexplained, closing].map((each) =>
        decimal(each, decimals),
      )
      const cells = [role, symbol, ...shown, String(block)]
      return {
        cells,
        data: { signer, ...Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? ''])) },
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
        ...[new Date(page.to.atMs).toISOString(), String(line.blockNumber), page.role, line.kind],
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

/** Source: RFC 4180; groups of three digits are left out, so that a sheet reads numbers. */
function csvOf({ columns, rows }: Table): string {
  const cell = (text: string) => {
    const plain = /^[-+$]*[\d,]+(\.\d+)?$/.test(text) ? text.replaceAll(/[$,+]/g, '') : text
    return /[",\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
  }
  return [columns, ...rows.map(({ cells }) => cells)]
    .map((cells) => `${cells.map(cell).join(',')}\n`)
    .join('')
}

function textOf({ columns, rows }: Table): string {
  const all = [columns, ...rows.map(({ cells }) => cells)]
  const widths = columns.map((_, at) => Math.max(...all.map((cells) => cells[at]?.length ?? 0)))
  const isWord = (at: number) => at === 0 || rows.some(({ cells }) => /[a-z]/i.test(cells[at] ?? ''))
  return all
    .map((cells) => {
      const padded = cells.map((cell, at) =>
        isWord(at) ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0),
      )
      return `${padded.join('  ').trimEnd()}\n`
    })
    .join('')
}

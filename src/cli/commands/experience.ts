import { type Experience, withCases } from '../../../agents/protocol/experience.ts'
import { type AccountsReads, forget, readAccounts } from '../../journal/sqlite/accounts.ts'
import { gain } from '../../readable.js'
import { SHIPPED_ROLES } from '../../service/contract/roles.ts'
import { tableText } from '../output/table.ts'
import { command, type Io, unknownWord, usageError } from '../parse/command.ts'
import { checkRole } from '../target/keeper-there.ts'
import { PLACE, placeOf } from '../target/place.ts'

const WORDS = {
  known: ['show', 'forget'],
  a: 'a command of experience',
  asks: 'Say what to do.',
  fix: 'write `show` or `forget ROLE`',
}

/** `rolekeeper experience`: what a role has learned, and how it forgets that. */
export const experience = command({
  name: 'experience',
  usage: 'show [--role ROLE] | forget ROLE [--config FILE | --directory DIR] [--json]',
  help: `Show what became of what roles said, by the accounts of their signers: how often each name was decided and won, and of
what was won how far it came from what was expected, and what it brought, in parts of the price, or of a day's interest; and what
all of them brought in dollars, less what they cost. What is won is decided an hour after it came, or a day after a vault's
move; a race that was lost, at once. Old cases fade. What a role says and bids next is corrected by it, within the policy's
bounds. Forget lets one role begin anew; the accounts stay.

  rolekeeper experience show
  rolekeeper experience forget rfq-bidder`,
  options: {
    ...PLACE,
    role: { help: 'of this role alone', value: 'ROLE' },
    json: { help: 'print JSON, one object a line' },
  },
  argumentsMax: 2,
  run: async ({ json, role: only, ...given }, [what, role], io) => {
    if (what !== 'show' && what !== 'forget') throw unknownWord(what, WORDS)
    if (what === 'show' && role !== undefined)
      throw usageError(`There is no place for "${role}".`, 'write `show`')
    if (what === 'forget' && role === undefined)
      throw usageError('Say which role forgets.', 'write `forget ROLE`')
    const { directory } = await placeOf(given, io)
    const accounts = readAccounts(directory)
    try {
      if (what === 'show') {
        checkRole(only, [...new Set([...SHIPPED_ROLES, ...accounts.rolesOfCases()])])
        const rows = await rowsOf(accounts)
        const shown = rows.filter((row) => only === undefined || row.role === only)
        show(shown, json === true, io)
      } else await forgetRole(role, directory, accounts, io)
    } finally {
      await accounts.close()
    }
    return 0
  },
})

type Row = { readonly role: string } & Experience

async function rowsOf(accounts: AccountsReads): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (const role of accounts.rolesOfCases()) {
    rows.push(...withCases([], await accounts.cases({ role })).map((each) => ({ role, ...each })))
  }
  return rows
}

/** Without it, a role that has just begun seems to win nothing. */
const WHEN =
  'A race that was lost is counted at once, and what was won an hour after it came, or a day after a move.\n'

function show(rows: readonly Row[], isJson: boolean, io: Io): void {
  if (isJson) io.out(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  else
    io.out(
      rows.length === 0
        ? 'Nothing is decided yet.\n'
        : `${tableText({ columns: COLUMNS, rows: rows.map((row) => ({ cells: cellsOf(row), data: {} })) }, {})}${WHEN}`,
    )
}

async function forgetRole(
  given: string | undefined,
  directory: string,
  accounts: AccountsReads,
  io: Io,
): Promise<void> {
  const pages = await accounts.pages()
  const last = pages.findLast(({ role }) => role === given)
  if (last === undefined) {
    const roles = [...new Set(pages.map(({ role }) => role))].join(', ')
    throw usageError(`There are no accounts of ${given}.`, `give one of: ${roles}`)
  }
  await forget(directory, last.role, last.to.atMs)
  io.out(`Forgotten: the ${last.role} begins anew within a minute. Its accounts stay.\n`)
}

const COLUMNS = ['role', 'of', 'decided', 'won', 'against expected', 'brought', 'net']

function cellsOf({ role, of, decided, won, errors, gains, netUsd }: Row): readonly string[] {
  const mean = (sum: number) => (won === 0 ? '-' : `${((100 * sum) / won).toFixed(2)} %`)
  return [
    role,
    of,
    String(Math.round(decided)),
    String(Math.round(won)),
    mean(errors),
    mean(gains),
    gain(BigInt(Math.round(netUsd * 1e6))),
  ]
}

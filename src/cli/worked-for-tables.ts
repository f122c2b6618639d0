import type { WorkedFor } from '../accounts/worked-for.ts'
import type { At, Reported, Work } from '../accounts/works.ts'
import { usd } from './format.ts'
import type { Table } from './table.ts'

/** Write money for people; nothing where there is none. Pure. */
export const money = (micros: bigint | null): string => (micros === null ? '' : usd(String(micros)))

/** Name a role, and of what is not its signer's money whose it is. Pure. */
export const nameOf = ({
  role,
  owner,
}: {
  readonly role: string
  readonly owner?: WorkedFor['owner'] | undefined
}) => (owner === undefined ? role : `${role}: ${owner}`)

/** Write what vaults and funds came to. Pure. */
export function accountTable(accounts: readonly WorkedFor[]): Table {
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

/** Write what was done, and what came of it. Pure. */
export function workTable(works: readonly Work[]): Table {
  return {
    columns: [
      ...['role', 'workflow', 'said', 'gas'],
      ...['at end', 'end block', 'hour later', 'hour block', 'sold', 'sold block'],
    ],
    rows: works.map(({ role, owner, signer, workflows, said, gas, atEnd, hourLater, sold, hashes }) => {
      const all = { atEnd, hourLater, sold }
      return {
        cells: [
          ...[nameOf({ role, owner }), workflows[0] ?? '', money(said), money(gas)],
          ...Object.values(all).flatMap((at) => [money(at?.usdMicros ?? null), String(at?.block ?? '')]),
        ],
        data: {
          ...{ role, owner: owner ?? 'signer', account: signer, workflows },
          ...{ said: said === null ? null : String(said), gas: String(gas) },
          ...Object.fromEntries(Object.entries(all).flatMap(([name, at]) => dataOf(name, at))),
          hashes,
        },
      }
    }),
  }
}

const dataOf = (name: string, at: At | null): readonly (readonly [string, string | null])[] => [
  [name, at === null ? null : String(at.usdMicros)],
  [`${name}Block`, at === null ? null : String(at.block)],
  [`${name}Time`, at === null ? null : new Date(at.atMs).toISOString()],
]

/** Write what was reported, beside what the next report says. Pure. */
export function reportTable(reports: readonly Reported[]): Table {
  const columns = ['subject', 'valued at', 'value', 'next value', 'bps', 'workflow', 'transaction']
  return {
    columns,
    rows: reports.map(({ id, subject, valuedAtS, value, nextValue, nextBps, hashes }) => {
      const cells = [
        ...[subject, new Date(Number(valuedAtS) * 1_000).toISOString(), String(value)],
        ...[String(nextValue ?? ''), String(nextBps ?? ''), id, hashes.at(-1) ?? ''],
      ]
      return { cells, data: Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? ''])) }
    }),
  }
}

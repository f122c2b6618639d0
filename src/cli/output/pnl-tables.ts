import type { AccountRow } from '../../accounts/balances.ts'
import { entriesOf } from '../../accounts/entries.ts'
import type { ReportDistance } from '../../accounts/nav-reports.ts'
import type { At, Opportunity } from '../../accounts/opportunities.ts'
import { type Period, symbolOf } from '../../accounts/period.ts'
import type { Group, Result } from '../../accounts/results.ts'
import type { WorkedFor } from '../../accounts/worked-for.ts'
import { gain } from '../../readable.js'
import { decimal } from '../../units.ts'
import type { Table } from './table.ts'

/** Write money for people; nothing where there is none. Pure. */
const money = (micros: bigint | null): string => (micros === null ? '' : gain(micros))

/** Name a role, and of what is not its signer's money whose it is. Pure. */
const nameOf = ({
  role,
  owner,
}: {
  readonly role: string
  readonly owner?: WorkedFor['owner'] | undefined
}) => (owner === undefined ? role : `${role}: ${owner}`)

/** Write what was expected, and what came of it, by a group. Pure. */
export function resultTable(by: Group, results: readonly Result[]): Table {
  return {
    columns: [by, 'expected', 'moved', 'gas', 'positions', 'marked', 'total', 'workflows'],
    rows: results.map(({ key, said, moved, gas, positions, marked, workflows, unknown, hashes }) => {
      const total = moved + gas + (positions ?? 0n) + (marked ?? 0n)
      const text = (micros: bigint | null) => (micros === null ? null : String(micros))
      return {
        cells: [
          ...[key, ...[said, moved, gas, positions, marked, total].map(money)],
          String(workflows.length),
        ],
        data: {
          [by]: key,
          said: text(said),
          moved: text(moved),
          gas: text(gas),
          positions: text(positions),
          marked: text(marked),
          total: text(total),
          workflows,
          unknown,
          hashes,
        },
      }
    }),
  }
}

/** Write accounts from their opening to their closing balance. Pure. */
export function balanceTable(rows: readonly AccountRow[]): Table {
  const columns = [
    ...['role', 'token', 'opening', 'received', 'paid', 'gas', 'unexplained', 'closing', 'block', 'account'],
  ]
  return {
    columns,
    rows: rows.map(({ role, owner, signer, token, symbol, decimals, block, isUnread, ...amounts }) => {
      const { opening, received, paid, gas, unexplained, closing } = amounts
      const shown = [opening, received, paid, gas, unexplained, closing].map((each) =>
        decimal(each, decimals),
      )
      const whole = { opening, received, paid, gas, unexplained, closing }
      const texts = Object.entries(whole).map(([name, assets]) => [name, String(assets)] as const)
      return {
        cells: [
          ...[nameOf({ role, owner }), symbol, ...shown],
          ...[isUnread ? `${block}: no longer read since` : String(block), signer],
        ],
        data: {
          role,
          owner: owner ?? 'signer',
          account: signer,
          token,
          symbol,
          decimals: String(decimals),
          ...Object.fromEntries(texts),
          block: String(block),
          read: isUnread ? 'no longer' : 'yes',
        },
      }
    }),
  }
}

/** Write what each token was worth on the last page of each account, who says so, and at which block. Pure. */
export function priceTable(period: Period): Table {
  const last = Map.groupBy(period, ({ page }) => page.signer).values()
  const pages = [...last].flatMap((own) => own.at(-1)?.page ?? [])
  return {
    columns: ['role', 'token', 'price', 'by', 'block', 'account'],
    rows: pages.flatMap((page) =>
      page.prices.map(({ token, usdMicros, by = null, readUntil = page.to }) => {
        const { role, owner = 'signer', signer } = page
        const [symbol, block] = [symbolOf(page, { token }), String(readUntil.number)]
        return {
          cells: [nameOf(page), symbol, decimal(usdMicros, 6), by ?? '', block, signer],
          data: { role, owner, account: signer, token, symbol, price: String(usdMicros), by, block },
        }
      }),
    ),
  }
}

/** Write all that moved. Pure. */
export const lineTable = (period: Period): Table => ({
  columns: [
    ...['time', 'block', 'role', 'kind', 'amount', 'token', 'usd'],
    ...['counterparty', 'transaction', 'workflow'],
  ],
  rows: entriesOf(period).map(({ page, line, usdMicros, workflowId }) => {
    const decimals = page.tokens.find(({ token }) => token === line.token)?.decimals ?? 0
    const [time, block] = [new Date(page.to.atMs).toISOString(), String(line.blockNumber)]
    const { kind, assets, token, counterparty, hash } = line
    const { role, owner = 'signer', signer } = page
    const symbol = symbolOf(page, line)
    return {
      cells: [
        ...[time, block, nameOf(page), kind, decimal(assets, decimals), symbol, decimal(usdMicros, 6)],
        ...[counterparty ?? '', hash ?? '', workflowId ?? ''],
      ],
      data: {
        time,
        block,
        role,
        owner,
        account: signer,
        kind,
        assets: String(assets),
        token,
        symbol,
        decimals: String(decimals),
        usd: String(usdMicros),
        counterparty,
        transaction: hash,
        workflow: workflowId,
      },
    }
  }),
})

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
export function opportunityTable(opportunities: readonly Opportunity[]): Table {
  return {
    columns: [
      ...['role', 'workflow', 'received', 'expected', 'gas'],
      ...['at end', 'end block', 'hour later', 'hour block', 'sold', 'sold block'],
    ],
    rows: opportunities.map(
      ({ role, owner, signer, workflows, unknown, came, said, gas, atEnd, hourLater, sold, hashes }) => {
        const all = { atEnd, hourLater, sold }
        return {
          cells: [
            ...[nameOf({ role, owner }), workflows[0] ?? '', came, money(said), money(gas)],
            ...Object.values(all).flatMap((at) => [money(at?.usdMicros ?? null), String(at?.block ?? '')]),
          ],
          data: {
            role,
            owner: owner ?? 'signer',
            account: signer,
            workflows,
            unknown,
            came,
            said: said === null ? null : String(said),
            gas: String(gas),
            ...Object.fromEntries(Object.entries(all).flatMap(([name, at]) => dataOf(name, at))),
            hashes,
          },
        }
      },
    ),
  }
}

const dataOf = (name: string, at: At | null): readonly (readonly [string, string | null])[] => [
  [name, at === null ? null : String(at.usdMicros)],
  [`${name}Block`, at === null ? null : String(at.block)],
  [`${name}Time`, at === null ? null : new Date(at.atMs).toISOString()],
]

/** Write what was reported, beside what the next report says. Pure. */
export const reportTable = (reports: readonly ReportDistance[]): Table => ({
  columns: ['subject', 'valued at', 'value', 'next value', 'bps', 'workflow', 'transaction'],
  rows: reports.map(({ id, subject, valuedAtS, value, decimals, nextValue, nextBps, hashes }) => {
    const valuedAt = new Date(Number(valuedAtS) * 1_000).toISOString()
    const [next, bps] = [nextValue, nextBps].map((each) => (each === null ? null : String(each)))
    const nextText = nextValue === null ? '' : decimal(nextValue, decimals)
    const transaction = hashes.at(-1) ?? null
    return {
      cells: [...[subject, valuedAt, decimal(value, decimals), nextText, bps ?? '', id, transaction ?? '']],
      data: {
        subject,
        valuedAt,
        value: String(value),
        decimals: String(decimals),
        nextValue: next ?? null,
        bps: bps ?? null,
        workflow: id,
        transaction,
      },
    }
  }),
})

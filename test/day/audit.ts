import type { PublicClient } from 'viem'
import type { RunConfig } from '../../src/config/config.ts'
import { readSqliteJournal } from '../../src/journal/sqlite.ts'
import { isTerminal, type Workflow } from '../../src/workflow/workflow.ts'

/** More than a day brings. */
const ROWS_MAX = 1_000_000

/**
 * Hold the journal against the chain: nothing lost (each workflow that was told of is there and has its end, and each nonce
 * that the chain counts is in the journal), nothing doubled (an opportunity succeeds once, a nonce has one holder and one transaction), nothing
 * quarantined or unexplained.
 * @returns one sentence for each thing that is wrong.
 */
export async function findProblems(
  config: RunConfig,
  chain: PublicClient,
  toldOf: number,
): Promise<readonly string[]> {
  const journal = readSqliteJournal(config.directory)
  try {
    const rows = await journal.list(ROWS_MAX)
    const nonces = await Promise.all(
      config.agents.map(async ({ role, signer: { address } }) => {
        const [counted, next] = await Promise.all([
          chain.getTransactionCount({ address }),
          journal.nextNonce(config.chain.id, address),
        ])
        return counted === (next ?? 0)
          ? []
          : [`${role}: the chain counts ${counted} transactions, the journal ${next}`]
      }),
    )
    const landed = await Promise.all(rows.map((row) => landedProblems(row, chain)))
    const lost =
      rows.length === toldOf ? [] : [`${toldOf} workflows were begun, the journal has ${rows.length}`]
    return [...lost, ...endProblems(rows), ...doubled(rows), ...nonces.flat(), ...landed.flat()]
  } finally {
    await journal.close()
  }
}

const named = ({ id, role, proposal }: Workflow) => `${role} ${proposal.workflowType} ${id.slice(0, 8)}`

const endProblems = (rows: readonly Workflow[]) =>
  rows.flatMap((row) => {
    const bad = ['quarantined', 'unconfirmed', 'superseded'].includes(row.state)
    if (isTerminal(row.state) && !bad) return []
    return [`${named(row)} is ${row.state}: ${row.note?.message ?? 'without a note'}`]
  })

function doubled(rows: readonly Workflow[]): readonly string[] {
  const succeeded = rows.filter(({ state }) => state === 'succeeded')
  const opportunities = Object.values(Object.groupBy(succeeded, ({ opportunity }) => opportunity))
  const slots = rows.flatMap((row) => row.slots.map((slot) => ({ row, key: `${slot.signer}:${slot.nonce}` })))
  const holders = Object.values(Object.groupBy(slots, ({ key }) => key))
  return [
    ...opportunities.flatMap((same = []) =>
      same.length > 1
        ? [`one opportunity succeeded ${same.length} times: ${same.map(named).join(', ')}`]
        : [],
    ),
    ...holders.flatMap((same = []) =>
      same.length > 1
        ? [`one nonce has ${same.length} holders: ${same.map(({ row }) => named(row)).join(', ')}`]
        : [],
    ),
  ]
}

/** What the journal says landed is on the chain, from its signer at its nonce, and ended as it says. */
async function landedProblems(row: Workflow, chain: PublicClient): Promise<readonly string[]> {
  const checks = await Promise.all(
    row.slots.map(async ({ inclusion, nonce, signer }) => {
      if (inclusion === undefined) return `${named(row)}: nonce ${nonce} has no end`
      const [receipt, transaction] = await Promise.all([
        chain.getTransactionReceipt({ hash: inclusion.hash }).catch(() => null),
        chain.getTransaction({ hash: inclusion.hash }).catch(() => null),
      ])
      if (receipt === null || transaction === null)
        return `${named(row)}: ${inclusion.hash} is not on the chain`
      const same =
        transaction.nonce === nonce &&
        transaction.from.toLowerCase() === signer.toLowerCase() &&
        receipt.status === inclusion.status
      return same ? null : `${named(row)}: ${inclusion.hash} is not what the journal says`
    }),
  )
  return checks.filter((check) => check !== null)
}

import {
  type Address,
  type PublicClient,
  TransactionNotFoundError,
  TransactionReceiptNotFoundError,
} from 'viem'
import { readSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { isTerminal, type Workflow } from '../../../src/workflow/workflow.ts'

/** More than a day brings. */
const ROWS_MAX = 1_000_000

/** Where the journal is, and whose transactions it holds. */
type Books = {
  readonly directory: string
  readonly chainId: number
  readonly signers: readonly { readonly role: string; readonly address: Address }[]
}

/** Workflows that are looked up side by side: a node that is asked for thousands at once answers some too late. */
const SIDE_BY_SIDE = 16

/**
 * Hold the journal against the chain: nothing lost (each workflow that was announced is there and has its end, and
 * each nonce that the chain counts is in the journal), nothing doubled (an opportunity succeeds once, a nonce has one
 * holder and one transaction), nothing quarantined or unexplained. What cannot be read is a problem of its own.
 * @returns one sentence for each thing that is wrong.
 */
export async function findProblems(
  { directory, chainId, signers }: Books,
  chain: PublicClient,
  announced: number,
): Promise<readonly string[]> {
  const journal = readSqliteJournal(directory)
  try {
    const rows = await journal.list(ROWS_MAX)
    const nonces = await Promise.all(
      signers.map(async ({ role, address }) => {
        const [counted, next] = await Promise.all([
          chain.getTransactionCount({ address }),
          journal.nextNonce(chainId, address),
        ])
        return counted === (next ?? 0)
          ? []
          : [`${role}: the chain counts ${counted} transactions, the journal ${next}`]
      }),
    )
    const lost =
      rows.length === announced ? [] : [`${announced} workflows were begun, the journal has ${rows.length}`]
    return [
      ...lost,
      ...endProblems(rows),
      ...doubled(rows),
      ...nonces.flat(),
      ...(await allLanded(rows, chain)),
    ]
  } finally {
    await journal.close()
  }
}

const named = ({ id, role, proposal }: Workflow) => `${role} ${proposal.workflowType} ${id.slice(0, 8)}`

const endProblems = (rows: readonly Workflow[]) =>
  rows.flatMap((row) => {
    const bad = ['quarantined', 'unconfirmed', 'superseded', 'partial'].includes(row.state)
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

async function allLanded(rows: readonly Workflow[], chain: PublicClient): Promise<readonly string[]> {
  const problems: (readonly string[])[] = []
  const waiting = rows.entries()
  const work = async () => {
    for (const [index, row] of waiting) problems[index] = await landedProblems(row, chain)
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
  return problems.flat()
}

/** What the journal says landed is on the chain, from its signer at its nonce, and ended as it says. */
async function landedProblems(row: Workflow, chain: PublicClient): Promise<readonly string[]> {
  const checks = await Promise.all(
    row.slots.map(async (slot) => {
      try {
        return await slotProblem(slot, chain)
      } catch (error) {
        return `the chain could not be asked: ${error}`
      }
    }),
  )
  return checks.flatMap((problem) => (problem === null ? [] : [`${named(row)}: ${problem}`]))
}

async function slotProblem(
  { inclusion, nonce, signer }: Workflow['slots'][number],
  chain: PublicClient,
): Promise<string | null> {
  if (inclusion === undefined) return `nonce ${nonce} has no end`
  const { hash } = inclusion
  const [receipt, transaction] = await Promise.all([
    chain.getTransactionReceipt({ hash }).catch(nullIfAbsent),
    chain.getTransaction({ hash }).catch(nullIfAbsent),
  ])
  if (receipt === null || transaction === null) return `${hash} is not on the chain`
  const same =
    transaction.nonce === nonce &&
    transaction.from.toLowerCase() === signer.toLowerCase() &&
    receipt.status === inclusion.status
  return same ? null : `${hash} is not what the journal says`
}

/** Only the node's own word that it has no such transaction says that there is none. */
function nullIfAbsent(error: unknown): null {
  if (error instanceof TransactionNotFoundError || error instanceof TransactionReceiptNotFoundError)
    return null
  throw error
}

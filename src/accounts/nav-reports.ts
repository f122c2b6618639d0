import { inputText } from '../workflow/proposal.ts'
import type { Workflow } from '../workflow/workflow.ts'

/** A report, and how far the next one of the same is from it; null before there is one. */
export type ReportDistance = Pick<Workflow, 'id' | 'role'> & {
  readonly subject: string
  readonly valuedAtS: bigint
  /** What one whole share is worth, in base units of so many decimals. */
  readonly decimals: number
  readonly value: bigint
  readonly nextValue: bigint | null
  readonly nextBps: bigint | null
  readonly hashes: readonly string[]
}

/** List what was reported, each with what the next report says: by what was prepared, signed and came to be final. Pure. */
export function reportsOf(workflows: Iterable<Workflow>): readonly ReportDistance[] {
  const all = [...workflows].flatMap((workflow) => {
    const { id, role, state, proposal, slots } = workflow
    const [value, valuedAt] = ['value', 'valuationTimestamp'].map((name) => inputText(proposal.input, name))
    if (state !== 'succeeded' || value === undefined || valuedAt === undefined) return []
    const hashes = slots.flatMap(({ inclusion }) => inclusion?.hash ?? [])
    const decimals = Number(proposal.input.decimals ?? 0)
    return [
      {
        id,
        role,
        subject: proposal.subject,
        valuedAtS: BigInt(valuedAt),
        value: BigInt(value),
        decimals,
        hashes,
      },
    ]
  })
  const inOrder = all.toSorted((one, other) => Number(one.valuedAtS - other.valuedAtS))
  return inOrder.map((report, index) => {
    const next = inOrder.slice(index + 1).find(({ subject }) => subject === report.subject)
    const nextBps =
      next === undefined || report.value === 0n
        ? null
        : ((next.value - report.value) * 10_000n) / report.value
    return { ...report, nextValue: next?.value ?? null, nextBps }
  })
}

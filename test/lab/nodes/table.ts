import { isOfNodes, type Outcome } from './cell.ts'
import { FAILURES, METHODS } from './failures.ts'

/** Whether the chain was followed on, a start was refused, or the nodes were named as what stands still; and all is as before after it. */
export const isRight = ({ goesOn, named, refused, recovers }: Outcome): boolean =>
  recovers && (goesOn || refused !== null || named.some(isOfNodes))

/** A row for each method and whose nodes fail, a column for each way; Markdown. */
export function tableOf(outcomes: readonly Outcome[]): string {
  const failures = Object.keys(FAILURES)
  const rows = METHODS.flatMap((method) =>
    (['one', 'all'] as const).flatMap((nodes) => {
      const own = outcomes.filter((each) => each.method === method && each.nodes === nodes)
      if (own.length === 0) return []
      const cells = failures.map((failure) => textOf(own.find((each) => each.failure === failure)))
      return [`| \`${method}\` | ${nodes} | ${cells.join(' | ')} |`]
    }),
  )
  return [
    `| method | nodes | ${failures.join(' | ')} |`,
    `|${'---|'.repeat(failures.length + 2)}`,
    ...rows,
  ].join('\n')
}

function textOf(outcome: Outcome | undefined): string {
  if (outcome === undefined) return ''
  const { goesOn, named, refused, recovers, calls } = outcome
  if (!recovers) return 'does not recover'
  if (goesOn) return calls === 0 ? 'not asked' : 'goes on'
  if (refused !== null) return `refuses to start: \`${refused}\``
  const [first] = named.filter(isOfNodes)
  return first === undefined ? 'NOT NAMED' : `\`${first}\``
}

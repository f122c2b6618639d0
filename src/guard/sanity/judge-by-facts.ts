import type { Refusal } from '../../errors.ts'
import { checkArguments } from '../calls/arguments.ts'
import type { ClearedCall } from '../calls/call.ts'
import type { Fact } from '../policy/compile/facts.ts'
import type { Subject } from '../policy/references.ts'
import type { Reads, View } from '../reads/views.ts'
import type { JudgedCase, SanityCheck } from './judgement.ts'

/**
 * Let a judgement read by the facts of the policy: where one has the name of a view, it is asked in its place, and what
 * conditions of the calls name is read beside it. Pure.
 */
export function judgeByFacts(check: SanityCheck, facts: ReadonlyMap<string, Fact>): SanityCheck {
  if (facts.size === 0) return check
  const { compare } = check
  return {
    ...check,
    ...(compare === undefined ? {} : { compare: (about) => compare(askingFacts(about, facts)) }),
    judge: (about) => {
      const { subject, calls, before } = about
      const judgement = check.judge(askingFacts(about, facts))
      const names = new Set(
        calls.flatMap((call) => [call, ...call.inside]).flatMap(({ rule }) => rule.quotes),
      )
      const quoted = [...facts].filter(([name]) => names.has(name))
      const known = new Map(
        quoted.map(([name, { ask }]) => [name, ask({ reads: before, subject, asked: null })] as const),
      )
      return {
        ...judgement,
        checkState: (timestampS) =>
          judgement.checkState(timestampS) ?? checkQuoted(calls, { ...subject, facts: known }),
      }
    },
  }
}

/** The same, where what is read is asked as the policy says. */
function askingFacts(about: JudgedCase, facts: ReadonlyMap<string, Fact>): JudgedCase {
  const through = (reads: Reads): Reads => ({
    ...reads,
    ask: (view) => askFor(view, facts, reads, about.subject),
  })
  return { ...about, before: through(about.before), after: through(about.after) }
}

/** Ask what a view asks, as the policy says that it is known here. */
function askFor<T>(
  view: View<T>,
  facts: ReadonlyMap<string, Fact>,
  reads: Reads,
  subject: Subject,
): () => T | null {
  const { name, to, args, parse } = view.asked
  const fact = facts.get(name)
  if (fact === undefined) return reads.ask(view)
  const found = fact.ask({ reads, subject, asked: { to, args } })
  return () => parse(found())
}

/** Demand what conditions say of facts that are read, once they are. */
function checkQuoted(calls: readonly ClearedCall[], subject: Subject): Refusal | null {
  for (const { args, rule, inside } of calls) {
    const leaves = rule.leaves.map((leaf) => ({ ...leaf, tests: leaf.quoted }))
    const refusal = checkArguments(args, { ...rule, leaves }, subject) ?? checkQuoted(inside, subject)
    if (refusal !== null) return refusal
  }
  return null
}

import { readFileSync } from 'node:fs'
import { type Abi, decodeFunctionData, toFunctionSelector } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Call } from '../../src/chain/nodes.ts'
import { askedBy } from '../../src/guard/checks/check-final.ts'
import { TOKEN_VIEWS } from '../../src/guard/reads/views.ts'
import { waiting } from '../lab/attacks/chain.ts'
import { CHAIN_ID } from './fixtures.ts'
import { CASES } from './shipped.ts'

/** Reads as text: contract, view and arguments. */
const textOf = (views: Abi, calls: readonly Call[]) =>
  calls.map(({ to, data }) => {
    const item = views.find(
      (view) => view.type === 'function' && toFunctionSelector(view) === data.slice(0, 10),
    )
    // A view that the policy itself names, of an oracle.
    if (item === undefined) return `  ${to} ${data}`
    const { functionName, args = [] } = decodeFunctionData({ abi: [item], data })
    return `  ${to} ${functionName}(${args.map((arg) => String(arg).toLowerCase()).join(', ')})`
  })

describe('what the guard asks the chain', () => {
  const expected = readFileSync(new URL('reads.txt', import.meta.url), 'utf8').split('\n\n')

  it.each(CASES)('of %s is what reads.txt says', (name, kind, ruleset) => {
    const asked = askedBy({ ...waiting(kind, ruleset), ruleset }, CHAIN_ID)
    const views: Abi = [...TOKEN_VIEWS, ...(ruleset.sanity.get(kind.proposal.workflowType)?.views ?? [])]
    if (asked === null) throw new TypeError(`${name} is refused`)
    const text = [name, 'before:', ...textOf(views, asked.before), 'after:', ...textOf(views, asked.after)]
    const wanted = expected.find((paragraph) => paragraph.startsWith(`${name}\n`))?.trimEnd()
    expect(text.join('\n')).toBe(wanted)
  })
})

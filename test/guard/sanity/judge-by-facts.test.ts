import { parseAbi } from 'viem'
import { expect, it } from 'vitest'
import type { Fact } from '../../../src/guard/policy/compile/facts.ts'
import { createReads, createView, uint } from '../../../src/guard/reads/views.ts'
import { judgeByFacts } from '../../../src/guard/sanity/judge-by-facts.ts'
import { PLAIN, type SanityCheck } from '../../../src/guard/sanity/judgement.ts'
import { LOAN, SELF, settlement, VAULT } from '../fixtures.ts'
import { deployment } from '../kinds.ts'

const debt = createView(parseAbi(['function debt(address owner) view returns (uint256)']))
/** What the policy says of it without asking the chain. */
const seven: Fact = { kind: 'uint', ask: () => () => 7n }
const facts = new Map([['debt', seven]])
const about = () => ({
  subject: {
    input: {},
    self: SELF,
    deadlineS: 0n,
    market: null,
    vault: null,
    fund: null,
    deployment,
  },
  proposal: settlement,
  calls: [],
  before: createReads(),
  after: createReads(),
})

it('compares by the facts of the policy where a judgement compares', () => {
  const comparing: SanityCheck = {
    ...PLAIN,
    compare: ({ before }) => {
      const read = before.ask(debt('debt', VAULT, [LOAN], uint))
      return () => ({ fields: [{ name: 'debt', was: String(read()), wanted: '9' }] })
    },
  }
  const asked = about()
  expect(judgeByFacts(comparing, facts).compare?.(asked)()).toEqual({
    fields: [{ name: 'debt', was: '7', wanted: '9' }],
  })
  expect(asked.before.calls).toEqual([])
})

it('compares nothing where a judgement does not', () => {
  expect(judgeByFacts(PLAIN, facts).compare).toBeUndefined()
})

it('is the judgement itself where the policy has no facts', () => {
  expect(judgeByFacts(PLAIN, new Map())).toBe(PLAIN)
})

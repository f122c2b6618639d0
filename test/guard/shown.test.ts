import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { show } from '../../src/guard/explain/approval-screen.ts'
import type { ApprovalView } from '../../src/workflow/approval-view.ts'
import { SELF } from './fixtures.ts'
import { CASES } from './shipped.ts'

const KNOWN = { approvers: { anna: { user: 'anna@ops1' }, ben: { key: 'ed25519:AA==' } }, quorum: 2 }

const textOf = ({ calls, effects, changes }: Omit<ApprovalView, 'day'>): string =>
  [
    ...calls.flatMap((call) => [
      `  ${[call.to, call.function, ...call.notes].join(' | ')}`,
      ...call.arguments.map(({ name, value }) => `    ${name} = ${value}`),
    ]),
    ...effects.map((effect) => `  ${effect}`),
    ...changes.map(({ field, from, to }) => `  ${field}: ${from} -> ${to}`),
  ].join('\n')

describe('what a person reads before approving', () => {
  const expected = readFileSync(new URL('shown.txt', import.meta.url), 'utf8').split('\n\n')

  it.each(CASES)('of %s is what shown.txt says', (name, { proposal }, ruleset) => {
    const text = textOf(show({ role: ruleset.role, proposal, signer: SELF }, ruleset, KNOWN))
    const wanted = expected.find((paragraph) => paragraph.startsWith(`${name}\n`))?.trimEnd()
    expect(`${name}\n${text}`).toBe(wanted)
  })
})

it('writes what no screen shows as its number: no two names look alike by it', () => {
  const [, kind, ruleset] = CASES.find(([, { name }]) => name === 'partner-channel') ?? []
  if (kind === undefined || ruleset === undefined) throw new TypeError('a shipped policy allows a channel')
  const input = { ...kind.proposal.input, name: 'Par\u200bt\u202ener\u00a0\u{e0041}é \n' }
  const shown = show(
    { role: ruleset.role, proposal: { ...kind.proposal, input }, signer: SELF },
    ruleset,
    KNOWN,
  )
  expect(shown.calls[0]?.arguments.find(({ name }) => name === 'setup.name')?.value).toBe(
    String.raw`"Par\u{200b}t\u{202e}ner\u{a0}\u{e0041}é \n"`,
  )
})

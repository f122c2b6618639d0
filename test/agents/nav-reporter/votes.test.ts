import { describe, expect, it } from 'vitest'
import { navReporter } from '../../../agents/nav-reporter/agent.ts'
import { votesOf } from '../../../agents/nav-reporter/votes.ts'
import type { Upstreams } from '../../../agents/protocol/upstreams.ts'
import { policy } from './fixtures.ts'

const apart = [
  ['fundAdministrator', ['host administrator.example']],
  ['fundCustodian', ['file custodian.csv']],
  ['fundValuer', ['file valuations.json', 'key valuer']],
] as const
const upstreams = (changes: Readonly<Record<string, readonly string[]>> = {}): Upstreams =>
  new Map(apart.map(([name, from]) => [name, changes[name] ?? from]))

/** The votes of the shipped fund report where its sources have these origins, or why it is refused. */
function votes(from: Upstreams, by = policy()) {
  const joined = navReporter.joinSources?.(by, from)
  if (joined === undefined) throw new TypeError('the role has sources')
  return 'problem' in joined
    ? joined
    : votesOf(joined.policy.reports.recoveryFund?.sources ?? {}).map((names) => names.join('+'))
}
/** The shipped fund report with what it says of upstreams. */
const told = (upstreams: Readonly<Record<string, string>>, quorum = 3) => {
  const { recoveryFund } = policy().reports
  const sources = Object.entries(recoveryFund?.sources ?? {}).map(
    ([name, source]) => [name, { ...source, upstream: upstreams[name] ?? source.upstream }] as const,
  )
  return policy({ sources: Object.fromEntries(sources), quorum })
}

describe('sources have one vote together', () => {
  it('where our own nodes and service read them, and no others', () => {
    expect(votesOf(policy().reports.recoveryFund?.sources ?? {})).toEqual([
      ['administrator'],
      ['custodian'],
      ['chain', 'holdings'],
      ['valuer'],
    ])
    expect(votes(upstreams())).toEqual(['administrator', 'custodian', 'chain+holdings', 'valuer'])
  })

  it.each([
    ['host', 'host administrator.example'],
    ['file', 'file custodian.csv'],
    ['key', 'key valuer'],
  ])('where they have one %s, and the policy says nothing of it', (_, shared) => {
    const from = upstreams({
      fundAdministrator: ['host administrator.example', shared],
      fundCustodian: ['file custodian.csv', shared],
      fundValuer: ['key valuer'],
    })
    const together = shared === 'key valuer' ? 'administrator+custodian+valuer' : 'administrator+custodian'
    const alone = shared === 'key valuer' ? [] : ['valuer']
    const found = votes(from, policy({ quorum: 2 }))
    expect(found).toEqual([together, 'chain+holdings', ...alone])
  })

  it('also one by one: the first with the second, and the second with the third', () => {
    const from = upstreams({ fundCustodian: ['host administrator.example', 'key valuer'] })
    expect(votes(from, policy({ quorum: 2 }))).toEqual(['administrator+custodian+valuer', 'chain+holdings'])
  })

  it('where the policy names one as the upstream of others', () => {
    const by = told({ custodian: 'administrator', valuer: 'administrator' }, 2)
    expect(votes(upstreams(), by)).toEqual(['administrator+custodian+valuer', 'chain+holdings'])
  })

  it('where the policy says it of one that is shared, and of one that is not', () => {
    const by = told({ custodian: 'vendor', valuer: 'vendor', administrator: 'other' })
    expect(votes(upstreams(), by)).toEqual(['administrator', 'custodian+valuer', 'chain+holdings'])
    const all = told({ custodian: 'vendor', valuer: 'vendor' }, 2)
    expect(votes(upstreams({ fundAdministrator: ['key valuer'] }), all)).toEqual([
      'administrator+custodian+valuer',
      'chain+holdings',
    ])
  })
})

it('refuses a quorum that what is left cannot reach, and names why', () => {
  const from = upstreams({ fundCustodian: ['host administrator.example'] })
  expect(votes(from, told({}, 4))).toEqual({
    path: 'reports.recoveryFund.quorum',
    problem:
      'there are 3 votes, so it is never reached; administrator and custodian have one vote, as they share an upstream; chain and holdings have one vote, as they share an upstream',
    fix: 'write at most "3", or add sources that share nothing with these',
  })
  expect(votes(from)).toHaveLength(3)
})

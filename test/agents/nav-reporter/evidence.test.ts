import { describe, expect, it } from 'vitest'
import type { Evidence } from '../../../agents/agent.ts'
import { decide } from '../../../agents/nav-reporter/decide.ts'
import { evidence, verify } from '../../../agents/nav-reporter/evidence.ts'
import { accepted, fund, iso, moment, NONE, NOW_S, policy, WAD, word } from './fixtures.ts'
import { look } from './world.ts'

type Given = { readonly signature?: string; readonly custodian?: string; readonly waitForNewerS?: number }

/** What three sources said of which the report is made; the custodian's file is cut off. */
function reported({ signature, custodian = 'asOf,micros', waitForNewerS = 0 }: Given = {}): Evidence {
  const by = policy({ schedule: { everyS: 120 }, lateSMax: 100, waitForNewerS })
  const world = {
    nav: accepted(),
    interim: NONE,
    administrator: JSON.stringify({ perShare: { value: '1.04', asOf: iso(NOW_S - 7) } }),
    custodian,
    valuer: JSON.stringify({ valuations: [{ perShare: '1.04', asOf: iso(NOW_S) }] }),
    lens: word((1_041n * WAD) / 1_000n),
    idle: word(230_000_000_000n),
    fund: fund(),
  }
  const before = look(
    world,
    { ...moment(), nowMs: moment().nowMs - 2_000, chain: chainAt(NOW_S - 1) },
    by,
    null,
  )
  const { seen } = look(world, moment(), by, before.seen, signature)
  const at = { ...moment(), ...seen }
  const [proposal] = decide(at, by).proposals
  const files = proposal === undefined ? null : evidence(proposal, at, by)
  if (files === null) throw new TypeError('no report is made')
  return files
}
const chainAt = (timestampS: number) => ({ ...moment().chain, timestampS })

const wrong = (files: Evidence) => verify(files).flatMap(({ ok, text }) => (ok ? [] : [text]))

describe('the evidence of a report', () => {
  it('has every text that was answered as it was, and comes to the report again from them alone', () => {
    const files = reported()
    expect(Object.keys(files)).toEqual([
      'administrator-1.txt',
      'custodian-1.txt',
      'chain-1.txt',
      'chain-2.txt',
      'holdings-1.txt',
      'valuer-1.txt',
      'pack.json',
    ])
    expect(files['custodian-1.txt']).toBe('asOf,micros')
    expect(verify(files).map(({ ok, text }) => `${ok ? 'ok' : 'WRONG'} ${text}`)).toMatchInlineSnapshot(`
      [
        "ok administrator states 1.040000000000000000 for 2027-01-15T07:59:53Z, in administrator-1.txt of 2027-01-15T08:00:01Z",
        "ok custodian is not read: source_not_csv, in custodian-1.txt of 2027-01-15T08:00:01Z",
        "ok chain states 1.041000000000000000 for 2027-01-15T07:59:59Z, in chain-1.txt of 2027-01-15T07:59:59Z",
        "ok chain states 1.041000000000000000 for 2027-01-15T08:00:01Z, in chain-2.txt of 2027-01-15T08:00:01Z",
        "ok holdings states 1.039400000000000000 for 2027-01-15T08:00:00Z, in holdings-1.txt of 2027-01-15T08:00:01Z",
        "ok valuer states 1.040000000000000000 for 2027-01-15T08:00:00Z, in valuer-1.txt of 2027-01-15T08:00:01Z",
        "ok custodian does not count: source_not_csv. It has no line below that of the names.",
        "ok 3 votes agree (administrator, chain with holdings, valuer); the policy demands 3",
        "ok 1.040000000000000000 less 0.004000000000000000 performance fee and 0.000000000000000000 carry is 1.036000000000000000; reported is 1.036000000000000000 for 2027-01-15T08:00:00Z",
      ]
    `)
  })

  it('has the signature beside what was signed', () => {
    const files = reported({ signature: 'c0ffee' })
    expect(files['administrator-1.txt.sig']).toBe('c0ffee')
    expect(wrong(files)).toEqual([])
  })

  it('comes to the report by those alone whose values are near enough, while newer ones are waited for', () => {
    const custodian = `asOf,microsPerShare\n${iso(NOW_S)},1040000\n`
    const files = reported({ custodian, waitForNewerS: 12 })
    const lines = verify(files).map(({ ok, text }) => `${ok ? 'ok' : 'WRONG'} ${text}`)
    expect(lines).toContain(
      'ok administrator does not count: source_behind. Its newest value is of 7 s before the valuation time; its next one is waited for, 11 s more.',
    )
    expect(lines).toContain('ok 3 votes agree (chain with holdings, custodian, valuer); the policy demands 3')
    expect(wrong(files)).toEqual([])
  })

  it.each([
    ['a value that a source answered', 'administrator-1.txt', '1.04', '1.05'],
    ['a time that a source answered', 'administrator-1.txt', iso(NOW_S - 7), iso(NOW_S - 6)],
    ['what the chain said', 'chain-1.txt', '"said":"1', '"said":"2'],
    ['what the fund had idle', 'holdings-1.txt', '"idleAssets":"4', '"idleAssets":"5'],
    ['what a holding is worth', 'holdings-1.txt', '"recoveryValueAssets":"3', '"recoveryValueAssets":"2'],
    ['an answer that could not be read', 'custodian-1.txt', 'asOf,micros', 'asOf,microsPerShare\n1,2'],
    ['a value that was reported', 'pack.json', /"value": "\d/, '"value": "9'],
    [
      'the time that it was reported for',
      'pack.json',
      `"valuationTimestamp": "${NOW_S}"`,
      '"valuationTimestamp": "1"',
    ],
    [
      'what a source is taken to have stated',
      'pack.json',
      '"value": "1040000000000000000n"',
      '"value": "1040000000000000001n"',
    ],
    ['why a source does not count', 'pack.json', 'source_not_csv', 'source_timeout'],
    ['how many must agree', 'pack.json', '"quorum": 3', '"quorum": 4'],
    ['how old a value may be', 'pack.json', /"ageSMax": \d+/g, '"ageSMax": 0'],
    [
      'until when newer ones are waited for',
      'pack.json',
      `"waitUntilS": ${NOW_S}`,
      `"waitUntilS": ${NOW_S + 12}`,
    ],
    ['how far apart they may be', 'pack.json', /"outlierBps": "\d+n"/, '"outlierBps": "0n"'],
    ['what a value is cut by', 'pack.json', '"restricted": "100n"', '"restricted": "900n"'],
    ['what fees are counted from', 'pack.json', /"highWaterValue": "\d+n"/, '"highWaterValue": "1n"'],
    ['a fee', 'pack.json', '"performanceFeeBps": "1000n"', '"performanceFeeBps": "1001n"'],
    ['which text it was', 'pack.json', '"chain-1.txt"', '"chain-2.txt"'],
    ['a text that is nowhere', 'pack.json', '"chain-1.txt"', '"chain-9.txt"'],
    ['what is no pack', 'pack.json', /^\{/, ''],
  ])('does not come to it with %s changed', (_, name, from, to) => {
    const files = reported()
    const changed = (files[name] ?? '').replace(from, to)
    expect(changed).not.toBe(files[name])
    expect(wrong({ ...files, [name]: changed })).not.toEqual([])
    expect(wrong(files)).toEqual([])
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { agree, distanceBps, median, type Reading, type When } from '../../../agents/nav-reporter/quorum.ts'
import { parseDecimal, readStatements } from '../../../agents/nav-reporter/statement.ts'
import { iso, NOW_S, WAD } from './fixtures.ts'

const JSON_LAYOUT = { format: 'json', value: '/nav/value', asOf: '/nav/asOf' } as const
const CSV_LAYOUT = { format: 'csv', value: 'micros', asOf: 'asOf' } as const
const asOf = iso(NOW_S)

describe('a statement', () => {
  test.each([
    [`{"nav":{"value":"1.012345678901234567","asOf":"${asOf}"}}`, 1_012_345_678_901_234_567n],
    [`{"nav":{"value":1.012345678901234567,"asOf":"${asOf}"}}`, 1_012_345_678_901_234_567n],
    [`{"nav":{"value":"1.0123456789012345679","asOf":${NOW_S}}}`, 1_012_345_678_901_234_567n],
    [`{"nav":{"value":"2","asOf":"${NOW_S}"}}`, 2n * WAD],
  ])('of JSON %s is read without a float', (text, value) => {
    expect(readStatements(text, JSON_LAYOUT, 0, 18)).toEqual([{ value, asOfS: NOW_S }])
  })

  test('of JSON is found beside texts that look like members, and the same value may be stated twice', () => {
    const note = String.raw`["a",":","\"b\":1",{"":{"__proto__":null}}]`
    const one = `{"value":"2","asOf":${NOW_S}}`
    const layout = { format: 'json', history: '/nav', value: '/value', asOf: '/asOf' } as const
    expect(readStatements(`{"note":${note},"nav":[${one},${one}]}`, layout, 0, 18)).toHaveLength(2)
  })

  test('of a file is one a line', () => {
    const text = `asOf,micros\n2026-01-01T00:00:00Z,1\r\n${asOf},1012345\n`
    expect(readStatements(text, CSV_LAYOUT, 6, 18)).toEqual([
      { value: 10n ** 12n, asOfS: 1_767_225_600 },
      { value: 1_012_345n * 10n ** 12n, asOfS: NOW_S },
    ])
  })

  test.each([
    ['with a byte order mark and quotes', `\uFEFF"asOf","micros"\r\n"${asOf}","1012345"\r\n`],
    ['with a last line of empty cells', `asOf,micros\r\n${asOf},1012345\r\n,\r\n`],
    ['with semicolons', `asOf;micros\r\n${asOf};1012345\r\n`],
    ['with tabs and spaces', `asOf\tmicros\n${asOf}\t 1012345 \n\n`],
    ['with a quoted comma and a quoted quote', `name,asOf,micros\n"Fund ""A"", Ltd",${asOf},1012345\n`],
  ])('of a file %s is read as a spreadsheet writes it', (_, text) => {
    expect(readStatements(text, CSV_LAYOUT, 6, 18)).toEqual([
      { value: 1_012_345n * 10n ** 12n, asOfS: NOW_S },
    ])
  })

  test('of JSON is read behind a byte order mark', () => {
    const text = `\uFEFF{"nav":{"value":"2","asOf":${NOW_S}}}`
    expect(readStatements(text, JSON_LAYOUT, 0, 18)).toEqual([{ value: 2n * WAD, asOfS: NOW_S }])
  })

  test.each([
    ['"1,0123"', '"," (U+002C) is in it'],
    ['"1\u00a0012"', 'U+00A0 is in it'],
    ['"$1"', '"$" (U+0024) is in it'],
    ['""', 'there is nothing'],
  ])('of JSON with the number %s names what is wrong with it', (value, said) => {
    const read = readStatements(`{"nav":{"value":${value},"asOf":${NOW_S}}}`, JSON_LAYOUT, 0, 18)
    expect(read).toMatchObject({ check: 'source_not_number', message: `It says no decimal number: ${said}.` })
  })

  const nav = (value: string, time = `"${asOf}"`) => `{"nav":{"value":${value},"asOf":${time}}}`
  test.each([
    ['<html><body>503</body></html>', 'source_not_json'],
    ['', 'source_not_json'],
    ['{"nav":{"value":NaN}}', 'source_not_json'],
    [`${'['.repeat(60_000)}`, 'source_not_json'],
    [nav('"NaN"'), 'source_not_number'],
    [nav('"Infinity"'), 'source_not_number'],
    [nav('1e3'), 'source_not_number'],
    [nav('"1,02"'), 'source_not_number'],
    [nav('" 1.02"'), 'source_not_number'],
    [nav('""'), 'source_not_number'],
    [nav(`"${'9'.repeat(61)}"`), 'source_not_number'],
    [nav('-1.02'), 'source_negative'],
    [nav('"-1.02"'), 'source_negative'],
    [nav('null'), 'source_without_value'],
    [nav('true'), 'source_without_value'],
    [nav('{}'), 'source_without_value'],
    ['{"nav":{}}', 'source_without_value'],
    ['null', 'source_without_value'],
    [nav('"1.02"', '"yesterday"'), 'source_without_date'],
    [nav('"1.02"', '"2026-13-01T00:00:00Z"'), 'source_without_date'],
    [nav('"1.02"', '"2026-01-01T00:00:00"'), 'source_without_date'],
    [nav('"1.02"', '"2026-02-30T00:00:00Z"'), 'source_without_date'],
    [nav('"1.02"', 'null'), 'source_without_date'],
    [`{"nav":{"value":"1","value":"9","asOf":${NOW_S}}}`, 'source_ambiguous'],
    [`{"nav":{"value":"1","v\\u0061lue":"9","asOf":${NOW_S}}}`, 'source_ambiguous'],
    [`{"nav":{"value":"1","asOf":${NOW_S}},"nav":{"value":"1","asOf":${NOW_S}}}`, 'source_ambiguous'],
  ])('of JSON %j is refused as %s', (text, check) => {
    expect(readStatements(text, JSON_LAYOUT, 0, 18)).toMatchObject({ check })
  })

  test.each([
    ['asOf,micros', 'source_not_csv'],
    ['<html>\n<p>\n</html>', 'source_without_value'],
    [`asOf,micros\n${asOf},1,2`, 'source_not_csv'],
    [`asOf,value\n${asOf},1`, 'source_without_value'],
    [`asOf,micros\n${asOf},1.5e3`, 'source_not_number'],
    ['asOf,micros\nsoon,15', 'source_without_date'],
    [`asOf,micros\n${asOf},15\n2026-01-01T00:00:00Z,1\n${NOW_S},16`, 'source_ambiguous'],
  ])('of CSV %j is refused as %s', (text, check) => {
    expect(readStatements(text, CSV_LAYOUT, 6, 18)).toMatchObject({ check })
  })

  test.each(['asOf,micros,micros', 'micros,asOf,micros', 'asOf,asOf,micros'])(
    'of CSV whose columns are %s is not one of two that could be meant',
    (names) => {
      const read = readStatements(`${names}\n${asOf},${asOf},1000000\n`, CSV_LAYOUT, 6, 18)
      expect(read).toMatchObject({
        check: 'source_not_csv',
        message: expect.stringContaining('more than one'),
      })
    },
  )

  test.each([
    '29/11/2026 05:39',
    '2026-11-29',
    '2026-11-29 05:39:00',
    `${NOW_S}000`,
    '46355.2354',
    '46355',
    '20261129',
  ])('with the time %s says what a time is', (time) => {
    const read = readStatements(`asOf,micros\n${time},1000000\n`, CSV_LAYOUT, 6, 18)
    const message = 'It states no time at asOf: a date and time of ISO 8601 with its offset, or Unix seconds.'
    expect(read).toEqual({ check: 'source_without_date', message })
  })

  test('does not reach what an object inherits', () => {
    const layout = { format: 'json', value: '/constructor/name', asOf: '/nav/asOf' } as const
    expect(readStatements('{}', layout, 0, 18)).toMatchObject({ check: 'source_without_value' })
  })

  test('gives back any number that it was given exactly', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 40n }),
        fc.integer({ min: 0, max: 18 }),
        (units, places) => {
          const digits = units.toString().padStart(places + 1, '0')
          const text = places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
          return parseDecimal(text, 0, places) === units && parseDecimal(digits, places, places) === units
        },
      ),
      { numRuns: 10_000 },
    )
  })
})

const SOURCES = ['a', 'b', 'c', 'd']
const TRUST = { ageSMax: 60, valueMin: WAD / 10n, valueMax: 10n * WAD }
const trusts = new Map(SOURCES.map((source) => [source, TRUST]))
const RULE = { quorum: 3, outlierBps: 200n, lateSMax: 600, decimals: 18 }
const NOW = { atS: NOW_S, nowS: NOW_S }
const says = (source: string, value: bigint, asOfS = NOW_S): Reading => ({
  source,
  ok: true,
  known: [{ value, asOfS }],
})
const sayAll = (...values: readonly bigint[]) =>
  SOURCES.flatMap((source, index) => {
    const value = values[index]
    return value === undefined ? [] : [says(source, value)]
  })
const checksOf = (readings: readonly Reading[], when: When = NOW) =>
  agree(readings, trusts, RULE, when).rejected.map(({ source, check }) => `${source} ${check}`)

describe('a quorum', () => {
  test('is the median of those who agree', () => {
    expect(agree(sayAll(WAD, WAD + 2n, WAD + 4n, WAD + 6n), trusts, RULE, NOW).value).toBe(WAD + 3n)
    expect(agree(sayAll(WAD, WAD + 2n, WAD + 4n), trusts, RULE, NOW).value).toBe(WAD + 2n)
    // Of all four it would be half a unit further.
    expect(agree(sayAll(WAD, WAD + 2n, WAD + 4n, 2n * WAD), trusts, RULE, NOW).value).toBe(WAD + 2n)
  })

  test('rejects a source at a distance one past the limit, and not at it', () => {
    const [at, past] = [(WAD * 102n) / 100n, (WAD * 102n) / 100n + 1n]
    expect(agree(sayAll(WAD, WAD, WAD, at), trusts, RULE, NOW).accepted).toHaveLength(4)
    expect(checksOf(sayAll(WAD, WAD, WAD, past))).toEqual(['d source_outlier'])
  })

  test('rejects a value off by a power of ten, a stale one, one of tomorrow, and one that was not read', () => {
    const off = says('d', WAD * 1_000n)
    const failed: Reading = { source: 'c', ok: false, check: 'source_timeout', message: 'no', known: [] }
    expect(checksOf([...sayAll(WAD, WAD), failed, off])).toEqual([
      'c source_timeout',
      'd source_out_of_bounds',
    ])
    const [old, older] = [says('a', WAD, NOW_S - 60), says('b', WAD, NOW_S - 61)]
    expect(checksOf([old, older])).toEqual(['b source_behind'])
    expect(checksOf([says('a', WAD, NOW_S - 600), says('b', WAD, NOW_S - 601)])).toEqual([
      'a source_behind',
      'b source_ends_before',
    ])
    expect(checksOf([says('a', WAD, NOW_S + 5), says('b', WAD, NOW_S + 6)])).toEqual([
      'a source_begins_after',
      'b source_from_future',
    ])
    expect(checksOf([says('stranger', WAD)])).toEqual(['stranger source_not_listed'])
    expect(checksOf([says('a', TRUST.valueMin), says('b', TRUST.valueMin - 1n)])).toEqual([
      'b source_out_of_bounds',
    ])
  })

  test('has one vote for each upstream, whatever its sources say together', () => {
    const shared = new Map(
      SOURCES.map((source) => [source, { ...TRUST, upstream: 'ab'.includes(source) ? 'vendor' : undefined }]),
    )
    // Two of one vendor that is half a percent off: by heads the median would be a quarter off.
    const off = (WAD * 1_005n) / 1_000n
    const { value, accepted } = agree(sayAll(off, off, WAD, WAD - 1n), shared, RULE, NOW)
    expect([value, accepted.map(({ said }) => said.length)]).toEqual([WAD, [2, 1, 1]])
    expect(agree(sayAll(off, off, WAD), shared, RULE, NOW).value).toBeNull()
    const far = agree(sayAll(WAD * 2n, WAD * 2n, WAD, WAD), shared, RULE, NOW)
    expect(far.rejected.map(({ source }) => source)).toEqual(['a', 'b'])
  })

  test('takes what a source stated last for the valuation time or before it, and holds it to that', () => {
    const at = (seconds: number, value: bigint) => ({ value, asOfS: NOW_S + seconds })
    const source = (...known: readonly { value: bigint; asOfS: number }[]): Reading => ({
      source: 'd',
      ok: true,
      known,
    })
    const later = { atS: NOW_S, nowS: NOW_S + 300 }
    const others = sayAll(WAD, WAD)
    const said = (reading: Reading) => agree([...others, reading], trusts, RULE, later)
    const found = said(source(at(-30, WAD + 1n), at(-10, WAD + 2n), at(200, WAD + 3n)))
    expect(found.accepted.at(-1)?.said).toEqual([{ source: 'd', ...at(-10, WAD + 2n) }])
    expect(said(source(at(-61, WAD), at(200, WAD))).rejected).toMatchObject([{ check: 'source_stale' }])
    expect(said(source(at(-61, WAD)))).toMatchObject({ waiting: 1, rejected: [{ check: 'source_behind' }] })
    expect(said(source(at(1, WAD))).rejected).toMatchObject([{ check: 'source_begins_after' }])
    // Silent now, it counts where it has spoken of a later time before.
    const silent = { ok: false, check: 'source_timeout', message: 'no' } as const
    const known = [at(-1, WAD), at(1, WAD)]
    expect(said({ source: 'd', ...silent, known }).value).toBe(WAD)
    expect(said({ source: 'd', ...silent, known: known.slice(0, 1) }).value).toBeNull()
  })

  test('waits for the next value of a source that has not come to the time, and no longer than it is told to', () => {
    const at = (nowS: number) => ({ atS: NOW_S, nowS, waitUntilS: NOW_S + 40 })
    const all = [...sayAll(WAD, WAD), says('c', WAD * 2n, NOW_S - 1), says('d', WAD, NOW_S + 1)]
    const found = agree(all, trusts, RULE, at(NOW_S + 39))
    expect(found.waiting).toBe(1)
    expect(found.rejected[0]).toEqual({
      source: 'c',
      check: 'source_behind',
      message: 'Its newest value is of 1 s before the valuation time; its next one is waited for, 1 s more.',
    })
    expect(checksOf(all, at(NOW_S + 40))).toEqual(['d source_begins_after', 'c source_outlier'])
  })

  test('two against two agree on nothing', () => {
    const { value, accepted } = agree(sayAll(WAD, WAD, WAD * 2n, WAD * 2n), trusts, RULE, NOW)
    expect([value, accepted.length]).toEqual([null, 0])
  })
})

const units = fc.bigInt({ min: WAD / 10n, max: 10n * WAD })

test('the order of the sources does not matter', () => {
  fc.assert(
    fc.property(
      fc.array(units, { minLength: 4, maxLength: 4 }),
      fc.integer({ min: 0, max: 23 }),
      (values, turn) => {
        const readings = sayAll(...values)
        const turned = [...readings.slice(turn % 4), ...readings.slice(0, turn % 4)]
        const swapped = turn % 2 === 0 ? turned : turned.toReversed()
        expect(agree(swapped, trusts, RULE, NOW)).toEqual(agree(readings, trusts, RULE, NOW))
      },
    ),
    { numRuns: 10_000 },
  )
})

test('one hostile source, wherever and whatever it says, never moves the value out of the honest range', () => {
  const honest = fc.array(fc.bigInt({ min: -90n, max: 90n }), { minLength: 2, maxLength: 3 })
  fc.assert(
    fc.property(units, honest, fc.bigInt({ min: -30_000n, max: 30_000n }), (fair, noise, lie) => {
      const values = noise.map((bps) => fair + (fair * bps) / 10_000n)
      const hostile = fair + (fair * lie) / 10_000n
      const { value } = agree(sayAll(...values, hostile), trusts, RULE, NOW)
      const sorted = values.toSorted((a, b) => Number(a - b))
      const [low, high] = [sorted[0] ?? 0n, sorted.at(-1) ?? 0n]
      return value === null || (value >= low && value <= high)
    }),
    { numRuns: 20_000 },
  )
})

test('the median grows with each of its values', () => {
  fc.assert(
    fc.property(fc.array(units, { minLength: 1, maxLength: 7 }), fc.nat(), units, (values, pick, more) => {
      const index = pick % values.length
      const raised = values.map((value, at) => (at === index ? value + more : value))
      const [before, after] = [median(values), median(raised)]
      return before !== null && after !== null && after >= before
    }),
    { numRuns: 10_000 },
  )
})

test('a distance is rounded up, so that a limit is never passed by rounding', () => {
  expect(distanceBps(WAD + 1n, WAD)).toBe(1n)
  expect(distanceBps((WAD * 102n) / 100n, WAD)).toBe(200n)
  expect(distanceBps(WAD, WAD)).toBe(0n)
})

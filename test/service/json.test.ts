import { expect, test } from 'vitest'
import { JSON_DEPTH_MAX, readJson } from '../../src/service/json.ts'

const nested = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`

test('reads the deepest nesting allowed, and refuses one level more', () => {
  expect(readJson(nested(JSON_DEPTH_MAX + 1)).ok).toBe(true)
  expect(readJson(nested(JSON_DEPTH_MAX + 2))).toMatchObject({ ok: false, check: 'json_depth' })
})

test('refuses nesting that would exhaust a recursion', () => {
  expect(readJson(nested(200_000))).toMatchObject({ ok: false, check: 'json_depth' })
})

test('refuses text that is not JSON without quoting it', () => {
  expect(readJson('{"secret')).toEqual({ ok: false, check: 'json_syntax', message: 'it is not JSON' })
})

test('drops keys that name a prototype, at every level and however written', () => {
  const read = readJson(
    '{"a":[{"__proto__":{"admin":true},"b":1}],"constructor":{"prototype":1},"\\u005f_proto__":2,"prototype":3}',
  )
  expect(read).toEqual({ ok: true, value: { a: [{ b: 1 }] } })
  const copy = Object.assign({}, (read as { value: { a: object[] } }).value.a[0])
  expect('admin' in copy).toBe(false)
})

test('keeps a scalar and null as they are', () => {
  expect(readJson('null')).toEqual({ ok: true, value: null })
  expect(readJson('"x"')).toEqual({ ok: true, value: 'x' })
})

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { printable } from '../src/errors.ts'

it('keeps plain text and other scripts', () => {
  expect(printable('sUSD naïve 日本語 שלום 👍')).toBe('sUSD naïve 日本語 שלום 👍')
})

it('takes out what a terminal or a reader would act on', () => {
  expect(printable('a\u001b]0;title\u0007b\r\nc\u202ed\u2069e\ufefff')).toBe('a ]0;title b cdef')
})

it('takes a text at the limit whole, and cuts one past it', () => {
  expect(printable('x'.repeat(200))).toBe('x'.repeat(200))
  expect(printable('x'.repeat(201))).toBe(`${'x'.repeat(199)}…`)
})

it('is always short, of one line, and stable when repeated', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
      const once = printable(text, 40)
      expect([...once].length).toBeLessThanOrEqual(40)
      expect(once).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
      expect(printable(once, 40)).toBe(once)
    }),
  )
})

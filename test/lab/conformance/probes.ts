import { isResource } from './shape-check.ts'
import { type Shape, shapeOf } from './transcription/notation.ts'
import { fieldsOf } from './transcription/resources.ts'
import { WORKFLOW_TYPES } from './transcription/workflow-types.ts'

/** A JSON value that a schema must accept or refuse. `what` names the member and the case. */
export type Probe = { readonly what: string; readonly value: unknown; readonly accepted: boolean }

type Case = { readonly why: string; readonly value: unknown }

/**
 * List values that distinguish a right schema of a resource from a wrong one: each field at and one past its limits, absent,
 * null, of another type, and with each value of an enum; also those of resources inside it. A field marked `~` is
 * never left out. Null in place of a field that may be absent is not tried: a reader takes both as nothing.
 */
export function probesOf(resource: string): readonly Probe[] {
  const whole = sampleOf(resource)
  return [
    { what: resource, value: whole, accepted: true },
    ...memberProbes(resource, (member) => member, resource),
  ]
}

function memberProbes(resource: string, around: (value: unknown) => unknown, at: string): readonly Probe[] {
  const sample = sampleOf(resource)
  return Object.entries(fieldsOf(resource)).flatMap(([name, text]) => {
    const shape = shapeOf(text)
    const where = `${at}.${name}`
    const put = (value: unknown) => around({ ...sample, [name]: value })
    const { [name]: _, ...without } = sample
    const absence: Probe[] =
      shape.presence === 'present'
        ? []
        : [{ what: `${where} absent`, value: around(without), accepted: shape.presence === 'optional' }]
    const given = (accepted: boolean) => (one: Case) => ({
      what: `${where} ${one.why}`,
      value: put(one.value),
      accepted,
    })
    const inList = (value: unknown) => (shape.list ? [value] : value)
    const inside = isResource(shape)
      ? memberProbes(shape.base, (value) => put(inList(value)), shape.list ? `${where}[]` : where)
      : []
    return [
      ...absence,
      ...rightOnes(shape).map(given(true)),
      ...wrongOnes(shape).map(given(false)),
      ...inside,
    ]
  })
}

/** An instance with every field, each with a plain right value. What an opaque object holds is left out. */
export function sampleOf(resource: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fieldsOf(resource)).flatMap(([name, text]) => {
      const shape = shapeOf(text)
      if (shape.base === 'object' && shape.presence === 'optional') return []
      const value = sampleValue(shape)
      return [[name, shape.list ? [value] : value]]
    }),
  )
}

function sampleValue(shape: Shape): unknown {
  if (isResource(shape)) return sampleOf(shape.base)
  const { base, pattern, values, lowest, assumedTo } = shape
  if (assumedTo !== null) return SAMPLES[assumedTo]
  if (base === 'enum') return values[0]
  if (base === 'pattern') return fitting(pattern)[0]
  return SAMPLES[base] ?? 'x'.repeat(lowest ?? 1)
}

/** Texts that fit a pattern which the document gives in full: short, and as long as it says. */
function fitting(pattern: string | null): readonly string[] {
  return ['0x12', 'x', 'x'.repeat(64)].filter((text) => new RegExp(pattern ?? '').test(text))
}

const SAMPLES: Readonly<Record<string, unknown>> = {
  integer: 1,
  number: 1.5,
  boolean: true,
  object: {},
  any: 'x',
  addr: `0x${'aB'.repeat(20)}`,
  hash: `0x${'aB'.repeat(32)}`,
  'uint-string': '1200',
  ts: '2026-01-02T03:04:05.678Z',
  uri: 'https://example.com/a',
  WorkflowType: 'borrow',
}

function rightOnes(shape: Shape): readonly Case[] {
  const wrap = ({ why, value }: Case): Case => ({ why, value: shape.list ? [value] : value })
  const strings = (lengths: readonly (number | null)[]): Case[] =>
    lengths.flatMap((length) =>
      length === null ? [] : [{ why: `of length ${length}`, value: 'x'.repeat(length) }],
    )
  const single: Case[] =
    shape.base === 'string'
      ? strings([shape.lowest, shape.highest])
      : shape.base === 'enum'
        ? shape.values.map((value) => ({ why: `"${value}"`, value }))
        : shape.base === 'WorkflowType'
          ? WORKFLOW_TYPES.map((value) => ({ why: `"${value}"`, value }))
          : shape.base === 'pattern'
            ? fitting(shape.pattern).map((value) => ({ why: `of length ${value.length}`, value }))
            : shape.base === 'integer' && shape.lowest !== null
              ? [{ why: `${shape.lowest}`, value: shape.lowest }]
              : []
  const empty: Case[] = shape.list ? [{ why: 'empty', value: [] }] : []
  return [...single.map(wrap), ...empty, ...(shape.nullable ? [{ why: 'null', value: null }] : [])]
}

function wrongOnes(shape: Shape): readonly Case[] {
  if (shape.base === 'any') return []
  const wrap = ({ why, value }: Case): Case => ({ why, value: shape.list ? [value] : value })
  const otherType: Case = isText(shape) ? { why: 'a number', value: 7 } : { why: 'a text', value: 'true' }
  return [
    ...[otherType, ...pastLimits(shape)].map(wrap),
    ...(shape.list ? [{ why: 'no list', value: 'x' }] : []),
    ...(shape.nullable || shape.presence !== 'required' ? [] : [{ why: 'null', value: null }]),
  ]
}

const isText = ({ base }: Shape) =>
  !['integer', 'number', 'boolean', 'object'].includes(base) && !/^[A-Z](?!orkflowType)/.test(base)

function pastLimits({ base, lowest, highest, pattern, values }: Shape): readonly Case[] {
  switch (base) {
    case 'integer':
      return [
        { why: '1.5', value: 1.5 },
        ...(lowest === null ? [] : [{ why: `${lowest - 1}`, value: lowest - 1 }]),
      ]
    case 'string':
      return [
        ...(lowest ? [{ why: `of length ${lowest - 1}`, value: 'x'.repeat(lowest - 1) }] : []),
        ...(highest === null ? [] : [{ why: `of length ${highest + 1}`, value: 'x'.repeat(highest + 1) }]),
      ]
    case 'enum':
      return [
        { why: 'an unlisted value', value: 'unlisted' },
        ...(values[0] === undefined ? [] : [{ why: 'in capitals', value: values[0].toUpperCase() }]),
      ]
    case 'WorkflowType':
      return [{ why: 'an unlisted type', value: 'role.nobody.nothing' }]
    case 'ts':
      return [{ why: 'no date-time', value: 'yesterday' }]
    case 'uri':
      return [{ why: 'no URI', value: 'no uri' }]
  }
  return pattern === null ? [] : misfits(pattern)
}

/** Texts that a documented pattern refuses: one character short, one more, one that does not belong. */
function misfits(pattern: string): readonly Case[] {
  const hex = /^\^0x\[a-fA-F0-9\]\{(\d+)\}\$$/.exec(pattern)?.[1]
  if (hex !== undefined) {
    const digits = Number(hex)
    return [
      { why: 'one digit short', value: `0x${'1'.repeat(digits - 1)}` },
      { why: 'one digit more', value: `0x${'1'.repeat(digits + 1)}` },
      { why: 'with a letter past f', value: `0x${'1'.repeat(digits - 1)}g` },
      { why: 'without 0x', value: '1'.repeat(digits + 2) },
    ]
  }
  const candidates = ['', '-1', '1.5', '0x1', 'x'.repeat(65), 'A b', '0xg', '12']
  return candidates
    .filter((value) => !new RegExp(pattern).test(value))
    .map((value) => ({ why: `"${value.slice(0, 8)}"`, value }))
}

import { encodeAbiParameters, encodeFunctionData, type Hex, maxUint256 } from 'viem'
import { describe, expect, it } from 'vitest'
import type { ClearedCall } from '../../src/guard/calls/call.ts'
import type { Condition } from '../../src/guard/policy/conditions.ts'
import { type Arguments, memberAt, placesOf } from '../../src/guard/policy/paths.ts'
import type { Leaf, Rule } from '../../src/guard/policy/rule.ts'
import { asValue, type Value, type ValueKind } from '../../src/guard/policy/values.ts'
import type { Ruleset } from '../../src/guard/ruleset.ts'
import { STRANGER } from './fixtures.ts'
import type { Kind } from './kind.ts'
import { answerOf } from './kinds.ts'
import { judge, reasonOf } from './rules.ts'
import { CASES } from './shipped.ts'

/** The calls of a kind as the rules read them. */
const callsOf = (kind: Kind, ruleset: Ruleset): readonly ClearedCall[] => {
  const checked = judge(kind, ruleset)
  if (!checked.ok) throw new TypeError(`${kind.name} is refused: ${checked.message}`)
  return checked.calls
}

/** The arguments of a call with the value at a path replaced; `index` picks the element of a list. */
function replaced(root: unknown, path: string, index: number, value: unknown): unknown {
  const [segment = '', ...rest] = path.split('.')
  const name = segment.replace('[]', '')
  const member = memberAt(root, name)
  const inner = (held: unknown) => (rest.length === 0 ? value : replaced(held, rest.join('.'), index, value))
  const next = Array.isArray(member)
    ? member.map((each: unknown, at) => (at === index ? inner(each) : each))
    : inner(member)
  return { ...(typeof root === 'object' ? root : {}), [name]: next }
}

const encode = ({ rule }: ClearedCall, args: unknown, honest: Hex): Hex => {
  const values = rule.abi.inputs.map(({ name = '' }) => memberAt(args, name))
  if (rule.creation === null) {
    return encodeFunctionData({ abi: [rule.abi], functionName: rule.abi.name, args: values })
  }
  const code = honest.slice(0, 2 + rule.creation.codeBytes * 2)
  return `0x${code.slice(2)}${encodeAbiParameters(rule.abi.inputs, values).slice(2)}`
}

/** Values of a kind that are not this one, as close and as far as they get; `max` is the largest of the type. */
function others(kind: ValueKind, value: Value, max: bigint): readonly Value[] {
  switch (kind) {
    case 'uint': {
      const around = [BigInt(String(value)) + 1n, BigInt(String(value)) - 1n, 0n, max]
      return around.filter((each) => each >= 0n && each <= max && each !== value)
    }
    case 'bool':
      return [value !== true]
    case 'address':
      return [STRANGER, `0x${'00'.repeat(20)}`]
    case 'string':
      return [`${String(value)} `, value === '' ? 'x' : '']
    default:
      return [`0x${'00'.repeat(32)}`, `${String(value).slice(0, -2)}01`]
  }
}

/** The largest value of the type at a path, by trying which widths encode. */
function largest(call: ClearedCall, path: string, index: number, honest: Hex): bigint {
  const widths = [8n, 16n, 32n, 64n, 128n, 256n]
  const fits = widths.filter((width) => {
    try {
      encode(call, replaced(call.args, path, index, 2n ** width - 1n), honest)
      return true
    } catch {
      return false
    }
  })
  return 2n ** (fits.at(-1) ?? 8n) - 1n
}

/** Whether every other value must be refused, or only those beyond a bound. */
const isExact = ({ tests }: Leaf) => tests.some(({ op }) => op === 'eq')
const names = (args: Arguments, { path }: Leaf) => placesOf(args, path).map(([index = 0]) => index)

/** Each answer that differs from the honest one in one value of one argument. */
function* tampered(kind: Kind, ruleset: Ruleset) {
  for (const [at, call] of callsOf(kind, ruleset).entries()) {
    for (const leaf of call.rule.leaves) {
      for (const index of names(call.args, leaf)) {
        const honest = kind.drafts[at]?.calldata ?? '0x'
        const value = asValue(memberAt(call.args, leaf.path, [index]), leaf.kind)
        if (value === undefined) throw new TypeError(`${leaf.path} has no value`)
        const max = leaf.kind === 'uint' ? largest(call, leaf.path, index, honest) : 0n
        const values = others(leaf.kind, value, max)
        for (const other of isExact(leaf) ? values : values.slice(-1)) {
          const calldata = encode(call, replaced(call.args, leaf.path, index, other), honest)
          const drafts = kind.drafts.map((draft, each) => (each === at ? { ...draft, calldata } : draft))
          yield { leaf, other, rule: call.rule, answer: answerOf(kind, drafts) }
        }
      }
    }
  }
}

const checkOf = ({ isApproval }: Rule, { kind, path }: Leaf, other: Value): string => {
  if (isApproval && kind === 'address') return 'approval_spender'
  if (isApproval) return other === maxUint256 ? 'approval_unlimited' : 'approval_not_exact'
  const words = path.replaceAll('[]', '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return `parameter_${words.replaceAll('.', '_')}`
}

/** A condition that the honest value does not meet. */
function flipped(test: Condition, kind: ValueKind): Condition {
  if (test.op === 'in') return { op: 'in', text: test.text, among: [] }
  if (test.op === 'any') return { ...test, of: [] }
  const { reference } = test
  const resolve: typeof reference.resolve = (subject, place) => {
    const value = reference.resolve(subject, place)
    if (value === undefined) return undefined
    if (test.op === 'eq') return others(kind, value, maxUint256)[0]
    return test.op === 'min' ? maxUint256 : 0n
  }
  return { ...test, reference: { ...reference, resolve } }
}

/** Each ruleset with one condition flipped. */
function* mutants(kind: Kind, ruleset: Ruleset) {
  const type = kind.proposal.workflowType
  const rules = ruleset.rules.get(type) ?? []
  const used = new Set(callsOf(kind, ruleset).map(({ rule }) => rule.id))
  const withRule = (rule: Rule, changes: Partial<Rule>): Ruleset => ({
    ...ruleset,
    rules: new Map([
      ...ruleset.rules,
      [type, rules.map((each) => (each === rule ? { ...each, ...changes } : each))],
    ]),
  })
  for (const rule of rules.filter(({ id }) => used.has(id))) {
    for (const leaf of rule.leaves) {
      for (const test of leaf.tests) {
        const tests = leaf.tests.map((each) => (each === test ? flipped(each, leaf.kind) : each))
        const leaves = rule.leaves.map((each) => (each === leaf ? { ...each, tests } : each))
        yield { name: `${rule.id}: ${leaf.path} ${test.op}`, mutant: withRule(rule, { leaves }) }
      }
    }
    const { target, typedData, creation } = rule
    if (target !== null) {
      const elsewhere = { ...target, resolve: () => ruleset.deployment.assets[2]?.address }
      yield { name: `${rule.id}: target`, mutant: withRule(rule, { target: elsewhere }) }
      yield { name: `${rule.id}: selector`, mutant: withRule(rule, { selector: '0x12345678' }) }
    }
    yield { name: `${rule.id}: when`, mutant: withRule(rule, { when: { action: 'another' } }) }
    if (creation !== null) {
      const codeHash: Hex = `0x${'00'.repeat(32)}`
      yield { name: `${rule.id}: code`, mutant: withRule(rule, { creation: { ...creation, codeHash } }) }
      const codeBytes = creation.codeBytes - 1
      yield { name: `${rule.id}: length`, mutant: withRule(rule, { creation: { ...creation, codeBytes } }) }
    }
    if (typedData === null) continue
    const changes = [
      { name: 'Another' },
      { version: '2' },
      { primaryType: 'Another' },
      { fields: typedData.fields.slice(1) },
      { placement: 'argument:0' },
    ]
    for (const change of changes) {
      const mutant = withRule(rule, { typedData: { ...typedData, ...change } })
      yield { name: `${rule.id}: ${Object.keys(change)[0]}`, mutant }
    }
  }
  const effects = ruleset.effects.get(type)
  for (const out of effects?.out ?? []) {
    const resolve: typeof out.assetsMax.resolve = (subject, place) => {
      const value = out.assetsMax.resolve(subject, place)
      return typeof value === 'bigint' ? value - 1n : value
    }
    const fewer = { ...out, assetsMax: { ...out.assetsMax, resolve } }
    const less = { ...effects, out: [fewer], in: effects?.in ?? [], moves: effects?.moves ?? [] }
    yield {
      name: 'effects: out',
      mutant: { ...ruleset, effects: new Map([...ruleset.effects, [type, less]]) },
    }
  }
}

describe('a shipped policy', () => {
  it.each(CASES)('holds every value of every argument: %s', (_name, kind, ruleset) => {
    for (const { leaf, other, rule, answer } of tampered(kind, ruleset)) {
      const found = reasonOf(judge(kind, ruleset, answer))
      expect(found, `${rule.id}: ${leaf.path} = ${other}`).toBe(checkOf(rule, leaf, other))
    }
  })

  it.each(CASES)('needs every one of its conditions: %s', (_name, kind, ruleset) => {
    for (const { name, mutant } of mutants(kind, ruleset)) {
      expect(reasonOf(judge(kind, mutant)), name).not.toBe('accepted')
    }
  })
})

import type { AbiFunction, AbiParameter, Address } from 'viem'
import { z } from 'zod'
import { RolekeeperError } from '../../../errors.ts'
import { createView, type Reads, type View } from '../../reads/views.ts'
import { parseExpression } from '../fact-arithmetic.ts'
import { parseView } from '../functions.ts'
import { type Arguments, depthOf, memberAt } from '../paths.ts'
import type { GuardPolicy } from '../policy.ts'
import { policyError } from '../policy-error.ts'
import { needReference, type Scope, type Subject } from '../references.ts'
import { asAddress, asLiteral, asValue, isNumber, kindOf, type Value, type ValueKind } from '../values.ts'
import { shapesIn } from './leaves.ts'

/** What a fact is asked for: by which reads, about what, and in the place of which view of the judgement. */
type Asking = {
  readonly reads: Reads
  readonly subject: Subject
  /** Null where no view of the judgement is renamed. */
  readonly asked: { readonly to: Address; readonly args: Arguments } | null
}

/** One thing that we read or compute; undefined when it is not known. */
type Ask<T> = (asking: Asking) => () => T | undefined

/** A fact of the policy: of one kind, or what a view of the judgement answers in parts. */
export type Fact = { readonly kind: ValueKind | 'parts'; readonly ask: Ask<unknown> }

/** Facts by name, as far as they can be had of a type of workflow; else why they cannot. */
export type Facts = ReadonlyMap<string, Fact | RolekeeperError>

type Sources = NonNullable<GuardPolicy['facts']>
type SourceCall = Exclude<Sources[string], string | { readonly results: unknown }>

/** What is known while a fact is compiled. */
type Context = {
  readonly sources: Sources
  readonly scope: Scope
  /** The view that the fact stands for; null for a fact of the policy's own. */
  readonly view: AbiFunction | null
  /** The facts that it is part of. */
  readonly above: readonly string[]
}

/**
 * Compile `guard.facts` for one type of workflow: what stands for a view of its judgement, by that view's name, and what
 * conditions and other facts name. Pure.
 */
export function compileFacts(
  sources: GuardPolicy['facts'],
  views: readonly AbiFunction[],
  scope: Scope,
): Facts {
  const names = Object.keys(sources ?? {})
  return new Map(
    names.map((name) => {
      const view = views.find((each) => each.name === name) ?? null
      return [
        name,
        attempt(() => compileFact(name, { sources: sources ?? {}, scope, view, above: [] })),
      ] as const
    }),
  )
}

function attempt(compile: () => Fact): Fact | RolekeeperError {
  try {
    return compile()
  } catch (error) {
    if (error instanceof RolekeeperError) return error
    throw error
  }
}

function compileFact(name: string, context: Context): Fact {
  const { sources, view, above } = context
  const path = `guard.facts.${name}`
  const source = sources[name]
  if (source === undefined)
    throw policyError(path, 'no such fact is stated.', 'state it, or correct its name.')
  if (above.includes(name)) throw policyError(path, 'it follows from itself.', 'read it from a contract.')
  const outputs = view === null ? null : outputsOf(view)
  const [single] = outputs ?? []
  if (typeof source !== 'string' && 'results' in source) {
    if (view === null || outputs === null) {
      throw policyError(path, 'only a view of the judgement has several results.', 'state a fact for each.')
    }
    return compileParts(source.results, view, outputs, context, path)
  }
  if (outputs !== null && outputs.length !== 1) {
    throw policyError(path, `${name} answers in several parts.`, 'state each under results, by its name.')
  }
  const wanted = single?.kind ?? null
  const within = { ...context, above: [...above, name] }
  return typeof source === 'string'
    ? compileFigure(source, wanted, within, path)
    : checkKind(compileCall(source, within, path), wanted, path)
}

function checkKind(fact: Fact, wanted: ValueKind | null, path: string): Fact {
  if (wanted === null || wanted === fact.kind) return fact
  throw policyError(path, `it is a ${fact.kind}; the judgement reads a ${wanted}.`, 'read another result.')
}

type Output = { readonly name: string; readonly kind: ValueKind }

/** The values that a view answers with: its outputs, or the members of the one struct that it returns. */
function outputsOf({ name, outputs }: AbiFunction): readonly Output[] {
  const [only] = outputs
  const parts = outputs.length === 1 && only !== undefined && 'components' in only ? only.components : outputs
  return parts.map(({ name: part, type }, index) => {
    const kind = kindOf(type)
    if (kind !== null) return { name: part ?? String(index), kind }
    throw policyError(
      `guard.facts.${name}`,
      `a result of it is a ${type}.`,
      'remove it: it cannot be renamed.',
    )
  })
}

function compileParts(
  results: Readonly<Record<string, string>>,
  view: AbiFunction,
  outputs: readonly Output[],
  context: Context,
  path: string,
): Fact {
  const parts = outputs.map(({ name, kind }) => {
    const text = results[name]
    const at = `${path}.results.${name}`
    if (text === undefined) throw policyError(at, 'it is not stated.', 'state every result of the view.')
    return { name, ...compileFigure(text, kind, context, at) }
  })
  const unknown = Object.keys(results).find((name) => !outputs.some((output) => output.name === name))
  if (unknown !== undefined) {
    throw policyError(`${path}.results.${unknown}`, 'the view has no such result.', 'remove it.')
  }
  const isStruct = view.outputs.length === 1
  return {
    kind: 'parts',
    ask: (asking) => {
      const asked = parts.map(({ name, ask }) => [name, ask(asking)] as const)
      return () => {
        const values = asked.map(([name, value]) => [name, value()] as const)
        if (values.some(([, value]) => value === undefined)) return undefined
        return isStruct ? Object.fromEntries(values) : values.map(([, value]) => value)
      }
    },
  }
}

/** A value, a reference, or arithmetic over them; of the kind that is wanted, where one is. */
function compileFigure(text: string, wanted: ValueKind | null, context: Context, path: string): Fact {
  const kind =
    wanted ?? (['bool', 'address'] as const).find((each) => asLiteral(text, each) !== undefined) ?? 'uint'
  if (!isNumber(kind)) return { kind, ask: refer(text, kind, context, path) }
  const expression = parseExpression(text)
  if (expression === null) {
    throw policyError(path, `"${text}" is no arithmetic.`, 'use digits, references, + - * / ^ and brackets.')
  }
  const asks = new Map(expression.references.map((each) => [each, refer(each, kind, context, path)]))
  return {
    kind,
    ask: (asking) => {
      const found = new Map([...asks].map(([reference, ask]) => [reference, ask(asking)]))
      return () => {
        const value = expression.evaluate((reference) => {
          const each = found.get(reference)?.()
          return typeof each === 'bigint' ? each : null
        })
        return asValue(value, kind)
      }
    },
  }
}

/** A call of a contract that answers with one value of its results. */
function compileCall(source: SourceCall, context: Context, path: string): Fact {
  const item = parseView(source.function, `${path}.function`)
  const target = refer(source.target, 'address', context, `${path}.target`)
  if (source.args.length !== item.inputs.length) {
    throw policyError(
      `${path}.args`,
      `${item.name} takes ${item.inputs.length} arguments.`,
      'state each, in order.',
    )
  }
  const args = item.inputs.map(({ type }, index) => {
    const at = `${path}.args[${index}]`
    const kind = kindOf(type)
    if (kind === null)
      throw policyError(at, `there is no value of the type ${type}.`, 'read another function.')
    return refer(source.args[index] ?? '', kind, context, at)
  })
  const named = item.outputs.map(
    (output, index): AbiParameter => ({ ...output, name: output.name || String(index) }),
  )
  const result = source.result ?? (named.length === 1 ? named[0]?.name : undefined) ?? ''
  const kind = shapesIn(named, `${path}.function`).get(result)
  if (kind === undefined || depthOf(result) > 0) {
    throw policyError(
      `${path}.result`,
      `"${result}" is no result of ${item.name}.`,
      'name the one that it is.',
    )
  }
  return { kind, ask: asking({ item, named, result, kind, target, args }) }
}

function asking(call: {
  readonly item: AbiFunction
  readonly named: readonly AbiParameter[]
  readonly result: string
  readonly kind: ValueKind
  readonly target: Ask<Value>
  readonly args: readonly Ask<Value>[]
}): Ask<Value> {
  const { item, named, result, kind } = call
  return (about) => {
    const to = asAddress(call.target(about)())
    const values = call.args.map((ask) => ask(about)())
    if (to === undefined || values.includes(undefined)) return () => undefined
    const view = viewOf(item, to, values)
    if (view === null) return () => undefined
    const found = about.reads.ask(view)
    return () => {
      const answer = found()
      const parts = named.length === 1 ? [answer] : answer
      const byName = named.map(
        ({ name = '' }, index) => [name, memberAt({ parts }, `parts[${index}]`)] as const,
      )
      return asValue(memberAt(Object.fromEntries(byName), result), kind)
    }
  }
}

/** A read with these arguments; null where one does not fit its type. */
function viewOf(item: AbiFunction, to: Address, values: readonly unknown[]): View<unknown> | null {
  try {
    return createView([item])(item.name, to, values, z.unknown())
  } catch {
    return null
  }
}

/** Find a value by its reference: of what is asked, of another fact, or of the request and the deployment. */
function refer(text: string, kind: ValueKind, context: Context, path: string): Ask<Value> {
  const { scope, view } = context
  if (text.startsWith('$fact.')) {
    // What a fact of its own name would stand for is asked elsewhere: here it is what it says.
    const fact = checkKind(compileFact(text.slice('$fact.'.length), { ...context, view: null }), kind, path)
    return (about) => {
      const value = fact.ask({ ...about, asked: null })
      return () => asValue(value(), kind)
    }
  }
  if (text === '$asked' && view !== null && kind === 'address')
    return ({ asked }) =>
      () =>
        asked?.to
  const [, name] = /^\$asked\.(\w+)$/.exec(text) ?? []
  const parameter = view?.inputs.find((input) => name !== undefined && input.name === name)
  if (parameter !== undefined && kindOf(parameter.type) === kind) {
    return ({ asked }) =>
      () =>
        asValue(memberAt(asked?.args, name ?? ''), kind)
  }
  const reference = needReference(text, kind, scope, path)
  if (reference.each === null)
    return ({ subject }) =>
      () =>
        reference.resolve(subject)
  throw policyError(path, `"${text}" is a whole list.`, 'use a reference to one value.')
}

import { type Document, isMap, isScalar, isSeq, type Pair, parseDocument, type Scalar } from 'yaml'
import { z } from 'zod'
import { RolekeeperError } from '../errors.ts'
import { amounts, settingNames } from '../service/contract/yaml-scalars.ts'
import type { Denomination } from '../units.ts'
import type { Path, YamlFile } from './yaml.ts'

/** A stretch of a file, by its offsets, and what takes its place. */
type Edit = { readonly from: number; readonly to: number; readonly text: string }

/** What a walk through a file of version 1 knows of the place where it is. */
type MigratedPlace = {
  readonly path: Path
  /** The token that amounts of tokens are of here; null where the file does not say. */
  readonly asset: Denomination | null
}

/**
 * Rewrite a policy of version 1 as version 2: its amounts get their units, and its settings lose theirs from their
 * names. Comments and layout stay. What is not understood stays too, and is refused when the result is checked.
 * @param schema of version 2, which says what each value is.
 * @param text what `yaml` was read from.
 * @returns the new text, and how many places of the old one differ.
 * @throws RolekeeperError `config.invalid` for an amount of a token that nothing around it names. Pure.
 */
export function migratePolicy(
  yaml: YamlFile,
  text: string,
  schema: z.ZodType,
  assets: readonly Denomination[],
): { readonly text: string; readonly changed: number } {
  const document: Document.Parsed = parseDocument(text, { schema: 'failsafe', stringKeys: true })
  const edits: Edit[] = []
  const replace = (node: Scalar, by: string) => {
    const [from = 0, to = 0] = node.range ?? []
    edits.push({ from, to, text: by })
  }
  const tokenOf = (symbol: unknown) => assets.find((asset) => asset.symbol === symbol) ?? null

  const walkMap = (object: z.ZodObject, items: readonly Pair[], { path, asset }: MigratedPlace) => {
    const names = settingNames.get(object)?.names ?? {}
    const inFile = new Map(Object.entries(names).map(([name, code]) => [code, name]))
    const quote = items.find(({ key }) => isScalar(key) && key.value === 'quoteAsset')?.value
    const here = isScalar(quote) ? tokenOf(quote.value) : asset
    for (const { key, value } of items) {
      if (!isScalar(key)) continue
      const name = inFile.get(String(key.value)) ?? String(key.value)
      if (name !== key.value) replace(key, name)
      const inner = object.shape[name]
      if (inner instanceof z.ZodType) walk(inner, value, { path: [...path, String(key.value)], asset: here })
    }
  }

  const walk = (given: z.ZodType, node: unknown, place: MigratedPlace): void => {
    const inner = optionsOf(given, node).find((option) => fits(option, node))
    if (inner instanceof z.ZodObject && isMap(node)) walkMap(inner, node.items, place)
    else if (inner instanceof z.ZodRecord && isMap(node)) {
      for (const { key, value } of node.items) {
        const name = isScalar(key) ? String(key.value) : ''
        const next = { path: [...place.path, name], asset: tokenOf(name) }
        walk(inner.def.valueType as z.ZodType, value, next)
      }
    } else if (inner instanceof z.ZodArray && isSeq(node)) {
      for (const [index, item] of node.items.entries()) {
        walk(inner.def.element as z.ZodType, item, { ...place, path: [...place.path, index] })
      }
    } else if (isScalar(node) && inner !== undefined) rewrite(inner, node, place)
  }

  const rewrite = (inner: z.ZodType, node: Scalar, { path, asset }: MigratedPlace) => {
    const amount = amounts.get(inner)
    const digits = String(node.value)
    if (amount === undefined || !/^(0|[1-9][0-9]{0,77})$/.test(digits)) return
    const written = amount.rewrite(BigInt(digits), asset)
    if (written === null) throw tokenUnknown(yaml, path, digits)
    replace(node, `"${written}"`)
  }

  const root = document.contents
  const only = pricedTokens(document)
  walk(schema, root, { path: [], asset: only.length === 1 ? tokenOf(only[0]) : null })
  const version = document.get('version', true)
  if (isScalar(version)) replace(version, '"2"')
  return { text: apply(text, edits), changed: edits.length }
}

const tokenUnknown = (yaml: YamlFile, path: Path, digits: string) =>
  new RolekeeperError(
    'config.invalid',
    `${yaml.at(path)}: ${digits} is of a token that nothing here names.`,
    {
      fix: 'write it by hand with its unit, for example "25 sBTC", and use a run configuration whose deployment has that token',
      facts: { file: yaml.file, path: path.join('.') },
    },
  )

/** The tokens that a policy's budgets have a price for: where there is one, other amounts are of it. */
function pricedTokens(document: Document.Parsed): readonly string[] {
  const prices: unknown = document.getIn(['limits', 'pricesUsdMicros'])
  return isMap(prices) ? prices.items.flatMap(({ key }) => (isScalar(key) ? [String(key.value)] : [])) : []
}

/** Take the wrappers off a schema: what may be there, as the file has it. Pure. */
function optionsOf(schema: z.ZodType, node: unknown): readonly z.ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) {
    return optionsOf(schema.def.innerType as z.ZodType, node)
  }
  if (schema instanceof z.ZodPipe) {
    const { in: before, out: after } = schema.def
    return optionsOf((before instanceof z.ZodTransform ? after : before) as z.ZodType, node)
  }
  if (schema instanceof z.ZodUnion) {
    return schema.def.options.flatMap((option) => optionsOf(option as z.ZodType, node))
  }
  return [schema]
}

/** Whether a schema is about a node of this shape; of several mappings, the one whose literals are there. Pure. */
function fits(schema: z.ZodType, node: unknown): boolean {
  if (isScalar(node)) {
    return schema instanceof z.ZodLiteral
      ? schema.values.has(String(node.value))
      : schema instanceof z.ZodString
  }
  if (isSeq(node)) return schema instanceof z.ZodArray
  if (!isMap(node)) return false
  if (schema instanceof z.ZodRecord) return true
  if (!(schema instanceof z.ZodObject)) return false
  return Object.entries(schema.shape).every(([name, each]) => {
    const value: unknown = node.get(name)
    return !(each instanceof z.ZodLiteral) || name === 'version' || each.values.has(String(value))
  })
}

/** Put edits into a text, the last first so that offsets stay right. Pure. */
const apply = (text: string, edits: readonly Edit[]): string =>
  edits
    .toSorted((a, b) => b.from - a.from)
    .reduce((whole, { from, to, text: by }) => whole.slice(0, from) + by + whole.slice(to), text)

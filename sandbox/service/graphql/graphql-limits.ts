import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  Kind,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
} from 'graphql'
import { PAGE_SIZE_MAX } from '../../../src/service/contract/resources.ts'
import { ApiError } from '../http/api-error.ts'

/** Fields inside fields; the deepest resource needs five. What introspects is bound by its own rule of validation. */
const DEPTH_MAX = 8
/**
 * Fields that an answer may hold by estimate: a field counts once for each row of the pages it is in, by their `first`,
 * and {@link LIST_ESTIMATE} times for each other list. A tool's full introspection stays below.
 */
const COST_MAX = 50_000
const LIST_ESTIMATE = 10

type Weight = { readonly cost: number; readonly depth: number }
const NOTHING: Weight = { cost: 0, depth: 0 }

/**
 * Weigh a document before anything of it runs: aliases count like any field, a fragment wherever it is spread.
 * Throws ApiError 400 `query_too_deep` or `query_too_costly`.
 */
export function checkLimits(
  schema: GraphQLSchema,
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>>,
): void {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node)
  }
  /** A fragment is weighed once: nesting its spreads must not make weighing itself costly. */
  const weighed = new Map<string, Weight>()

  const ofFragment = (name: string): Weight => {
    const known = weighed.get(name)
    if (known !== undefined) return known
    // One that spreads itself ends here, and is refused by validation.
    weighed.set(name, NOTHING)
    const node = fragments.get(name)
    const weight = node === undefined ? NOTHING : ofSet(node.selectionSet, node.typeCondition.name.value)
    weighed.set(name, weight)
    return weight
  }

  const ofSet = ({ selections }: SelectionSetNode, typeName: string): Weight =>
    selections
      .map((node) => {
        if (node.kind === Kind.FIELD) return ofField(node, typeName)
        if (node.kind === Kind.FRAGMENT_SPREAD) return ofFragment(node.name.value)
        return ofSet(node.selectionSet, node.typeCondition?.name.value ?? typeName)
      })
      .reduce((sum, one) => ({ cost: sum.cost + one.cost, depth: Math.max(sum.depth, one.depth) }), NOTHING)

  const ofField = (node: FieldNode, typeName: string): Weight => {
    const field = fieldOf(schema, typeName, node.name.value)
    if (node.selectionSet === undefined) return { cost: 1, depth: 1 }
    // A field that does not exist is as deep as it is written: validation refuses it, if it is asked.
    const inner = ofSet(node.selectionSet, field === undefined ? '' : getNamedType(field.type).name)
    const depth = typeName.startsWith('__') || node.name.value.startsWith('__') ? 1 : 1 + inner.depth
    return { cost: 1 + (field === undefined ? 1 : rowsOf(node, field, variables)) * inner.cost, depth }
  }

  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue
    const { cost, depth } = ofSet(node.selectionSet, schema.getQueryType()?.name ?? '')
    if (depth > DEPTH_MAX)
      throw refused('query_too_deep', `The query is ${depth} deep; at most ${DEPTH_MAX}.`)
    if (cost > COST_MAX) throw refused('query_too_costly', `The query costs ${cost}; at most ${COST_MAX}.`)
  }
}

const refused = (code: string, message: string) => new ApiError(400, code, message)

function fieldOf(
  schema: GraphQLSchema,
  typeName: string,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef
  if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef
  const type = schema.getType(typeName)
  return isObjectType(type) ? type.getFields()[name] : undefined
}

/** How many rows a field may answer. A page's rows are counted at the page, whose only list is its items. */
function rowsOf(
  node: FieldNode,
  field: GraphQLField<unknown, unknown>,
  variables: Readonly<Record<string, unknown>>,
): number {
  if (field.args.some(({ name }) => name === 'first')) {
    const value = node.arguments?.find(({ name }) => name.value === 'first')?.value
    const first =
      value?.kind === Kind.VARIABLE
        ? variables[value.name.value]
        : value?.kind === Kind.INT
          ? Number(value.value)
          : undefined
    // Out of range is refused when it runs; here it must not make the query cheap.
    return typeof first === 'number' && first >= 1 && first <= PAGE_SIZE_MAX ? first : PAGE_SIZE_MAX
  }
  return isListType(getNullableType(field.type)) && field.name !== 'items' ? LIST_ESTIMATE : 1
}

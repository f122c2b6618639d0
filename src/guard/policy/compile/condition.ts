import type { Condition } from '../conditions.ts'
import { OPERATORS, type Op, operatorOf, type Shape, type Test } from '../operators.ts'
import type { GuardPolicy } from '../policy.ts'
import type { Scope } from '../references.ts'

type SourceTests = GuardPolicy['allow'][number]['params'][string]
type SourceTest = Omit<SourceTests, 'any'>

/** Compile what must hold of one value. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function compileTests(
  { any, ...tests }: SourceTests,
  shape: Shape,
  scope: Scope,
  path: string,
): readonly Condition[] {
  const own = compileTest(tests, shape, scope, path)
  if (any === undefined) return own
  const of = any.map((each, index) => compileTest(each, shape, scope, `${path}.any[${index}]`))
  return [...own, { op: 'any', of }]
}

function compileTest(
  { map, ...tests }: SourceTest,
  shape: Shape,
  scope: Scope,
  path: string,
): readonly Test[] {
  const ops = Object.keys(OPERATORS) as Op[]
  return ops.flatMap((op) => {
    const source = tests[op]
    return source === undefined ? [] : [operatorOf({ op }).compile(source, { shape, scope, path, map })]
  })
}

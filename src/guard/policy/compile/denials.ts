import { type AbiFunction, toFunctionSelector } from 'viem'
import type { Deployment } from '../../../service/contract/deployment.ts'
import { parseConstructor, parseFunction } from '../functions.ts'
import { needInputs } from '../inputs.ts'
import type { GuardPolicy } from '../policy.ts'
import { policyError } from '../policy-error.ts'
import { needReference } from '../references.ts'
import type { Denial, Leaf } from '../rule.ts'
import { compileLeaf, shapesIn } from './leaves.ts'

type SourceDenial = NonNullable<GuardPolicy['deny']>[number]

/** Compile `guard.deny`: what no rule allows, whatever it says. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function compileDenials(sources: GuardPolicy['deny'], deployment: Deployment): readonly Denial[] {
  return (sources ?? []).map((source, index) => compileDenial(source, `guard.deny[${index}]`, deployment))
}

function compileDenial(source: SourceDenial, path: string, deployment: Deployment): Denial {
  const { id, workflowType = null, target, function: text, params = {} } = source
  // Where any type is meant, no member of an input is known.
  const inputs = workflowType === null ? new Map() : needInputs(workflowType)
  const scope = { inputs, deployment }
  const creates = target === 'deploy'
  const abi = text === undefined ? null : parse(text, creates, `${path}.function`)
  if (abi === null && Object.keys(params).length > 0) {
    throw policyError(
      `${path}.params`,
      'parameters are those of a function.',
      'state the function, or remove them.',
    )
  }
  const shapes = shapesIn(abi?.inputs ?? [], `${path}.params`)
  const leaves = Object.entries(params).map(([name, tests]): Leaf => {
    const at = `${path}.params.${name}`
    const kind = shapes.get(name)
    if (kind === undefined) throw policyError(at, 'the function has no such parameter.', 'use its own names.')
    return compileLeaf(tests, { path: name, kind }, { ...scope, args: shapes }, at)
  })
  return {
    id,
    workflowType,
    creates,
    target:
      target === undefined || creates ? null : needReference(target, 'address', scope, `${path}.target`),
    call: abi === null ? null : { abi, selector: toFunctionSelector(abi) },
    leaves,
  }
}

/** A constructor is what a creation calls, and nothing else calls one. */
function parse(text: string, creates: boolean, path: string): AbiFunction {
  if (creates) return parseConstructor(text, path)
  if (!/^\s*constructor\b/.test(text)) return parseFunction(text, path)
  throw policyError(path, 'a constructor is called by a creation alone.', 'add target: deploy.')
}

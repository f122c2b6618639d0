import { type Abi, type AbiFunction, parseAbi, toFunctionSelector, toFunctionSignature } from 'viem'
import { policyError } from './policy-error.ts'

/** Carries calls of any kind: allowed only where a rule says what they are. */
const CARRIES: ReadonlySet<string> = new Set(
  ['multicall(bytes[])', 'multicall(uint256,bytes[])', 'execute(address,uint256,bytes)'].map((text) =>
    toFunctionSelector(text),
  ),
)

/** Never allowed, whatever a rule says: each gives away more than one action needs, or hides what runs inside. */
const DENIED: ReadonlySet<string> = new Set(
  [
    'transferFrom(address,address,uint256)',
    'transferAndCall(address,uint256)',
    'transferAndCall(address,uint256,bytes)',
    'safeTransferFrom(address,address,uint256)',
    'safeTransferFrom(address,address,uint256,bytes)',
    'safeTransferFrom(address,address,uint256,uint256,bytes)',
    'increaseAllowance(address,uint256)',
    'increaseApproval(address,uint256)',
    'approveAndCall(address,uint256)',
    'approveAndCall(address,uint256,bytes)',
    'approveDelegation(address,uint256)',
    'setAuthorization(address,bool)',
    'setApprovalForAll(address,bool)',
    'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
    'permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)',
    'approve(address,address,uint160,uint48)',
    'transferOwnership(address)',
    'upgradeTo(address)',
    'upgradeToAndCall(address,bytes)',
    'execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)',
  ].map((text) => toFunctionSelector(text)),
)

/** Whom a call gives something that stays theirs: the place of that argument, and of the role that is given. */
type Gift = { readonly to: number; readonly role?: number }

/** Never allowed either, but of a vault and to somebody whom the policy lists: its shares, a role in it, or itself. */
const GIVES: ReadonlyMap<string, Gift> = new Map(
  (
    [
      ['transfer(address,uint256)', { to: 0 }],
      ['grantRole(bytes32,address)', { role: 0, to: 1 }],
      ['beginDefaultAdminTransfer(address)', { to: 0 }],
    ] as const
  ).map(([text, gift]) => [toFunctionSelector(text), gift]),
)

/** Say what a function gives away for good; undefined for one that gives nothing like it. Pure. */
export const giftOf = (abi: AbiFunction): Gift | undefined => GIVES.get(toFunctionSelector(abi))

/** The selector of an approval. Source: EIP-20. */
export const APPROVE = toFunctionSelector('approve(address,uint256)')

/** Parse a function as Solidity writes it. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function parseFunction(text: string, path: string): AbiFunction {
  const item = parsed(text)
  if (isA('function', item)) return item
  throw policyError(
    path,
    `"${text}" is not a function.`,
    'write it as Solidity does: "function paused() view returns (bool)".',
  )
}

/** Parse a function that only reads. Throws RolekeeperError `policy.guard_invalid`. Pure. */
export function parseView(text: string, path: string): AbiFunction {
  const item = parseFunction(text, path)
  if (item.stateMutability === 'view' || item.stateMutability === 'pure') return item
  throw policyError(path, `${item.name} is not a view.`, 'list only functions that change nothing.')
}

/**
 * Parse the function of a rule, which must not be one that is never allowed; `carries` calls that rules hold, and gives
 * something away only `toListed`. Pure.
 */
export function parseCallable(
  text: string,
  path: string,
  { carries, toListed }: { readonly carries: boolean; readonly toListed: (abi: AbiFunction) => boolean },
): AbiFunction {
  const abi = parseFunction(text, path)
  const selector = toFunctionSelector(abi)
  const isDenied =
    DENIED.has(selector) || /delegatecall/i.test(abi.name) || (GIVES.has(selector) && !toListed(abi))
  if (!isDenied && (carries || !CARRIES.has(selector))) return abi
  throw policyError(path, `${toFunctionSignature(abi)} is never allowed.`, 'remove the rule.')
}

/** Parse a constructor as Solidity writes it, as a function of that name. Pure. */
export function parseConstructor(text: string, path: string): AbiFunction {
  const item = parsed(text)
  if (isA('constructor', item)) {
    const { inputs, stateMutability } = item
    return { type: 'function', name: 'constructor', inputs, outputs: [], stateMutability }
  }
  throw policyError(
    path,
    `"${text}" is not a constructor.`,
    'write it as Solidity does: "constructor(address owner)".',
  )
}

/** The item that a text says; undefined for none. */
function parsed(text: string): unknown {
  try {
    const [item]: readonly unknown[] = parseAbi([text])
    return item
  } catch {
    // The parser's own words come in several lines; what matters is which text, and what one looks like.
    return undefined
  }
}

const isA = <T extends 'function' | 'constructor'>(
  type: T,
  item: unknown,
): item is Extract<Abi[number], { type: T }> =>
  typeof item === 'object' && item !== null && 'type' in item && item.type === type

import { describe, expect, it } from 'vitest'
import {
  parseCallable,
  parseConstructor,
  parseFunction,
  parseView,
} from '../../../src/guard/policy/functions.ts'

it('a constructor is a function of that name', () => {
  expect(parseConstructor('constructor(address owner)', 'at')).toMatchObject({
    type: 'function',
    name: 'constructor',
    inputs: [{ name: 'owner' }],
  })
})

it.each(['view', 'pure'])('what only reads is a view: %s', (mutability) => {
  expect(parseView(`function f() ${mutability} returns (uint256)`, 'at').name).toBe('f')
})

it('what is no function is refused', () => {
  for (const text of ['struct A { uint256 b; }', 'event A()', 'f()', ''])
    expect(() => parseFunction(text, 'at'), text).toThrow(/^at: ".*" is not a function\./)
  expect(() => parseView('function f() returns (uint256)', 'at')).toThrow('f is not a view')
})

const nobody = () => false

describe('functions that give away more than one action needs', () => {
  it.each([
    'function transfer(address to, uint256 value)',
    'function transferFrom(address from, address to, uint256 value)',
    'function transferAndCall(address to, uint256 value)',
    'function safeTransferFrom(address from, address to, uint256 id, bytes data)',
    'function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)',
    'function increaseApproval(address spender, uint256 value)',
    'function approveAndCall(address spender, uint256 value, bytes data)',
    'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
    'function grantRole(bytes32 role, address account)',
    'function upgradeTo(address implementation)',
    'function aDelegateCall(address to)',
    'function multicall(bytes[] data)',
    'function multicall(uint256 deadline, bytes[] data)',
    'function execute(address target, uint256 value, bytes data)',
    'function transferAndCall(address to, uint256 value, bytes data)',
    'function safeTransferFrom(address from, address to, uint256 id)',
    'function increaseAllowance(address spender, uint256 value)',
    'function approveAndCall(address spender, uint256 value)',
    'function approveDelegation(address delegatee, uint256 amount)',
    'function setAuthorization(address authorized, bool on)',
    'function setApprovalForAll(address operator, bool approved)',
    'function permit(address holder, address spender, uint256 nonce, uint256 expiry, bool allowed, uint8 v, bytes32 r, bytes32 s)',
    'function approve(address token, address spender, uint160 amount, uint48 expiration)',
    'function upgradeToAndCall(address implementation, bytes data)',
    'function transferOwnership(address owner)',
    'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 a, uint256 b, uint256 c, address d, address e, bytes f)',
  ])('are never allowed: %s', (signature) => {
    expect(() => parseCallable(signature, 'at', { carries: false, toListed: nobody })).toThrow(
      /^at: .* is never allowed\./,
    )
  })
  it('are allowed where they carry calls that rules hold, and only those', () => {
    const carrying = [
      'function multicall(bytes[] data)',
      'function multicall(uint256 deadline, bytes[] data)',
      'function execute(address target, uint256 value, bytes data)',
    ]
    for (const signature of carrying)
      expect(() => parseCallable(signature, 'at', { carries: true, toListed: nobody })).not.toThrow()
    for (const signature of [
      'function aDelegateCall(address to)',
      'function upgradeTo(address implementation)',
    ])
      expect(() => parseCallable(signature, 'at', { carries: true, toListed: nobody })).toThrow(
        'is never allowed',
      )
  })

  it('are allowed where a policy lists whom they give a vault’s shares or a role in it', () => {
    const gifts = [
      'function transfer(address to, uint256 value) returns (bool)',
      'function grantRole(bytes32 role, address account)',
    ]
    for (const signature of gifts) {
      const parse = (toListed: () => boolean) => parseCallable(signature, 'at', { carries: true, toListed })
      expect(() => parse(nobody)).toThrow('is never allowed')
      expect(() => parse(() => true)).not.toThrow()
    }
    expect(() =>
      parseCallable('function transferOwnership(address owner)', 'at', {
        carries: true,
        toListed: () => true,
      }),
    ).toThrow('is never allowed')
  })
})

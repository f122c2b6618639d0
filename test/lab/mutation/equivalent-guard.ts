/** Of the guard, by their reason: the file in `src/guard`, how the line begins, what it was and is. */
const BY_REASON: Readonly<
  Record<string, readonly (readonly [file: string, line: string, was: string, is: string])[]>
> = {
  'a word for what is absent: no reference is written so': [
    ['calls/arguments.ts', "const compared = 'reference' in failed", "''", "'mutated'"],
  ],
  'both are read as zero': [['calls/call.ts', "value: value === null ? '0'", "'0'", "''"]],
  'the types need it: an approval is of an address and an amount': [
    [
      'calls/call.ts',
      'return address === undefined || amount === undefined',
      'address === undefined || amount === undefined',
      'false',
    ],
    [
      'calls/call.ts',
      'return address === undefined || amount === undefined',
      'address === undefined || amount === undefined',
      '(address === undefined) && (amount === undefined)',
    ],
  ],
  'bounds memory alone: what lies otherwise is encoded again to other bytes, and refused': [
    ['calls/decode.ts', 'if (isLaidOut(abi.inputs, encoded)) {', 'isLaidOut(abi.inputs, encoded)', 'true'],
    [
      'calls/decode.ts',
      'if (isLaidOut(abi.inputs, encoded.slice(2))) {',
      'isLaidOut(abi.inputs, encoded.slice(2))',
      'true',
    ],
  ],
  'the types need it: every parameter has a name': [
    ['calls/decode.ts', 'const named = abi.inputs.map(({ name }, index)', "''", "'mutated'"],
    ['calls/typed-data.ts', 'args: abi.inputs.map(', "''", "'mutated'"],
    ['policy/compile/facts.ts', "asValue(memberAt(asked?.args, name ?? '')", "''", "'mutated'"],
  ],
  'saves work: without it the same is computed again': [
    [
      'calls/decode.ts',
      'const found = hashed.get(codeHash) === code',
      'hashed.get(codeHash) === code',
      'false',
    ],
    ['calls/decode.ts', 'hashed.set(codeHash, code)', 'hashed.set(codeHash, code)', 'undefined'],
  ],
  'bounds memory alone: what is longer than the data ends past it, and is refused': [
    ['calls/layout.ts', 'if (!(first + words <=', 'data.length / DIGITS', '(data.length) * (DIGITS)'],
  ],
  'the same words are counted one by one': [
    ['calls/layout.ts', 'return isDynamic(element) ?', 'isDynamic(element)', 'true'],
  ],
  'the types need it: every struct has components': [
    ['calls/layout.ts', "'components' in parameter ?", "'components' in parameter", 'true'],
  ],
  'a word for what has no members: no list of names is written so': [
    ['calls/typed-data.ts', "typeof value === 'object' && value !== null", "''", "'mutated'"],
  ],
  'the types need it: every field has a kind': [
    ['calls/typed-data.ts', 'const value = kind === null', 'kind === null', 'false'],
  ],
  'the types need it: every field has a kind, and our own call a value for it': [
    [
      'calls/typed-data.ts',
      'return kind !== null && value !== undefined',
      'kind !== null && value !== undefined',
      '(kind !== null) || (value !== undefined)',
    ],
  ],
  'the types need it: both are there, or neither': [
    [
      'policy/allowances.ts',
      '} else if (most !== undefined && refill',
      'most !== undefined && refill !== undefined',
      '(most !== undefined) || (refill !== undefined)',
    ],
    [
      'policy/allowances.ts',
      'return mostUsdMicros === undefined ||',
      'mostUsdMicros === undefined || refillUsdMicros === undefined',
      '(mostUsdMicros === undefined) && (refillUsdMicros === undefined)',
    ],
    [
      'policy/operators.ts',
      'if (part !== undefined && of !== undefined)',
      'part !== undefined && of !== undefined',
      '(part !== undefined) || (of !== undefined)',
    ],
    [
      'policy/compile/facts.ts',
      'if (view === null || outputs === null)',
      'view === null || outputs === null',
      '(view === null) && (outputs === null)',
    ],
    [
      'policy/compile/leaves.ts',
      "if ('components' in parameter &&",
      "'components' in parameter && base === 'tuple'",
      "('components' in parameter) || (base === 'tuple')",
    ],
  ],
  'the types need it: a path has a last name': [['policy/bounds.ts', ".at(-1) ?? ''", "''", "'mutated'"]],
  'a sense is only ever compared with the other one': [
    ['policy/compare/allowances.ts', '', "'less'", "''"],
    ['policy/compare/approval.ts', '', "'less'", "''"],
    ['policy/compare/rules.ts', '', "'less'", "''"],
    ['policy/operators.ts', '', "'less'", "''"],
    ['policy/compare/policies.ts', '', "'less'", "''"],
  ],
  'the word is only ever asked whether it is there': [
    ['policy/compare/policies.ts', "['limits.loss.", "'open'", "''"],
  ],
  'the types need it: what has no sense of its own is what both are found by': [
    ['policy/compare/allowances.ts', 'const direction = sense === undefined', 'sense === undefined', 'false'],
    ['policy/compare/allowances.ts', 'const direction = sense === undefined', "'unknown'", "''"],
  ],
  'a word that is no kind of a value, either way': [
    ['policy/compile/facts.ts', "kind: 'parts',", "'parts'", "''"],
  ],
  'the types need it: there are as many arguments as parameters': [
    ['policy/compile/facts.ts', 'return refer(source.args[index]', "''", "'mutated'"],
  ],
  'the types need it: every result has a name by now': [
    ['policy/compile/facts.ts', "({ name = '' }, index)", "''", "'mutated'"],
  ],
  'nothing is there before the first': [
    ['policy/compile/rules.ts', 'if (again < 0) return', 'again < 0', '(again) <= (0)'],
  ],
  'two amounts that are equal have returned by now': [
    [
      'policy/compare/difference.ts',
      'return after.amount > before.amount',
      'after.amount > before.amount',
      '(after.amount) >= (before.amount)',
    ],
  ],
  'a word that no other quantity has, either way': [
    ['policy/compare/difference.ts', 'if (/^-?[0-9]{1,78}$/', "'count'", "''"],
  ],
  'the types need it: what has no unit parses as no amount': [
    ['policy/compare/difference.ts', 'if (unit === undefined) return null', 'unit === undefined', 'false'],
  ],
  'a word for the end: no operator is written so': [
    ['policy/fact-arithmetic.ts', 'const operator = operators[', "''", "'mutated'"],
  ],
  'a word for the end: no value is written so': [
    ['policy/fact-arithmetic.ts', 'const token = cursor.tokens[', "''", "'mutated'"],
  ],
  'the types need it: a split text has a last word': [
    ['explain/reason-text.ts', "const figure = (words.pop() ?? '')", "''", "'mutated'"],
  ],
  'a word for no reference: only those that begin with a dollar sign are looked up': [
    ['explain/reason-text.ts', "{ path: field, reference: '' }", "''", "'mutated'"],
  ],
  'a stand-in that is never read: what has no effects names no signer': [
    ['explain/reason-text.ts', "{ input, market, fund, deployment, self: '0x'", "'0x'", "''"],
  ],
  'of two amounts that are equal, either is the same': [
    [
      'sanity/allocator/allocator.ts',
      'const cap = terms.absoluteCapAssets < share',
      'terms.absoluteCapAssets < share',
      '(terms.absoluteCapAssets) <= (share)',
    ],
    ['sanity/rfq-bidder/rivals.ts', 'const best = rivals.reduce(', 'assets > most', '(assets) >= (most)'],
    ['sanity/rfq-bidder/rivals.ts', 'const highest = (one', 'one > other', '(one) >= (other)'],
    ['reads/deployed-units.ts', 'const apart = one > other', 'one > other', '(one) >= (other)'],
  ],
  'a word that is never asked: an issue with a sentence and no fix of its own is told by these alone': [
    ['policy/allowances.ts', 'const fail = (path: string, message: string)', "'custom'", "''"],
  ],
  'the deployment needs it: no two tokens have one symbol, so what is its own is of no other': [
    [
      'reads/deployed-units.ts',
      'if (real === null || real === symbol || !isAnother)',
      'real === null || real === symbol',
      '(real === null) && (real === symbol)',
    ],
  ],
  'the types need it: every member of a schema is one': [
    ['policy/inputs.ts', 'const kind = schema instanceof z.ZodType', 'schema instanceof z.ZodType', 'true'],
  ],
}

export const GUARD = Object.entries(BY_REASON).flatMap(([why, each]) =>
  each.map(([file, line, was, is]) => ({ file: `src/guard/${file}`, line, was, is, why })),
)

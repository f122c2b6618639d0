import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toFunctionSelector } from 'viem'
import { describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { rolekeeper } from '../../../src/cli/dispatch.ts'
import { type AgentConfig, loadRunConfig } from '../../../src/config/config.ts'
import { createPersonKey } from '../../../src/guard/approval/person-key.ts'
import { loadRolePolicy, positionOf } from '../../../src/keeper/policy/role-policy.ts'
import { checkFile } from '../../../src/keeper/policy-tools/file.ts'
import { newDirectory } from '../../support/directory.ts'

const CONFIG = 'config/example.yaml'

const written = (text: string) => {
  const file = join(newDirectory(), 'liquidator.yaml')
  writeFileSync(file, text)
  return file
}

// The shipped one, for the tokens of the example.
const shipped = readFileSync('policies/liquidator.yaml', 'utf8')
  .replace('./shared/', `${process.cwd()}/policies/shared/`)
  .replaceAll('sUSD', 'USDC')
  .replaceAll('sBTC', 'cbBTC')
  .replace(/, sETH: "[\d,]+ sETH"/, '')
  // Figures of its own: those that are shipped change.
  .replace(/^ {2}perHour: .*/m, '  perHour: { movedMax: "2,000,000 USD", gasMax: "2 ETH", revertsMax: "20" }')
  .replace(
    /^ {2}perDay: .*/m,
    '  perDay: { movedMax: "20,000,000 USD", gasMax: "10 ETH", revertsMax: "100" }',
  )
  .replace(/^ {4}sETH:\n(?: {6}.*\n)+/m, '')
  .replace(/^ {4}sETH\/.*\n/m, '')
  .replace(/, sETH: "[^"]*"/, '')

describe('a policy that is checked before anything runs by it', () => {
  it('loads, and says which limit never binds', () => {
    expect(checkFile(written(shipped), CONFIG)).toMatchObject({ role: 'liquidator', lints: [] })
    const idle = shipped.replace('movedMax: "20,000,000 USD"', 'movedMax: "48,000,000 USD"')
    expect(checkFile(written(idle), CONFIG).lints).toMatchObject([
      { problem: "limits.perDay.movedMax is no less than 24 times the hour's: it never binds" },
    ])
  })

  it('has the hash that a keeper of the same configuration shows, and says so where no agent names it', async () => {
    const file = written(shipped)
    const example = readFileSync(CONFIG, 'utf8').replace('../policies/liquidator.yaml', 'liquidator.yaml')
    const config = join(file, '..', 'run.yaml')
    writeFileSync(config, example)
    const secrets = { ROLEKEEPER_NODE_A: 'https://a.example', ROLEKEEPER_NODE_B: 'https://b.example' }
    const run = loadRunConfig(config, {
      env: { ...secrets, ROLEKEEPER_NODE_SEND: 'https://c.example', ROLEKEEPER_SECRET_KEY: 'key' },
      isWellKnown: () => false,
    })
    const [agent] = run.agents
    const { ruleset } = loadRolePolicy(positionOf(agent as AgentConfig), run)
    expect(checkFile(file, config)).toMatchObject({ hash: ruleset.hash, isStaffed: true })
    const other = written(shipped)
    expect(checkFile(other, config).hash).not.toBe(ruleset.hash)
    let out = ''
    const io = { out: (text: string) => (out += text), err: (text: string) => (out += text) }
    const check = (...args: readonly string[]) =>
      rolekeeper(['policy', 'check', ...args], { ...io, outIsTty: false, errIsTty: false, env: {} })
    expect(await check(file, '--config', config)).toBe(0)
    expect(out).toMatch(new RegExp(`its rules are ${ruleset.hash.slice(0, 12)}\\.\n`))
    expect(await check(other, '--config', config)).toBe(0)
    expect(out).toMatch(
      /[0-9a-f]{12} without signers, as no agent of \S*run\.yaml names it: a keeper's hash differs\.\n/,
    )
  })

  it('is asked about numbers far from the shipped ones, and passes all the same', async () => {
    const file = written(shipped.replace('divergenceMax: "1 %"', 'divergenceMax: "100 %"'))
    let out = ''
    const io = { out: (text: string) => (out += text), err: (text: string) => (out += text) }
    const args = ['policy', 'check', file, '--config', CONFIG]
    expect(await rolekeeper(args, { ...io, outIsTty: false, errIsTty: false, env: {} })).toBe(0)
    expect(out).toMatch(
      /^One number is far from the shipped policy of the liquidator\. Each is a slip, or meant:\n\S+liquidator\.yaml:\d+:\d+: strategy\.secondPrice\.cbBTC\/USDC\.divergenceMax is 100 %, and the shipped policy says 1 %: 99 % of limits\.perWorkflow\.movedMax is 99,000 USD\. Fix: write what is meant, near 1 %; leave it if it is meant\n/,
    )
  })

  it.each([
    [
      '  loss: { perHour: "25,000 USD"',
      '  loss: { perHour: "0 USD"',
      /the first gas that is paid halts the role/,
    ],
    [
      'fees: { maxFeePerGas: "300 gwei"',
      'fees: { maxFeePerGas: "300 ETH"',
      /^fees.maxFeePerGas is 300 ETH.* never binds$/,
    ],
    [
      'approval:\n',
      'approval:\n  approvers: { anna: { user: "anna@here" }, ben: { user: "ben@here" } }\n  quorum: "2"\n',
      /^approval.quorum is 2 of 2: what one of them submits nobody can approve/,
    ],
    [
      '  prices: { USDC:',
      '  prices: { UDSC:',
      /^limits\.prices\.UDSC: UDSC is no token of deployment\.assets, so it binds nothing$/,
    ],
    [
      '    cbBTC/USDC: { contract',
      '    cbBTC/USD: { contract',
      /^strategy\.secondPrice\.cbBTC\/USD: USD is no/,
    ],
  ])('loads, and says of %j what %j keeps from working', (was, is, problem) => {
    expect(shipped).toContain(was)
    const found = checkFile(written(shipped.replace(was, is)), CONFIG).lints
    expect(found.map((each) => each.problem)).toContainEqual(expect.stringMatching(problem))
  })

  // The pool is not pinned in the example, and btcReferenceOracle is.
  const sold = (strategy: string, guard: string) =>
    shipped
      .replace('  exits: {}', `  exits: { cbBTC/USDC: { venue: ${strategy}, saleMax: "1 cbBTC" } }`)
      .replace('    exits: {}', `    exits: { cbBTC/USDC: { ${guard}, saleMax: "1 cbBTC" } }`)
  const sale = (price: string, loss = 'loss: { perHour: "60,000 USD", perDay: "60,000 USD" }') =>
    sold('ethReferenceOracle', 'venue: ethReferenceOracle, referenceContract: btcReferenceOracle')
      .replace('prices: { ', `prices: { ${price}`)
      .replace(/loss: \{ perHour.*\}/, loss)
  it('is refused where venues that lie would keep more at once than an hour may lose, and where nobody can say', () => {
    const dearer = written(sale('cbBTC: "60,000.01 USD", '))
    expect(() => checkFile(dearer, CONFIG)).toThrow(
      /liquidator\.yaml:\d+:\d+: guard\.sanity\.exits: venues that lie would keep 60,000\.01 USD at once, and limits\.loss\.perHour is 60,000 USD: exits\.cbBTC\/USDC\.saleMax is 1 cbBTC, 60,000\.01 USD\. Fix: lower saleMax, in strategy\.exits too, or raise limits\.loss\.perHour/,
    )
    expect(() => checkFile(written(sale('')), CONFIG)).toThrow(
      'guard.sanity.exits.cbBTC/USDC.saleMax: limits.prices has no cbBTC, so nobody can say what a sale may lose. Fix: write there what one whole cbBTC is worth.',
    )
    expect(() => checkFile(written(sale('cbBTC: "60,000 USD", ', '')), CONFIG)).toThrow(
      'guard.sanity.exits: limits.loss is missing, and what a venue keeps that lies counts in it. Fix: write limits.loss',
    )
  })

  it('is told of a mistyped key which missing one it stands for, also in a mapping by token and in one of two forms', () => {
    const mistyped = (was: string, is: string) => () => checkFile(written(shipped.replace(was, is)), CONFIG)
    expect(mistyped('exitHaircutBase:', 'exitHaircut:')).toThrow(
      'strategy.collaterals.cbBTC.exitHaircut is not a known key, and exitHaircutBase is missing; allowed: inventoryMax, exitHaircutBase, exitHaircutPerMillionUsd. Fix: write `exitHaircutBase`',
    )
    expect(mistyped('{ contract: btcReferenceOracle, div', '{ oracle: btcReferenceOracle, div')).toThrow(
      'strategy.secondPrice.cbBTC/USDC.oracle is not a known key, and contract is missing; allowed: contract, divergenceMax, ageMax. Fix: remove it, and add `contract`',
    )
    expect(mistyped('contract: btcReferenceOracle', 'contract: btcReferenceOracel')).toThrow(
      'or write btcReferenceOracle; pinned are',
    )
  })

  it('says where the second price of one token is that of another', () => {
    const exit = 'venue: ethReferenceOracle, referenceContract: btcReferenceOracle, saleMax: "1 USDC"'
    const two = sale('cbBTC: "1 USD", ').replace('    exits: { ', `    exits: { USDC/cbBTC: { ${exit} }, `)
    expect(checkFile(written(two), CONFIG).lints.map(({ problem }) => problem)).toContain(
      'guard.sanity.exits.cbBTC/USDC.referenceContract is btcReferenceOracle, which prices USDC at guard.sanity.exits.USDC/cbBTC.referenceContract: one of them is refused each time',
    )
  })

  it('counts what each of several venues keeps that lies', () => {
    const exit = 'venue: ethReferenceOracle, referenceContract: ethReferenceOracle, saleMax: "1 USDC"'
    const two = sale('cbBTC: "60,000 USD", ').replace(
      '    exits: { ',
      `    exits: { USDC/cbBTC: { ${exit} }, `,
    )
    expect(() => checkFile(written(two), CONFIG)).toThrow(
      /venues that lie would keep 60,000\.98 USD at once, .*: exits\.USDC\/cbBTC\.saleMax is 1 USDC, 0\.98 USD; exits\.cbBTC/,
    )
  })

  it('counts what a venue keeps that lies once for each live key', () => {
    const kept = sale('cbBTC: "30,000 USD", ')
    const file = written(kept)
    const run = parse(readFileSync(CONFIG, 'utf8'))
    const agent = (digit: string) => ({
      role: 'liquidator',
      mode: 'live',
      policy: file,
      signer: { kms: { address: `0x${digit.repeat(40)}` } },
    })
    const among = (...digits: readonly string[]) => {
      const config = written(
        stringify({ ...run, agents: digits.map(agent) }, { defaultStringType: 'QUOTE_DOUBLE' }),
      )
      return () => checkFile(file, config)
    }
    expect(among('a', 'b')).not.toThrow()
    expect(among('a', 'b', 'c')).toThrow('venues that lie would keep 90,000 USD at once from 3 keys')
  })

  it('says of a venue which function its code has not', () => {
    const file = written(sale('cbBTC: "60,000 USD", '))
    const [swap, quote] = ['swap(address,uint256,uint256,address,uint256)', 'quote(address,uint256)'] as const
    const lintsOf = (...functions: readonly string[]) => {
      const code = functions.map((each) => toFunctionSelector(each).slice(2)).join('')
      const codes = new Map([[`0x${'8'.repeat(40)}` as const, `0x${code}` as const]])
      return checkFile(file, CONFIG, codes).lints.map(({ problem }) => problem)
    }
    const lacks = (signature: string) =>
      `guard.sanity.exits.cbBTC/USDC.venue is ethReferenceOracle, which has no ${signature} in its code`
    expect(lintsOf(swap, quote)).toEqual([])
    expect(lintsOf(swap)).toEqual([lacks(quote)])
    expect(lintsOf()).toEqual([lacks(swap), lacks(quote)])
  })

  it.each([
    [
      'a venue',
      sold('pool', 'venue: pool, referenceContract: btcReferenceOracle'),
      'strategy.exits.cbBTC/USDC.venue is pool, which deployment.contracts does not pin. Fix: pin it in the run configuration, or correct the name; pinned are: btcReferenceOracle, ethReferenceOracle',
    ],
    [
      'the second price of a sale',
      sold('ethReferenceOracle', 'venue: ethReferenceOracle, referenceContract: second'),
      'guard.sanity.exits.cbBTC/USDC.referenceContract is second, which',
    ],
    [
      'another venue than the guard’s',
      sold('ethReferenceOracle', 'venue: btcReferenceOracle, referenceContract: btcReferenceOracle'),
      'strategy.exits.cbBTC/USDC.venue: it is ethReferenceOracle, and guard.sanity.exits.cbBTC/USDC.venue btcReferenceOracle: what the strategy asks for is refused there. Fix: write the same in both.',
    ],
    [
      'a venue that the guard has not',
      sold('ethReferenceOracle', 'venue: btcReferenceOracle, referenceContract: btcReferenceOracle').replace(
        /^ {4}exits: .*/m,
        '    exits: {}',
      ),
      'it is ethReferenceOracle, and guard.sanity.exits.venue has none for it',
    ],
    [
      'a price of native coin',
      shipped.replace('nativePrice: { contract: ethReferenceOracle', 'nativePrice: { contract: second'),
      'strategy.gas.nativePrice.contract is second, which',
    ],
    [
      'the guard’s price of native coin',
      shipped.replace(/(minCollateral: .*\n {4}nativePrice: \{ contract: )ethReferenceOracle/, '$1second'),
      'guard.sanity.nativePrice.contract is second, which',
    ],
    [
      'a second price',
      shipped.replace('{ contract: btcReferenceOracle', '{ contract: second'),
      'strategy.secondPrice.cbBTC/USDC.contract is second, which',
    ],
  ])('is refused for %s that nothing pins, by name, as it is at a start', (_, text, error) => {
    expect(text).not.toBe(shipped)
    expect(() => checkFile(written(text), CONFIG)).toThrow(error)
  })

  it.each([
    [
      'perHour: { movedMax: "2,000,000 USD"',
      'perHour: { movedMax: "2.000 USD"',
      /:\d+:\d+: limits.perWorkflow.movedMax is "[\d,]+ USD"; perHour.movedMax is 2 USD, and what perWorkflow allows is spent there as well. Fix: correct whichever of the two is the slip/,
    ],
    [
      'approval:\n',
      'approval:\n  approvers: { anna: { user: "anna@here" } }\n  quorum: "2"\n',
      /liquidator.yaml:\d+:3: approval.quorum is 2; approval.approvers names 1/,
    ],
    [
      'approval:\n',
      'approval:\n  approvers: { Anna: { user: "anna@here" } }\n',
      /Anna.*expected a name of lower-case/,
    ],
    [
      'always: []',
      'always: [role.liquidator.liquidation]',
      /allowed: role.liquidator.liquidate, .* and \d\d more/,
    ],
  ])('is refused where %j became %j, with both values and the place', (was, is, error) => {
    expect(shipped).toContain(was)
    expect(() => checkFile(written(shipped.replace(was, is)), CONFIG)).toThrow(error)
  })

  it('is refused where a rule of it stands', () => {
    const open = shipped.replace('recipient: { eq: $self }', 'recipient: { in: $deployment.vaults }')
    expect(() => checkFile(written(open), CONFIG)).toThrow(
      /liquidator\.yaml:\d+:9: guard\.allow\[1\]\.params\.recipient: it may pay somebody/,
    )
  })
})

describe('two policies of a role', () => {
  const diff = async (now: string) => {
    let said = ''
    const add = (text: string) => {
      said += text
    }
    const io = { out: add, err: add, outIsTty: false, errIsTty: false, env: {} }
    const files = [written(shipped), written(now)]
    const code = await rolekeeper(['policy', 'diff', ...files, '--config', CONFIG], io)
    return {
      code,
      lines: said
        .replaceAll(/\S*liquidator\.yaml/g, 'FILE')
        .replace(/[0-9a-f]{64}/, 'HASH')
        .split('\n'),
    }
  }

  it('are told apart by what the new one lets through, and by the exit code', async () => {
    expect(await diff(shipped)).toEqual({
      code: 0,
      lines: ['FILE is the same as FILE; the change is HASH.', ''],
    })
    expect(await diff(shipped.replace('"2,000,000 USD", gasMax', '"1.5 USD", gasMax'))).toMatchObject({
      code: 2,
    })
    const less = shipped.replace('gasMax: "2 ETH"', 'gasMax: "1.5 ETH"')
    expect(await diff(less)).toEqual({
      code: 0,
      lines: [
        'narrower  limits.perHour.gasMax: 2 ETH → 1.5 ETH',
        'FILE is narrower than FILE; the change is HASH.',
        '',
      ],
    })
    const more = less.replace(
      'priceAgeMax: "2 min"\n    priceDivergenceMax',
      'priceAgeMax: "3 min"\n    priceDivergenceMax',
    )
    expect(await diff(more)).toMatchObject({
      code: 3,
      lines: [
        'narrower  limits.perHour.gasMax: 2 ETH → 1.5 ETH',
        'wider     guard.sanity.priceAgeMax: 2 min → 3 min',
        'FILE is wider than FILE; the change is HASH.',
        '',
      ],
    })
    expect(await diff(shipped.replace('slippage: "4 %"', 'slippage: "2 %"'))).toMatchObject({
      code: 4,
      lines: [
        'unknown   strategy.slippage: 4 % → 2 %',
        'FILE is not known to be narrower than FILE; the change is HASH.',
        '',
      ],
    })
  })

  it('are approved by the approvers of the old one, by the hash of the change', async () => {
    const [anna, mallory] = [createPersonKey(), createPersonKey()]
    const named = shipped.replace(
      '  expiresAfter:',
      `  approvers: { anna: { key: "${anna.publicKey}" } }\n  expiresAfter:`,
    )
    const [old, now] = [written(named), written(named.replace('gasMax: "2 ETH"', 'gasMax: "3 ETH"'))]
    const keyOf = (name: string, privatePem: string) => {
      const file = `${now}.${name}`
      writeFileSync(file, JSON.stringify({ name, privatePem }), { mode: 0o600 })
      return file
    }
    let said = ''
    const add = (text: string) => {
      said += text
    }
    const approve = (...rest: readonly string[]) =>
      rolekeeper(['policy', 'approve', old, now, '--config', CONFIG, ...rest], {
        out: add,
        err: add,
        outIsTty: false,
        errIsTty: false,
        env: {},
      })
    expect(await approve()).toBe(1)
    const hash = /the change is ([0-9a-f]{64})/.exec(said)?.[1] ?? ''
    const [hers, his] = [keyOf('anna', anna.privatePem), keyOf('anna-too', mallory.privatePem)]
    expect(await approve('--hash', 'f'.repeat(64), '--key', hers)).toBe(2)
    expect(await approve('--hash', hash, '--key', his, '--yes')).toBe(2)
    expect(() => readFileSync(`${now}.approvals`)).toThrow('ENOENT')
    expect(await approve('--hash', hash, '--key', hers, '--yes')).toBe(0)
    expect(JSON.parse(readFileSync(`${now}.approvals`, 'utf8'))).toMatchObject({ name: 'anna' })
    // The same change once more, as a keeper names it then.
    expect(await approve('--hash', `${hash}.2`, '--key', hers, '--yes')).toBe(0)
    expect(said).toContain(`Approved by anna: ${hash}.2, in `)
  })
})

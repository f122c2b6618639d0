import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { checkPolicy, locating } from '../../../src/config/policy.ts'
import { loadYaml } from '../../../src/config/yaml.ts'
import { createPersonKey } from '../../../src/guard/approval/person-key.ts'
import { weaknessesIn } from '../../../src/guard/policy/lints.ts'
import { compileRuleset } from '../../../src/guard/ruleset.ts'
import { sectionsOf } from '../../../src/keeper/policy/role-policy.ts'
import { checkFile } from '../../../src/keeper/policy-tools/file.ts'
import { newDirectory } from '../../support/directory.ts'
import { TOKENS } from '../../support/tokens.ts'
import { deployment as pinned } from '../kinds.ts'

// As the pages name it.
const [market, ...others] = pinned.markets
const deployment = { ...pinned, markets: [{ ...market, name: 'btc' }, ...others] } as typeof pinned

const folder = newDirectory()
const CONFIG = join(folder, 'run.yaml')
const assets = deployment.assets.map((asset) => ({ ...asset, decimals: String(asset.decimals) }))
const service = { assumptions: {} }
writeFileSync(
  CONFIG,
  JSON.stringify({ environment: 'sandbox', agents: [], service, deployment: { ...deployment, assets } }),
)

const PAGES = [
  'README.md',
  ...readdirSync('docs').flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
]
const blocks = PAGES.flatMap((page) =>
  [...readFileSync(page, 'utf8').matchAll(/^```yaml\n(.*?)^```/gms)].map(
    ([, text = '']) => [page, text, Object.keys(Object(parse(text)))] as const,
  ),
)
/** Sections that a run configuration does not have: its `limits` are those of all roles. */
const isPart = (text: string, keys: readonly string[]) =>
  keys.includes('approval') || keys.includes('guard') || /^ {2}allowances:/m.test(text)
const wholes = blocks.filter(([, , keys]) => keys.includes('role'))
const parts = blocks.filter(([, text, keys]) => !keys.includes('role') && isPart(text, keys))

const written = (text: string) => {
  const file = join(folder, 'example.yaml')
  writeFileSync(file, text)
  return file
}

/** A policy whose role's agent is the reader's to write: all of it but its strategy. */
const ruled = (text: string) => {
  const role = String(Reflect.get(Object(parse(text)), 'role'))
  const sections = { ...sectionsOf({ role, policy: () => z.unknown() }, TOKENS), strategy: z.unknown() }
  const yaml = loadYaml(written(text))
  return locating(yaml, () => {
    const policy = checkPolicy(yaml, role, sections)
    return weaknessesIn(policy.guard, compileRuleset(policy, deployment))
  })
}

describe('what the pages show', () => {
  it.each(wholes)('loads and binds, as a whole policy: %s', (_page, text) => {
    // The vault's shares are no token whose logs a simulation could show.
    expect(ruled(text).map(({ path }) => path.join('.'))).toEqual(['guard.effects.0.in'])
  })

  it.each(parts)('loads and binds, over the policy that is shipped: %s', (_page, text) => {
    const include = `include: ${resolve('policies/liquidator.yaml')}\n`
    const said = text.replace('ed25519:…', createPersonKey().publicKey)
    expect(checkFile(written(include + said), CONFIG).lints).toEqual([])
  })

  it('is found', () => {
    expect([wholes.length, parts.length]).toEqual([1, 2])
  })
})

describe('what a page once showed', () => {
  const [, template = ''] = wholes[0] ?? []
  const EQ = 'minShares: { eq: $input.minShares }'
  const refused = (from: string, to: string) => {
    expect(template).toContain(from)
    return () => ruled(template.replace(from, to))
  }

  it.each<[string, string, string, RegExp, RegExp]>([
    [
      'a minimum that the policy alone states',
      EQ,
      'minShares: { min: "1" }',
      /example\.yaml:28:\d+: guard\.allow\[1\]\.params\.minShares: the minimum is not what the request asks for\.$/,
      /use eq or min with a member of the request/,
    ],
    [
      'a list of nothing',
      EQ,
      'minShares: { in: [] }',
      /example\.yaml:28:\d+: guard\.allow\[1\]\.params\.minShares\.in is empty; nothing is one of none/,
      /correct/,
    ],
    [
      'a parameter that lost its eq',
      EQ,
      'minShares: {}',
      /example\.yaml:28:\d+: guard\.allow\[1\]\.params\.minShares is a mapping; expected at least one of eq, in, min, max and any/,
      /correct/,
    ],
    [
      'a recipient that lost its eq',
      'receiver: { eq: $self }',
      'receiver: { in: $deployment.vaults }',
      /example\.yaml:28:\d+: guard\.allow\[1\]\.params\.receiver: it may pay somebody whom the policy does not name\.$/,
      /use eq with \$self/,
    ],
    [
      'an amount that lost its eq',
      'params: { assets: { eq: $input.assets }',
      'params: { assets: { min: "1" }',
      /example\.yaml:28:\d+: guard\.allow\[1\]\.params\.assets: it may be any amount above its minimum\.$/,
      /use eq, or add a max/,
    ],
  ])('is refused with its place, its value and the fix: %s', (_name, from, to, message, fix) => {
    expect(refused(from, to)).toThrow(
      expect.objectContaining({
        shortMessage: expect.stringMatching(message),
        fix: expect.stringMatching(fix),
      }),
    )
  })
})

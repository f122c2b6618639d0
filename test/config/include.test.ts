import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { agents } from '../../agents/index.ts'
import { loadWithIncludes } from '../../src/config/include.ts'
import { checkPolicy, locating } from '../../src/config/policy.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { sectionsOf } from '../../src/keeper/policy/role-policy.ts'
import { newDirectory } from '../support/directory.ts'
import { TOKENS } from '../support/tokens.ts'

const folder = newDirectory()
const write = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

it('stands for all that another file says, its own words before it, and knows where each is', () => {
  write('shared.yaml', 'fees: { bump: "1", tip: "2" }\nlist: [a, b]\n')
  const file = write('own.yaml', 'include: ./shared.yaml\nfees: { tip: "3" }\nlist: [c]\n')
  const { value, at } = loadWithIncludes(file)
  expect(value).toEqual({ fees: { bump: '1', tip: '3' }, list: ['c'] })
  expect(at(['fees', 'tip'])).toBe(`${file}:2:9`)
  expect(at(['fees', 'bump'])).toBe(`${join(folder, 'shared.yaml')}:1:9`)
  expect(at(['nowhere'])).toBe(`${file}:1:1`)
})

it('adds up what is denied, allowed of one market, and always asked about', () => {
  write(
    'all.yaml',
    'guard: { deny: [a, b], allow: [a] }\nlimits: { allowances: [a] }\napproval: { always: [a] }\n',
  )
  const file = write(
    'one.yaml',
    'include: ./all.yaml\nguard:\n  deny: [c]\n  allow: [c]\nlimits: { allowances: [c] }\napproval: { always: [] }\n',
  )
  const { value, at } = loadWithIncludes(file)
  expect(value).toEqual({
    guard: { deny: ['c', 'a', 'b'], allow: ['c'] },
    limits: { allowances: ['c', 'a'] },
    approval: { always: ['a'] },
  })
  expect(at(['guard', 'deny', 0])).toBe(`${file}:3:10`)
  expect(at(['guard', 'deny', 2])).toBe(`${join(folder, 'all.yaml')}:1:20`)
  expect(at(['guard', 'deny', 3])).toBe(`${file}:3:3`)
  expect(at(['guard', 'deny'])).toBe(`${file}:3:3`)
  // An include of an include adds up too, and is where it stands.
  const last = write('last.yaml', 'include: ./one.yaml\nguard: { deny: [d] }\n')
  const three = loadWithIncludes(last)
  expect(three.value).toMatchObject({ guard: { deny: ['d', 'c', 'a', 'b'] } })
  expect(three.at(['guard', 'deny', 1])).toBe(`${file}:3:10`)
  expect(three.at(['guard', 'deny', 3])).toBe(`${join(folder, 'all.yaml')}:1:20`)
})

it('puts what the other file says in a list where an entry says so, and knows where each is', () => {
  write('rules.yaml', 'guard: { allow: [a, b], views: [v] }\n')
  const file = write('more.yaml', 'include: ./rules.yaml\nguard:\n  allow: [c, included, d]\n')
  const { value, at } = loadWithIncludes(file)
  expect(value).toEqual({ guard: { allow: ['c', 'a', 'b', 'd'], views: ['v'] } })
  const rules = join(folder, 'rules.yaml')
  expect([0, 1, 2, 3, 4].map((index) => at(['guard', 'allow', index]))).toEqual([
    ...[`${file}:3:11`, `${rules}:1:18`, `${rules}:1:21`, `${file}:3:24`],
    `${file}:3:3`,
  ])
  // A file that includes this one meets the whole list.
  const outer = loadWithIncludes(
    write('outer.yaml', 'include: ./more.yaml\nguard: { allow: [included, e] }\n'),
  )
  expect(outer.value).toMatchObject({ guard: { allow: ['c', 'a', 'b', 'd', 'e'] } })
  expect(outer.at(['guard', 'allow', 2])).toBe(`${rules}:1:21`)
})

it.each([
  ['a circle', 'include: ./circle.yaml', 'more than 4 files include each other'],
  ['a list of files', 'include: [a.yaml]', 'include is not a path'],
  ['a file that is not there', 'include: ./none.yaml', 'none.yaml cannot be read (ENOENT)'],
])('refuses %s', (_, text, problem) => {
  expect(() => loadWithIncludes(write('circle.yaml', text))).toThrow(problem)
})

it('is refused with the line that names what is not there, and with what a slip most likely means', () => {
  const lacks = write('lacks.yaml', 'version: "2"\ninclude: ./nowhere.yaml\n')
  expect(() => loadWithIncludes(lacks)).toThrow(
    /lacks\.yaml:2:1: .*nowhere\.yaml cannot be read \(ENOENT\)\. Fix: correct the path, which is from the folder/,
  )
  const [agent] = agents.filter(({ role }) => role === 'liquidator')
  if (agent === undefined) throw new TypeError('there is a liquidator')
  const checked = (text: string) =>
    checkPolicy(loadWithIncludes(write('slip.yaml', text)), 'liquidator', sectionsOf(agent, TOKENS))
  expect(() => checked('includes: ./shared.yaml\nversion: "2"\n')).toThrow(
    /slip\.yaml:1:1: includes is not a known key.* Fix: write `include`, or remove it/,
  )
  expect(() => checked('version: "2"\nrole: allocator\nstrategy: { yields: {} }\n')).toThrow(
    /slip\.yaml:2:1: role is "allocator", and it is read as the policy of the liquidator\. Fix: name a policy of the liquidator/,
  )
})

it('is refused in the place of its path, where keys hold dots and brackets', () => {
  const yaml = loadWithIncludes(
    write('rule.yaml', 'allow:\n  - params:\n      legs[].by.to: { eq: $self }\n'),
  )
  const failing = (path: string) => () =>
    locating(yaml, () => {
      throw new RolekeeperError('policy.guard_invalid', `${path}: it is open.`, { facts: { path } })
    })
  expect(failing('allow[0].params.legs[].by.to')).toThrow(
    'rule.yaml:3:7: allow[0].params.legs[].by.to: it is open.',
  )
  expect(failing('allow[0].params.legs')).toThrow('rule.yaml:2:5: ')
  expect(failing('deployment.funds')).toThrow(/^deployment\.funds/)
})

it('gives the sandbox paces of its own, over each policy that is shipped', () => {
  for (const name of readdirSync('sandbox/policies')) {
    const agent = agents.find(({ role }) => `${role}.yaml` === name)
    if (agent === undefined) throw new TypeError(`${name} is of no role`)
    const load = (path: string) => checkPolicy(loadWithIncludes(path), agent.role, sectionsOf(agent, TOKENS))
    expect(load(`sandbox/policies/${name}`).environment).toBe('sandbox')
    expect(load(`policies/${name}`).environment).toBeUndefined()
  }
})

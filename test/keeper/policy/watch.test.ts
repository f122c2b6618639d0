import { readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { agents } from '../../../agents/index.ts'
import type { AgentConfig } from '../../../src/config/config.ts'
import { loadWithIncludes } from '../../../src/config/include.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import type { Watched } from '../../../src/keeper/policy/candidates.ts'
import { compilePolicy } from '../../../src/keeper/policy/role-policy.ts'
import { watchPolicies } from '../../../src/keeper/policy/watch.ts'
import { ASSUMPTIONS } from '../../../src/service/contract/assumptions.ts'
import { deployment } from '../../guard/kinds.ts'
import { newDirectory } from '../../support/directory.ts'
import { SIGNER } from '../../support/workflows.ts'

const [does] = agents.filter(({ role }) => role === 'allocator')

/** An allocator's policy with what it includes in a folder, watched by a clock whose looks are taken one by one. */
function scene({ isRefused = false } = {}) {
  if (does === undefined) throw new TypeError('there is an allocator')
  const folder = newDirectory()
  const file = join(folder, 'allocator.yaml')
  const shared = join(folder, 'shared.yaml')
  const text = readFileSync('policies/allocator.yaml', 'utf8').replace(
    /^include: .*$/m,
    'include: ./shared.yaml',
  )
  writeFileSync(file, text)
  writeFileSync(shared, readFileSync('policies/shared/fees-and-freshness.yaml'))
  const agent: AgentConfig = {
    role: 'allocator',
    mode: 'live',
    policy: file,
    signer: { kind: 'kms', keyId: 'key', address: SIGNER, window: 4 },
  }
  const load = () => {
    const yaml = loadWithIncludes(file)
    const ground = { environment: 'production' as const, deployment, service: { assumptions: ASSUMPTIONS } }
    return { agent, does, apart: [], ...compilePolicy(yaml, does, ground) }
  }
  const refusal = new RolekeeperError('config.yaml', 'It does not load.')
  const watched: Watched = { agent, does, policy: isRefused ? refusal : load(), tightened: 0 }
  let isKept = false
  const heard: string[] = []
  const whileRenewed: (() => void)[] = []
  let wake = () => {}
  let onAsleep = () => {}
  const stop = watchPolicies([watched], {
    clock: {
      nowMs: () => 0,
      sleep: (_ms, signal) =>
        new Promise((resolve, reject) => {
          wake = () => resolve(undefined)
          signal?.addEventListener('abort', () => reject(signal.reason))
          onAsleep()
        }),
    },
    emit: ({ type }) => heard.push(type),
    load,
    renew: async () => {
      heard.push('renewed')
      for (const meanwhile of whileRenewed.splice(0)) meanwhile()
    },
    isKept: () => isKept,
    alarm: ({ code, shortMessage }) => heard.push(`${code}: ${shortMessage}`),
  })
  /** Take so many looks, and say what was heard. */
  const looks = async (count: number) => {
    for (let each = 0; each < count; each += 1) {
      const asleep = new Promise<void>((resolve) => {
        onAsleep = resolve
      })
      wake()
      await asleep
    }
    return heard.splice(0)
  }
  const ruleset = () => (watched.policy instanceof RolekeeperError ? '' : watched.policy.ruleset.hash)
  const keep = (kept: boolean) => {
    isKept = kept
  }
  return { file, shared, text, looks, ruleset, stop, whileRenewed, watched, load, keep }
}

describe('a policy that is watched', () => {
  it('is taken up where it is narrower, once its file stands still, however an editor writes it', async () => {
    const { file, text, looks, ruleset, watched, stop } = scene()
    expect(await looks(3)).toEqual([])
    const before = ruleset()
    writeFileSync(`${file}.new`, text.replace('movedMax: "2,000,000 USD"', 'movedMax: "1,500,000 USD"'))
    renameSync(`${file}.new`, file)
    expect(await looks(1)).toEqual([])
    expect(await looks(1)).toEqual(['policy', 'renewed'])
    expect(ruleset()).not.toBe(before)
    expect(watched.tightened).toBe(1)
    expect(await looks(3)).toEqual([])
    await stop()
  })

  it('is taken up where what it includes is narrower', async () => {
    const { shared, looks, stop } = scene()
    await looks(3)
    writeFileSync(shared, readFileSync(shared, 'utf8').replace('ageMax: "20 s"', 'ageMax: "15 s"'))
    expect(await looks(2)).toEqual(['policy', 'renewed'])
    await stop()
  })

  it('has what is not public yet judged anew where only more is asked about, or less is offered', async () => {
    const { file, text, shared, looks, ruleset, stop } = scene()
    await looks(3)
    const before = ruleset()
    writeFileSync(file, text.replace('aboveUsd: "250,000 USD"', 'aboveUsd: "200,000 USD"'))
    expect(await looks(2)).toEqual(['policy', 'renewed'])
    const asking = ruleset()
    expect(asking).not.toBe(before)
    const fees = readFileSync(shared, 'utf8').replace('maxFeePerGas: "30 gwei"', 'maxFeePerGas: "20 gwei"')
    writeFileSync(shared, fees)
    expect(await looks(2)).toEqual(['policy', 'renewed'])
    expect(ruleset()).not.toBe(asking)
    await stop()
  })

  it('stays as it is where the file is wider, with an alarm that names the setting', async () => {
    const { file, text, looks, ruleset, stop } = scene()
    await looks(3)
    const before = ruleset()
    writeFileSync(file, text.replace('gasMax: "600,000 gas"', 'gasMax: "700,000 gas"'))
    expect(await looks(3)).toEqual([
      'policy.loosened: The policy of the allocator is wider than the one that it worked by: guard.allow[allocate].gasMax 600,000 gas → 700,000 gas.',
    ])
    expect(ruleset()).toBe(before)
    // Taken back, nothing is to be said any more.
    writeFileSync(file, text)
    expect(await looks(3)).toEqual([])
    await stop()
  })

  it('stays as it is where the file does not load, or is gone', async () => {
    const { file, text, looks, ruleset, stop } = scene()
    await looks(3)
    const before = ruleset()
    writeFileSync(file, text.slice(0, text.length / 2))
    expect(await looks(3)).toEqual([expect.stringMatching(/^policy\.not_taken_up: .*is refused/)])
    rmSync(file)
    expect(await looks(3)).toEqual([
      expect.stringMatching(/^policy\.not_taken_up: .*cannot be read \(ENOENT\)/),
    ])
    expect(ruleset()).toBe(before)
    await stop()
  })

  it('is taken up again where it became narrower still while its role was opened anew', async () => {
    const { file, text, looks, stop, whileRenewed } = scene()
    await looks(3)
    const moved = (usd: string) =>
      writeFileSync(file, text.replace('movedMax: "2,000,000 USD"', `movedMax: "${usd} USD"`))
    moved('1,500,000')
    whileRenewed.push(() => moved('1,000,000'))
    const taken = ['policy', 'renewed']
    expect(await looks(4)).toEqual([...taken, ...taken])
    await stop()
  })

  it('is read again once what it includes is there', async () => {
    const { file, text, shared, looks, stop } = scene()
    await looks(3)
    const other = `${shared}.other`
    writeFileSync(file, text.replace('./shared.yaml', './shared.yaml.other'))
    expect(await looks(4)).toEqual([
      expect.stringMatching(/^policy\.not_taken_up: .*cannot be read \(ENOENT\)/),
    ])
    writeFileSync(other, readFileSync(shared, 'utf8').replace('ageMax: "20 s"', 'ageMax: "15 s"'))
    expect(await looks(3)).toEqual(['policy', 'renewed'])
    await stop()
  })

  it('stays as it is where a link in its place leads nowhere, or to itself', async () => {
    const { file, text, looks, ruleset, stop } = scene()
    await looks(3)
    const before = ruleset()
    for (const [to, code] of [
      [`${file}.gone`, 'ENOENT'],
      [file, 'ELOOP'],
    ] as const) {
      rmSync(file)
      symlinkSync(to, file)
      expect(await looks(3)).toEqual([
        expect.stringMatching(new RegExp(`^policy\\.not_taken_up: .*cannot be read \\(${code}\\)`)),
      ])
    }
    rmSync(file)
    writeFileSync(`${file}.real`, text.replace('movedMax: "2,000,000 USD"', 'movedMax: "1,500,000 USD"'))
    symlinkSync(`${file}.real`, file)
    expect(await looks(2)).toEqual(['policy', 'renewed'])
    expect(ruleset()).not.toBe(before)
    await stop()
  })

  it('is opened by whatever its file says next, where its role is down for it: the journal says what it worked by', async () => {
    const { file, text, looks, ruleset, watched, keep, stop } = scene()
    await looks(3)
    const before = ruleset()
    // Nobody can compare these two, whichever comes first.
    writeFileSync(file, text.replace('gasHeadroom: "130 %"', 'gasHeadroom: "140 %"'))
    keep(true)
    expect(await looks(3)).toEqual(['renewed'])
    writeFileSync(file, 'no policy')
    expect(await looks(3)).toEqual(['renewed'])
    expect(watched.policy).toMatchObject({ code: 'config.invalid' })
    writeFileSync(file, text)
    expect(await looks(3)).toEqual(['renewed'])
    expect([ruleset(), watched.tightened]).toEqual([before, 0])
    await stop()
  })

  it('is opened once it loads, where it was refused at the start', async () => {
    const { file, text, looks, ruleset, stop } = scene({ isRefused: true })
    writeFileSync(file, 'no policy')
    expect(await looks(3)).toEqual(['renewed'])
    expect(await looks(3)).toEqual([])
    writeFileSync(file, text)
    expect(await looks(3)).toEqual(['renewed'])
    expect(ruleset()).not.toBe('')
    await stop()
  })

  it('is taken up while the role of another hangs as it is opened anew', async () => {
    const { file, text, watched, load, stop } = scene()
    await stop()
    const [one, other] = [{ ...watched }, { ...watched }]
    const hangs = Promise.withResolvers<void>()
    const renewed: unknown[] = []
    const stopBoth = watchPolicies([one, other], {
      clock: { nowMs: () => 0, sleep: (_ms, signal) => setImmediate(undefined, { signal }) },
      emit: () => {},
      load,
      alarm: () => {},
      isKept: () => false,
      renew: async (agent) => {
        renewed.push(agent)
        await (renewed.length === 1 ? hangs.promise : undefined)
      },
    })
    writeFileSync(file, text.replace('movedMax: "2,000,000 USD"', 'movedMax: "1,500,000 USD"'))
    await expect.poll(() => renewed.length).toBe(2)
    hangs.resolve()
    await stopBoth()
  })
})

import type { Clock } from '../../../clock.ts'
import type { RunConfig } from '../../../config/config.ts'
import { createSources } from '../../../observe/sources.ts'
import type { RolePolicy } from '../../policy/role-policy.ts'
import { ANSWER_MS_MAX } from '../../startup/service.ts'
import { type Finding, passed, warned } from '../finding.ts'

/** Look what each source of a value states, as those policies read it that ask it. */
export async function examineSources(
  { sources }: Pick<RunConfig, 'sources'>,
  policies: readonly Pick<RolePolicy, 'does' | 'policy'>[],
  clock: Pick<Clock, 'nowMs'>,
): Promise<readonly Finding[]> {
  const asked = policies.flatMap(({ does, policy }) => does.sources?.(policy.strategy) ?? [])
  const reader = createSources(sources, clock)
  try {
    return await Promise.all(
      sources.map(async ({ name }, index) => {
        const answer = await reader.ask({ kind: 'source', name, timeoutMs: ANSWER_MS_MAX })
        const asking = asked.filter((one) => one.name === name)
        const stated = asking.map(({ states }) => states(answer))
        const wrong = answer.ok ? stated.find((one) => typeof one !== 'string') : answer
        const others = [...new Set(asking.flatMap(({ votesWith }) => votesWith))]
        const shared = others.length === 0 ? '' : `, and has one vote with ${others.join(', ')}`
        if (wrong === undefined)
          return passed('source', name, `${stated[0] ?? 'no policy asks it'}${shared}.`)
        const { check, message } = wrong
        const fix = `correct sources[${index}] or how the policy reads it, or have its owner mend it.`
        return warned('source', name, { code: `source.${check}`, message: `${name}: ${message}`, fix })
      }),
    )
  } finally {
    await reader.close()
  }
}

import { createConfig, lintFromString } from '@redocly/openapi-core'
import type { Json } from './shape-check.ts'

/**
 * Hold an OpenAPI document against a public linter's recommended rules. Returns its findings, warnings too.
 */
export async function lintProblems(document: Json): Promise<readonly string[]> {
  const config = await createConfig({ extends: ['recommended'] })
  const found = await lintFromString({
    source: JSON.stringify(document),
    config,
    absoluteRef: 'openapi.json',
  })
  return found.map(({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer ?? ''})`)
}

import { createConfig, lintFromString } from '@redocly/openapi-core'
import type { Json } from './shape-check.ts'

/**
 * Hold an OpenAPI document against a public linter's recommended rules. Returns its findings, warnings too.
 * One rule is off: `info-license`, because the service's document names no licence.
 */
export async function lintProblems(document: Json): Promise<readonly string[]> {
  const config = await createConfig({
    extends: ['recommended'],
    rules: { 'info-license': 'off' },
  })
  const found = await lintFromString({
    source: JSON.stringify(document),
    config,
    absoluteRef: 'openapi.json',
  })
  return found.map(({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer ?? ''})`)
}

import { parse } from 'yaml'
import { RolekeeperError } from '../../errors.ts'

/** Aliases that a contract may expand to; more is a bomb. */
const ALIASES_MAX = 100

/**
 * Parse an OpenAPI document, JSON or YAML.
 * @param name of the file or URL, for messages.
 * @throws RolekeeperError `config.contract_unreadable` when it is neither, or has no paths.
 */
export function parseContract(name: string, text: string): Readonly<Record<string, unknown>> {
  const value = parsed(text)
  const isContract = typeof value === 'object' && value !== null && 'openapi' in value && 'paths' in value
  if (isContract) return { ...value }
  throw new RolekeeperError('config.contract_unreadable', `${name} is no OpenAPI document in JSON or YAML.`, {
    fix: 'give the contract that the service offers for download: it has `openapi` and `paths`.',
  })
}

function parsed(text: string): unknown {
  try {
    return text.trimStart().startsWith('{')
      ? JSON.parse(text)
      : parse(text, { maxAliasCount: ALIASES_MAX, prettyErrors: false, logLevel: 'silent' })
  } catch {
    return undefined
  }
}

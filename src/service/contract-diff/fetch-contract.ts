import { request } from 'undici'
import { RolekeeperError } from '../../errors.ts'
import { SERVICE_TIMEOUTS } from '../http.ts'

/** Ours is a fifth of a megabyte; with every example a contract is a few. */
const CONTRACT_BYTES_MAX = 8 * 1_048_576

/**
 * Fetch a contract's text, with no credential and no redirect.
 * @throws RolekeeperError `config.contract_unreadable`.
 */
export async function fetchContract(url: URL): Promise<string> {
  const unreadable = (what: string) =>
    new RolekeeperError(
      'config.contract_unreadable',
      `The contract at ${url.origin}${url.pathname} ${what}.`,
      {
        fix: 'download it, check that it is an OpenAPI document, and give the file.',
      },
    )
  try {
    const { statusCode, body } = await request(url, {
      headersTimeout: SERVICE_TIMEOUTS.headersMs,
      bodyTimeout: SERVICE_TIMEOUTS.bodyMs,
      signal: AbortSignal.timeout(SERVICE_TIMEOUTS.attemptMs),
    })
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > CONTRACT_BYTES_MAX) throw unreadable(`is larger than ${CONTRACT_BYTES_MAX} bytes`)
      chunks.push(chunk)
    }
    if (statusCode !== 200) throw unreadable(`was answered with status ${statusCode}`)
    return Buffer.concat(chunks).toString()
  } catch (error) {
    if (error instanceof RolekeeperError) throw error
    throw unreadable('could not be fetched')
  }
}

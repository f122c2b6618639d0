import type { SandboxInfo } from './sandbox-under-test.ts'

/** Ask the sandbox, as who runs it, for `reviews` or its `story`. */
export const putControl = (
  { serviceUrl, controlToken }: SandboxInfo,
  what: 'reviews' | 'story',
  body: object,
): Promise<Response> =>
  fetch(`${serviceUrl}/sandbox-control/${what}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${controlToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

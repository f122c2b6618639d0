import { get } from 'node:http'

/** A keeper on this machine answers at once; one that does not by then is not there. */
const ANSWER_MS_MAX = 2_000

/** Whether a console answers at a URL. */
export const isThere = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const request = get(`${url}/healthz`, { timeout: ANSWER_MS_MAX }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })

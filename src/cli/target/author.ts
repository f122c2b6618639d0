import { hostname, userInfo } from 'node:os'

/** Say who gives a command, and when, ms since 1970. */
export const author = () => ({ by: `${userInfo().username}@${hostname()}`, atMs: Date.now() })

/**
 * How the sandbox's HTTP servers are made. A connection that is idle is its client's to end: a server that ends it may cut off a
 * request that is on its way, as where both stood still for seconds and go on at once.
 */
export const SERVER_OPTIONS = { keepAliveTimeout: 0 } as const

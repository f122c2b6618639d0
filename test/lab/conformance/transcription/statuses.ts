/** Failures that every operation declares, each with the error object. Source: the document, "Errors". */
export const ERROR_STATUSES = [400, 401, 403, 409, 429, 500] as const

/** Headers of every answer. Source: the document, "Endpoints" and "Limits"; the three names are assumed. */
export const ANSWER_HEADERS = [
  'x-request-id',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
] as const

/** Rows a page holds at most. Source: the document, "Limits". */
export const PAGE_SIZE_MAX = 100

/** Query parameters of collections and of `fields` selections. Assumed. */
export const QUERY = { cursor: 'cursor', pageSize: 'limit', fields: 'fields' } as const

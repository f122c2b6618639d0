const SHOWN_MAX = 200

/** Make the service's text safe to show: no control, bidirectional or invisible character, 200 at most. Pure. */
export const plain = (text: string): string => text.slice(0, SHOWN_MAX).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')

/**
 * How the sandbox's own clients speak to its chain. Nothing is tried twice, which would hide a chain that is gone. Both
 * are on one machine, where an answer takes milliseconds, or seconds when its cores are busy: past this limit it hangs.
 */
export const TO_CHAIN = { retryCount: 0, timeout: 20_000 } as const

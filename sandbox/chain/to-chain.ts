/**
 * How the sandbox's own clients speak to its chain. Nothing is tried twice, which would hide a chain that is gone. Both
 * are on one machine, where an answer takes milliseconds, or half a minute when its cores are busy: past this limit it hangs.
 */
export const TO_CHAIN = { retryCount: 0, timeout: 60_000 } as const

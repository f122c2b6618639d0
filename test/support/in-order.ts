import { describe } from 'vitest'

/** Tests that tell one story, each from where the one before it ended: they keep their order where others are shuffled. */
export const inOrder = (name: string, tell: () => void) => describe(name, { shuffle: false }, tell)

import { resolve } from 'node:path'

// What one process of a test has compiled, the next need not. Set here, a worker itself keeps nothing: writing down all that it
// has loaded takes it longer than it saves.
process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/compiled')
